import { setImmediate as tick } from "node:timers/promises";
import type { EventWriter } from "@parlance/server/resume";
import { type RedisLog, type RedisPubSub, redisLog } from "@parlance/store-redis";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { atRest, expectZero } from "../at-rest.js";
import { latency } from "../latency.js";
import { hasRedis, type RedisServer, startRedis } from "../redis.js";

const signal = new AbortController().signal;
const IDLE = { streams: 0, tails: 0, subscriptions: 0, calls: 0, timers: 0 };

describe.runIf(hasRedis)("the lifetimes of what redisLog and redisPubSub hold:", () => {
  const made = atRest();
  let server: RedisServer;
  beforeEach(async () => {
    server = await startRedis();
  });
  afterEach(() => server.remove());

  const log = (options: Partial<Parameters<typeof made.log>[0]> = {}): RedisLog =>
    made.log({ redis: server.client(), ...options });
  const pubSub = (options: Partial<Parameters<typeof made.pubSub>[0]> = {}): RedisPubSub =>
    made.pubSub({ redis: server.client(), ...options });

  test("what Redis answers after the process stood still is in time, also where its way takes several turns", async () => {
    const way = await latency(server.path);
    way.set(5);
    const redis = new Redis(way.port, "127.0.0.1");
    const one = pubSub({ redis, timeout: 500 });
    await vi.waitFor(() => one.publish("topic", "first"));
    await tick();
    const published = one.publish("topic", "second");
    while (one.stats().calls === 0) await undefined;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
    await expect(published).resolves.toBe(0);
    redis.disconnect();
    await way.close();
  });

  test("dropped streams leave nothing behind but the connection, nor do tails that were aborted, left, or read to the end", async () => {
    const one = log();
    const writers: EventWriter[] = [];
    for (const stream of ["a", "b", "c"]) {
      const writer = (await one.open(stream))!;
      await writer.append(1, "one");
      writers.push(writer);
    }
    expect(one.stats()).toMatchObject({ streams: 3, timers: 1 });
    const aborting = new AbortController();
    const [ended, left, aborted] = [
      one.tail("a", 0, signal),
      one.tail("b", 0, signal),
      one.tail("c", 0, aborting.signal),
    ];
    const iterator = aborted[Symbol.asyncIterator]();
    await iterator.next();
    const next = iterator.next();
    for await (const _ of left) break;
    await writers[0]!.close();
    for await (const _ of ended);
    expect(one.stats()).toMatchObject({ streams: 2, tails: 1, subscriptions: 1 });
    aborting.abort();
    expect((await next).done).toBe(true);
    for (const writer of writers) await writer.drop();
    expect(one.stats()).toEqual({ ...IDLE, connections: 1 });
  });

  test("a stream that is closed is not refreshed, and its name is free once Redis has forgotten it", async () => {
    const one = log({ keep: 50 });
    const old = (await one.open("closed"))!;
    await old.close();
    expect(one.stats()).toEqual({ ...IDLE, connections: 0 });
    const writer = await vi.waitFor(async () => {
      const opened = await one.open("closed");
      expect(opened).toBeDefined();
      return opened!;
    });
    await old.drop();
    await expect(old.append(1, "one")).rejects.toMatchObject({ code: "not_writer" });
    expect(one.stats()).toMatchObject({ streams: 1 });
    await writer.drop();
    expect(one.stats()).toEqual({ ...IDLE, connections: 0 });
  });

  test("the next refresh finds that a lease is lost, and the stream is written no more", async () => {
    const [one, admin] = [log({ lease: 60 }), server.client()];
    const writer = (await one.open("refreshed"))!;
    await admin.del("parlance:{refreshed}:lease");
    await vi.waitFor(() => expect(one.stats()).toMatchObject({ streams: 0, timers: 0 }));
    await expect(writer.append(1, "one")).rejects.toMatchObject({ code: "lease_lost" });
  });

  test("a lease of months does not overflow the timer that refreshes it", async () => {
    const one = log({ lease: 1e10 });
    const admin = server.client();
    await one.open("long");
    await admin.config("RESETSTAT");
    for (let i = 0; i < 50; i++) await one.state("long");
    expect(await admin.info("commandstats")).not.toContain("pexpire");
  });

  test("stop() ends each pending call and tail with a typed error, also while Redis hangs", async () => {
    const [one, other] = [log(), pubSub()];
    const writer = (await one.open("s"))!;
    await writer.append(1, "one");
    const tail = one.tail("s", 1, signal)[Symbol.asyncIterator]();
    const waiting = tail.next();
    await vi.waitFor(() => expect(one.stats()).toMatchObject({ tails: 1, calls: 0, timers: 3 }));
    server.pause();
    const pending = [
      waiting,
      one.open("t"),
      writer.append(2, "two"),
      one.state("s"),
      one.read("s", 0),
      writer.trim(1),
      writer.close(),
      writer.drop(),
      one.tail("s", 0, signal)[Symbol.asyncIterator]().next(),
      other.publish("topic", "text"),
      other.subscribe("topic", () => {}),
    ];
    const settled = Promise.allSettled(pending);
    expectZero([one, other]);
    const stopped = { status: "rejected", reason: { name: "RedisStoreError", code: "stopped" } };
    expect(await settled).toMatchObject(pending.map(() => stopped));
    await expect(one.open("u")).rejects.toMatchObject({ code: "stopped" });
    await expect(other.publish("topic", "text")).rejects.toMatchObject({ code: "stopped" });
    await expect(other.subscribe("topic", () => {})).rejects.toMatchObject({ code: "stopped" });
    await expect(writer.append(3, "three")).rejects.toMatchObject({ code: "stopped" });
    await Promise.all([writer.trim(1), writer.close(), writer.drop()]);
    expectZero([one, other]);
  });

  test("a tail that is aborted while Redis hangs ends at once and holds nothing", async () => {
    const one = log();
    server.pause();
    const aborting = new AbortController();
    const next = one.tail("s", 0, aborting.signal)[Symbol.asyncIterator]().next();
    expect(one.stats()).toMatchObject({ tails: 1, subscriptions: 1 });
    aborting.abort();
    expect(await next).toEqual({ done: true, value: undefined });
    await vi.waitFor(() => expect(one.stats()).toMatchObject(IDLE));
    server.resume();
  });

  test("a subscriber that comes while Redis is down is served once it is back", async () => {
    const [near, far] = [pubSub(), pubSub()];
    await server.kill();
    const received: string[] = [];
    const subscribing = near.subscribe("topic", (text) => received.push(text));
    await server.start();
    const unsubscribe = await subscribing;
    expect(await far.publish("topic", "text")).toBe(1);
    await vi.waitFor(() => expect(received).toEqual(["text"]));
    unsubscribe();
    expect(near.stats()).toEqual({ subscriptions: 0, calls: 0, timers: 0, connections: 1 });
  });

  test("a subscription that fails leaves nothing behind, and a later one on the same topic is received once", async () => {
    const [near, far] = [pubSub({ timeout: 200 }), pubSub()];
    await server.kill();
    const received: string[] = [];
    const failed = near.subscribe("topic", (text) => received.push(`failed ${text}`));
    await expect(failed).rejects.toMatchObject({ code: "timeout" });
    await vi.waitFor(() => expect(near.stats()).toMatchObject({ subscriptions: 0, calls: 0 }));
    await server.start();
    await vi.waitFor(() => near.subscribe("topic", (text) => received.push(text)));
    expect(await far.publish("topic", "text")).toBe(1);
    await vi.waitFor(() => expect(received).toEqual(["text"]));
  });

  test("an interrupted subscriber is called once everything is received again", async () => {
    const [near, far] = [pubSub(), pubSub()];
    const events: string[] = [];
    await near.subscribe(
      "topic",
      (text) => events.push(text),
      () => {
        events.push("interrupted");
        far.publish("topic", "after").catch(() => {});
      },
    );
    await server.kill();
    await server.start();
    await vi.waitFor(() => expect(events).toEqual(["interrupted", "after"]), 10_000);
  });

  test("texts of one sender arrive in order, while their connections are cut again and again", async () => {
    const [near, far, admin] = [pubSub(), pubSub(), server.client()];
    const received: number[] = [];
    await near.subscribe("topic", (text) => received.push(Number(text)));
    for (let sent = 0; sent < 2000; sent += 100) {
      const published = Array.from({ length: 100 }, (_, i) => far.publish("topic", `${sent + i}`).catch(() => 0));
      await admin.call("CLIENT", "KILL", "TYPE", sent % 200 === 0 ? "pubsub" : "normal");
      await Promise.all(published);
    }
    await vi.waitFor(async () => expect(await far.publish("topic", "2000")).toBe(1));
    await vi.waitFor(() => expect(received).toContain(2000));
    // A text whose answer was lost is sent again: from there on the order holds again.
    const firsts = received.filter((seq, i) => received.indexOf(seq) === i);
    expect(firsts).toEqual([...firsts].sort((a, b) => a - b));
  });

  test("a client without the permission is refused at once", async () => {
    await server.client().call("ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@all", "-@write", "resetchannels");
    const redis = server.client({ username: "reader", password: "any" });
    const [one, two] = [log({ redis }), pubSub({ redis })];
    const refused = [
      () => one.open("s"),
      () => one.tail("s", 0, signal)[Symbol.asyncIterator]().next(),
      () => two.subscribe("topic", () => {}),
      () => two.publish("topic", "text"),
    ];
    for (const call of refused) await expect(call()).rejects.toMatchObject({ code: "refused" });
    expect(two.stats()).toMatchObject({ subscriptions: 0, calls: 0 });
  });

  test("a client that was disconnected by its owner is refused at once", async () => {
    const redis = server.client();
    const one = log({ redis });
    redis.disconnect();
    await vi.waitFor(() => expect(redis.status).toBe("end"));
    await expect(one.open("s")).rejects.toMatchObject({ code: "refused" });
  });

  test("the check after each test fails for what is left", () => {
    const leaking = { stats: () => ({ timers: 1 }), stop() {} };
    expect(() => expectZero([leaking])).toThrow();
  });

  test("a prefix that takes the hash tags away is refused", () => {
    expect(() => redisLog({ redis: server.client(), prefix: "a{}b:" })).toThrow(RangeError);
  });
});
