import type { MessageStream, Stream } from "@parlance/contract";
import {
  type AnyContract,
  type AnyMessage,
  Disconnected,
  decoder,
  type Gap,
  messageDecoder,
  notify,
  RESUME,
  type SseDecoder,
  Violation,
} from "@parlance/wire";
import { type Lifetime, lifetime, within } from "../lifetime.js";
import { type ConnectOptions, IDLE_TIMEOUT, MAX_MESSAGE_SIZE, rethrow } from "../options.js";
import { type Connection, resuming } from "./resuming.js";
import { textOf } from "./text.js";

export interface StreamSource {
  /** The operation's name. */
  readonly name: string;
  readonly stream: Stream;
  /** The stream's own, under the caller's signals. */
  readonly life: Lifetime;
  /** Sends the request. */
  readonly open: (request: Lifetime) => Promise<Response>;
  /** Asks for the stream again, with the same key. Absent where nothing is resumed. */
  readonly join: undefined | ((headers: Record<string, string>, request: Lifetime) => Promise<Response>);
  /** Tells the server that nobody comes back. `answered`: it has said that this stream can be resumed. */
  readonly abandon: (answered: boolean) => void;
  /** Whether this client ended the session: asked when the body ends on a stream that declares no end. */
  readonly sessionEnded: () => Promise<boolean>;
  readonly over: () => void;
}

/**
 * The state of a stream. The transitions are in `attach`, `rejoin` and `close`, and nowhere else.
 *
 *     connecting ─attach→ open ─rejoin→ rejoining ─attach→ open
 *     any ─close→ closed
 */
type State = "connecting" | "open" | "rejoining" | "closed";

