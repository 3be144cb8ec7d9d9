import { type AnyMessage, type Codec, Refusal, type Written } from "@parlance/wire";
import { queue } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";
import { type Context, sessionOf } from "../call.js";
import type { Called } from "../options.js";

/** A message beside its encoded form. */
export interface Encoded {
  readonly message: AnyMessage;
  readonly written: Written;
  /** It was sent to the session, not by the stream's own handler. */
  readonly foreign?: boolean;
}

/** Characters of its own messages that a handler may have waiting beside those that others send. */
const AHEAD = 64 * 1024;
/** Characters that are taken at once: what waits is bounded by `maxQueued`, and what is taken comes on top. */
const TAKEN = 64 * 1024;

/** A handler's messages, and those that others send to its session, in one order. */
export interface Merged extends AsyncIterator<readonly Encoded[]> {
  /** Resolves when the handler has returned before its first message: the caller is let in, and messages of others may follow. */
  readonly handlerDone: Promise<void>;
  /** Notes the place of a message that others sent. */
  place(message: AnyMessage, seq: number): void;
  /** The reader has everything up to a place. */
  delivered(seq: number): void;
  /** Messages of others that no reader has got, oldest first. */
  undelivered(): readonly AnyMessage[];
}

/** Merges until the session ends or the scope closes. The handler's first step comes before anything else, because it may refuse. */
export function mergeSession(
  context: Context,
  called: Called,
  own: AsyncIterator<AnyMessage>,
  encode: Codec["encode"],
  scope: Scope,
): Merged {
  const key = sessionOf(context, called) ?? "";
  const { sessions, limits } = context;
  let taken = () => {};
  const inbox = queue<Encoded>({ limit: limits.maxQueued, onTake: () => taken() });
  scope.measure("queued", () => inbox.weight);
  scope.add(() => {
    inbox.end();
    taken();
  });
  let handlerIsDone = () => {};
  const handlerDone = new Promise<void>((resolve) => {
    handlerIsDone = resolve;
  });
  const placed: { readonly message: AnyMessage; readonly seq: number }[] = [];

  /** Throws `Violation` for a wrong message. A reader that is too far behind ends. */
  function put(message: AnyMessage, foreign: boolean, batch?: object): void {
    const written = encode(message, batch);
    if (inbox.push({ message, written, foreign }, written.data.length)) return;
    const behind = `the reader of session ${key} is more than ${limits.maxQueued} characters behind`;
    inbox.end(new Refusal(behind, { status: 503 }));
  }

  /** The handler is paused while its reader is behind; senders of other messages cannot be. */
  async function drain(coming: Promise<IteratorResult<AnyMessage>>): Promise<void> {
    for (let step = await coming; !step.done && !scope.closed; step = await own.next()) {
      put(step.value, false);
      while (inbox.weight > AHEAD && !inbox.ended)
        await new Promise<void>((resolve) => {
          taken = resolve;
        });
    }
  }

  async function* both(): AsyncGenerator<readonly Encoded[]> {
    const coming = own.next();
    coming.catch(() => {});
    const first = await stepWithin(limits.heartbeat, coming, scope);
    if (first?.done) handlerIsDone();
    else if (first) yield [{ message: first.value, written: encode(first.value) }];
    const send = (message: AnyMessage, batch?: object): void => put(message, true, batch);
    sessions.subscribe(key, { send, end: () => inbox.end() }, scope);
    if (!first?.done) drain(first ? own.next() : coming).catch((error) => inbox.end(error));
    for await (const encoded of inbox) yield [encoded, ...inbox.rest(TAKEN)];
  }

  const messages = both();
  return {
    next: () => messages.next(),
    handlerDone,
    place: (message, seq) => void placed.push({ message, seq }),
    delivered(seq) {
      const count = placed.findIndex((one) => one.seq > seq);
      placed.splice(0, count < 0 ? placed.length : count);
    },
    undelivered() {
      const waiting = inbox.rest(Number.POSITIVE_INFINITY).filter(({ foreign }) => foreign);
      return [...placed, ...waiting].map(({ message }) => message);
    },
  };
}

async function stepWithin<T>(milliseconds: number, coming: Promise<T>, scope: Scope): Promise<T | undefined> {
  if (milliseconds === 0) return coming;
  let late = () => {};
  const silence = new Promise<undefined>((resolve) => {
    late = () => resolve(undefined);
  });
  const stop = scope.timeout(milliseconds, late);
  try {
    return await Promise.race([coming, silence]);
  } finally {
    stop();
  }
}
