import type { Scope } from "@parlance/wire/scope";

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
