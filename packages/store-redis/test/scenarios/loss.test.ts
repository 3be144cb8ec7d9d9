import type { Entry, EventLog, EventWriter } from "@parlance/server/resume";
import type { RedisLog } from "@parlance/store-redis";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { atRest } from "../at-rest.js";
import { hasRedis, type RedisServer, startRedis } from "../redis.js";

const signal = new AbortController().signal;
const LOST = { name: "RedisStoreError", code: "entries_lost" };
const entriesTo = (count: number): Entry[] =>
  Array.from({ length: count }, (_, i) => ({ seq: i + 1, text: `text ${i + 1}` }));

describe.runIf(hasRedis)("a Redis that has lost acknowledged entries,", () => {
  const made = atRest();
  let server: RedisServer;
  let redis: Redis;
  beforeAll(async () => {
    server = await startRedis();
    redis = server.client();
  });
  afterAll(() => server.remove());

  const make = (): RedisLog => made.log({ redis: server.client(), lease: 60_000 });
  async function write(log: EventLog, stream: string, entries: readonly Entry[]): Promise<EventWriter> {
    const writer = (await log.open(stream))!;
    for (const { seq, text } of entries) await writer.append(seq, text);
    return writer;
  }
  /** What a replica has that was promoted before the last entries reached it. */
  async function forget(stream: string, entries: readonly Entry[], last: number): Promise<void> {
    await redis.xdel(`parlance:{${stream}}:entries`, ...entries.slice(last).map(({ seq }) => `${seq}-0`));
    await redis.hset(`parlance:{${stream}}`, "last", last);
  }

  test("as after a fail-over: the writer's next entry is rejected, and each reader gets the held entries or a typed error, never a skip", async () => {
    const [log, other] = [make(), make()];
    const entries = entriesTo(10);
    const writer = await write(log, "failed over", entries);
    const tails = [0, 3, 6, 8, 10].map((after) => ({ after, tail: iterate(other, "failed over", after) }));
    for (const { after, tail } of tails)
      if (after < 10) expect((await tail.next()).value).toEqual(entries.slice(after));
    const waiting = tails.map(({ tail }) => settle(tail.next()));
    // All wait for a wake-up; one timer more looks after the connection.
    await vi.waitFor(() => expect(other.stats()).toMatchObject({ calls: 0, timers: tails.length + 1 }));
    await forget("failed over", entries, 6);
    await expect(writer.append(11, "eleven")).rejects.toMatchObject(LOST);
    await expect(writer.append(12, "twelve")).rejects.toMatchObject(LOST);
    // All of them have had the last entry: nothing is missing for them, and the stream is closed.
    for (const end of waiting) expect(await end).toEqual({ done: true, value: undefined });
    expect(await other.state("failed over")).toMatchObject({ last: 10, closed: true });
    for (const after of [0, 3, 6, 8]) {
      const tail = iterate(other, "failed over", after);
      if (after < 6) expect((await tail.next()).value).toEqual(entries.slice(after, 6));
      await expect(tail.next(), `after ${after}`).rejects.toMatchObject(LOST);
    }
    await writer.drop();
    expect(await other.state("failed over")).toBeUndefined();
  });

  test("an entry that Redis refused is missing for every reader, on whichever server, once the stream is closed", async () => {
    const [log, other] = [make(), make()];
    const writer = await write(log, "refused", entriesTo(2));
    const tail = iterate(other, "refused", 0);
    expect((await tail.next()).value).toHaveLength(2);
    const next = settle(tail.next());
    await redis.config("SET", "maxmemory", "1", "maxmemory-policy", "noeviction");
    await expect(writer.append(3, "three")).rejects.toMatchObject({ code: "refused" });
    await redis.config("SET", "maxmemory", "0");
    await writer.close();
    expect(await next).toMatchObject(LOST);
    expect(await other.state("refused")).toMatchObject({ last: 3, closed: true });
  });

  test("a reader that has read further than Redis now holds gets a typed error, also when nothing more is written", async () => {
    const [log, other] = [make(), make()];
    const entries = entriesTo(5);
    await write(log, "silent", entries);
    const tail = iterate(other, "silent", 0);
    expect((await tail.next()).value).toEqual(entries);
    await forget("silent", entries, 3);
    const next = settle(tail.next());
    // Any text makes the reader look.
    await redis.publish("parlance:{silent}:wake", "");
    expect(await next).toMatchObject(LOST);
  });

  test("and where the name is taken anew, a reader of the old run gets no entry of the new one, and the old writer cannot touch it", async () => {
    const other = make();
    const old = await write(make(), "taken", entriesTo(3));
    const tail = iterate(other, "taken", 0);
    expect((await tail.next()).value).toHaveLength(3);
    const next = settle(tail.next());
    await redis.flushall();
    const fresh = await write(make(), "taken", entriesTo(5));
    expect(await next).toMatchObject(LOST);
    await expect(old.append(4, "four")).rejects.toMatchObject(LOST);
    await old.trim(3);
    await old.close();
    await old.drop();
    expect(await other.state("taken")).toMatchObject({ first: 1, last: 5, closed: false });
    await fresh.append(6, "six");
    expect(await other.read("taken", 5)).toEqual([{ seq: 6, text: "six" }]);
  });

  test("a writer trims, closes and drops only its own stream, also where another log has opened the name since", async () => {
    const [log, other] = [make(), make()];
    const old = await write(log, "own", entriesTo(2));
    expect(await other.open("own")).toBeUndefined();
    await old.drop();
    const writer = await write(other, "own", entriesTo(2));
    await old.trim(1);
    await old.close();
    await old.drop();
    expect(await log.state("own")).toEqual({ epoch: writer.epoch, first: 1, last: 2, closed: false });
    await writer.append(3, "three");
  });

  test("a text of another program on a stream's channel does not disturb its readers", async () => {
    const [log, other] = [make(), make()];
    const writer = await write(log, "foreign", entriesTo(1));
    const tail = iterate(other, "foreign", 0);
    await tail.next();
    for (const text of ["", "{", "null", "[]", '["entries"]', '["entries","another","2","x"]', '"dropped"', "1"]) {
      const next = tail.next();
      await redis.publish("parlance:{foreign}:wake", text);
      const seq = (await other.state("foreign"))!.last + 1;
      await writer.append(seq, text);
      expect((await next).value, text).toEqual([{ seq, text }]);
    }
  });
});

function iterate(log: EventLog, stream: string, after: number): AsyncIterator<readonly Entry[]> {
  return log.tail(stream, after, signal)[Symbol.asyncIterator]();
}

async function settle<T>(promise: Promise<T>): Promise<unknown> {
  return promise.catch((error: unknown) => error);
}
