import type { AnyMessage } from "@parlance/wire";

/** The editor's reactions by message type, such as `({ request_id }) => session.send(…)`. */
export type Script<M extends AnyMessage> = {
  readonly [T in M["type"]]?: (message: Extract<M, { readonly type: T }>) => unknown;
};

/** An editor that reads a stream or channel, from the moment it was made. */
export interface Play<M extends AnyMessage> {
  /** Every message so far. */
  readonly heard: readonly M[];
  /**
   * Resolves with the next message of one of these types, after the one that the last `until` returned. When none arrives, rejects with
   * the error that ended the stream or channel, or with an error that lists the types received.
   */
  until<T extends M["type"]>(...types: readonly T[]): Promise<Extract<M, { readonly type: T }>>;
  /** Resolves with every message when the stream or channel is over. Rejects with the error that ended it, or that the script threw. */
  readonly over: Promise<readonly M[]>;
}

/** Plays the editor's side of a stream or channel from a script, and records its messages. */
export function play<M extends AnyMessage>(from: AsyncIterable<M>, script: Script<M> = {}): Play<M> {
  const heard: M[] = [];
  const acts: Readonly<Record<string, ((message: never) => unknown) | undefined>> = script;
  const { promise: broken, reject: fail } = failure();
  let wake = (): void => {};
  let news = next();
  /** Where the next `until` begins. */
  let at = 0;

  function next(): Promise<void> {
    return new Promise((resolve) => {
      wake = resolve;
    });
  }

  async function read(): Promise<readonly M[]> {
    for await (const message of from) {
      heard.push(message);
      wake();
      news = next();
      // The reaction may wait for a message that is read next, so it is not awaited.
      void (async () => acts[message.type]?.(message as never))().catch(fail);
    }
    return heard;
  }

  const over = Promise.race([read(), broken]);
  over.catch(() => {});
  return {
    heard,
    over,
    async until(...types) {
      for (let ended = false; ; ) {
        while (at < heard.length) {
          const message = heard[at++]!;
          if (types.includes(message.type as never)) return message as never;
        }
        if (ended) {
          const came = heard.map(({ type }) => type).join(", ") || "nothing";
          throw new Error(`no ${types.join(" or ")} came, but ${came}`);
        }
        ended = await Promise.race([news.then(() => false), over.then(() => true)]);
      }
    },
  };
}

/** A promise that only rejects. */
function failure(): { readonly promise: Promise<never>; readonly reject: (error: unknown) => void } {
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<never>((_, fail) => {
    reject = fail;
  });
  return { promise, reject };
}
