import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { atRest } from "../at-rest.js";
import { hasRedis } from "../redis.js";
import { type RedisClusterServer, startCluster } from "../redis-cluster.js";
import { begin, type Traffic } from "../traffic.js";

const STREAMS = Array.from({ length: 9 }, (_, i) => `stream ${i}`);
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

describe.runIf(hasRedis)("on a Redis Cluster of three masters with a replica each", () => {
  const made = atRest();
  let cluster: RedisClusterServer;
  beforeAll(async () => {
    cluster = await startCluster(1);
  }, 60_000);
  afterAll(() => cluster.remove());

  const cases = Object.entries(faults).flatMap(([name, fail]) =>
    Object.entries(clients).map(([also, options]) => ({ name: `${name}${also}`, fail, options })),
  );
  test.each(cases)(
    "when a master $name amid appends, tails and messages, each stream goes on without a gap or ends in a typed error",
    async ({ name, fail, options }) => {
      const make = () => ({ redis: cluster.client(options), timeout: 3000, lease: 20_000 });
      const servers = {
        writer: made.log(make()),
        reader: made.log(make()),
        publisher: made.pubSub(make()),
        subscriber: made.pubSub(make()),
      };
      const all = await Promise.all(STREAMS.map((stream) => begin(servers, `${stream} ${name}`)));
      const hit = all[0]!;
      await vi.waitFor(() => {
        for (const { read, received } of all) expect(Math.min(read.length, received.length)).toBeGreaterThan(SOME);
      }, 10_000);
      const repair = await fail(cluster, `parlance:${hit.stream}`);
      const codes = await goesOn(all);
      console.log(
        `when a master ${name}: ${all.length - codes.length} of ${all.length} streams were written to their end`,
        codes,
      );
      for (const traffic of all) await isWhole(traffic);

      // A subscriber receives again, and is counted: on the node that has the slot now.
      for (const { stream, received } of all) {
        await vi.waitFor(async () => expect(await servers.publisher.publish(stream, "after")).toBe(1), 20_000);
        await vi.waitFor(() => expect(received).toContain("after"), 10_000);
      }
      expect(hit.interrupted()).toBeGreaterThan(0);
      await repair();
      const fresh = await begin(servers, `fresh ${name}`);
      await vi.waitFor(() => expect(fresh.read.length).toBeGreaterThan(SOME), 10_000);
      fresh.finish();
      await isWhole(fresh);
      expect(await fresh.written).toBeUndefined();
      for (const { drop } of [...all, fresh]) await drop();
      expect(servers.writer.stats()).toMatchObject({ streams: 0, calls: 0, timers: 0 });
    },
    60_000,
  );
});

/** Waits until each writer has gone on or failed, and lets them finish. Resolves to the codes of those that failed. */
async function goesOn(all: readonly Traffic[]): Promise<readonly string[]> {
  const marks = all.map(({ appended }) => appended() + SOME);
  const codes: string[] = [];
  for (const { written } of all) void written.then((error) => error && codes.push(error.code));
  await vi.waitFor(() => {
    const going = all.filter(({ appended }, i) => appended() >= marks[i]!).length;
    expect(going + codes.length).toBeGreaterThanOrEqual(all.length);
  }, 20_000);
  for (const { finish } of all) finish();
  await Promise.all(all.map(({ written }) => written));
  return codes;
}

/** The reader has the entries from the first one on without a gap; all of them, unless it or the writer ended in an error. */
async function isWhole({ stream, read, written, ended, appended }: Traffic): Promise<void> {
  const errors = [await written, await ended];
  expect(
    read.map(({ seq, text }) => `${seq} ${text}`),
    stream,
  ).toEqual(read.map((_, i) => `${i + 1} text ${i + 1}`));
  for (const error of errors) if (error) expect(error.name, error.stack).toBe("RedisStoreError");
  if (!errors.some(Boolean)) expect(read, stream).toHaveLength(appended());
}
