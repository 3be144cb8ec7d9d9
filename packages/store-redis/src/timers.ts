/** The longest delay that `setTimeout` takes; above it fires at once. */
const LONGEST = 2 ** 31 - 1;

/** The timers of one log or pub/sub. They keep no process alive, and `stop` cancels them all. */
export interface Timers {
  /** Calls a function once, later. Returns how to cancel it. */
  after(milliseconds: number, run: () => void): () => void;
  count(): number;
  stop(): void;
}

export function makeTimers(): Timers {
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let stopped = false;
  return {
    after(milliseconds, run) {
      if (stopped) return () => {};
      const fire = () => {
        timers.delete(timer);
        run();
      };
      const timer = setTimeout(fire, Math.min(milliseconds, LONGEST));
      (timer as { unref?: () => void }).unref?.();
      timers.add(timer);
      return () => {
        clearTimeout(timer);
        timers.delete(timer);
      };
    },
    count: () => timers.size,
    stop() {
      stopped = true;
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
