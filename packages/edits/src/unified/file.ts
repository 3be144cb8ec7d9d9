import { ordinals } from "../hunk.js";
import type { FileKind } from "../patch.js";
import { quote } from "../reading.js";
import { impliesGitHeader } from "./format.js";
import { dropFolder, type NameLine, parseGitNames, parseNameLine } from "./header.js";
import { type Input, type OpenFile, refuse, repair } from "./input.js";

type Field = "before" | "after" | "oldMode" | "newMode" | "index" | "similarity" | "dissimilarity";

/** The lines of git's extended header: what each gives, and what kind of change it tells of. */
const EXTENDED: readonly (readonly [start: string, field: Field, kind?: FileKind])[] = [
  ["index ", "index"],
  ["old mode ", "oldMode"],
  ["new mode ", "newMode"],
  ["new file mode ", "newMode", "create"],
  ["deleted file mode ", "oldMode", "delete"],
  ["similarity index ", "similarity"],
  ["dissimilarity index ", "dissimilarity"],
  ["rename from ", "before", "rename"],
  ["rename old ", "before", "rename"],
  ["rename to ", "after", "rename"],
  ["rename new ", "after", "rename"],
  ["copy from ", "before", "copy"],
  ["copy to ", "after", "copy"],
];

/** Header lines that lack the line break between them. */
const GLUED = /^(?:diff --git|---|\+\+\+) .*(?:--- |\+\+\+ [^/]*\/|@@ -\d|.index [0-9a-f]{4,}\.\.)/s;

/** Whether `--- ` and `+++ ` stand here. Without git's header above them an `@@` line must follow: they may be deleted lines and prose. */
export function startsNames(lines: readonly string[], at: number): boolean {
  return (lines[at]?.startsWith("--- ") && lines[at + 1]?.startsWith("+++ ")) ?? false;
}

/** What git's extended header says, from the line behind `diff --git` on. */
function readExtended(lines: readonly string[], at: number) {
  const said: Partial<Record<Field, string>> = {};
  let kind: FileKind | undefined;
  let fault = "";
  let next = at;
  for (; next < lines.length && !startsNames(lines, next); next++) {
    const entry = EXTENDED.find(([start]) => lines[next]!.startsWith(start));
    if (entry === undefined) break;
    const [start, field, means] = entry;
    if (kind !== undefined && means !== undefined && kind !== means) fault = TWO_KINDS;
    kind ??= means;
    said[field] = lines[next]!.slice(start.length).replace(/\r$/, "");
  }
  return { said, kind, fault, next };
}

const TWO_KINDS = "it tells of two kinds of change";

/** Reads the header at `at`, git's or `---` and `+++` alone, and opens its file; gives the line behind it. */
export function readHeader(input: Input, at: number): number {
  const { lines } = input;
  const line = lines[at]!;
  const git = line.startsWith("diff --git ");
  if (git) checkGlued(input, at);
  const extended = readExtended(lines, git ? at + 1 : at);
  const { said, next } = extended;
  let { kind, fault } = extended;
  const named = startsNames(lines, next);
  if (input.strict && git && !named && next === at + 1) {
    // For git a `diff` line alone is no header.
    closeFile(input);
    return next;
  }
  const both = git && !named ? parseGitNames(line.slice(11).replace(/\r$/, "")) : null;
  // Names that differ tell of a rename; which of the two it is about, only the lines below it can say.
  const names = both !== null && dropFolder(both.before) === dropFolder(both.after) ? both : null;
  const old: NameLine = named ? readName(input, next) : { name: names?.before };
  const now: NameLine = named ? readName(input, next + 1) : { name: names?.after };
  kind ??= old.name === null ? "create" : now.name === null ? "delete" : "modify";
  const isMove = kind === "rename" || kind === "copy";
  const isWhole = kind === "create" || kind === "delete";
  const before = isMove ? nameOf(said.before) : kind === "create" ? null : old.name;
  const after = isMove ? nameOf(said.after) : kind === "delete" ? null : now.name;
  const [index, mode] = said.index?.split(" ") ?? [];
  const oldMode = said.oldMode ?? (isWhole ? undefined : mode);
  const newMode = said.newMode ?? (isWhole ? undefined : mode);
  if (isWhole && said.oldMode !== undefined && said.newMode !== undefined) fault = TWO_KINDS;
  else if (named && ((old.name === null) !== (kind === "create") || (now.name === null) !== (kind === "delete")))
    fault = "only what is not there is /dev/null";
  else if (/[^0-7]/.test(`${oldMode ?? 0}${newMode ?? 0}`)) fault = "a mode is octal digits";
  if (fault !== "" || before === undefined || after === undefined) {
    refuse(input, at, "bad-header", `${fault || "it does not give two names that can be read"}: ${quote(line)}`);
    return next;
  }
  const paths = isMove ? { before, after } : readPaths(input, at, before, after);
  const file: OpenFile["file"] = { kind, ...paths, hunks: [] };
  if (oldMode !== undefined) file.oldMode = oldMode;
  if (newMode !== undefined) file.newMode = newMode;
  if (git) {
    const similarity = Number.parseInt(said.similarity ?? "", 10);
    const dissimilarity = Number.parseInt(said.dissimilarity ?? "", 10);
    file.git = {
      ...(index !== undefined && { index }),
      ...(similarity >= 0 && { similarity }),
      ...(dissimilarity >= 0 && { dissimilarity }),
    };
  }
  if (old.stamp !== undefined) file.oldStamp = old.stamp;
  if (now.stamp !== undefined) file.newStamp = now.stamp;
  closeFile(input);
  input.open = { file, git, tellApart: ordinals(), line: at };
  return named ? next + 2 : next;
}

