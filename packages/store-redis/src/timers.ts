/** The longest delay of `setTimeout`; a longer one fires at once. */
const LONGEST = 2 ** 31 - 1;

/** The timers of one log or pub/sub. They keep no process alive, and `stop` cancels them all. */
export interface Timers {
  /** Calls a function once, later. Returns a function that cancels it. */
  after(milliseconds: number, run: () => void): () => void;
  /**
   * The same, for a timeout on a peer. A half of it in which the process was suspended does not count: timers run before data
   * that arrived meanwhile is read, and an answer may need several turns.
   */
  limit(milliseconds: number, run: () => void): () => void;
  count(): number;
  stop(): void;
}

/** Milliseconds by which timers of a busy process are late. */
const STANDSTILL = 100;

export function makeTimers(): Timers {
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let stopped = false;

  function after(milliseconds: number, run: () => void): () => void {
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
  }

  return {
    after,
    limit(milliseconds, run) {
      const half = milliseconds / 2;
      let left = 2;
      function wait(): () => void {
        const began = performance.now();
        return after(half, () => {
          if (performance.now() - began < 2 * half + STANDSTILL) left--;
          if (left === 0) run();
          else cancel = wait();
        });
      }
      let cancel = wait();
      return () => cancel();
    },
    count: () => timers.size,
    stop() {
      stopped = true;
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
