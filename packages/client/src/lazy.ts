import type { AnyMessage, Input, MessageStream, Refusal, ReopenOptions } from "@parlance/wire";
import { reading } from "@parlance/wire/reading";
import type { ConnectOptions } from "./options.js";

/** What the code of streams makes of one. */
export interface StreamSource<M> {
  readonly opened: Promise<void>;
  /** Whether the stream was cancelled before its reader met the end. */
  readonly cancelled: boolean;
  readonly messages: {
    next(): Promise<IteratorResult<M>>;
    /** Returns all that has arrived, once there is at least one message. */
    batch(): Promise<IteratorResult<M[]>>;
  };
  /** Ends the stream, and drops its unread messages. */
  close(): void;
  text(messages: AsyncIterable<M>): Promise<string>;
  /** Returns the refusal in the last message that reports a failure. */
  failure(): Promise<Refusal | undefined>;
}

/** Presents a stream whose code is still being loaded. `what` names it in errors. */
export function lazy<M>(what: string, load: Promise<StreamSource<M>>): MessageStream<M> {
  let source: StreamSource<M> | undefined;
  const opened = load.then((it) => {
    source = it;
    return it.opened;
  });
  opened.catch(() => {});
  const readers = reading(what, () => source?.cancelled === true);
  function cancel(): void {
    if (source) return source.close();
    load.then((it) => it.close()).catch(() => {});
  }
  const iterable = <T>(next: (it: StreamSource<M>) => Promise<IteratorResult<T>>): AsyncIterable<T> => ({
    [Symbol.asyncIterator]: () => readers(() => (source ? next(source) : load.then(next)), cancel),
  });
  const messages = iterable((it) => it.messages.next());
  const batches = iterable((it) => it.messages.batch());
  return {
    opened,
    cancel,
    failure: async () => (await load).failure(),
    text: async () => (await load).text(messages),
    batches: () => batches,
    ...messages,
  };
}

export interface Opening {
  readonly input: Input;
  readonly options: ReopenOptions;
  /** Absent where nothing is resumed. */
  readonly key: string | undefined;
  /** Whether this client has ended the stream's session. */
  readonly sessionEnded: () => Promise<boolean>;
  /** Called with the milliseconds that the server asked for before a reconnect. */
  readonly over: (retry: number) => void;
}

/** Opens the stream of an operation with options that replace the caller's. */
export type Begin = (how: Partial<Opening>, connection: ConnectOptions) => StreamSource<AnyMessage>;
