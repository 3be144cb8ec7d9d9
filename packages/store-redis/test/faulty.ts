import type { RedisClient } from "@parlance/store-redis";
import type { Redis } from "ioredis";
import { startRedis } from "./redis.js";
import type { RedisClusterServer } from "./redis-cluster.js";

/** One Redis, or all nodes of a cluster, with the faults that a test puts it to. */
export interface Store {
  client(): RedisClient;
  pause(): void;
  resume(): unknown;
  kill(): Promise<unknown>;
  start(): Promise<unknown>;
  flush(): Promise<unknown>;
  /** Refuses every write that needs memory, or no longer. */
  fill(full: boolean): Promise<unknown>;
  /** Cuts all connections but its own. */
  cut(): Promise<unknown>;
  remove(): Promise<void>;
}

const flush = (admin: Redis) => admin.flushall();
const fill = (full: boolean) => (admin: Redis) =>
  admin.config("SET", "maxmemory", full ? "1" : "0", "maxmemory-policy", "noeviction");
async function cut(admin: Redis): Promise<void> {
  for (const type of ["pubsub", "normal"]) await admin.call("CLIENT", "KILL", "TYPE", type);
}

/** @returns the store, with the path of its Unix socket */
export async function startStore(): Promise<Store & { readonly path: string }> {
  const server = await startRedis();
  const admin = server.client();
  return {
    path: server.path,
    client: () => server.client(),
    pause: server.pause,
    resume: server.resume,
    kill: server.kill,
    start: server.start,
    flush: () => flush(admin),
    fill: (full) => fill(full)(admin),
    cut: () => cut(admin),
    remove: server.remove,
  };
}

/** All nodes fail at once. */
export function clusterAsStore(cluster: RedisClusterServer): Store {
  const { ports } = cluster;
  const each = (run: (admin: Redis) => Promise<unknown>) => Promise.all(ports.map((port) => run(cluster.admin(port))));
  return {
    client: () => cluster.client(),
    pause: () => ports.forEach(cluster.pause),
    resume() {
      ports.forEach(cluster.resume);
      return cluster.whole();
    },
    kill: () => Promise.all(ports.map(cluster.kill)),
    start: () => Promise.all(ports.map(cluster.start)),
    flush: () => each(flush),
    fill: (full) => each(fill(full)),
    cut: () => each(cut),
    remove: cluster.remove,
  };
}
