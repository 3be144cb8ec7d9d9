import type { Json, Pointer } from "./json.js";
import type { Side } from "./message.js";

/**
 * One thing that real peers say beside the document, and the documented form it is read as. Rules run in order, on the
 * wire form, before the tag is read; of one rule, `where` guards, and then each named change is made.
 */
export interface Reading {
  /** Who writes this. */
  readonly of: Side;
  /** Only in this operation: in its JSON answer where the server writes it, in its request's body where the client does. Otherwise in messages. */
  readonly operation?: string;
  /** Pointer -> the value that must stand there. */
  readonly where?: Readonly<Record<Pointer, Json>>;
  /** Pointer -> the property's documented name. A documented name that is present wins. */
  readonly rename?: Readonly<Record<Pointer, string>>;
  readonly remove?: readonly Pointer[];
  /** Pointer -> [written, documented] pairs. A written value alone is left out with its property. */
  readonly values?: Readonly<Record<Pointer, readonly (readonly [written: Json, documented?: Json])[]>>;
  /** Strings at these places are read in upper case. */
  readonly upper?: readonly Pointer[];
  /** A string at the place becomes an object with the string as `property` (and its 1-based place in the array as `position`), or an array of one. */
  readonly wrap?: Readonly<Record<Pointer, { readonly property: string; readonly position?: string } | "array">>;
  /** Pointer -> the value that is read where the last step of the pointer is missing. */
  readonly default?: Readonly<Record<Pointer, Json>>;
  /** An object at this top-level place is the message itself; in the answer of an operation a list there is the answer. */
  readonly unwrap?: Pointer;
}

export type Profile = Readonly<Record<string, Readonly<Record<string, Json>>>>;
