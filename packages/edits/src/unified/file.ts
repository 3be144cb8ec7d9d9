import { hunkIds } from "../hunk.js";
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

/** Reads the header at `at`, git's or `---` and `+++` alone, and opens its file; gives the line behind it. */
export function readHeader(input: Input, at: number): number {
  const { lines } = input;
  const line = lines[at]!;
  const git = line.startsWith("diff --git ");
  const said: Partial<Record<Field, string>> = {};
  let kind: FileKind | undefined;
  let fault = "";
  let next = at;
  if (git) {
    checkGlued(input, at);
    for (next++; next < lines.length; next++) {
      const entry = EXTENDED.find(([start]) => lines[next]!.startsWith(start));
      if (entry === undefined) break;
      const [start, field, means] = entry;
      if (kind !== undefined && means !== undefined && kind !== means) fault = "it tells of two kinds of change";
      kind ??= means;
      said[field] = lines[next]!.slice(start.length).replace(/\r$/, "");
    }
  }
  const named = startsNames(lines, next);
  const names = git && !named ? parseGitNames(line.slice(11).replace(/\r$/, "")) : null;
  const old = named ? readName(input, next) : { name: names?.before ?? null };
  const now = named ? readName(input, next + 1) : { name: names?.after ?? null };
  kind ??= old.name === null ? "create" : now.name === null ? "delete" : "modify";
  const isMove = kind === "rename" || kind === "copy";
  const isWhole = kind === "create" || kind === "delete";
  if (isWhole && said.oldMode !== undefined && said.newMode !== undefined)
    fault = `a file is ${kind}d and its mode changed`;
  else if (isMove && (said.before === undefined || said.after === undefined)) fault = `a ${kind} has two paths`;
  else if (!isMove && !named && names === null) fault = "its two names cannot be told apart";
  else if (named && ((old.name === null) !== (kind === "create") || (now.name === null) !== (kind === "delete")))
    fault = "/dev/null is the old side of a created file and the new side of a deleted one, and nothing else";
  if (fault !== "") {
    refuse(input, at, "bad-header", `${quote(line)}, ${fault}`);
    return next;
  }
  const { before, after } = isMove
    ? { before: parseNameLine(said.before!).name, after: parseNameLine(said.after!).name }
    : readPaths(input, at, kind === "create" ? null : old.name, kind === "delete" ? null : now.name);
  const file: OpenFile["file"] = { kind, before, after, hunks: [] };
  const [index, mode] = said.index?.split(" ") ?? [];
  const oldMode = said.oldMode ?? (isWhole ? undefined : mode);
  const newMode = said.newMode ?? (isWhole ? undefined : mode);
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
  input.open = { file, git, nextId: hunkIds(), line: at };
  return named ? next + 2 : next;
}

/** Ends the file that is being read, and keeps it if it changes anything. */
export function closeFile(input: Input): void {
  if (input.open === null) return;
  const { file, line } = input.open;
  input.open = null;
  const { kind, before, after, hunks, oldMode, newMode, git } = file;
  // A header of git's that says nothing of its own is kept, so that it is written again; where it goes without saying, it is not.
  if (git !== undefined && Object.keys(git).length === 0 && impliesGitHeader(file)) delete file.git;
  if (hunks.length > 0 || kind === "rename" || kind === "copy" || oldMode !== newMode) input.files.push(file);
  else if (input.errors.length === 0) repair(input, line, "empty-hunk", quote(after ?? before ?? ""));
}

/** The name in a `---` or `+++` line. GNU diff writes the epoch as the time stamp of a file that is not there. */
function readName(input: Input, at: number): NameLine {
  const line = input.lines[at]!;
  checkGlued(input, at);
  const ends = line.endsWith("\r");
  if (ends && line.startsWith("---")) repair(input, at, "carriage-return");
  const { name, stamp } = parseNameLine(line.slice(4, ends ? -1 : undefined));
  return { name: stamp !== undefined && isEpoch(stamp) ? null : name, stamp };
}

export function checkGlued(input: Input, at: number): void {
  if (GLUED.test(input.lines[at]!)) refuse(input, at, "glued-header", quote(input.lines[at]!));
}

function isEpoch(stamp: string): boolean {
  const match = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.0+)? ([-+]\d\d):?(\d\d)$/.exec(stamp);
  return match !== null && Date.parse(`${match[1]}T${match[2]}${match[3]}:${match[4]}`) === 0;
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
  if (/^[ab]\//.test(old) && /^[ab]\//.test(now)) return true;
  return (
    /\//.test(old) &&
    /\//.test(now) &&
    old.split("/", 1)[0] !== now.split("/", 1)[0] &&
    dropFolder(old) === dropFolder(now)
  );
}
