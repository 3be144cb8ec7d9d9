import type { Calls } from "./calls.js";
import { defineScript, type RedisClient, type RedisCluster, type RedisConnection } from "./client.js";
import { WHERE } from "./scripts.js";

/** A node that channels are subscribed on. */
export interface Place {
  /** Stable name of the node. */
  readonly id: string;
  readonly node: RedisConnection;
}

/** Finds the node of a channel. */
export type Locate = (channel: string) => Promise<Place>;

/** A single Redis has every channel. In a Redis Cluster the master of the channel's slot has it. */
export function makeLocate(redis: RedisClient, calls: Calls): Locate {
  if (!("nodes" in redis)) return async () => ({ id: "", node: redis });
  const where = defineScript(redis, "parlanceWhere", 1, WHERE);
  return async (channel) => {
    // The client follows the cluster's redirections, so the answer is from the master that has the slot now.
    const id = String(await calls.ask(`find the node of ${channel}`, () => where(channel)));
    const node = await nodeOf(redis, id, calls);
    if (!node) throw new Error(`node ${id} of the cluster is not known yet`);
    return { id, node };
  };
}

async function nodeOf(cluster: RedisCluster, id: string, calls: Calls): Promise<RedisConnection | undefined> {
  const known = cluster.nodes("master").find((node) => ids.get(node) === id);
  if (known) return known;
  const named = cluster.nodes("master").map(async (node) => {
    // A hanging node must not block the others.
    const found = await calls.within("CLUSTER MYID", node.cluster("MYID")).then(String, () => undefined);
    if (found !== undefined) ids.set(node, found);
    if (found === id) return node;
    throw new Error("another node");
  });
  return Promise.any(named).catch(() => undefined);
}

/** The id of each node that was asked. A restarted node may have another one; a wrong guess ends in MOVED, and then in a new connection. */
const ids = new WeakMap<RedisConnection, string>();
