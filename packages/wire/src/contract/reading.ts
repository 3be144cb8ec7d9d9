import type { Json, Pointer } from "./json.js";
import type { Side } from "./message.js";

/**
 * A rule that reads an undocumented form of real peers as the documented one. Rules run in order, on the wire form,
 * before the tag is read. In one rule `where` is the condition; then each named change is applied.
 */
export interface Reading {
  /** The side that writes this form. */
  readonly of: Side;
  /** Only in this operation: in its JSON answer where the server writes it, in its request's body where the client does. Otherwise in messages. */
  readonly operation?: string;
  /** Pointer -> the required value. */
  readonly where?: Readonly<Record<Pointer, Json>>;
  /** Pointer -> the property's documented name. A documented name that is present wins. */
  readonly rename?: Readonly<Record<Pointer, string>>;
  readonly remove?: readonly Pointer[];
  /** Pointer -> [written, documented] pairs. A pair without a documented value removes the property. */
  readonly values?: Readonly<Record<Pointer, readonly (readonly [written: Json, documented?: Json])[]>>;
  /** Pointers to strings that are read in upper case. */
  readonly upper?: readonly Pointer[];
  /** A string at the place becomes an object with the string as `property` (and its 1-based place in the array as `position`), or an array of one. */
  readonly wrap?: Readonly<Record<Pointer, { readonly property: string; readonly position?: string } | "array">>;
  /** Pointer -> the default when the last step of the pointer is missing. */
  readonly default?: Readonly<Record<Pointer, Json>>;
  /** The top-level property whose object is the message itself; in an operation's answer, its list is the answer. */
  readonly unwrap?: Pointer;
}

export type Profile = Readonly<Record<string, Readonly<Record<string, Json>>>>;
