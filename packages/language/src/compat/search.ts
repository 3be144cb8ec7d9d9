import type { Json } from "@parlance/wire";
import type { Literal } from "./literal.js";
import type { Space } from "./space.js";

/** A value that satisfies all statements, the proof that no value does, or neither. */
export type Outcome = { readonly value: Json } | "none" | "unclear";

export type Accept = (value: Json) => boolean;

/** Looks for a value of which all of some statements hold. A statement that is left out makes more values possible, so "none" is a proof. */
export interface Search {
  readonly space: Space;
  /** A value that `accept` refuses is no outcome: the search goes on. */
  find(literals: readonly Literal[], accept?: Accept): Outcome;
}

/** The first value of several tries; "none" only if all of them have none. */
export function firstOf<T>(list: Iterable<T>, outcome: (one: T) => Outcome): Outcome {
  let sum: Outcome = "none";
  for (const one of list) {
    const found = outcome(one);
    if (typeof found === "object") return found;
    if (found === "unclear") sum = found;
  }
  return sum;
}
