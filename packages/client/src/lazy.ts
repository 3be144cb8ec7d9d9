import type { MessageStream } from "@parlance/contract";

/** Wraps a stream whose code is still being loaded. */
export function lazy<M>(load: Promise<MessageStream<M>>): MessageStream<M> {
  let stream: MessageStream<M> | undefined;
  const loaded = load.then((it) => {
    stream = it;
    return it;
  });
  const opened = loaded.then((it) => it.opened);
  opened.catch(() => {});
  const iterate = <T>(of: (it: MessageStream<M>) => AsyncIterable<T>): AsyncIterator<T> => {
    let iterator: AsyncIterator<T> | undefined;
    return {
      next: () => {
        if (stream) iterator ??= of(stream)[Symbol.asyncIterator]();
        return (
          iterator?.next() ??
          loaded.then((it) => {
            iterator ??= of(it)[Symbol.asyncIterator]();
            return iterator.next();
          })
        );
      },
      return: async () => {
        (await loaded).cancel();
        return { done: true, value: undefined };
      },
    };
  };
  return {
    opened,
    cancel() {
      if (stream) return stream.cancel();
      loaded.then((it) => it.cancel()).catch(() => {});
    },
    text: async () => (await loaded).text(),
    batches: () => ({ [Symbol.asyncIterator]: () => iterate((it) => it.batches()) }),
    [Symbol.asyncIterator]: () => iterate((it) => it),
  };
}
