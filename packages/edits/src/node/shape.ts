/** The kinds of file patches, and the one of its two paths that each lacks. */
const KINDS = { create: "before", modify: null, delete: "after", rename: null, copy: null };

/** The problem with a value that should be a `FilePatch`, or null. A patch often arrives as untrusted JSON. */
export function checkShape(file: unknown): string | null {
  if (!isRecord(file)) return "is not an object";
  const { kind, hunks, oldMode, newMode, git = {}, whole } = file;
  const misnamed = checkNames(file);
  if (misnamed !== null) return misnamed;
  if (!isRecord(git)) return `has git: ${shown(git)}`;
  const isMode = (mode: unknown) => mode === undefined || /^"[0-7]{6}"$/.test(shown(mode));
  const mode = [oldMode, newMode, git.mode].find((mode) => !isMode(mode));
  if (mode !== undefined) return `has the mode ${shown(mode)}`;
  const wrong = checkOptional(file, ["whole"], ["oldStamp", "newStamp", "reason"]) ?? checkOptional(git, [], ["index"]);
  if (wrong) return wrong;
  if (!Array.isArray(hunks)) return "has no array of hunks";
  // Not `map`, which skips the holes of an array.
  const problems = Array.from(hunks, checkHunk);
  const index = problems.findIndex((problem) => problem !== null);
  if (index >= 0) return `has a hunk (number ${index + 1}) that ${problems[index]}`;
  const isBare = hunks.length === 0 && (whole ?? newMode) === undefined;
  return isBare && kind === "modify" ? "changes nothing" : null;
}

function checkNames(file: Record<string, unknown>): string | null {
  const { kind, before, after } = file;
  if (typeof kind !== "string" || !Object.hasOwn(KINDS, kind)) return `has the kind ${shown(kind)}`;
  const lacking = KINDS[kind as keyof typeof KINDS];
  const isWrong = (side: string) => (side === lacking ? file[side] !== null : typeof file[side] !== "string");
  const side = ["before", "after"].find(isWrong);
  if (side !== undefined) return `is a ${kind} with ${side}: ${shown(file[side])}`;
  return kind === "modify" && before !== after ? "is a modify with two different paths" : null;
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

function checkOptional(value: Record<string, unknown>, marks: readonly string[], texts: readonly string[]) {
  const isWrong = (name: string) =>
    value[name] !== undefined && (marks.includes(name) ? value[name] !== true : typeof value[name] !== "string");
  const name = [...marks, ...texts].find(isWrong);
  return name === undefined ? null : `has ${name}: ${shown(value[name])}`;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function shown(value: unknown): string {
  return value === undefined ? "undefined" : (JSON.stringify(value) ?? typeof value).slice(0, 80);
}
