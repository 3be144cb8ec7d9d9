import type { Json, Schema } from "@parlance/wire";
import type { Outcome, Search } from "./search.js";
import { identity, type Space, sameSchema } from "./space.js";
import { Tableau } from "./tableau.js";

/** Whether a reader accepts all that a writer may send; a value that it refuses is an example. */
export type Verdict =
  | { readonly is: "yes" }
  | { readonly is: "no"; readonly example: Json }
  | { readonly is: "unclear" };

const searches = new WeakMap<Space, Search>();
const verdicts = new WeakMap<Space, Map<string, Verdict>>();

/**
 * Whether all values that a writer of one schema may send have the form of another. "yes" is proved, and the example of "no" is checked by ajv.
 * A writer of an object that is open by silence sends no properties that only the reader names: `additionalProperties` says that it may.
 */
export function accepts(space: Space, reader: Schema, writer: Schema): Verdict {
  const known = verdicts.get(space) ?? new Map<string, Verdict>();
  verdicts.set(space, known);
  const key = `${identity(reader)} ${identity(writer)}`;
  if (!known.has(key)) known.set(key, decide(space, reader, writer));
  return known.get(key)!;
}

function decide(space: Space, reader: Schema, writer: Schema): Verdict {
  if (sameSchema(space, reader, writer)) return { is: "yes" };
  const search = searches.get(space) ?? new Tableau(space);
  searches.set(space, search);
  const literals = [
    { schema: writer, positive: true, writer: true },
    { schema: reader, positive: false, writer: false },
  ];
  let found: Outcome;
  try {
    found = search.find(literals, (value) => space.valid(writer, value) && !space.valid(reader, value));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    searches.delete(space);
    found = "unclear";
  }
  if (found === "none") return { is: "yes" };
  return found === "unclear" ? { is: "unclear" } : { is: "no", example: found.value };
}
