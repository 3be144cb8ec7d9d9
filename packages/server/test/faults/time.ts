import { setImmediate as turn } from "node:timers/promises";
import { vi } from "vitest";

/** Turns of the loop in one millisecond of the clock: all that is not a wait for time is done in fewer. */
const TURNS = 3;

const waiting: (() => void)[] = [];
/** Resolves a millisecond of the clock later. Not a timer: many conversations ask each millisecond, and fake timers are searched one by one. */
const tick = () => new Promise<void>((resolve) => void waiting.push(resolve));

/** Runs work under a clock that goes on by itself, fast, as long as the work lasts: limits are exact, however slow the machine is. */
export async function underClock<T>(work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"] });
  let over = false;
  try {
    const done = work().finally(() => {
      over = true;
    });
    done.catch(() => {});
    while (!over) {
      vi.advanceTimersByTime(1);
      for (const resolve of waiting.splice(0)) resolve();
      for (let i = 0; i < TURNS; i++) await turn();
    }
    return await done;
  } finally {
    vi.useRealTimers();
  }
}

export const pass = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Waits under the clock until something is so; false after a time without it. */
export async function until(what: () => boolean, milliseconds: number): Promise<boolean> {
  for (let i = 0; i < milliseconds && !what(); i++) await tick();
  return what();
}

/** What a promise comes to, or "hung" after a time. */
export function atMost<T>(milliseconds: number, promise: Promise<T>): Promise<T | "hung"> {
  return Promise.race([promise, pass(milliseconds).then(() => "hung" as const)]);
}