/** The messages of one Server-Sent Events answer. Bytes are read when messages are asked for, so a slow reader slows the network. */
export function messageStream(
  contract: AnyContract,
  connection: ConnectOptions,
  { name, stream, life, ...source }: StreamSource,
): MessageStream<AnyMessage> {
  const {
    onUnknown,
    onViolation = rethrow,
    maxMessageSize = MAX_MESSAGE_SIZE,
    idleTimeout = IDLE_TIMEOUT,
  } = connection;
  const decode = messageDecoder(contract, { side: "server", names: stream.messages, checks: contract.checks });
  const ends = new Set(stream.end);
  const mayEnd = new Set(stream.mayEnd);

  let state: State = "connecting";
  /** Messages that are decoded and not taken yet, from `next` on, and the end that follows them. */
  let ready: AnyMessage[] = [];
  let next = 0;
  let end: { readonly error?: unknown } = {};
  let mayBeOver = false;
  let request = lifetime(life.signal);
  let bytes: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let text: TextDecoder;
  let events: SseDecoder;
  /** Present once the server has said that this stream can be resumed, or its answer was never seen. */
  let resumed: ReturnType<typeof resuming> | undefined;
  let retry = 0;
  let step: Promise<void> | undefined;

  const opened = open().then(attach);
  opened.catch((error: unknown) => close({ error }, error, request.signal.aborted));
  const onAbort = () => close({ error: life.signal.reason }, life.signal.reason, true);
  if (life.signal.aborted) close({ error: life.signal.reason }, life.signal.reason);
  else life.signal.addEventListener("abort", onAbort);

  async function open(): Promise<Connection> {
    try {
      return { request, response: await within(request, idleTimeout, idle, () => source.open(request)) };
    } catch (error) {
      // A request that may have been received is never sent again: where the server knows its key, it is joined.
      if (!(error instanceof Disconnected) || error.code !== "unreachable" || error.retryable || !source.join)
        throw error;
      resumed = resuming(source.join, connection, life);
      return resumed.join(error, 0);
    }
  }

  function attach({ response, request: answered }: Connection): void {
    request = answered;
    bytes = (response.body ?? new Response("").body!).getReader();
    if (source.join && response.headers.has(RESUME)) {
      resumed ??= resuming(source.join, connection, life);
      resumed.joined(response);
    }
    if (state === "closed") return drop(life.signal.reason);
    state = "open";
    text = new TextDecoder();
    events = decoder({
      maxSize: maxMessageSize,
      onRetry: (milliseconds) => {
        retry = milliseconds;
      },
      onTooLarge: () => fail(violation(`an event is over the limit of ${maxMessageSize} characters`)),
      onEvent(event) {
        const { id } = event;
        if (state !== "open" || (resumed && id !== undefined && !inOrder(resumed.next(id)))) return;
        try {
          const read = decode(event);
          if ("unknown" in read) return notify(onUnknown, read.unknown, fail);
          ready.push(read.message);
          const { type } = read.message;
          if (ends.has(type)) close({});
          else if (mayEnd.has(type)) mayBeOver = true;
        } catch (error) {
          if (error instanceof Violation) notify(onViolation, error, fail);
          else fail(error);
        }
      },
    });
  }

  /** Goes on after a cut, where the server knows how. */
  async function rejoin(lost: Disconnected): Promise<void> {
    drop(lost);
    if (!resumed) return close({ error: lost }, lost);
    state = "rejoining";
    try {
      attach(await resumed.join(lost, retry));
    } catch (error) {
      // The cut may have hidden the end of a session that this client ended.
      close(stream.closedBy !== undefined && (await source.sessionEnded()) ? {} : { error }, error);
    }
  }

  /** With a `reason` the request is aborted; `tell` says so to a server that waits for its reader, or will once it has answered. */
  function close(how: { readonly error?: unknown }, reason?: unknown, tell = false): void {
    if (state === "closed") return;
    // Before the abort, which looks like a cut.
    if (tell && (resumed || state === "connecting")) source.abandon(state !== "connecting");
    state = "closed";
    end = how;
    drop(reason);
    if (reason !== undefined) life.abort(reason);
    life.release();
    source.over();
  }

  /** Ends the stream with an error of this side. */
  function fail(error: unknown): void {
    close({ error }, error, true);
  }

  /** Lets go of the connection. */
  function drop(reason?: unknown): void {
    if (reason === undefined) request.release();
    else request.abort(reason);
    bytes?.cancel().catch(() => {});
  }

  function cancel(): void {
    ready = [];
    next = 0;
    close({}, new DOMException("the stream was cancelled", "AbortError"), true);
  }

  function inOrder(place: boolean | Gap): boolean {
    if (typeof place === "boolean") return place;
    fail(
      new Disconnected(`${contract.name}.${name}: messages after ${place.after} are missing`, {
        code: "gap",
        retryable: false,
        missing: place,
      }),
    );
    return false;
  }

  /** Reads until there is a message or the end. */
  async function pull(): Promise<IteratorResult<AnyMessage>> {
    while (next >= ready.length) {
      if (state === "closed") {
        const { error } = end;
        const failed = "error" in end;
        end = {};
        if (failed) throw error;
        return { done: true, value: undefined };
      }
      // One step for all that wait.
      step ??= advance().finally(() => {
        step = undefined;
      });
      await step;
    }
    return { done: false, value: ready[next++]! };
  }

  /** Reads once, or joins again. Never rejects. */
  async function advance(): Promise<void> {
    ready = [];
    next = 0;
    try {
      await opened;
      const { done, value } = await within(request, resumed?.silence || idleTimeout, idle, () =>
        bytes!.read().catch(cut),
      );
      if (!done) events.push(text.decode(value, { stream: true }));
      else await bodyEnded();
    } catch (error) {
      if (state === "closed") return;
      if (error instanceof Disconnected) await rejoin(error);
      else fail(error);
    }
  }

  async function bodyEnded(): Promise<void> {
    if (state === "closed") return;
    if (mayBeOver || (stream.closedBy !== undefined && (await source.sessionEnded()))) return close({});
    throw disconnected(`stopped${stream.end ? ` without ${stream.end.join(" or ")}` : ""}`, "ended_early");
  }

  function disconnected(what: string, code: "ended_early" | "idle", cause?: unknown): Disconnected {
    return new Disconnected(`${contract.name}.${name} ${what}`, { code, retryable: stream.end === undefined, cause });
  }

  function idle(): Disconnected {
    return disconnected(`sent nothing for ${resumed?.silence || idleTimeout} ms`, "idle");
  }

  /** Whatever the body's reader rejects with: fetches differ in how they name a cut. */
  function cut(cause: unknown): never {
    throw disconnected("was cut", "ended_early", cause);
  }

  function violation(what: string): Violation {
    return new Violation(what, { code: "too_large", protocol: contract.name, side: "server", subject: name });
  }

  const iterator: AsyncIterator<AnyMessage> = {
    // Most messages are ready already: they cost one settled promise each.
    next: () => (next < ready.length ? Promise.resolve({ done: false as const, value: ready[next++]! }) : pull()),
    async return() {
      cancel();
      return { done: true, value: undefined };
    },
  };

  const messageStream: MessageStream<AnyMessage> = {
    opened,
    cancel,
    [Symbol.asyncIterator]: () => iterator,
    text: () => textOf(contract, name, stream, messageStream),
  };
  return messageStream;
}
