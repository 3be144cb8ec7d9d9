import type { EventWriter } from "@parlance/server/resume";
import type { RedisClient, RedisStoreError } from "@parlance/store-redis";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { atRest } from "../at-rest.js";
import { hasRedis, type RedisServer, startRedis } from "../redis.js";

/** Milliseconds. Redis answers in a few. */
const TIMEOUT = 100;

type Subscribe = (...channels: string[]) => Promise<unknown>;
const later = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/** What becomes of a SUBSCRIBE. */
const FAULTS: Readonly<Record<string, (subscribe: () => Promise<unknown>) => Promise<unknown>>> = {
  "is lost": () => new Promise(() => {}),
  "is executed and never answered": (subscribe) => subscribe().then(() => new Promise(() => {})),
  "is executed after its limit": (subscribe) => later(1.2 * TIMEOUT).then(subscribe),
  "is answered after its limit": (subscribe) => subscribe().finally(() => later(1.2 * TIMEOUT)),
  "is cut": () => Promise.reject(new Error("Connection is closed.")),
};

/** A client of which the first SUBSCRIBEs have a fault. */
function faulty(redis: Redis, fault: (subscribe: () => Promise<unknown>) => Promise<unknown>, times: number): Redis {
  let left = times;
  return new Proxy(redis, {
    get(target, name) {
      if (name === "duplicate")
        return (options: object) => {
          const made = target.duplicate(options);
          const subscribe = made.subscribe.bind(made) as Subscribe;
          made.subscribe = ((...channels: string[]) =>
            left-- > 0 ? fault(() => subscribe(...channels)) : subscribe(...channels)) as never;
          return made;
        };
      const value = Reflect.get(target, name) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe.runIf(hasRedis)("a tail", () => {
  const made = atRest();
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.remove());

  test.each(Object.keys(FAULTS).flatMap((fault) => [1, 3].map((times) => ({ fault, times }))))(
    "whose SUBSCRIBE $fault $times times reads every entry or ends in a typed error, and so does the next one",
    async ({ fault, times }) => {
      const stream = `${fault} ${times}`;
      const writer = made.log({ redis: server.client() as RedisClient });
      const redis = faulty(server.client(), FAULTS[fault]!, times) as RedisClient;
      // A tail that missed its wake-ups would find the entries after half a lease.
      const reader = made.log({ redis, timeout: TIMEOUT, lease: 600_000 });
      const { append, close, drop } = (await writer.open(stream)) as EventWriter;
      const [read, errors]: [number[], RedisStoreError[]] = [[], []];
      await append(1, "before");
      // A few more tries than there are faults must do, whatever those before have left behind.
      for (let tries = 0; tries < times + 3 && read.length < 3; tries++) {
        try {
          for await (const entries of reader.tail(stream, read.length, new AbortController().signal)) {
            read.push(...entries.map(({ seq }) => seq));
            if (read.length === 1) await append(2, "while it is read");
            if (read.length !== 2) continue;
            await append(3, "while it waits");
            await close();
          }
        } catch (error) {
          errors.push(error as RedisStoreError);
        }
      }
      expect(read).toEqual([1, 2, 3]);
      expect(errors).toMatchObject(errors.map(() => ({ name: "RedisStoreError", code: "timeout" })));
      await drop();
    },
  );
});

describe.runIf(hasRedis)("a pub/sub", () => {
  const made = atRest();
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.remove());

  test("drops a connection once, however many subscriptions fail on it", async () => {
    const redis = server.client();
    const drops: number[] = [];
    const counted = new Proxy(redis, {
      get(target, name) {
        if (name !== "duplicate") return Reflect.get(target, name, target);
        return (options: object) => {
          const own = target.duplicate(options);
          const { disconnect } = own;
          const at = drops.push(0) - 1;
          own.disconnect = (...how) => {
            drops[at]!++;
            disconnect.apply(own, how);
          };
          if (at === 0)
            own.subscribe = (() => later(10).then(() => Promise.reject(new Error("Connection is closed.")))) as never;
          return own;
        };
      },
    });
    const pubSub = made.pubSub({ redis: counted as RedisClient });
    const topics = Array.from({ length: 20 }, (_, i) => `topic ${i}`);
    await Promise.all(topics.map((topic) => pubSub.subscribe(topic, () => {})));
    expect(drops).toEqual([1, 0]);
  });
});
