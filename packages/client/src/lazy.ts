import type { MessageStream } from "@parlance/contract";

/** Wraps a stream whose code is still being loaded. */
export function lazy<M>(load: Promise<MessageStream<M>>): MessageStream<M> {
  let stream: MessageStream<M> | undefined;
  let iterator: AsyncIterator<M> | undefined;
  const loaded = load.then((it) => {
    stream = it;
    iterator = it[Symbol.asyncIterator]();
    return it;
  });
  const opened = loaded.then((it) => it.opened);
  opened.catch(() => {});
  const first: AsyncIterator<M> = {
    next: () => iterator?.next() ?? loaded.then(() => iterator!.next()),
    return: async () => {
      (await loaded).cancel();
      return { done: true, value: undefined };
    },
  };
  return {
    opened,
    cancel() {
      if (stream) return stream.cancel();
      loaded.then((it) => it.cancel()).catch(() => {});
    },
    text: async () => (await loaded).text(),
    [Symbol.asyncIterator]: () => iterator ?? first,
  };
}
