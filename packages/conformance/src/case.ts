import { isObject } from "@parlance/wire";
import { branded } from "@parlance/wire/errors";
import type { Act } from "./steps.js";
import type { TestedClient, TestedServer } from "./tested.js";

/** `must`: the contract says so. `should`: a deployment needs it. `may`: only where the peer offers it. */
export type Level = "must" | "should" | "may";

interface About {
  /** Stable: it is built from names of the contract, not from counters over all cases. */
  readonly id: string;
  readonly level: Level;
  /** The expectation, as a sentence. */
  readonly title: string;
  /** The place in the contract's folder: a file and a JSON Pointer, or a line of a transcript. */
  readonly at: string;
  /** The fault of a peer that turns this case red. */
  readonly kill: string;
}

/** One expectation of a server. */
export interface ServerCase extends About {
  readonly side: "server";
  /** What the handlers of a fixture do. */
  readonly acts: readonly Act[];
  /** The case needs no fixture. What it may send to a live server is the run's to decide. */
  readonly live?: true;
  run(peer: TestedServer): Promise<void>;
}

/** One expectation of a client. */
export interface ClientCase extends About {
  readonly side: "client";
  run(peer: TestedClient): Promise<void>;
}

export type Case = ServerCase | ClientCase;

/** An expectation that was not met. */
export class Unmet extends Error {
  static {
    branded(Unmet, "Unmet");
  }

  declare readonly name: "Unmet";
  readonly code = "unmet";
  readonly expected: string;
  readonly came: string;
  /** Whether the peer took too long, or sent too much. */
  readonly isLimit: boolean;
  constructor(expected: string, came: unknown, isLimit = false) {
    const shown = typeof came === "string" ? came : (JSON.stringify(came) ?? String(came));
    super(`expected ${expected}, but came ${shown}`);
    this.expected = expected;
    this.isLimit = isLimit;
    this.came = shown.length > 2000 ? `${shown.slice(0, 2000)}…` : shown;
  }
}

/** The peer does not offer what the case is about. */
export class NotOffered extends Error {
  static {
    branded(NotOffered, "NotOffered");
  }

  declare readonly name: "NotOffered";
  readonly code = "not_offered";
}

export function meet(holds: boolean, expected: string, came: unknown): asserts holds {
  if (!holds) throw new Unmet(expected, came);
}

/** Whether everything expected is there. Objects may have more, as schemas are open; arrays may not. */
export function alike(expected: unknown, came: unknown): boolean {
  if (Array.isArray(expected))
    return Array.isArray(came) && came.length === expected.length && expected.every((one, at) => alike(one, came[at]));
  if (isObject(expected))
    return (
      isObject(came) && Object.entries(expected).every(([key, value]) => value === undefined || alike(value, came[key]))
    );
  return Object.is(expected, came);
}

/** Whether two JSON values are equal, whatever the order of their keys. */
export function equal(one: unknown, other: unknown): boolean {
  return alike(one, other) && alike(other, one);
}

/** Throws `Unmet` where nothing comes within so many milliseconds. */
export async function within<T>(wait: number, what: string, promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Unmet(what, `nothing within ${wait} ms`, true)), wait);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
