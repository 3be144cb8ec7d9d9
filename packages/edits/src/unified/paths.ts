import { type Input, repair } from "./input.js";

/**
 * The paths behind the names of `---` and `+++`. Strict reading takes off the first folder, as `git apply` does. Lenient
 * reading takes off what was put in front (`a/` and `b/`, or two folders that differ in front of the same path) and keeps
 * the rest. Where both sides name a file they name one, chosen by git's rule.
 */
export function readPaths(
  input: Input,
  at: number,
  old: string | null,
  now: string | null,
): { before: string | null; after: string | null } {
  let before = old;
  let after = now;
  const prefixed = isPrefixed(old, now);
  if (input.strict || prefixed) {
    before = old && dropFolder(old);
    after = now && dropFolder(now);
  }
  if (before !== null && after !== null) before = after = chooseName(before, after);
  const path = after ?? before ?? "";
  if (path.startsWith("/")) repair(input, at, "absolute-path", path);
  else if (!prefixed) repair(input, at, "missing-prefix", path);
  return { before, after };
}

function isPrefixed(old: string | null, now: string | null): boolean {
  if (old === null || now === null) return /^[abciow12]\/./.test(old ?? now ?? "");
  if (/^[ab]\//.test(old) && /^[ab]\//.test(now)) return true;
  const differ = old.slice(0, old.indexOf("/") + 1) !== now.slice(0, now.indexOf("/") + 1);
  return differ && old.includes("/") && now.includes("/") && dropFolder(old) === dropFolder(now);
}

function dropFolder(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}

/** Of `x.orig` and `x` the shorter is meant; of two unlike names the new one. */
function chooseName(before: string, after: string): string {
  return after.startsWith(before) ? before : after;
}
