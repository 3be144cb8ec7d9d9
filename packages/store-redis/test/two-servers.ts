import type { ErrorContext } from "@parlance/server";
import { clusterOn } from "@parlance/server/cluster";
import { redisLog, redisPubSub } from "@parlance/store-redis";
import { Redis } from "ioredis";
import { type Conversation, type Fixture, fixture, newLedger } from "../../server/test/resume/conversations.js";
import { expectZero } from "./at-rest.js";
import { startStore } from "./faulty.js";
import { type Latency, latency } from "./latency.js";

/** Milliseconds that Redis may take. A pause that is longer makes the log fail. */
export const TIMEOUT = 1500;

/** What happens to Redis at a moment of a schedule. */
export interface RedisFault {
  /**
   * `pause`: it answers nothing for so long; `restart`: it is killed, and started after so long; `cut`: all connections to it are cut;
   * `flush`: it is emptied; `full`: it refuses writes for so long; `slow`: each way to it takes so long, until the schedule is over.
   */
  readonly kind: "pause" | "restart" | "cut" | "flush" | "full" | "slow";
  /** Milliseconds since the schedule or the last fault began. */
  readonly after: number;
  readonly milliseconds: number;
}

export interface Report {
  readonly source: string;
  readonly error: string;
}

/** Two servers behind one balancer, on a Redis of their own. */
export interface TwoServers {
  readonly conversations: readonly Conversation[];
  readonly calls: Conversation;
  readonly ports: readonly [number, number];
  /** What the servers have reported so far. */
  readonly reports: readonly Report[];
  /** Redis has its faults one after another. Resolves when they are over and it answers as before. */
  fail(faults: readonly RedisFault[]): Promise<void>;
  /** Ends everything, and expects that nothing is left. */
  close(): Promise<void>;
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export async function twoServers(): Promise<TwoServers> {
  const store = await startStore();
  const ledger = newLedger();
  const reports: Report[] = [];
  const servers = await Promise.all(
    [0, 1].map(async () => {
      const way = await latency(store.path);
      const redis = new Redis(way.port, "127.0.0.1", { retryStrategy: () => 20 });
      redis.on("error", () => {});
      // No server dies in a schedule, so no lease is to run out, however busy the machine is. What a full Redis refused to close ends only with its lease,
      // so a reader may wait for it.
      const log = redisLog({ redis, timeout: TIMEOUT, lease: 4 * TIMEOUT });
      const pubSub = redisPubSub({ redis, timeout: TIMEOUT });
      const limits = { storeWithin: 2 * TIMEOUT, grace: 10_000, heartbeat: 500, lingerFor: 1000 };
      const onError = (error: unknown, { source }: ErrorContext) => {
        reports.push({ source, error: String(error) });
      };
      // Slow enough for a fault to come amid the messages.
      const pace = () => pause(2);
      return {
        way,
        redis,
        log,
        pubSub,
        stage: await fixture({ ...limits, log, cluster: clusterOn(pubSub), onError }, {}, ledger, pace),
      };
    }),
  );
  const ways: readonly Latency[] = servers.map(({ way }) => way);
  const { calls, ...streams } = (servers[0]!.stage satisfies Fixture).conversations;

  const happen: Readonly<Record<RedisFault["kind"], (milliseconds: number) => Promise<unknown> | undefined>> = {
    async pause(milliseconds) {
      store.pause();
      await pause(milliseconds);
      store.resume();
    },
    async restart(milliseconds) {
      await store.kill();
      await pause(milliseconds);
      await store.start();
    },
    cut: () => store.cut(),
    flush: () => store.flush(),
    async full(milliseconds) {
      await store.fill(true);
      await pause(milliseconds);
      await store.fill(false);
    },
    async slow(milliseconds) {
      for (const way of ways) way.set(milliseconds);
    },
  };

  return {
    conversations: Object.values(streams),
    calls,
    ports: servers.map(({ stage }) => stage.server.port) as [number, number],
    reports,
    async fail(faults) {
      for (const way of ways) way.set(0);
      for (const { kind, after, milliseconds } of faults) {
        await pause(after);
        await happen[kind](milliseconds);
      }
    },
    async close() {
      for (const { stage } of servers) await stage.server.close();
      for (const { log, pubSub } of servers) expectZero([log, pubSub]);
      for (const { redis, way } of servers) {
        redis.disconnect();
        await way.close();
      }
      await store.remove();
    },
  };
}
