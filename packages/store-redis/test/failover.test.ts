import type { Entry } from "@parlance/server";
import type { RedisStoreError } from "@parlance/store-redis";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { atRest } from "./at-rest.js";
import { hasRedis } from "./redis.js";
import { type RedisClusterServer, startCluster } from "./redis-cluster.js";

const STREAMS = Array.from({ length: 9 }, (_, i) => `stream ${i}`);
const open = new AbortController().signal;
/** Enough for every writer and reader to be in the middle of its work. */
const SOME = 20;

/** What happens to the master of a key. Each resolves once the cluster has a new master. */
const faults: Readonly<Record<string, (cluster: RedisClusterServer, key: string) => Promise<() => Promise<void>>>> = {
  async "is killed"(cluster, key) {
    const port = await cluster.masterOf(key);
    await cluster.kill(port);
    await cluster.failedOver(port);
    return () => cluster.start(port);
  },
  async hangs(cluster, key) {
    const port = await cluster.masterOf(key);
    cluster.pause(port);
    await cluster.failedOver(port);
    return async () => cluster.resume(port);
  },
  async "becomes a replica"(cluster, key) {
    await cluster.switchOver(key);
    return async () => {};
  },
  async "gives the key's slot to another master"(cluster, key) {
    await cluster.moveSlot(key);
    return async () => {};
  },
};

/** A client that waits for a hung master loses the streams that a client with a `commandTimeout` keeps. */
const clients = {
  "": { redisOptions: { commandTimeout: 500 } },
  ...(process.env.PARLANCE_LONG && { " and clients have no commandTimeout": {} }),
};

/** One stream that is written, read and announced until it is told to finish. */
interface Traffic {
  readonly stream: string;
  appended: number;
  readonly read: Entry[];
  readonly received: string[];
  interrupted: number;
  /** How the writer ended: its error, or undefined when it was told to. */
  readonly written: Promise<RedisStoreError | undefined>;
  readonly ended: Promise<RedisStoreError | undefined>;
}

describe.runIf(hasRedis)("on a Redis Cluster of three masters with a replica each", () => {
  const made = atRest();
  let cluster: RedisClusterServer;
  beforeAll(async () => {
    cluster = await startCluster(1);
  });
  afterAll(() => cluster.remove());

  const cases = Object.entries(faults).flatMap(([name, fail]) =>
    Object.entries(clients).map(([also, options]) => ({ name: `${name}${also}`, fail, options })),
  );
  for (const { name, fail, options } of cases)
    test(`when a master ${name} amid appends, tails and messages, each stream goes on without a gap or ends in a typed error`, async () => {
      const make = { timeout: 3000, lease: 20_000 };
      const [log, other] = [
        made.log({ redis: cluster.client(options), ...make }),
        made.log({ redis: cluster.client(options), ...make }),
      ];
      const [from, to] = [
        made.pubSub({ redis: cluster.client(options), ...make }),
        made.pubSub({ redis: cluster.client(options), ...make }),
      ];
      let finishing = false;

      async function write(traffic: Traffic): Promise<RedisStoreError | undefined> {
        try {
          while (!finishing) {
            await log.append(traffic.stream, traffic.appended + 1, `text ${traffic.appended + 1}`);
            traffic.appended++;
            from.publish(traffic.stream, `${traffic.appended}`).catch(() => {});
          }
          return undefined;
        } catch (error) {
          return error as RedisStoreError;
        } finally {
          await log.close(traffic.stream).catch(() => {});
        }
      }
      async function read({ stream, read }: Traffic): Promise<RedisStoreError | undefined> {
        try {
          for await (const entries of other.tail(stream, 0, open)) read.push(...entries);
          return undefined;
        } catch (error) {
          return error as RedisStoreError;
        }
      }
      async function begin(stream: string): Promise<Traffic> {
        const name = `${stream} ${crypto.randomUUID()}`;
        await log.open(name);
        const traffic = { stream: name, appended: 0, read: [] as Entry[], received: [] as string[], interrupted: 0 };
        await to.subscribe(
          name,
          (text) => traffic.received.push(text),
          () => traffic.interrupted++,
        );
        const running = traffic as Traffic & { written: unknown; ended: unknown };
        return Object.assign(running, { written: write(running), ended: read(running) });
      }

      const all = await Promise.all(STREAMS.map(begin));
      const [hit] = all as [Traffic];
      await vi.waitFor(() => {
        for (const { read, received } of all) expect(Math.min(read.length, received.length)).toBeGreaterThan(SOME);
      }, 10_000);
      const repair = await fail(cluster, `parlance:${hit.stream}`);
      const marks = all.map(({ appended }) => appended + SOME);
      const codes: string[] = [];
      for (const { written } of all) void written.then((error) => error && codes.push(error.code));
      await vi.waitFor(() => {
        const going = all.filter(({ appended }, i) => appended >= marks[i]!).length;
        expect(going + codes.length).toBeGreaterThanOrEqual(all.length);
      }, 20_000);
      finishing = true;
      for (const traffic of all) {
        const { stream, written, ended, read } = traffic;
        const [writing, reading] = [await written, await ended];
        expect(
          read.map(({ seq, text }) => `${seq} ${text}`),
          stream,
        ).toEqual(read.map((_, i) => `${i + 1} text ${i + 1}`));
        for (const error of [writing, reading]) if (error) expect(error.name, error.stack).toBe("RedisStoreError");
        if (!writing && !reading) expect(read, stream).toHaveLength(traffic.appended);
      }
      console.log(
        `when a master ${name}: ${all.length - codes.length} of ${all.length} streams were written to their end ${codes}`,
      );

      // A subscriber hears again, and is counted: on the node that has the slot now.
      for (const { stream, received } of all) {
        await vi.waitFor(async () => expect(await from.publish(stream, "after")).toBe(1), 20_000);
        await vi.waitFor(() => expect(received).toContain("after"), 10_000);
      }
      expect(hit.interrupted).toBeGreaterThan(0);
      await repair();
      const fresh = `fresh ${name}`;
      await log.open(fresh);
      await log.append(fresh, 1, "one");
      expect(await other.read(fresh, 0)).toEqual([{ seq: 1, text: "one" }]);
      for (const { stream } of all) await log.drop(stream);
      await log.drop(fresh);
      expect(log.stats()).toMatchObject({ streams: 0, closed: 0, calls: 0, timers: 0 });
    });
});
