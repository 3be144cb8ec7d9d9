import { type AnyMessage, type Codec, encode, faultMessage, Refusal, type Written } from "@parlance/wire";
import { queue } from "@parlance/wire/link";
import { encoderFor } from "./codecs.js";
import { type Called, HEARTBEAT, MAX_QUEUED } from "./options.js";
import type { RunSource } from "./run.js";
import { refusalOf, type Serving, sessionOf, tell } from "./serving.js";

/** How the stream's handler is stopped, and how it hears of it. */
export interface Leaving {
  readonly signal: AbortSignal;
  readonly leave: (reason?: unknown) => void;
  /** The stream is over. */
  readonly release: () => void;
}

/**
 * A handler's messages as blocks of Server-Sent Events. Resolves when the first message is there, so that a handler can still
 * refuse with a status of its own; rejects with what the handler threw before it. After a heartbeat without a message it resolves all
 * the same: a proxy or a caller that hears nothing for longer takes the server for dead.
 */
export async function openStream(
  serving: Serving,
  called: Called,
  messages: AsyncIterable<AnyMessage>,
  { signal, leave, release }: Leaving,
): Promise<RunSource> {
  const { contract, options } = serving;
  const { hooks } = options;
  const described = contract.operations[called.operation]!.answer.stream!;
  const write = encoderFor(contract, {
    side: "server",
    names: described.messages,
    checks: contract.checks,
    profile: options.profile,
  });
  const ends = new Set(described.end);
  const mayEnd = new Set(described.mayEnd);
  const patience = options.heartbeat ?? HEARTBEAT;
  let onSilent = () => {};
  const silence = new Promise<undefined>((resolve) => {
    onSilent = () => resolve(undefined);
  });
  const own = described.closedBy === undefined ? messages[Symbol.asyncIterator]() : undefined;
  const iterator: AsyncIterator<AnyMessage | readonly Said[]> =
    own ?? withSession(serving, called, messages, { write, signal, patience, onSilent });
  const unended = () => new TypeError(`${called.operation} returned without ${[...ends].join(" or ")}`);

  // An iterator by hand: an async generator around the handler's own would cost each message three more promises.
  function blocks(id?: (seq: number) => string): AsyncIterator<readonly string[]> {
    let waiting: typeof first | undefined = first;
    let last = "";
    let seq = 0;
    let over = false;

    function block({ message, written: { event, data } }: Said): string {
      hooks?.message?.(called, message, "server");
      return encode({ event, data, id: id?.(++seq) });
    }

    function end(how: "done" | "gone" | "failed"): IteratorResult<readonly string[]> {
      if (!over) {
        over = true;
        release();
        hooks?.close?.(called, how);
        Promise.resolve(iterator.return?.()).catch(() => {});
      }
      return { done: true, value: undefined };
    }

    function fail(error: unknown): IteratorResult<readonly string[]> {
      if (over || signal.aborted) return end("gone");
      try {
        const refusal = refusalOf(error);
        tell(hooks, called.request, refusal, error, called.operation);
        if (described.fault === undefined) return end("failed");
        const message = faultMessage(contract, described.fault, refusal);
        return { done: false, value: [block({ message, written: write(message) })] };
      } finally {
        end("failed");
      }
    }

    return {
      async next() {
        if (over || ends.has(last)) return end("done");
        const texts: string[] = [];
        try {
          const step = await (waiting ?? iterator.next());
          waiting = undefined;
          if (over) return end("gone");
          if (!step.done) {
            for (const said of saidIn(step.value)) {
              texts.push(block(said));
              last = said.message.type;
              if (ends.has(last)) break;
            }
            return { done: false, value: texts };
          }
          if (ends.size > 0 && !mayEnd.has(last) && !signal.aborted) throw unended();
          return end("done");
        } catch (error) {
          const failed = fail(error);
          return texts.length === 0 ? failed : { done: false, value: texts.concat(failed.done ? [] : failed.value) };
        }
      },
      return: async () => end("gone"),
    };
  }

  function saidIn(value: AnyMessage | readonly Said[]): readonly Said[] {
    if (!own) return value as readonly Said[];
    const message = value as AnyMessage;
    return [{ message, written: write(message) }];
  }

  const first = iterator.next();
  const early = await within(patience, first, silence);
  if (early?.done && ends.size > 0 && !signal.aborted) throw unended();
  // The first message is checked while a status can still say that it is wrong.
  if (early && !early.done) saidIn(early.value);
  hooks?.open?.(called);
  return { blocks, late: early === undefined, leave };
}

