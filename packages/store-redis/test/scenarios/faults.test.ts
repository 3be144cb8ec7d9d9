import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Entry, EventLog } from "@parlance/server/resume";
import type { RedisLog } from "@parlance/store-redis";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { atRest } from "../at-rest.js";
import { guard } from "../guarded.js";
import { hasRedis, type RedisServer, startRedis } from "../redis.js";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const open = new AbortController().signal;

describe.runIf(hasRedis)("redisLog", () => {
  let server: RedisServer;
  let redis: Redis;
  const made = atRest();
  beforeAll(async () => {
    server = await startRedis();
    redis = server.client();
  });
  afterAll(() => server.remove());

  function make(options: Partial<Parameters<typeof made.log>[0]> = {}): RedisLog {
    return made.log({ redis: server.client(), lease: 1000, ...options });
  }

  test("when a writer is killed, its readers get what it had written, and then the stream is closed for good", async () => {
    const script = fileURLToPath(new URL("../writer.ts", import.meta.url));
    const args = ["--import", "tsx", script, server.path, "killed", "1000"];
    const env = { ...process.env, NODE_OPTIONS: "", TSX_TSCONFIG_PATH: "tsconfig.json" };
    const writer = await guard(dirname(server.path), process.execPath, args, { cwd: root, env });
    const log = make();
    const { value: epoch } = await writer.lines.next();
    const reading = collect(log, "killed");
    let acknowledged = 0;
    while (acknowledged < 200) acknowledged = Number((await writer.lines.next()).value);
    await writer.kill();
    const read = await reading;
    expect(read.length).toBeGreaterThanOrEqual(acknowledged);
    expect(read.map(({ seq, text }) => `${seq} ${text}`)).toEqual(read.map((_, i) => `${i + 1} text ${i + 1}`));
    expect(await log.state("killed")).toEqual({ epoch, first: 1, last: read.length, closed: true });
    expect(await collect(log, "killed", read.length)).toEqual([]);
  });

  test("a writer that was taken for dead can write no more when it comes back", async () => {
    const log = make();
    const writer = (await log.open("paused"))!;
    await writer.append(1, "one");
    // What happens to a process that is stopped for longer than its lease.
    await redis.del("parlance:{paused}:lease");
    expect(await collect(make(), "paused")).toEqual([{ seq: 1, text: "one" }]);
    await expect(writer.append(2, "two")).rejects.toThrow("the lease of paused is lost: entry 2 is not written");
    await expect(writer.append(3, "three")).rejects.toThrow("the lease of paused is lost");
    expect(await log.read("paused", 1)).toEqual([]);
  });

  test("what is appended while Redis is killed and started again is there once, in order, and its readers go on", async () => {
    const [log, other] = [make({ lease: 60_000 }), make({ lease: 60_000 })];
    const writer = (await log.open("restart"))!;
    const reading = collect(other, "restart");
    const appended: Promise<void>[] = [];
    let seq = 0;
    const append = (count: number) => {
      for (let i = 0; i < count; i++) appended.push(writer.append(++seq, `text ${seq}`)!);
    };
    append(500);
    await appended[0];
    append(500);
    await server.kill();
    append(500);
    await server.start();
    append(500);
    await Promise.all(appended);
    await writer.close();
    expect((await reading).map(({ seq, text }) => `${seq} ${text}`)).toEqual(
      Array.from({ length: 2000 }, (_, i) => `${i + 1} text ${i + 1}`),
    );
  });

  test("a Redis that was emptied ends the stream in a typed error, for the writer and for its readers", async () => {
    const [log, other] = [make(), make()];
    const writer = (await log.open("emptied"))!;
    await writer.append(1, "one");
    const tail = other.tail("emptied", 0, open)[Symbol.asyncIterator]();
    expect((await tail.next()).value).toEqual([{ seq: 1, text: "one" }]);
    await redis.flushall();
    const ends = await Promise.allSettled([tail.next(), writer.append(2, "two")]);
    const lost = { status: "rejected", reason: { code: "entries_lost" } };
    expect(ends).toMatchObject([lost, lost]);
  });

  test("an entry whose wake-up call is lost is found by its number", async () => {
    const log = make({ lease: 60_000 });
    const writer = (await log.open("unheard"))!;
    await writer.append(1, "one");
    const tail = make({ lease: 60_000 }).tail("unheard", 0, open)[Symbol.asyncIterator]();
    expect((await tail.next()).value).toHaveLength(1);
    const next = tail.next();
    await redis.xadd("parlance:{unheard}:entries", "2-0", "text", "two");
    await redis.hset("parlance:{unheard}", "last", "2");
    await writer.close();
    expect((await next).value).toEqual([{ seq: 2, text: "two" }]);
    expect((await tail.next()).done).toBe(true);
  });

  test("only about so many entries are kept, and a reader that needs an older one gets a typed error", async () => {
    const log = make({ maxLength: 200 });
    const writer = (await log.open("long"))!;
    await Promise.all(Array.from({ length: 1000 }, (_, i) => writer.append(i + 1, "text")));
    const { first, last } = (await log.state("long"))!;
    expect(last).toBe(1000);
    expect(first).toBeGreaterThan(600);
    expect(first).toBeLessThanOrEqual(801);
    await expect(collect(log, "long")).rejects.toThrow(`entries 1 to ${first - 1} of long are gone`);
  });

  test("everything in Redis expires", async () => {
    const log = make({ keep: 100_000 });
    await redis.flushall();
    const writer = (await log.open("expiring"))!;
    await writer.append(1, "one");
    const keys = await redis.keys("*");
    expect(keys.sort()).toEqual(["", ":entries", ":lease"].map((rest) => `parlance:{expiring}${rest}`));
    for (const key of keys) expect(await redis.pttl(key)).toBeGreaterThan(0);
    await writer.close();
    expect((await redis.keys("*")).length).toBe(2);
    await writer.drop();
    expect(await redis.keys("*")).toEqual([]);
  });

  test("a client with a key prefix of its own works as well", async () => {
    const log = make({ redis: server.client({ keyPrefix: "mine:" }), lease: 60_000 });
    const writer = (await log.open("prefixed"))!;
    await writer.append(1, "one");
    const tail = log.tail("prefixed", 0, open)[Symbol.asyncIterator]();
    expect((await tail.next()).value).toEqual([{ seq: 1, text: "one" }]);
    const next = tail.next();
    await writer.append(2, "two");
    expect((await next).value).toEqual([{ seq: 2, text: "two" }]);
    expect(await redis.exists("mine:parlance:{prefixed}")).toBe(1);
  });
});

async function collect(log: EventLog, stream: string, after = 0): Promise<Entry[]> {
  const all: Entry[] = [];
  for await (const entries of log.tail(stream, after, open)) all.push(...entries);
  return all;
}
