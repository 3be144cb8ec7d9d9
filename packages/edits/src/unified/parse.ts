import { hunkIds } from "../hunk.js";
import type { FileKind, FilePatch, Hunk } from "../patch.js";
import { quote, type Reading } from "../reading.js";
import { readHunk } from "./body.js";
import { parseExtended } from "./extended.js";
import { impliesGitHeader } from "./format.js";
import { type NameLine, parseGitNames, parseNameLine } from "./header.js";
import { type Input, openInput, refuse, repair } from "./input.js";
import { readPaths } from "./paths.js";

export interface ParseOptions {
  /** Refuse whatever `git apply` refuses. Otherwise what is certain is repaired, and every repair is listed. */
  strict?: boolean;
  /** The file that hunks without `---` and `+++` belong to; without it they are an error. Not used by strict reading. */
  path?: string;
}

/**
 * Reads a unified diff, plain or with git's extended headers. An input in which nothing changes anything is an error.
 * Never throws; linear in the input. Hunks are given in the order they stand in.
 */
export function parsePatch(text: string, options: ParseOptions = {}): Reading {
  const input = openInput(text, options.strict ?? false);
  const { lines, errors, repairs } = input;
  const files: FilePatch[] = [];
  let prose = false;
  let i = 0;
  while (i < lines.length && errors.length === 0) {
    const line = lines[i]!;
    const start = i;
    input.git = line.startsWith("diff --git ");
    if (input.git) i = readGitFile(input, i, files);
    else if (isPlainHeader(input, i)) i = readPlainFile(input, i, files);
    else if (line.startsWith("@@")) i = readBareHunks(input, i, files, options.path);
    else {
      prose = skipProse(input, i++, prose);
      continue;
    }
    prose = false;
    if (i <= start) i = start + 1;
  }
  if (errors.length === 0 && files.length === 0) refuse(input, 0, "no-hunk");
  return errors.length > 0 ? { ok: false, errors } : { ok: true, patch: { files }, repairs };
}

function isPlainHeader({ lines }: Input, at: number): boolean {
  return (
    lines[at]!.startsWith("--- ") &&
    (lines[at + 1]?.startsWith("+++ ") ?? false) &&
    (lines[at + 2]?.startsWith("@@") ?? false)
  );
}

