import type { MessageStream, Stream } from "@parlance/contract";
import {
  type AnyContract,
  type AnyMessage,
  Disconnected,
  decoder,
  type Gap,
  messageDecoder,
  RESUME,
  type SseDecoder,
  Violation,
} from "@parlance/wire";
import { type ConnectOptions, IDLE_TIMEOUT, MAX_MESSAGE_SIZE } from "./options.js";
import type { Resuming } from "./resuming.js";
import { textOf } from "./text.js";

export interface StreamSource {
  /** The operation's name. */
  readonly name: string;
  readonly stream: Stream;
  /** The caller's own. */
  readonly signal: AbortSignal | undefined;
  /** Sends the request; aborted by the signal. */
  readonly open: (signal: AbortSignal) => Promise<Response>;
  /** Asks for the stream again, or cancels it, with the same key. Absent where nothing is resumed. */
  readonly again:
    | ((method: "GET" | "DELETE", headers: Record<string, string>, signal?: AbortSignal) => Promise<Response>)
    | undefined;
  /** Whether a server that does not know Parlance would take our DELETE for an operation of its own. */
  readonly deletes: boolean;
  /** Asked when the body ends on a stream that declares no end: whether this client ended the session. */
  readonly sessionEnded: () => Promise<boolean>;
  readonly over: () => void;
}

