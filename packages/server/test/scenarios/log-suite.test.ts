import { type Entry, type EventLog, type EventWriter, memoryLog, testEventLog } from "@parlance/server/resume";
import { expect, test } from "vitest";

// The suite for logs notices what is wrong with one: each defect fails the law that it breaks.

/** A log whose streams have another writer. */
const writing =
  (change: (writer: EventWriter, log: EventLog, stream: string) => Partial<EventWriter>) =>
  (log: EventLog): EventLog => ({
    ...log,
    async open(stream) {
      const writer = await log.open(stream);
      return writer && { ...writer, ...change(writer, log, stream) };
    },
  });

/** A log whose tails give other batches. */
const tailing =
  (change: (batches: AsyncIterable<readonly Entry[]>) => AsyncIterable<readonly Entry[]>) =>
  (log: EventLog): EventLog => ({ ...log, tail: (...given) => change(log.tail(...given)) });

const reading =
  (change: (entries: readonly Entry[]) => readonly Entry[]) =>
  (log: EventLog): EventLog => ({ ...log, read: async (...given) => change(await log.read(...given)) });

type State = NonNullable<Awaited<ReturnType<EventLog["state"]>>>;
const stating =
  (change: (state: State) => Partial<State>) =>
  (log: EventLog): EventLog => ({
    ...log,
    async state(stream) {
      const state = await log.state(stream);
      return state && { ...state, ...change(state) };
    },
  });

/** A second log on the same store. */
const elsewhere = (change: (log: EventLog) => Partial<EventLog>) => (log: EventLog, place: number) =>
  place === 0 ? log : { ...log, ...change(log) };

const idle: EventWriter = {
  epoch: "x",
  append: async () => {},
  trim: async () => {},
  close: async () => {},
  drop: async () => {},
};
const unknown = { epoch: "x", first: 1, last: 0, closed: false };

/** All writers of the logs below, the latest last. */
const writers: EventWriter[] = [];

