import { branded } from "@parlance/wire/errors";

// What a run takes from a peer. A peer that never finishes, or sends without end, would otherwise make a run of hours.

/** Bytes that a peer may send in one case. */
export const MAX_CASE_BYTES = 32 * 1024 * 1024;

/** Bytes that a peer may send in a run. */
export const MAX_RUN_BYTES = 512 * 1024 * 1024;

/** Cases in a row that end at a limit, without one that passes in between. Known failures do not count. */
export const MAX_STUCK = 6;

/** Milliseconds that a run may take, unless an option sets it. */
export const RUN_WITHIN = 30 * 60_000;

/** Milliseconds that a case may take, unless an option sets it: several waits, or what a busy machine needs. */
export function defaultCaseWithin(wait: number): number {
  return Math.max(5 * wait, 5000);
}

/** The peer has used up what a run may take. */
export class Spent extends Error {
  static {
    branded(Spent, "Spent");
  }

  declare readonly name: "Spent";
  readonly code = "spent";
}

/** Counts what a run has used. */
export class Budget {
  readonly #within: number;
  readonly #ends: number;
  readonly #now: () => number;
  #run = 0;
  #case = 0;
  #stuck = 0;

  constructor(within: number, now = () => performance.now()) {
    this.#now = now;
    this.#within = within;
    this.#ends = now() + within;
  }

  /** @throws `Spent` when no other case may begin */
  begin(): void {
    if (this.#stuck >= MAX_STUCK)
      throw new Spent(`${MAX_STUCK} cases in a row ended at a limit, because the peer did not finish its answer`);
    if (this.#run > MAX_RUN_BYTES) throw new Spent(`the peer sent more than ${MAX_RUN_BYTES >> 20} MiB`);
    if (this.#now() >= this.#ends) throw new Spent(`the run took its ${this.#within} ms`);
    this.#case = 0;
  }

  /** Counts bytes of the peer. Returns false when this case may have no more. */
  count(bytes: number): boolean {
    this.#run += bytes;
    this.#case += bytes;
    return !this.isFull;
  }

  get isFull(): boolean {
    return this.#case > MAX_CASE_BYTES;
  }

  /** Counts a case by its end: at a limit, or as passed. */
  end(how: "stuck" | "passed" | "other"): void {
    if (how === "stuck") this.#stuck++;
    else if (how === "passed") this.#stuck = 0;
  }
}
