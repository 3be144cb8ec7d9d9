import { type AnyMessage, encode, faultMessage, messageEncoder, Refusal } from "@parlance/wire";
import { queue } from "@parlance/wire/link";
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
  const write = messageEncoder(contract, {
    side: "server",
    names: described.messages,
    checks: contract.checks,
    profile: options.profile,
  });
  const ends = new Set(described.end);
  const mayEnd = new Set(described.mayEnd);
  const patience = options.heartbeat ?? HEARTBEAT;
  const silence = new AbortController();
  const iterator =
    described.closedBy === undefined
      ? messages[Symbol.asyncIterator]()
      : withSession(serving, called, messages, { signal, patience, onSilent: () => silence.abort() });
  const unended = () => new TypeError(`${called.operation} returned without ${[...ends].join(" or ")}`);

  // An iterator by hand: an async generator around the handler's own would cost each message three more promises.
  function blocks(id?: (seq: number) => string): AsyncIterator<string> {
    let waiting: Promise<IteratorResult<AnyMessage>> | undefined = first;
    let last = "";
    let seq = 0;
    let over = false;

    function block(message: AnyMessage): string {
      const { event, data } = write(message);
      hooks?.message?.(called, message, "server");
      return encode({ event, data, id: id?.(++seq) });
    }

    function end(how: "done" | "gone" | "failed"): IteratorResult<string> {
      if (!over) {
        over = true;
        release();
        hooks?.close?.(called, how);
        Promise.resolve(iterator.return?.()).catch(() => {});
      }
      return { done: true, value: undefined };
    }

    function fail(error: unknown): IteratorResult<string> {
      if (over || signal.aborted) return end("gone");
      try {
        const refusal = refusalOf(error);
        tell(hooks, called.request, refusal, error, called.operation);
        if (described.fault === undefined) return end("failed");
        return { done: false, value: block(faultMessage(contract, described.fault, refusal)) };
      } finally {
        end("failed");
      }
    }

    return {
      async next() {
        if (over || ends.has(last)) return end("done");
        try {
          const step = await (waiting ?? iterator.next());
          waiting = undefined;
          if (over) return end("gone");
          if (!step.done) {
            const value = block(step.value);
            last = step.value.type;
            return { done: false, value };
          }
          if (ends.size > 0 && !mayEnd.has(last) && !signal.aborted) throw unended();
          return end("done");
        } catch (error) {
          return fail(error);
        }
      },
      return: async () => end("gone"),
    };
  }

  const first = iterator.next();
  const early = await within(patience, first, silence.signal);
  if (early?.done && ends.size > 0 && !signal.aborted) throw unended();
  // The first message is checked while a status can still say that it is wrong.
  if (early && !early.done) write(early.value);
  hooks?.open?.(called);
  return { blocks, late: early === undefined, leave };
}

/** What is there within so many milliseconds (0 waits for ever), or before the signal says that nothing comes soon. */
async function within<T>(milliseconds: number, coming: Promise<T>, never?: AbortSignal): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    if (milliseconds > 0) timer = setTimeout(resolve, milliseconds, undefined);
    never?.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  return Promise.race([coming, late]).finally(() => clearTimeout(timer));
}

interface InSession {
  readonly signal: AbortSignal;
  /** Milliseconds that the handler has to refuse, before others are heard; 0 for ever. */
  readonly patience: number;
  /** The handler has let the caller in without a word. */
  readonly onSilent: () => void;
}

/** Characters of its own messages that a handler may have waiting beside those that others send. */
const AHEAD = 64 * 1024;

/** The handler's own messages and what others send to the session, until the session ends. */
function withSession(
  serving: Serving,
  called: Called,
  messages: AsyncIterable<AnyMessage>,
  { signal, patience, onSilent }: InSession,
): AsyncIterator<AnyMessage> {
  const key = sessionOf(serving, called) ?? "";
  const { maxQueued = MAX_QUEUED } = serving.options;
  let taken = () => {};
  const inbox = queue<AnyMessage>({ limit: maxQueued, onTake: () => taken() });
  const put = (message: AnyMessage): void => {
    if (!inbox.push(message, JSON.stringify(message).length))
      inbox.end(
        new Refusal(`the reader of session ${key} is more than ${maxQueued} characters behind`, { status: 503 }),
      );
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

  async function* both(): AsyncGenerator<AnyMessage> {
    const onAbort = () => inbox.end();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      // The handler's first step comes before anything else: it may refuse.
      const coming = own.next();
      const first = await within(patience, coming);
      if (first?.done) onSilent();
      else if (first) yield first.value;
      unsubscribe = serving.sessions.subscribe(key, { send: put, end: () => inbox.end() });
      if (!first?.done) drain(first ? own.next() : coming).catch((error) => inbox.end(error));
      yield* inbox;
    } finally {
      signal.removeEventListener("abort", onAbort);
      unsubscribe();
      Promise.resolve(own.return?.()).catch(() => {});
    }
  }
  return both();
}