const DEFECTS: readonly (readonly [what: string, law: string, wrong: (log: EventLog, place: number) => EventLog])[] = [
  [
    "knows a stream that was never opened",
    "never opened",
    (log) => ({ ...log, state: async (stream) => (await log.state(stream)) ?? unknown }),
  ],
  [
    "reads entries of a stream that was never opened",
    "never opened",
    reading((all) => (all.length > 0 ? all : [{ seq: 1, text: "" }])),
  ],
  [
    "makes a stream by reading its tail",
    "never opened",
    (log) => ({
      ...log,
      async *tail(stream, ...rest) {
        await log.open(stream);
        yield* [];
        if (rest[0] < 0) yield* log.tail(stream, ...rest);
      },
    }),
  ],
  [
    "loses a line feed",
    "exactly",
    writing(({ append }) => ({ append: (seq, text) => append(seq, text.replace("\r", "")) })),
  ],
  [
    "keeps the beginning of a long text",
    "exactly",
    writing(({ append }) => ({ append: (seq, text) => append(seq, text.slice(0, 65_536)) })),
  ],
  ["ignores the limit of a read", "exactly", (log) => ({ ...log, read: (stream, after) => log.read(stream, after) })],
  [
    "reads from its cursor, not after it",
    "exactly",
    (log) => ({ ...log, read: (stream, after, limit) => log.read(stream, Math.max(0, after - 1), limit) }),
  ],
  ["states a wrong epoch", "exactly", stating(() => ({ epoch: "other" }))],
  ["states a wrong first entry", "exactly", stating(({ first }) => ({ first: first + 1 }))],
  [
    "is read elsewhere without its last entry",
    "exactly",
    elsewhere((log) => ({ read: async (...given) => (await log.read(...given)).slice(0, -1) })),
  ],
  [
    "changes a text in its tail",
    "exactly",
    tailing(async function* (batches) {
      for await (const batch of batches) yield batch.map(({ seq, text }) => ({ seq, text: text.trim() }));
    }),
  ],
  [
    "gives a second writer",
    "one writer",
    (log, place) => ({ ...log, open: async (stream) => (await log.open(stream)) ?? (place === 0 ? idle : undefined) }),
  ],
  [
    "gives a second writer elsewhere",
    "one writer",
    (log, place) => ({ ...log, open: async (stream) => (await log.open(stream)) ?? (place === 1 ? idle : undefined) }),
  ],
  [
    "takes an entry twice",
    "one writer",
    writing(({ append }) => ({
      append: (seq, text) => (seq === 1 && text === "another" ? undefined : append(seq, text)),
    })),
  ],
  [
    "takes an entry that leaves one out",
    "one writer",
    writing(({ append }) => ({ append: (seq, text) => (seq === 3 ? undefined : append(seq, text)) })),
  ],
  ["gives each life of a stream the same epoch", "life of a stream", writing(() => ({ epoch: "same" }))],
  [
    "forgets to drop",
    "life of a stream",
    (log) => {
      const named = (stream: string) => stream.replace(/2$/, "");
      return {
        ...log,
        open: (stream) => log.open(named(stream)).then((writer) => writer ?? idle),
        read: (stream, ...rest) => log.read(named(stream), ...rest),
      };
    },
  ],
  [
    "lets an old writer append",
    "dropped its stream",
    writing(({ append }) => ({ append: async (seq, text) => append(seq, text)?.catch(() => {}) })),
  ],
  [
    "lets an old writer close its name's next stream",
    "dropped its stream",
    writing((writer) => {
      writers.push(writer);
      return { close: () => writers.at(-1)!.close() };
    }),
  ],
  [
    "lets an old writer trim its name's next stream",
    "dropped its stream",
    writing((writer) => {
      writers.push(writer);
      return { trim: (seq) => writers.at(-1)!.trim(seq) };
    }),
  ],
  [
    "swaps two entries",
    "kept in order",
    tailing(async function* (batches) {
      for await (const batch of batches) yield [...batch].reverse();
    }),
  ],
  [
    "is closed before what was appended",
    "before what closes|stands before",
    writing(({ append, close }) => {
      const late: (() => unknown)[] = [];
      return {
        async append(seq, text) {
          if (seq < 3) return append(seq, text);
          await new Promise<void>((resolve) => late.push(resolve));
        },
        async close() {
          await close();
          for (const go of late) go();
        },
      };
    }),
  ],
  [
    "gives the batch of a slow reader twice",
    "slow reader",
    tailing(async function* (batches) {
      for await (const batch of batches) {
        yield batch;
        if (batch.length > 5) yield batch;
      }
    }),
  ],
  [
    "begins each tail at the beginning",
    "begin anywhere",
    (log) => ({ ...log, tail: (stream, _, signal) => log.tail(stream, 0, signal) }),
  ],
  [
    "gives the tail of an aborted reader",
    "tail that is aborted",
    (log) => ({
      ...log,
      async *tail(stream, after, signal) {
        if (signal.aborted) yield await log.read(stream, after);
        else yield* log.tail(stream, after, signal);
      },
    }),
  ],
  [
    "gives a tail that is left other entries",
    "tail that is aborted",
    (log) => ({
      ...log,
      async *tail(stream, after, signal) {
        for await (const batch of log.tail(stream, after, signal)) yield batch.map(({ seq }) => ({ seq, text: "" }));
      },
    }),
  ],
  [
    "takes an entry after its end",
    "closing ends",
    (log) => {
      let closed = false;
      return writing(({ append, close }) => ({
        append: (seq, text) => (closed ? undefined : append(seq, text)),
        close: async () => {
          closed = true;
          await close();
        },
      }))(log);
    },
  ],
  [
    "forgets its entries when it is closed",
    "closing ends",
    elsewhere((log) => ({
      read: async (stream, ...rest) => ((await log.state(stream))?.closed ? [] : log.read(stream, ...rest)),
    })),
  ],
  ["does not state its end", "closing ends", stating(() => ({ closed: false }))],
  [
    "is opened again after its end",
    "closing ends",
    (log) => ({ ...log, open: async (stream) => (await log.open(stream)) ?? idle }),
  ],
  [
    "cannot be closed twice",
    "closing ends",
    writing(({ close }) => {
      let times = 0;
      return { close: () => (times++ > 0 ? Promise.reject(new Error("closed")) : close()) };
    }),
  ],
  [
    "states a stream that was dropped",
    "dropping ends",
    (log) => {
      const known = new Map<string, State>();
      return {
        ...log,
        async state(stream) {
          return (await log.state(stream)) ?? known.get(stream);
        },
        async open(stream) {
          known.set(stream, unknown);
          return log.open(stream);
        },
      };
    },
  ],
  [
    "takes entries of a stream that was dropped",
    "dropping ends",
    writing(({ append, drop }) => {
      let over = false;
      return {
        append: (seq, text) => (over ? undefined : append(seq, text)),
        drop: async () => {
          over = true;
          await drop();
        },
      };
    }),
  ],
  ["does not trim", "trimming drops", writing(() => ({ trim: async () => {} }))],
  ["states its first entry as before it was trimmed", "trimming drops", stating(() => ({ first: 1 }))],
  [
    "trims all but the last entry",
    "trimming drops",
    writing(({ trim }) => ({ trim: (seq) => trim(Math.min(seq, 9)) })),
  ],
  [
    "leaves out what was trimmed in its tail",
    "trimming drops",
    (log) => ({
      ...log,
      async *tail(stream, after, signal) {
        yield await log.read(stream, after);
        if (signal.aborted) yield* log.tail(stream, after, signal);
      },
    }),
  ],
];

const laws = new Map<string, (log: (own: EventLog, place: number) => EventLog) => Promise<void>>();
let wrong: (log: EventLog, place: number) => EventLog = (log) => log;
testEventLog(
  async () => {
    const own = memoryLog();
    return { log: wrong(own, 0), other: wrong(own, 1), stop() {} };
  },
  (name, run) => {
    laws.set(name, (log) => {
      wrong = log;
      return run();
    });
  },
);
const lawOf = (part: string) => [...laws].find(([name]) => new RegExp(part).test(name))![1];

test("a log without a defect passes each law", async () => {
  for (const run of laws.values()) await run((log) => log);
});

test.each(DEFECTS)("a log that %s fails a law", async (_, law, defect) => {
  await expect(lawOf(law)(defect)).rejects.toBeInstanceOf(Error);
});

test("a log may build its entries and states in any order of their fields", async () => {
  const turned = (entries: readonly Entry[]) => entries.map(({ seq, text }) => ({ text, seq }));
  const own = (log: EventLog): EventLog => ({
    ...log,
    async state(stream) {
      const found = await log.state(stream);
      return found && { closed: found.closed, last: found.last, first: found.first, epoch: found.epoch };
    },
    read: async (...args) => turned(await log.read(...args)),
    async *tail(...args) {
      for await (const entries of log.tail(...args)) yield turned(entries);
    },
  });
  for (const run of laws.values()) await run(own);
});
