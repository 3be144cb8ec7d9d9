import type { FileKind } from "../patch.js";

const SIDES: Record<FileKind, { readonly before: boolean; readonly after: boolean }> = {
  create: { before: false, after: true },
  modify: { before: true, after: true },
  delete: { before: true, after: false },
  rename: { before: true, after: true },
  copy: { before: true, after: true },
};

/** The problem with a value that should be a `FilePatch`, or null. A patch often arrives as untrusted JSON. */
export function checkShape(file: unknown): string | null {
  if (!isRecord(file)) return "is not an object";
  const { kind, before, after, hunks, oldMode, newMode, git, whole } = file;
  if (typeof kind !== "string" || !Object.hasOwn(SIDES, kind)) return `has the kind ${shown(kind)}`;
  const sides = SIDES[kind as FileKind];
  if (sides.before ? typeof before !== "string" : before !== null) return `is a ${kind} with before: ${shown(before)}`;
  if (sides.after ? typeof after !== "string" : after !== null) return `is a ${kind} with after: ${shown(after)}`;
  if (kind === "modify" && before !== after) return "is a modify with two different paths";
  for (const mode of [oldMode, newMode, isRecord(git) ? git.mode : undefined])
    if (mode !== undefined && (typeof mode !== "string" || !/^[0-7]{6}$/.test(mode)))
      return `has the mode ${shown(mode)}`;
  if (git !== undefined && !isRecord(git)) return `has git: ${shown(git)}`;
  const wrong = checkOptional(file, ["whole"], ["oldStamp", "newStamp", "reason"]) ?? checkOptional(git, [], ["index"]);
  if (wrong) return wrong;
  if (!Array.isArray(hunks)) return "has no array of hunks";
  for (const [index, hunk] of hunks.entries()) {
    const wrong = checkHunk(hunk);
    if (wrong) return `has a hunk (number ${index + 1}) that ${wrong}`;
  }
  if (kind === "modify" && hunks.length === 0 && whole === undefined && newMode === undefined) return "changes nothing";
  return null;
}

function checkHunk(hunk: unknown): string | null {
  if (!isRecord(hunk)) return "is not an object";
  if (typeof hunk.id !== "string") return "has no id";
  for (const start of [hunk.oldStart, hunk.newStart])
    if (start !== null && !(Number.isSafeInteger(start) && (start as number) >= 0))
      return `has the line number ${shown(start)}`;
  const wrong = checkOptional(hunk, ["atEnd", "oldNoNewline", "newNoNewline"], ["section"]);
  if (wrong) return wrong;
  const { lines, anchors = [] } = hunk;
  if (!Array.isArray(anchors)) return `has anchors: ${shown(anchors)}`;
  for (const anchor of anchors) if (typeof anchor !== "string") return `has the anchor ${shown(anchor)}`;
  if (!Array.isArray(lines)) return "has no array of lines";
  for (const line of lines)
    if (typeof line !== "string" || !/^[ +-][^\n]*$/.test(line)) return `has the line ${shown(line)}`;
  return null;
}

/** Optional fields: flags, which are true, and texts. */
function checkOptional(value: unknown, marks: readonly string[], texts: readonly string[]): string | null {
  if (!isRecord(value)) return null;
  for (const name of marks)
    if (value[name] !== undefined && value[name] !== true) return `has ${name}: ${shown(value[name])}`;
  for (const name of texts)
    if (value[name] !== undefined && typeof value[name] !== "string") return `has ${name}: ${shown(value[name])}`;
  return null;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function shown(value: unknown): string {
  return value === undefined ? "undefined" : (JSON.stringify(value) ?? typeof value).slice(0, 80);
}
