import { Scope, until } from "@parlance/wire/scope";

/** Ends conversations when an app takes no more calls. */
export interface Shutdown {
  readonly draining: boolean;
  drain(): void;
  /** Runs `end` when the app drains, unless the scope closes first; at once where it drains already. */
  onDrain(scope: Scope, end: () => void): void;
}

export function shutdown(): Shutdown {
  // One set, because thousands of listeners on one signal are slow.
  const ends = new Set<() => void>();
  let draining = false;
  return {
    get draining() {
      return draining;
    },
    drain() {
      draining = true;
      for (const end of [...ends]) end();
    },
    onDrain(scope, end) {
      if (scope.closed) return;
      if (draining) return end();
      // Wrapped, so that the same function can be registered twice.
      const own = () => end();
      ends.add(own);
      scope.add(() => ends.delete(own));
    },
  };
}

/** What a server that closes still says to its log and pub/sub: they may be stopped right after it. */
export interface LastCalls {
  /** Adds a call, and returns it. */
  add<T>(call: Promise<T>): Promise<T>;
  /** Resolves when all are answered, or after a limit. */
  answered(within: number): Promise<void>;
}

export function lastCalls(): LastCalls {
  const calls = new Set<Promise<unknown>>();
  return {
    add(call) {
      calls.add(call);
      const forget = (): void => void calls.delete(call);
      call.then(forget, forget);
      return call;
    },
    async answered(within) {
      if (calls.size === 0) return;
      const waiting = Scope.open(() => {});
      // The timer of the limit keeps no process alive, and a log that hangs may hold nothing that does.
      const alive = setInterval(() => {}, 60_000);
      waiting.add(() => clearInterval(alive));
      await until(waiting, within, Promise.allSettled(calls));
    },
  };
}
