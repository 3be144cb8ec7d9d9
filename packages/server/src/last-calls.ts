import { Scope, until } from "@parlance/wire/scope";

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
