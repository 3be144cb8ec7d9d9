import { misuse } from "./errors.js";

/** Makes the iterators of one source. Only one of them reads at a time, because two would share the messages. */
export interface Reading {
  /** `leave` is called when a loop over the iterator is left early. */
  iterator<T>(next: () => Promise<IteratorResult<T>>, leave?: () => void): AsyncIterator<T>;
}

/** `what` names the source in errors. A source that is `over` has nothing to share: each reader gets its end. */
export function reading(what: string, over: () => boolean): Reading {
  let reader: object | undefined;
  return {
    iterator(next, leave) {
      const iterator = {
        next() {
          reader ??= iterator;
          if (reader === iterator || over()) return next();
          return Promise.reject(
            misuse(
              `${what} has a reader already, and two would share its messages: read it in one loop, and pass them on`,
            ),
          );
        },
        async return() {
          if (reader === iterator) reader = undefined;
          leave?.();
          return { done: true as const, value: undefined };
        },
      };
      return iterator;
    },
  };
}