/** What is there within so many milliseconds (0 waits for ever), or before it is said that nothing comes soon. */
async function within<T>(
  milliseconds: number,
  coming: Promise<T>,
  ...silence: Promise<undefined>[]
): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    if (milliseconds > 0) timer = setTimeout(resolve, milliseconds, undefined);
  });
  return Promise.race([coming, late, ...silence]).finally(() => clearTimeout(timer));
}

/** A message, and how it goes on the wire. */
interface Said {
  readonly message: AnyMessage;
  readonly written: Written;
}

interface InSession {
  readonly write: Codec["encode"];
  readonly signal: AbortSignal;
  /** Milliseconds that the handler has to refuse, before others are heard; 0 for ever. */
  readonly patience: number;
  /** The handler has let the caller in without a word. */
  readonly onSilent: () => void;
}

/** Characters of its own messages that a handler may have waiting beside those that others send. */
const AHEAD = 64 * 1024;
/** Characters that are taken at once: what waits is bounded by `maxQueued`, and what is taken comes on top. */
const TAKEN = 64 * 1024;

/** The handler's own messages and what others send to the session, as many as there are at a time, until the session ends. */
function withSession(
  serving: Serving,
  called: Called,
  messages: AsyncIterable<AnyMessage>,
  { write, signal, patience, onSilent }: InSession,
): AsyncIterator<readonly Said[]> {
  const key = sessionOf(serving, called) ?? "";
  const { maxQueued = MAX_QUEUED } = serving.options;
  let taken = () => {};
  const inbox = queue<Said>({ limit: maxQueued, onTake: () => taken() });
  const put = (message: AnyMessage, saying?: object): void => {
    try {
      const written = write(message, saying);
      if (!inbox.push({ message, written }, written.data.length))
        throw new Refusal(`the reader of session ${key} is more than ${maxQueued} characters behind`, { status: 503 });
    } catch (error) {
      inbox.end(error);
    }
  };
  const own = messages[Symbol.asyncIterator]();
  let unsubscribe = () => {};

  /** The handler is paused while its reader is behind; what others send cannot be. */
  async function drain(coming: Promise<IteratorResult<AnyMessage>>): Promise<void> {
    for (let step = await coming; !step.done; step = await own.next()) {
      put(step.value);
      while (inbox.weight > AHEAD && !inbox.ended)
        await new Promise<void>((resolve) => {
          taken = resolve;
        });
    }
  }

  async function* both(): AsyncGenerator<readonly Said[]> {
    const onAbort = () => inbox.end();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      // The handler's first step comes before anything else: it may refuse.
      const coming = own.next();
      const first = await within(patience, coming);
      if (first?.done) onSilent();
      else if (first) yield [{ message: first.value, written: write(first.value) }];
      unsubscribe = serving.sessions.subscribe(key, { send: put, end: () => inbox.end() });
      if (!first?.done) drain(first ? own.next() : coming).catch((error) => inbox.end(error));
      for await (const said of inbox) yield [said, ...inbox.rest(TAKEN)];
    } finally {
      signal.removeEventListener("abort", onAbort);
      unsubscribe();
      Promise.resolve(own.return?.()).catch(() => {});
    }
  }
  return both();
}
