export interface Sending<T> {
  /** Returns a promise where there is no room for another message. */
  readonly send: (message: T) => Promise<void> | undefined;
  /** Registers a function to call when the channel ends; returns a function that removes it. */
  readonly onEnd: (stop: (error: unknown) => void) => () => void;
}

/**
 * Sends messages one after the other, each when there is room. Stops reading the source when a send fails or the channel ends, even while
 * the source has no message.
 */
export function sendAll<T>(messages: Iterable<T> | AsyncIterable<T>, { send, onEnd }: Sending<T>): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const source = iteratorOf(messages);
    let left = false;
    function finish(error: unknown): void {
      reject(error);
      if (left) return;
      left = true;
      // The caller already has an error, so the source's own is ignored.
      (async () => source.return?.())().catch(() => {});
    }
    const forget = onEnd(finish);
    async function pass(): Promise<void> {
      for (let step = await source.next(); !left && !step.done; step = await source.next()) {
        try {
          await send(step.value);
        } catch (error) {
          finish(error);
        }
      }
    }
    pass().then(resolve, reject).then(forget);
  });
}

function iteratorOf<T>(messages: Iterable<T> | AsyncIterable<T>): Iterator<T> | AsyncIterator<T> {
  return Symbol.asyncIterator in messages ? messages[Symbol.asyncIterator]() : messages[Symbol.iterator]();
}
