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

/** A message, or an operation on another carrier, that answers. */
export interface Reply {
  readonly message?: string;
  readonly operation?: string;
  /** The answer's own name for the key. */
  readonly key?: string;
  /** The answer is partial, and the ask stays open, when one of these fields has one of these values. */
  readonly partial?: Readonly<Record<string, readonly Json[]>>;
  /** By order: the property that, where present, names the ask this answers. */
  readonly echo?: string;
}
