import type { FilePatch, Hunk } from "./patch.js";
import { quote } from "./reading.js";

// An argument or an option of another type is a mistake of the caller, not of a model: the TypeError names it.

export function needText(values: Readonly<Record<string, unknown>>): void {
  for (const name in values) if (typeof values[name] !== "string") fail(name, "a string", values[name]);
}

/** Each must be a patch, or the patch of one file. */
export function needPatch(values: Readonly<Record<string, unknown>>): void {
  for (const name in values) {
    const value = (values[name] ?? {}) as { files?: unknown };
    const files = value.files ?? [value];
    if (!Array.isArray(files) || !files.every(isFile)) fail(name, "a patch", values[name]);
  }
}

function isFile(file: Partial<FilePatch> | null): boolean {
  const { before, after, hunks } = file ?? {};
  return (
    [before, after].every((path) => path === null || typeof path === "string") &&
    Array.isArray(hunks) &&
    hunks.every(isHunk)
  );
}

function isHunk(hunk: Partial<Hunk> | null): boolean {
  const { oldStart, newStart, lines, anchors = [] } = hunk ?? {};
  return isPlace(oldStart) && isPlace(newStart) && areTexts(lines) && areTexts(anchors);
}

function isPlace(place: unknown): boolean {
  return place === null || typeof place === "number";
}

/** A loop, because a call for each line took a third of the time to invert a patch. */
function areTexts(values: unknown): boolean {
  if (!Array.isArray(values)) return false;
  for (const value of values) if (typeof value !== "string") return false;
  return true;
}

/** What an option may be: of a type, or one of the values. */
type Wanted = "string" | "number" | "boolean" | "object" | "string or null" | readonly string[];

/** Each option that is given must be what is wanted. */
export function needOptions(options: object, wanted: Readonly<Record<string, Wanted>>): void {
  if (typeof options !== "object" || options === null) fail("options", "an object", options);
  for (const name in wanted) {
    const value = (options as Record<string, unknown>)[name];
    const type = wanted[name]!;
    if (value === undefined || (value === null && type === "string or null")) continue;
    if (typeof type !== "string") {
      if (!type.includes(value as string)) fail(name, `one of ${type.join(", ")}`, value);
    } else if (value === null || Number.isNaN(value) || !type.startsWith(typeof value)) fail(name, `a ${type}`, value);
  }
}

function fail(name: string, wanted: string, value: unknown): never {
  const isShown = value === null || typeof value === "number" || typeof value === "boolean";
  const shown = typeof value === "string" ? quote(value) : isShown ? value : typeof value;
  throw new TypeError(`\`${name}\` must be ${wanted}, not ${shown}.`);
}
