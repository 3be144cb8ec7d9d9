/**
 * What the readers of a generated module call. `reads` writes the readers and `validators` copies in what they use, so nothing here runs in
 * the generator.
 */

/** An object or a list: both have places. */
type At = Record<string, unknown>;

/** Gives a property its documented name. A documented name that is there wins. */
export function rename(at: At, key: string, name: string): void {
  if (!Object.hasOwn(at, key)) return;
  if (!Object.hasOwn(at, name)) at[name] = at[key];
  delete at[key];
}

/** Changes what stands at a key, where that is an object or a list. */
export function inside(at: At, key: string, change: (inner: At) => void): void {
  const inner = Object.hasOwn(at, key) && at[key];
  if (typeof inner === "object" && inner !== null) change(inner as At);
}

/** What stands deeper. A string has indexes and a length too, and they are no places. */
export function deep(at: At, ...path: readonly string[]): unknown {
  let value: unknown = at;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as At)[key];
  }
  return value;
}

/** Whether a default belongs there. */
export const lacks = (at: At, key: string): boolean => !Array.isArray(at) && !Object.hasOwn(at, key);

/** The keys that `*` in a pointer stands for. */
export const keys = (at: At): string[] => (Array.isArray(at) ? Object.keys(at) : ["*"]);
