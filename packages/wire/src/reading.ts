import { misuse } from "./errors.js";

/** Makes an iterator of a source. `leave` is called when a loop over it is left early. */
export type Reading = <T>(next: () => Promise<IteratorResult<T>>, leave?: () => void) => AsyncIterator<T>;

/**
 * Makes the iterators of one source, of which one at a time reads: two would share the messages. `what` names the source in errors. A source
 * that is `over` has nothing to share: each reader gets its end.
 */
export function reading(what: string, over: () => boolean): Reading {
  let reader: object | undefined;
  return (next, leave) => {
    const iterator = {
      next() {
        reader ??= iterator;
        if (reader === iterator || over()) return next();
        return Promise.reject(misuse(`${what} has a reader already: read it in one loop`));
      },
      async return() {
        if (reader === iterator) reader = undefined;
        leave?.();
        return { done: true as const, value: undefined };
      },
    };
    return iterator;
  };
}
