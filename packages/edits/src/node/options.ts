import { needApplyOptions, needRange } from "../apply.js";
import { needOptions, needText } from "../need.js";
import type { PlanOptions } from "./plan.js";

/** Throws for a root, or an option, of another type, before anything is read or written. */
export function needRoot(root: string, options: Omit<PlanOptions, "root">): void {
  needText({ root });
  needOptions(options, {
    access: ["handles", "paths"],
    files: "object",
    wait: "number",
    clock: "object",
    rules: ["windows", "posix"],
    preconditions: "object",
    limit: "number",
    apply: "object",
    at: "object",
  });
  const { preconditions = {}, apply = {}, at = {} } = options;
  for (const path in preconditions) needOptions(preconditions, { [path]: "string or null" });
  needApplyOptions(apply);
  for (const path in at) {
    needOptions(at, { [path]: "object" });
    needRange(at[path]!);
  }
}

/** How long a call waits for another process that is changing the same root. */
export interface WaitOptions {
  /** Milliseconds to wait before the conflict is `busy`. @default 0 */
  readonly wait?: number | undefined;
  /** The time and the pauses between two looks. @default the system's */
  readonly clock?: Clock | undefined;
}

export interface Clock {
  /** Milliseconds since any fixed moment. */
  now(): number;
  sleep(milliseconds: number): Promise<void>;
}

const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

/** Pauses between two checks, in milliseconds. No event announces the end of a lock on all file systems, so it is polled. */
const FIRST_PAUSE = 5;
const LONGEST_PAUSE = 250;

/** Repeats a call while its result is `busy` and time is left. */
export async function whileBusy<T>(
  call: () => Promise<T>,
  isBusy: (result: T) => boolean,
  { wait = 0, clock = systemClock }: WaitOptions,
): Promise<T> {
  const end = clock.now() + wait;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    const result = await call();
    if (!isBusy(result)) return result;
    const left = end - clock.now();
    if (!(left > 0)) return result;
    await clock.sleep(Math.min(pause, left));
  }
}
