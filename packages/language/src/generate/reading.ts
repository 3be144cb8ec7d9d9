/**
 * The functions that the readers of a generated module call. `reads` writes the readers and `validators` copies in the functions they use, so
 * nothing here runs in the generator.
 */

/** An object or a list: both have keys. */
type At = Record<string, unknown>;

/** Renames a property to its documented name. A property of that name wins. */
export function rename(at: At, key: string, name: string): void {
  if (!Object.hasOwn(at, key)) return;
  if (!Object.hasOwn(at, name)) at[name] = at[key];
  delete at[key];
}

/** Changes the value at a key if it is an object or a list. */
export function inside(at: At, key: string, change: (inner: At) => void): void {
  const inner = Object.hasOwn(at, key) && at[key];
  if (typeof inner === "object" && inner !== null) change(inner as At);
}

/** The value at a key of an object or a list. The indexes and length of a string do not count. */
export function deep(at: At, ...path: readonly string[]): unknown {
  let value: unknown = at;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as At)[key];
  }
  return value;
}

/** Whether a default applies there. */
export const lacks = (at: At, key: string): boolean => !Array.isArray(at) && !Object.hasOwn(at, key);

/** The keys that `*` in a pointer matches. */
export const keys = (at: At): string[] => (Array.isArray(at) ? Object.keys(at) : ["*"]);
