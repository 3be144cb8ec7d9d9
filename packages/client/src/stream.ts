import type { MessageStream, Stream } from "@parlance/contract";
import {
  type AnyContract,
  type AnyMessage,
  codec,
  Disconnected,
  decoder,
  unfaultMessage,
  Violation,
} from "@parlance/wire";
import { type ConnectOptions, IDLE_TIMEOUT, MAX_MESSAGE_SIZE } from "./options.js";

export interface StreamSource {
  /** The operation's name. */
  readonly name: string;
  readonly stream: Stream;
  /** Sends the request; aborted by the signal. */
  readonly open: (signal: AbortSignal) => Promise<Response>;
  /** Asked when the body ends on a stream that declares no end: whether this client ended the session. */
  readonly sessionEnded: () => Promise<boolean>;
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
  const messages = codec(contract, { side: "server", names: stream.messages, checks: contract.checks });
  const ends = new Set(stream.end);
  const mayEnd = new Set(stream.mayEnd);
  const abort = new AbortController();
  const text = new TextDecoder();

  let ready: AnyMessage[] = [];
  let next = 0;
  /** What comes after the messages that are ready. */
  let after: { readonly error?: unknown } | undefined;
  let mayBeOver = false;
  let bytes: ReadableStreamDefaultReader<Uint8Array> | undefined;

  const events = decoder({
    maxSize: maxMessageSize,
    onEvent({ event, data }) {
      if (after) return;
      try {
        const read = messages.decode({ event, data });
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
    onTooLarge: () =>
      finish({
        error: new Violation(`an event is over the limit of ${maxMessageSize} characters`, {
          code: "too_large",
          protocol: contract.name,
          side: "server",
          subject: name,
        }),
      }),
  });

  const opened = source.open(abort.signal).then((response) => {
    bytes = response.body!.getReader();
  });
  opened.catch(() => {});

  function finish(how: { readonly error?: unknown }): void {
    after ??= how;
    bytes?.cancel().catch(() => {});
  }

  function cancel(): void {
    ready = [];
    next = 0;
    finish({});
    abort.abort(new DOMException("the stream was cancelled", "AbortError"));
  }

  /** Reads until there is a message or the end. */
  async function pull(): Promise<IteratorResult<AnyMessage>> {
    for (;;) {
      if (next < ready.length) return { done: false, value: ready[next++]! };
      if (after) return over(after);
      ready = [];
      next = 0;
      try {
        await opened;
        const { done, value } = await idle(bytes!.read());
        if (!done) events.push(text.decode(value, { stream: true }));
        else await bodyEnded();
      } catch (error) {
        // `after` is set by now where this side ended the stream; that is what the reader hears then.
        if (!after) finish({ error: abort.signal.aborted ? abort.signal.reason : asDisconnected(error) });
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
    const missing = stream.end ? ` without ${stream.end.join(" or ")}` : "";
    finish({
      error: new Disconnected(`${contract.name}.${name} stopped${missing}`, {
        code: "ended_early",
        retryable: stream.end === undefined,
      }),
    });
  }

  function asDisconnected(error: unknown): unknown {
    if (!(error instanceof TypeError) || bytes === undefined) return error;
    return new Disconnected(`${contract.name}.${name} was cut`, {
      code: "ended_early",
      retryable: stream.end === undefined,
      cause: error,
    });
  }

  async function idle<T>(reading: Promise<T>): Promise<T> {
    if (idleTimeout === 0) return reading;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(
          new Disconnected(`${contract.name}.${name}: nothing for ${idleTimeout} ms`, {
            code: "idle",
            retryable: stream.end === undefined,
          }),
        );
      }, idleTimeout);
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
    async text() {
      const { append, final = {} } = stream.text ?? {};
      if (!append) throw new TypeError(`${contract.name}.${name} has no text: read its messages`);
      let said = "";
      let failure: AnyMessage | undefined;
      for await (const message of messageStream) {
        const fields = message as unknown as Record<string, string>;
        if (append[message.type]) said += fields[append[message.type]!];
        else if (final[message.type]) said = fields[final[message.type]!]!;
        else if (message.type === stream.fault && (ends.has(message.type) || mayEnd.has(message.type)))
          failure = message;
      }
      if (failure) throw unfaultMessage(contract, failure)!;
      return said;
    },
  };
  return messageStream;
}

function rethrow(violation: Violation): never {
  throw violation;
}
