import { misuse } from "./errors.js";

export interface Sending<T> {
  /** Returns a promise where there is no room for another message. */
  readonly send: (message: T) => Promise<void> | undefined;
  /** Registers a function to call when the channel ends; returns a function that removes it. */
  readonly onEnd: (stop: (error: unknown) => void) => () => void;
}

/**
 * Sends messages one after the other, each when there is room. Stops reading the source when a send fails or the channel ends, even while
 * the source has no message. It rejects once the source is closed, but does not wait for a message of it.
 */
export function sendAll<T>(
  what: string,
  messages: Iterable<T> | AsyncIterable<T>,
  { send, onEnd }: Sending<T>,
): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const source = iteratorOf(what, messages);
    let left = false;
    /** Whether the source makes its next message. A generator closes only after that. */
    let making = false;
    function finish(error: unknown): void {
      if (left) return;
      left = true;
      // The caller already has an error, so the source's own is ignored.
      const closed = (async () => source.return?.())().catch(() => {});
      if (making) reject(error);
      else closed.then(() => reject(error));
    }
    const forget = onEnd(finish);
    async function pass(): Promise<void> {
      while (!left) {
        making = true;
        const step = await source.next();
        making = false;
        if (left || step.done) return;
        try {
          await send(step.value);
        } catch (error) {
          finish(error);
        }
      }
    }
    pass()
      .then(
        () => left || resolve(),
        (error) => left || reject(error),
      )
      .then(forget);
  });
}

function iteratorOf<T>(what: string, messages: Iterable<T> | AsyncIterable<T>): Iterator<T> | AsyncIterator<T> {
  const from: Partial<Iterable<T> & AsyncIterable<T>> = messages ?? {};
  const iterator = from[Symbol.asyncIterator]?.() ?? from[Symbol.iterator]?.();
  if (!iterator) throw misuse(`${what}: sendAll takes an iterable of messages, not ${messages}`);
  return iterator;
}
