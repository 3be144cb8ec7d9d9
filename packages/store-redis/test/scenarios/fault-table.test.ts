import type { Entry, EventWriter } from "@parlance/server/resume";
import { type RedisLog, type RedisPubSub, redisLog, redisPubSub } from "@parlance/store-redis";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { expectZero } from "../at-rest.js";
import { clusterAsStore, type Store, startStore } from "../faulty.js";
import { hasRedis } from "../redis.js";
import { type RedisClusterServer, startCluster } from "../redis-cluster.js";

/** Milliseconds that Redis may take. */
const LIMIT = 1000;
const ENTRIES: readonly Entry[] = ["one", "two"].map((text, i) => ({ seq: i + 1, text }));
const signal = new AbortController().signal;

interface Setting {
  /** Has opened the stream `s`. */
  readonly log: RedisLog;
  /** Writes the stream `s`, and has appended two entries. */
  readonly writer: EventWriter;
  /** A log and a pub/sub of another store. */
  readonly other: RedisLog;
  readonly far: RedisPubSub;
  /** Has subscribed to the topic `t`. */
  readonly pubSub: RedisPubSub;
  unsubscribe(): void;
  /** The texts of `t`. */
  readonly received: string[];
}

/** The calls, each with its result where nothing is wrong. */
const calls: Readonly<Record<string, { make(setting: Setting): unknown; result: unknown }>> = {
  open: { make: ({ log }) => log.open("new"), result: expect.objectContaining({ epoch: expect.any(String) }) },
  append: { make: ({ writer }) => writer.append(3, "three"), result: undefined },
  state: {
    make: ({ other }) => other.state("s"),
    result: { epoch: expect.any(String), first: 1, last: 2, closed: false },
  },
  read: { make: ({ other }) => other.read("s", 0), result: ENTRIES },
  tail: {
    make: ({ other }) => firstOf(other.tail("s", 0, signal)),
    result: { done: false, value: ENTRIES },
  },
  trim: { make: ({ writer }) => writer.trim(1), result: undefined },
  close: { make: ({ writer }) => writer.close(), result: undefined },
  drop: { make: ({ writer }) => writer.drop(), result: undefined },
  publish: { make: ({ far }) => far.publish("t", "text"), result: 1 },
  subscribe: { make: ({ pubSub }) => pubSub.subscribe("u", () => {}), result: expect.any(Function) },
  unsubscribe: { make: ({ unsubscribe }) => unsubscribe(), result: undefined },
};
type Call = keyof typeof calls;

const error = (code: string) => ({ name: "RedisStoreError", code });
const timeouts = Object.fromEntries(
  Object.keys(calls)
    .filter((call) => call !== "unsubscribe")
    .map((call) => [call, error("timeout")]),
);

interface Fault {
  begin(store: Store): unknown;
  /** Called when the call is over. */
  end?(store: Store): unknown;
  /** Whether Redis is back within the limit is up to the machine: otherwise a call ends as where it is killed. */
  readonly mayBeLate?: boolean;
  /** What the calls end in, where that is not their result. */
  readonly outcomes: Readonly<Partial<Record<Call, unknown>>>;
}

const faults: Readonly<Record<string, Fault>> = {
  stopped: { begin: (store) => store.pause(), end: (store) => store.resume(), outcomes: timeouts },
  killed: { begin: (store) => store.kill(), end: (store) => store.start(), outcomes: timeouts },
  flushed: {
    begin: (store) => store.flush(),
    outcomes: {
      append: error("entries_lost"),
      state: undefined,
      read: [],
      tail: { done: true, value: undefined },
    },
  },
  full: {
    begin: (store) => store.fill(true),
    end: (store) => store.fill(false),
    outcomes: { open: error("refused"), append: error("refused") },
  },
  late: {
    begin(store) {
      store.pause();
      setTimeout(() => store.resume(), LIMIT / 5);
    },
    outcomes: {},
  },
  restarted: {
    async begin(store) {
      await store.kill();
      void store.start();
    },
    mayBeLate: true,
    // Its own subscription may not be back when the text is sent.
    outcomes: { publish: expect.any(Number) },
  },
  cut: { begin: (store) => store.cut(), outcomes: { publish: expect.any(Number) } },
};

const table = Object.keys(faults).flatMap((fault) => Object.keys(calls).map((call): [string, Call] => [fault, call]));

test(`the table has ${table.length} cases`, () => {
  console.log(
    `faults of Redis: ${Object.keys(calls).length} calls × ${Object.keys(faults).length} = ${table.length} cases`,
  );
  expect(table).toHaveLength(77);
});

describe.runIf(hasRedis)("one Redis that is", () => {
  describe.concurrent.each(table)("%s when %s is called", (fault, call) => {
    test("ends the call as documented, and serves again afterwards", async () => {
      const store = await startStore();
      try {
        await tryCase(store, faults[fault]!, call);
      } finally {
        await store.remove();
      }
    });
  });
});

