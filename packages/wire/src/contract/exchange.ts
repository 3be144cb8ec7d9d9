import type { Json } from "./json.js";
import type { Side } from "./message.js";

/** A request matching rule: an ask and its answers. */
export interface Exchange {
  readonly ask: string;
  readonly by: Side;
  /** The ask's property that its answers repeat. Without it, answers arrive in the order of the asks. */
  readonly key?: string;
  /** The message is an ask only when these fields have these values. */
  readonly when?: Readonly<Record<string, Json>>;
  readonly answers: readonly Reply[];
  /** By order only: asks with the same `busy` exclude each other; the second gets this message as its answer at once. */
  readonly busy?: string;
}

/** When a part is all of an ask. */
export interface Whole {
  /** The answer's fields have these values. */
  readonly when?: Readonly<Record<string, Json>>;
  /** The answer's fields repeat what the ask has at these JSON Pointers. A pointer that leads nowhere in the ask holds. */
  readonly same?: Readonly<Record<string, string>>;
  /** The list at this JSON Pointer of the ask has at most one item. */
  readonly single?: string;
}

/** A message, or an operation on another carrier, that answers. */
export interface Reply {
  readonly message?: string;
  readonly operation?: string;
  /** The answer's own name for the key. */
  readonly key?: string;
  /** The answer is partial, and the ask stays open, when one of these fields has one of these values. */
  readonly partial?: Readonly<Record<string, readonly Json[]>>;
  /** A partial answer settles the ask nevertheless when one of these holds: the ask has only that part. */
  readonly whole?: readonly Whole[];
  /** By order: the property that, where present, names the ask this answers. */
  readonly echo?: string;
}