function skipProse(input: Input, at: number, going: boolean): boolean {
  const line = input.lines[at]!;
  const fence = /^\s*(`{3,}|~{3,})/.exec(line);
  if (fence !== null) {
    if (input.fence === 0) {
      input.fence = fence[1]!.length;
      repair(input, at, "fence");
    } else if (fence[1]!.length >= input.fence) input.fence = 0;
    return going;
  }
  if (/^(Binary files .* differ|GIT binary patch)\r?$/s.test(line)) refuse(input, at, "binary", quote(line));
  else if (/^(diff --(cc|combined) |@@@)/.test(line)) refuse(input, at, "combined-diff", quote(line));
  else if (/^--- .*(\+\+\+ |@@ -)|^\+\+\+ .*@@ -/s.test(line)) refuse(input, at, "glued-header", quote(line));
  else if (!going && line.trim() !== "" && !/^(diff |Index: |Only in |={3,}|-- $)/.test(line)) {
    repair(input, at, "prose", quote(line));
    return true;
  }
  return going;
}

function readPlainFile(input: Input, at: number, files: FilePatch[]): number {
  const { old, now } = readNames(input, at);
  const { before, after } = readPaths(input, at, old.name, now.name);
  if (before === null && after === null) refuse(input, at, "bad-header", "both sides are /dev/null");
  const kind = before === null ? "create" : after === null ? "delete" : "modify";
  return readHunks(input, at + 2, { kind, before, after, hunks: [], ...stampsOf(old, now) }, files);
}

function readBareHunks(input: Input, at: number, files: FilePatch[], path: string | undefined): number {
  if (input.lines[at]!.startsWith("@@@")) {
    refuse(input, at, "combined-diff", quote(input.lines[at]!));
    return at + 1;
  }
  const file = files.at(-1);
  if (file !== undefined && !input.strict) {
    files.pop();
    return readHunks(input, at, file, files);
  }
  if (path === undefined || input.strict) {
    refuse(input, at, "no-file-header", quote(input.lines[at]!));
    return at + 1;
  }
  repair(input, at, "missing-file-header", path);
  return readHunks(input, at, { kind: "modify", before: path, after: path, hunks: [] }, files);
}

/** The names of the `---` and `+++` lines. GNU diff writes the epoch as the time stamp of a file that is not there. */
function readNames(input: Input, at: number) {
  const [old, now] = [at, at + 1].map((i) => {
    const line = input.lines[i]!;
    const end = line.endsWith("\r") ? -1 : undefined;
    if (end === -1 && i === at) repair(input, i, "carriage-return");
    if (/@@ -\d|.\+\+\+ [^/]*\//s.test(line.slice(4))) refuse(input, i, "glued-header", quote(line));
    const { name, stamp } = parseNameLine(line.slice(4, end));
    return { name: stamp !== undefined && isEpoch(stamp) ? null : name, stamp };
  });
  return { old: old!, now: now! };
}

function isEpoch(stamp: string): boolean {
  const match = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.0+)? ([-+]\d\d):?(\d\d)$/.exec(stamp);
  return match !== null && Date.parse(`${match[1]}T${match[2]}${match[3]}:${match[4]}`) === 0;
}

function readHunks(input: Input, from: number, file: FilePatch, files: FilePatch[]): number {
  const hunks: Hunk[] = [...file.hunks];
  const nextId = hunkIds();
  for (const { lines } of hunks) nextId(lines.join("\n"));
  let i = from;
  for (;;) {
    let at = i;
    if (!input.strict) while (input.lines[at] === "") at++;
    if (!input.lines[at]?.startsWith("@@") || input.lines[at]!.startsWith("@@@")) break;
    const { hunk, next } = readHunk(input, at, file.kind === "create", nextId);
    i = next;
    if (hunk === null) continue;
    if (file.kind === "create" && hunk.lines.some((line) => line[0] !== "+"))
      refuse(input, at, "bad-hunk", `${file.after} is created, but has old lines`);
    if (file.kind === "delete" && hunk.lines.some((line) => line[0] !== "-"))
      refuse(input, at, "bad-hunk", `${file.before} is deleted, but lines are left`);
    hunks.push(hunk);
  }
  const result = { ...file, hunks };
  const changes =
    hunks.length > 0 || result.kind === "rename" || result.kind === "copy" || result.oldMode !== result.newMode;
  if (changes) files.push(result);
  else if (!input.strict && input.errors.length === 0)
    repair(input, from - 1, "empty-hunk", file.after ?? file.before ?? undefined);
  return i;
}

/** Reads from a `diff --git` line: git's extended header, and the hunks if there are any. */
function readGitFile(input: Input, at: number, files: FilePatch[]): number {
  const text = input.lines[at]!.slice("diff --git ".length).replace(/\r$/, "");
  if (/--- |\+\+\+ |@@ -|.index [0-9a-f]{4,}\.\./.test(text)) {
    refuse(input, at, "glued-header", quote(text));
    return at + 1;
  }
  const said = parseGitNames(text);
  const { kind, from, to, oldMode, newMode, git, fault, next } = parseExtended(input.lines, at + 1);
  const line = input.lines[next] ?? "";
  if (/^(Binary files |GIT binary patch)/.test(line)) {
    refuse(input, next, "binary", said?.after ?? text);
    return next + 1;
  }
  const named = line.startsWith("--- ") && input.lines[next + 1]?.startsWith("+++ ");
  const { old, now } = named
    ? readNames(input, next)
    : { old: { name: said?.before ?? null }, now: { name: said?.after ?? null } };
  const problem = fault ?? findFault(kind, old.name, now.name, named ?? false);
  if (problem !== null) {
    refuse(input, at, "bad-header", `${quote(text)}, ${problem}`);
    return next;
  }
  const draft: FilePatch = {
    kind: kind !== "modify" ? kind : old.name === null ? "create" : now.name === null ? "delete" : "modify",
    ...(from !== undefined && to !== undefined
      ? { before: from, after: to }
      : readPaths(input, at, kind === "create" ? null : old.name, kind === "delete" ? null : now.name)),
    hunks: [],
    ...(oldMode !== undefined && { oldMode }),
    ...(newMode !== undefined && { newMode }),
    ...(Object.keys(git).length > 0 && { git }),
    ...stampsOf(old, now),
  };
  const count = files.length;
  const end = readHunks(input, named ? next + 2 : next, draft, files);
  const file = files[count];
  // A header that says nothing of its own is kept too, so that it is written again.
  if (file !== undefined && file.git === undefined && !impliesGitHeader(file)) files[count] = { ...file, git: {} };
  return end;
}

/** Why the names of the `---` and `+++` lines, or of the `diff --git` line, do not go with the header. */
function findFault(kind: FileKind, old: string | null, now: string | null, named: boolean): string | null {
  if (!named) {
    const isMove = kind === "rename" || kind === "copy";
    return (old === null || now === null) && !isMove ? "its two names cannot be told apart" : null;
  }
  if (old === null && now === null) return "both sides are /dev/null";
  if (kind === "create" && old !== null) return "a created file has no name on the --- line but /dev/null";
  if (kind === "delete" && now !== null) return "a deleted file has no name on the +++ line but /dev/null";
  if (kind === "rename" || kind === "copy")
    return old === null || now === null ? `a ${kind} has a name on both sides` : null;
  return null;
}

function stampsOf(old: NameLine, now: NameLine) {
  return {
    ...(old.stamp !== undefined && { oldStamp: old.stamp }),
    ...(now.stamp !== undefined && { newStamp: now.stamp }),
  };
}