if (process.env.PARLANCE_LONG)
  describe.runIf(hasRedis)("a Redis Cluster whose nodes are all", () => {
    let cluster: RedisClusterServer;
    beforeAll(async () => {
      cluster = await startCluster(0);
    }, 60_000);
    afterAll(() => cluster.remove());
    // A cluster that was started again serves later than the limit, as one that is killed.
    describe.each(table.filter(([fault]) => fault !== "restarted"))("%s when %s is called", (fault, call) => {
      test("ends the call as documented, and serves again afterwards", () =>
        tryCase(clusterAsStore(cluster), faults[fault]!, call));
    });
  });

async function tryCase(store: Store, { begin, end, mayBeLate, outcomes }: Fault, call: Call): Promise<void> {
  const prefix = `${crypto.randomUUID()}:`;
  const options = () => ({ redis: store.client(), prefix, timeout: LIMIT, lease: 60_000 });
  const [log, other] = [redisLog(options()), redisLog(options())];
  const [pubSub, far] = [redisPubSub(options()), redisPubSub(options())];
  try {
    const writer = (await log.open("s"))!;
    for (const { seq, text } of ENTRIES) await writer.append(seq, text);
    const received: string[] = [];
    const unsubscribe = await pubSub.subscribe("t", (text) => received.push(text));
    const setting = { log, writer, other, pubSub, far, unsubscribe, received };

    await begin(store);
    const outcome = await settle(() => calls[call]!.make(setting));
    await end?.(store);

    const documented = call in outcomes ? outcomes[call] : calls[call]!.result;
    expect([documented, ...(mayBeLate && call in timeouts ? [timeouts[call]] : [])]).toContainEqual(outcome);
    await release(outcome);
    await serves(setting, call === "unsubscribe" ? 0 : 1);
    await isConsistent(setting);
    await writer.drop();
    // Streams are dropped and topics left: only the connections stay.
    unsubscribe();
    await vi.waitFor(() => {
      for (const one of [log, other, pubSub, far])
        for (const [name, count] of Object.entries(one.stats()))
          if (name !== "connections") expect(count, name).toBe(0);
    });
  } finally {
    expectZero([log, other, pubSub, far]);
  }
}

/** Everything works again, on the same objects. */
async function serves({ log, other, pubSub, far, received }: Setting, subscribers: number): Promise<void> {
  // A call that was given up may still be executed; its name is free again a moment later.
  const writer = await vi.waitFor(async () => {
    const opened = await log.open("new");
    expect(opened).toBeDefined();
    return opened!;
  }, 10_000);
  const tail = other.tail("new", 0, signal)[Symbol.asyncIterator]();
  const next = tail.next();
  await writer.append(1, "one");
  expect((await next).value).toEqual([{ seq: 1, text: "one" }]);
  await writer.close();
  expect((await tail.next()).done).toBe(true);
  await writer.drop();

  await vi.waitFor(async () => expect(await far.publish("t", "again")).toBe(subscribers), 10_000);
  if (subscribers > 0) await vi.waitFor(() => expect(received).toContain("again"));
  const texts: string[] = [];
  const unsubscribe = await pubSub.subscribe("v", (text) => texts.push(text));
  expect(await far.publish("v", "fresh")).toBe(1);
  await vi.waitFor(() => expect(texts).toEqual(["fresh"]));
  unsubscribe();
}

/** The stream has no hole: its writer goes on, or it got an error and the readers get what is held, and then one as well. */
async function isConsistent({ writer, other }: Setting): Promise<void> {
  const before = await other.state("s");
  if (before && !before.closed) await settle(() => writer.append(before.last + 1, "next"));
  await writer.close();
  const state = await other.state("s");
  if (!state) return expect(await other.read("s", 0)).toEqual([]);
  expect(state.closed).toBe(true);
  const read: Entry[] = [];
  const end = await settle(async () => {
    for await (const entries of other.tail("s", state.first - 1, signal)) read.push(...entries);
  });
  expect(read.map(({ seq }) => seq)).toEqual(read.map((_, i) => state.first + i));
  const isWhole = read.at(-1)?.seq === state.last;
  expect(end).toEqual(isWhole ? undefined : { name: "RedisStoreError", code: "entries_lost" });
}

/** What a call ends in: its result, or the name and code of its error. */
async function settle(make: () => unknown): Promise<unknown> {
  try {
    return await make();
  } catch (caught) {
    const { name, code, stack } = caught as Error & { code?: unknown };
    return code === undefined ? stack : { name, code };
  }
}

/** Gives up what a call has acquired: a stream or a subscription. */
async function release(outcome: unknown): Promise<void> {
  if (typeof outcome === "function") outcome();
  else if (outcome instanceof Object && "drop" in outcome) await (outcome as EventWriter).drop();
}

async function firstOf<T>(items: AsyncIterable<T>): Promise<IteratorResult<T>> {
  const iterator = items[Symbol.asyncIterator]();
  const first = await iterator.next();
  await iterator.return?.();
  return first;
}
