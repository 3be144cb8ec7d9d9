import type { MessageStream } from "@parlance/contract";

/** What the code of streams makes of one. */
export interface StreamSource<M> {
  readonly opened: Promise<void>;
  readonly messages: {
    next(): Promise<IteratorResult<M>>;
    /** Returns all that has arrived, once there is at least one message. */
    batch(): Promise<IteratorResult<M[]>>;
  };
  /** Ends the stream, and drops its unread messages. */
  close(): void;
  text(messages: AsyncIterable<M>): Promise<string>;
}

/** Presents a stream whose code is still being loaded. */
export function lazy<M>(load: Promise<StreamSource<M>>): MessageStream<M> {
  let source: StreamSource<M> | undefined;
  const loaded = load.then((it) => {
    source = it;
    return it;
  });
  const opened = loaded.then((it) => it.opened);
  opened.catch(() => {});
  const iterable = <T>(next: (it: StreamSource<M>) => Promise<IteratorResult<T>>): AsyncIterable<T> => {
    const iterator: AsyncIterator<T> = {
      next: () => (source ? next(source) : loaded.then(next)),
      return: async () => {
        (await loaded).close();
        return { done: true, value: undefined };
      },
    };
    return { [Symbol.asyncIterator]: () => iterator };
  };
  const messages = iterable((it) => it.messages.next());
  const batches = iterable((it) => it.messages.batch());
  return {
    opened,
    cancel() {
      if (source) return source.close();
      loaded.then((it) => it.close()).catch(() => {});
    },
    text: async () => (await loaded).text(messages),
    batches: () => batches,
    ...messages,
  };
}