/** Ends the file that is being read, and keeps it if it changes anything. */
export function closeFile(input: Input): void {
  if (input.open === null) return;
  const { file, line } = input.open;
  input.open = null;
  const { kind, before, after, hunks, oldMode, newMode, git } = file;
  const isMove = kind === "rename" || kind === "copy";
  // Of a file that stays, git needs both modes.
  const isModeChange = oldMode !== newMode && (kind !== "modify" || (oldMode !== undefined && newMode !== undefined));
  // A header of git's that says nothing of its own is kept, so that it is written again; where it goes without saying, it is not.
  if (git !== undefined && Object.keys(git).length === 0 && impliesGitHeader(file)) delete file.git;
  if (hunks.length > 0 || isMove || isModeChange) input.files.push(file);
  else if (input.errors.length === 0) repair(input, line, "empty-hunk", quote(after ?? before ?? ""));
}

function readName(input: Input, at: number): NameLine {
  const line = input.lines[at]!;
  checkGlued(input, at);
  const ends = line.endsWith("\r");
  if (ends && line.startsWith("---")) repair(input, at, "carriage-return");
  return parseNameLine(line.slice(4, ends ? -1 : undefined));
}

/** The path in a line of a rename or copy; undefined where there is none. */
function nameOf(text = ""): string | undefined {
  return parseNameLine(text).name || undefined;
}

export function checkGlued(input: Input, at: number): void {
  if (GLUED.test(input.lines[at]!)) refuse(input, at, "glued-header", quote(input.lines[at]!));
}

/**
 * The paths behind the names of `---` and `+++`. Strict reading takes off the first folder, as `git apply` does. Lenient
 * reading takes off what was put in front (`a/` and `b/`, or two folders that differ in front of the same path) and keeps
 * the rest. Where both sides name a file they name one: of `x.orig` and `x` the shorter, of two unlike names the new one, by git's rule.
 */
function readPaths(input: Input, at: number, old: string | null, now: string | null) {
  const prefixed = isPrefixed(old, now);
  let before = old;
  let after = now;
  if (input.strict || prefixed) {
    before = old && dropFolder(old);
    after = now && dropFolder(now);
  }
  if (before !== null && after !== null) before = after = after.startsWith(before) ? before : after;
  const path = after ?? before ?? "";
  if (path.startsWith("/")) repair(input, at, "absolute-path", path);
  else if (!prefixed) repair(input, at, "missing-prefix", path);
  return { before, after };
}

function isPrefixed(old: string | null, now: string | null): boolean {
  if (old === null || now === null) return /^[abciow12]\/./.test(old ?? now ?? "");
  const differ = old !== now && old.includes("/") && now.includes("/") && dropFolder(old) === dropFolder(now);
  return differ || (/^[ab]\//.test(old) && /^[ab]\//.test(now));
}
