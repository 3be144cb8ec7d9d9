import { needApplyOptions, needRange } from "../apply.js";
import { needOptions, needText } from "../need.js";
import type { ApplyOptions, LineRange } from "../result.js";
import type { NameRules } from "./names.js";
import type { RootOptions } from "./root.js";

export interface PlanOptions extends RootOptions, WaitOptions {
  /**
   * The directory that paths are relative to. Nothing outside it is read or written. An absolute path below it, as some
   * servers write into a diff's header, is taken relative to it.
   */
  readonly root: string;
  /** Expected files: `sha256:<hex>` of their bytes, or null for a file that must not exist. */
  readonly preconditions?: Readonly<Record<string, string | null>> | undefined;
  /** Which names are refused; default "windows", so that what applies here applies everywhere. */
  readonly rules?: NameRules | undefined;
  /** The largest file in bytes: default 64 MiB, at most what one string holds (512 MiB in Node 20). */
  readonly limit?: number | undefined;
  /** How every hunk is matched. `at` counts for each file, so use it for a patch of one; for several see the other `at`. */
  readonly apply?: ApplyOptions | undefined;
  /** By path: the lines that the patch of a file is about; its hunks' numbers count from there. */
  readonly at?: Readonly<Record<string, LineRange>> | undefined;
}

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
