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
  const first = (): AsyncIterator<M> => {
    let iterator: AsyncIterator<M> | undefined;
    const start = async () => {
      iterator = (await loaded)[Symbol.asyncIterator]();
      return iterator.next();
    };
    return {
      next: () => iterator?.next() ?? start(),
      return: async () => {
        (await loaded).cancel();
        return { done: true, value: undefined };
      },
    };
  };
  return {
    opened,
    cancel: () =>
      stream
        ? stream.cancel()
        : void loaded.then(
            (it) => it.cancel(),
            () => {},
          ),
    text: async () => (await loaded).text(),
    [Symbol.asyncIterator]: () => (stream ? stream[Symbol.asyncIterator]() : first()),
  };
}
