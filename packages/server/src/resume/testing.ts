import type { Entry, EventLog, EventWriter } from "./event-log.js";

/** A log to be tested. */
export interface LogUnderTest {
  readonly log: EventLog;
  /** Another log on the same store, as another server would have it. Leave it out where there is no such thing. */
  readonly other?: EventLog | undefined;
  stop(): void | Promise<void>;
}

/**
 * What an `EventLog` must do, as tests for any runner: `testEventLog(make, test)` with the `test(name, fn)` of vitest, `node:test`
 * or the like. A test that fails rejects with an `Error`. Each test makes a log of its own; none of them sleeps.
 */
export function testEventLog(
  make: () => Promise<LogUnderTest>,
  test: (name: string, fn: () => Promise<void>) => unknown,
): void {
  for (const [name, run] of Object.entries(laws))
    test(name, async () => {
      const { log, other = log, stop } = await make();
      const left = new AbortController();
      try {
        await run({ log, other, signal: left.signal, stream: `["stream",${JSON.stringify(crypto.randomUUID())}]` });
      } finally {
        left.abort();
        await stop();
      }
    });
}

interface Setting {
  readonly log: EventLog;
  readonly other: EventLog;
  readonly stream: string;
  readonly signal: AbortSignal;
}

const laws: Readonly<Record<string, (setting: Setting) => Promise<void>>> = {
  async "a stream that was never opened is unknown everywhere"({ log, stream, signal }) {
    same(await log.state(stream), undefined);
    same(await log.read(stream, 0), []);
    same(await collect(log.tail(stream, 0, signal)), []);
    same(await log.state(stream), undefined);
  },

  async "what is appended is read again, exactly, here and elsewhere"({ log, other, stream }) {
    const writer = await opened(log, stream);
    const texts = [
      "one",
      "",
      "line\nline\r\n\r\n",
      'quote " \\ /',
      "\u0000\u0001",
      "é 漢 🙂 \u2028",
      "x".repeat(100_000),
    ];
    for (const [i, text] of texts.entries()) await writer.append(i + 1, text);
    const entries = texts.map((text, i) => ({ seq: i + 1, text }));
    for (const one of [log, other]) {
      same(await one.read(stream, 0), entries);
      same(await one.read(stream, 2, 2), entries.slice(2, 4));
      same(await one.read(stream, texts.length), []);
      same(await one.state(stream), { epoch: writer.epoch, first: 1, last: texts.length, closed: false });
    }
    same(await firsts(other.tail(stream, 0, new AbortController().signal), texts.length), entries);
  },

  async "a stream has one writer"({ log, other, stream }) {
    const writer = await opened(log, stream);
    same(await log.open(stream), undefined);
    same(await other.open(stream), undefined);
    await writer.append(1, "one");
    await rejects("an append that was made before", writer.append(1, "another"));
    await rejects("an append that leaves one out", writer.append(3, "three"));
    same(await other.read(stream, 0), [{ seq: 1, text: "one" }]);
    same((await other.state(stream))?.epoch, writer.epoch);
  },

  async "two streams do not see each other, and each life of a stream has an epoch of its own"({ log, stream }) {
    const first = await opened(log, stream);
    const second = await opened(log, `${stream}2`);
    await first.append(1, "one");
    same(await log.read(`${stream}2`, 0), []);
    await first.drop();
    const again = await opened(log, stream);
    same(new Set([first.epoch, second.epoch, again.epoch]).size, 3);
    same(await log.read(stream, 0), []);
    await again.append(1, "one again");
    same(await log.read(stream, 0), [{ seq: 1, text: "one again" }]);
  },

  async "a writer that has dropped its stream does nothing to the next one of that name"({ log, other, stream }) {
    const old = await opened(log, stream);
    await old.append(1, "old");
    await old.drop();
    const writer = await opened(other, stream);
    await writer.append(1, "new");
    await rejects("an append by the old writer", old.append(2, "two"));
    await old.trim(1);
    await old.close();
    await old.drop();
    same(await log.state(stream), { epoch: writer.epoch, first: 1, last: 1, closed: false });
    await writer.append(2, "newer");
    same(await log.read(stream, 0), [
      { seq: 1, text: "new" },
      { seq: 2, text: "newer" },
    ]);
  },

  async "entries that are appended without waiting are kept in order"({ log, other, stream, signal }) {
    const writer = await opened(log, stream);
    const read = collect(other.tail(stream, 0, signal));
    const entries = entriesTo(5000);
    await Promise.all(entries.map(({ seq, text }) => writer.append(seq, text)));
    await writer.close();
    same(await read, entries);
  },

  async "an append that is not waited for stands before what closes the stream"({ log, other, stream }) {
    const writer = await opened(log, stream);
    const appended = [1, 2, 3].map((seq) => writer.append(seq, `${seq}`));
    await writer.close();
    await Promise.all(appended);
    same(await other.state(stream).then((state) => state && [state.last, state.closed]), [3, true]);
  },

  async "tails that begin anywhere, before and after the entries, are all woken and see each entry once"({
    log,
    other,
    stream,
  }) {
    const writer = await opened(log, stream);
    const entries = entriesTo(60);
    const reads: { after: number; read: Promise<Entry[]> }[] = [];
    for (const { seq, text } of entries) {
      if (seq % 10 === 1)
        for (const one of [log, other])
          for (const after of [0, Math.floor(seq / 2), seq - 1, seq + 4])
            reads.push({ after, read: collect(one.tail(stream, after, new AbortController().signal)) });
      await writer.append(seq, text);
    }
    await writer.close();
    for (const { after, read } of reads) same(await read, entries.slice(after));
  },

  async "a slow reader gets what came meanwhile"({ log, other, stream, signal }) {
    const writer = await opened(log, stream);
    const tail = other.tail(stream, 0, signal)[Symbol.asyncIterator]();
    await writer.append(1, "1");
    const got = [...((await tail.next()).value as readonly Entry[])];
    // More than a tail should buffer for a reader that does not ask.
    const entries = entriesTo(40).map(({ seq, text }) => ({ seq, text: text.repeat(30_000) }));
    for (const { seq, text } of entries.slice(1)) await writer.append(seq, text);
    await writer.close();
    for (let step = await tail.next(); !step.done; step = await tail.next()) got.push(...step.value);
    same(
      got.map(({ seq, text }) => [seq, text.length]),
      entries.map(({ seq, text }) => [seq, seq === 1 ? 1 : text.length]),
    );
  },

  async "a tail that is aborted ends, and so does one that is left"({ log, other, stream }) {
    const writer = await opened(log, stream);
    const left = new AbortController();
    const read = collect(other.tail(stream, 0, left.signal));
    await writer.append(1, "one");
    left.abort();
    await read;
    same(await collect(other.tail(stream, 0, left.signal)), []);
    for await (const entries of other.tail(stream, 0, new AbortController().signal)) {
      same(entries, [{ seq: 1, text: "one" }]);
      break;
    }
  },

  async "closing ends every tail after the last entry; the entries stay"({ log, other, stream, signal }) {
    const writer = await opened(log, stream);
    await writer.append(1, "one");
    const tails = [log, other].map((one) => collect(one.tail(stream, 0, signal)));
    await writer.close();
    await writer.close();
    for (const read of tails) same(await read, [{ seq: 1, text: "one" }]);
    await rejects("an append to a closed stream", writer.append(2, "two"));
    same(await other.read(stream, 0), [{ seq: 1, text: "one" }]);
    same((await other.state(stream))?.closed, true);
    same(await collect(other.tail(stream, 1, signal)), []);
    same(await log.open(stream), undefined);
  },

  async "dropping ends every tail and forgets the stream"({ log, other, stream, signal }) {
    const writer = await opened(log, stream);
    await writer.append(1, "one");
    const tails = [log, other].map((one) => one.tail(stream, 0, signal)[Symbol.asyncIterator]());
    for (const tail of tails) same((await tail.next()).value, [{ seq: 1, text: "one" }]);
    const ends = tails.map((tail) => tail.next());
    await writer.drop();
    for (const end of ends) same((await end).done, true);
    for (const one of [log, other]) same([await one.state(stream), await one.read(stream, 0)], [undefined, []]);
    await rejects("an append to a stream that is gone", writer.append(2, "two"));
  },

  async "trimming drops what is before, and a tail that needed it rejects"({ log, other, stream, signal }) {
    const writer = await opened(log, stream);
    for (const { seq, text } of entriesTo(10)) await writer.append(seq, text);
    await writer.trim(4);
    same(await other.read(stream, 0).then((entries) => entries.map(({ seq }) => seq)), [5, 6, 7, 8, 9, 10]);
    same(await other.state(stream).then((state) => state && [state.first, state.last]), [5, 10]);
    await rejects("a tail from the beginning", collect(other.tail(stream, 0, signal)));
    await writer.trim(10);
    same(await other.state(stream).then((state) => state && [state.first, state.last]), [11, 10]);
    await rejects("a tail before the end", collect(other.tail(stream, 9, signal)));
    await writer.append(11, "11");
    await writer.close();
    same(await collect(other.tail(stream, 10, signal)), [{ seq: 11, text: "11" }]);
  },
};

