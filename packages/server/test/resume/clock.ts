import { onTestFinished, vi } from "vitest";

/** Milliseconds in which timers are told apart. */
const TICK = 10;

/**
 * Time that goes by on demand only, for `setTimeout` and `Date.now` until the test is over. Unlike a general fake clock it
 * holds many thousand timers without looking through them.
 */
export function clock(): { readonly now: number; tick(): void } {
  interface Timer {
    readonly run: () => void;
    readonly due: number;
    unref(): Timer;
  }
  const due = new Map<number, Set<Timer>>();
  const began = Date.now();
  let ticks = 0;
  vi.stubGlobal("setTimeout", (run: (...args: unknown[]) => void, milliseconds = 0, ...args: unknown[]): Timer => {
    const at = ticks + Math.max(1, Math.ceil(milliseconds / TICK));
    const timer: Timer = { run: () => run(...args), due: at, unref: () => timer };
    due.set(at, (due.get(at) ?? new Set()).add(timer));
    return timer;
  });
  vi.stubGlobal("clearTimeout", (timer?: Timer) => timer && due.get(timer.due)?.delete(timer));
  const date = vi.spyOn(Date, "now").mockImplementation(() => began + ticks * TICK);
  onTestFinished(() => {
    vi.unstubAllGlobals();
    date.mockRestore();
  });
  return {
    get now() {
      return ticks * TICK;
    },
    tick() {
      const timers = due.get(++ticks) ?? [];
      due.delete(ticks);
      for (const { run } of timers) run();
    },
  };
}
