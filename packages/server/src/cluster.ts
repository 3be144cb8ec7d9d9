import { ClusterChannels } from "./cluster/channels.js";
import { wiring } from "./cluster/publish.js";
import type { PubSub } from "./cluster/pubsub.js";
import { ClusterSessions } from "./cluster/sessions.js";
import { clusterStreams } from "./cluster/streams.js";
import type { Cluster } from "./ports.js";
import type { EventLog } from "./resume/event-log.js";

export { memoryPubSub, type PubSub } from "./cluster/pubsub.js";
export type { Cluster } from "./ports.js";

/**
 * A cluster on pub/sub: sessions, answers to asks and resumable channels work on whichever server a request reaches, and so do resumable
 * streams where the servers share `log`. `redisCluster` of `@parlance/store-redis` is one on Redis.
 */
export function clusterOn(pubSub: PubSub, log?: EventLog): Cluster {
  return {
    log,
    join({ contract, limits, root, lastCalls, report, makeLocal, revoke }) {
      const wires = wiring(pubSub, limits, root, report, lastCalls);
      const sessions = new ClusterSessions(contract, wires, makeLocal, revoke);
      return {
        sessions,
        streams: clusterStreams(wires),
        channels: (local) => new ClusterChannels(contract.name, wires, local, sessions.servers),
      };
    },
  };
}