async function opened(log: EventLog, stream: string): Promise<EventWriter> {
  const writer = await log.open(stream);
  if (!writer) throw new Error(`${stream} should have been opened`);
  return writer;
}

function entriesTo(count: number): Entry[] {
  return Array.from({ length: count }, (_, i) => ({ seq: i + 1, text: `${i + 1}` }));
}

async function collect(tail: AsyncIterable<readonly Entry[]>): Promise<Entry[]> {
  const all: Entry[] = [];
  for await (const entries of tail) all.push(...entries);
  return all;
}

async function firsts(tail: AsyncIterable<readonly Entry[]>, count: number): Promise<Entry[]> {
  const all: Entry[] = [];
  for await (const entries of tail) {
    all.push(...entries);
    if (all.length >= count) break;
  }
  return all;
}

function same(found: unknown, wanted: unknown): void {
  const [is, should] = [found, wanted].map((value) => canonical(value));
  if (is !== should) throw new Error(`found ${is?.slice(0, 500)}, where ${should?.slice(0, 500)} was expected`);
}

/** JSON with sorted keys, so that two ways to build an object compare equal. */
function canonical(value: unknown): string {
  return String(
    JSON.stringify(value, (_, part: unknown) =>
      part !== null && typeof part === "object" && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort())
        : part,
    ),
  );
}

async function rejects(what: string, done: Promise<unknown> | undefined): Promise<void> {
  try {
    await done;
  } catch {
    return;
  }
  throw new Error(`${what} should have been rejected`);
}