/** The messages of one Server-Sent Events answer. Bytes are read when messages are asked for, so a slow reader slows the network. */
export function messageStream(
  contract: AnyContract,
  connection: ConnectOptions,
  source: StreamSource,
): MessageStream<AnyMessage> {
  const { name, stream } = source;
  const {
    onUnknown,
    onViolation = rethrow,
    maxMessageSize = MAX_MESSAGE_SIZE,
    idleTimeout = IDLE_TIMEOUT,
  } = connection;
  const decode = messageDecoder(contract, { side: "server", names: stream.messages, checks: contract.checks });
  const ends = new Set(stream.end);
  const mayEnd = new Set(stream.mayEnd);
  const abort = new AbortController();

  let ready: AnyMessage[] = [];
  let next = 0;
  /** What comes after the messages that are ready. */
  let after: { readonly error?: unknown } | undefined;
  let mayBeOver = false;
  let bytes: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let text: TextDecoder;
  let events: SseDecoder;
  /** Present once the server has said that this stream can be joined again. */
  let resumed: Resuming | undefined;
  let retry = 0;
  let unanswered = true;

  async function attach(response: Response): Promise<void> {
    bytes = response.body!.getReader();
    if (response.headers.has(RESUME)) {
      resumed ??= await resumption();
      resumed?.joined(response);
    }
    text = new TextDecoder();
    events = decoder({
      maxSize: maxMessageSize,
      onRetry: (milliseconds) => {
        retry = milliseconds;
      },
      onTooLarge: () => finish({ error: violation(`an event is over the limit of ${maxMessageSize} characters`) }),
      onEvent(event) {
        const { id } = event;
        if (after || (resumed && id !== undefined && !inOrder(resumed.next(id)))) return;
        try {
          const read = decode(event);
          if ("unknown" in read) return onUnknown?.(read.unknown);
          ready.push(read.message);
          const { type } = read.message;
          if (ends.has(type)) finish({});
          else if (mayEnd.has(type)) mayBeOver = true;
        } catch (error) {
          if (!(error instanceof Violation)) return finish({ error });
          try {
            onViolation(error);
          } catch (thrown) {
            finish({ error: thrown });
          }
        }
      },
    });
  }

  function inOrder(place: boolean | Gap): boolean {
    if (typeof place === "boolean") return place;
    finish({
      error: new Disconnected(`${contract.name}.${name}: messages after ${place.after} are missing`, {
        code: "gap",
        retryable: false,
        missing: place,
      }),
    });
    return false;
  }

  /** What resuming needs is loaded where a server offers it, or an answer was never seen. */
  async function resumption(): Promise<Resuming | undefined> {
    const { again } = source;
    return again && (await import("./resuming.js")).resuming({ again, connection, signal: abort.signal });
  }

  const onAbort = () => stop({ error: source.signal!.reason }, source.signal!.reason);
  source.signal?.addEventListener("abort", onAbort, { once: true });
  if (source.signal?.aborted) {
    finish({ error: source.signal.reason });
    abort.abort(source.signal.reason);
  }
  const opened = source
    .open(abort.signal)
    .catch(maybeReceived)
    .then(attach)
    .finally(() => {
      unanswered = false;
    });
  opened.catch(() => {});

  function finish(how: { readonly error?: unknown }): void {
    if (after) return;
    after = how;
    source.signal?.removeEventListener("abort", onAbort);
    source.over();
    bytes?.cancel().catch(() => {});
  }

  function cancel(): void {
    ready = [];
    next = 0;
    stop({}, new DOMException("the stream was cancelled", "AbortError"));
  }

  function stop(how: { readonly error?: unknown }, reason: unknown): void {
    // Going away would look like a cut to a server that waits for us, or will once it has answered.
    if (!after && (resumed || (unanswered && !source.deletes))) source.again?.("DELETE", {}).catch(() => {});
    finish(how);
    abort.abort(reason);
  }

  /** Reads until there is a message or the end. */
  async function pull(): Promise<IteratorResult<AnyMessage>> {
    for (;;) {
      if (next < ready.length) return { done: false, value: ready[next++]! };
      if (after) return over(after);
      ready = [];
      next = 0;
      try {
        await (unanswered ? idle(opened) : opened);
        const { done, value } = await idle(bytes!.read().catch(cut));
        if (!done) events.push(text.decode(value, { stream: true }));
        else await bodyEnded();
      } catch (error) {
        if (!after) await lost(abort.signal.aborted ? abort.signal.reason : error);
      }
    }
  }

  function over(how: { readonly error?: unknown }): IteratorResult<AnyMessage> {
    after = {};
    if ("error" in how) throw how.error;
    return { done: true, value: undefined };
  }

  async function bodyEnded(): Promise<void> {
    if (after) return;
    if (mayBeOver || (stream.closedBy !== undefined && (await source.sessionEnded()))) return finish({});
    throw disconnected(`stopped${stream.end ? ` without ${stream.end.join(" or ")}` : ""}`, "ended_early");
  }

  /** The stream was cut: it is joined again where the server knows how, and over otherwise. */
  async function lost(error: unknown): Promise<void> {
    bytes?.cancel().catch(() => {});
    if (!(error instanceof Disconnected) || !resumed) return stop({ error }, error);
    try {
      await attach(await resumed.join(error, retry));
    } catch (cause) {
      // The cut may have hidden the end of a session that this client ended.
      if (stream.closedBy !== undefined && (await source.sessionEnded())) return finish({});
      finish({ error: abort.signal.aborted ? abort.signal.reason : cause });
    }
  }

  /** A request that may have been received is never sent again: where the server knows its key, it is joined. */
  async function maybeReceived(error: unknown): Promise<Response> {
    if (!(error instanceof Disconnected) || error.retryable || !source.again) throw error;
    return (await resumption())!.join(error, 0);
  }

  function disconnected(what: string, code: "ended_early" | "idle", cause?: unknown): Disconnected {
    return new Disconnected(`${contract.name}.${name} ${what}`, { code, retryable: stream.end === undefined, cause });
  }

  /** Whatever the body's reader rejects with: fetches differ in how they name a cut. */
  function cut(cause: unknown): never {
    throw abort.signal.aborted ? abort.signal.reason : disconnected("was cut", "ended_early", cause);
  }

  function violation(what: string): Violation {
    return new Violation(what, { code: "too_large", protocol: contract.name, side: "server", subject: name });
  }

  async function idle<T>(reading: Promise<T>): Promise<T> {
    const limit = resumed?.silence || idleTimeout;
    if (limit === 0) return reading;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(disconnected(`said nothing for ${limit} ms`, "idle")), limit);
    });
    try {
      return await Promise.race([reading, silence]);
    } finally {
      clearTimeout(timer);
    }
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

function rethrow(violation: Violation): never {
  throw violation;
}
