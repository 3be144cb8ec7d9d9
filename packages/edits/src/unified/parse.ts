import { identifyHunks } from "../hunk.js";
import type { FileKind, FilePatch, GitHeader } from "../patch.js";
import type { Reading } from "../reading.js";
import { type HunkBody, readHunk, show } from "./body.js";
import { impliesGitHeader } from "./format.js";
import { parseGitNames, parseNameLine } from "./header.js";
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
    if (line.startsWith("diff --git ")) i = readGitFile(input, i, files);
    else if (isPlainHeader(input, i)) i = readPlainFile(input, i, files);
    else if (line.startsWith("@@")) i = readBareHunks(input, i, files, options.path);
    else {
      prose = skipProse(input, i++, prose);
      continue;
    }
    prose = false;
    if (i <= start) i = start + 1;
  }
  if (errors.length === 0 && files.length === 0)
    refuse(input, 0, "no-hunk", "There is no hunk in the input: nothing says what to change.");
  return errors.length > 0 ? { ok: false, errors } : { ok: true, patch: { files }, repairs };
}

function isPlainHeader({ lines, strict }: Input, at: number): boolean {
  return (
    lines[at]!.startsWith("--- ") &&
    (lines[at + 1]?.startsWith("+++ ") ?? false) &&
    (lines[at + 2]?.startsWith(strict ? "@@ -" : "@@") ?? false)
  );
}

function skipProse(input: Input, at: number, going: boolean): boolean {
  const line = input.lines[at]!;
  const fence = /^\s*(`{3,}|~{3,})/.exec(line);
  if (fence !== null) {
    if (input.fence === 0) {
      input.fence = fence[1]!.length;
      if (!input.strict) repair(input, at, "fence", "The patch stands in a markdown fence.");
    } else if (fence[1]!.length >= input.fence) input.fence = 0;
    return going;
  }
  if (/^(Binary files .* differ|GIT binary patch)\r?$/s.test(line)) refuseBinary(input, at, line);
  else if (/^(diff --(cc|combined) |@@@)/.test(line))
    refuse(input, at, "combined-diff", "A diff of a merge commit has several old sides and cannot be applied.");
  else if (/^--- .*(\+\+\+ |@@ -)|^\+\+\+ .*@@ -/s.test(line))
    refuse(input, at, "glued-header", `Header lines stand on one line: ${show(line)}.`);
  else if (!input.strict && !going && line.trim() !== "" && !/^(diff |Index: |Only in |={3,}|-- $)/.test(line)) {
    repair(input, at, "prose", `Text that is no part of a patch was left out: ${show(line)}.`);
    return true;
  }
  return going;
}

function refuseBinary(input: Input, at: number, name: string): void {
  refuse(input, at, "binary", `A binary patch cannot be read as lines: ${show(name)}.`);
}

function readPlainFile(input: Input, at: number, files: FilePatch[]): number {
  const { old, now } = readNames(input, at);
  const { before, after } = readPaths(input, at, old.name, now.name, false);
  if (before === null && after === null) refuse(input, at, "bad-header", "Both sides are /dev/null.");
  const kind = before === null ? "create" : after === null ? "delete" : "modify";
  const stamps = {
    ...(old.stamp !== undefined && { oldStamp: old.stamp }),
    ...(now.stamp !== undefined && { newStamp: now.stamp }),
  };
  return readHunks(input, at + 2, { kind, before, after, hunks: [], ...stamps }, files);
}

function readBareHunks(input: Input, at: number, files: FilePatch[], path: string | undefined): number {
  if (input.lines[at]!.startsWith("@@@")) {
    refuse(input, at, "combined-diff", "A diff of a merge commit has several old sides and cannot be applied.");
    return at + 1;
  }
  const file = files.at(-1);
  if (file !== undefined && !input.strict) {
    files.pop();
    return readHunks(input, at, file, files);
  }
  if (path === undefined || input.strict) {
    refuse(
      input,
      at,
      "no-file-header",
      `No --- and +++ lines say which file this hunk changes: ${show(input.lines[at]!)}.`,
    );
    return at + 1;
  }
  repair(input, at, "missing-file-header", `The hunk has no --- and +++ lines; read as a change of ${path}.`);
  return readHunks(input, at, { kind: "modify", before: path, after: path, hunks: [] }, files);
}

/** The names of the `---` and `+++` lines. GNU diff writes the epoch as the time stamp of a file that is not there. */
function readNames(input: Input, at: number) {
  const [old, now] = [at, at + 1].map((i) => {
    const line = input.lines[i]!;
    const end = line.endsWith("\r") ? -1 : undefined;
    if (end === -1 && !input.strict && i === at)
      repair(input, i, "carriage-return", "The header lines end with a carriage return.");
    if (/@@ -\d|.\+\+\+ [^/]*\//s.test(line.slice(4)))
      refuse(input, i, "glued-header", `Header lines stand on one line: ${show(line)}.`);
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
  const bodies: HunkBody[] = [...file.hunks];
  let i = from;
  for (;;) {
    let at = i;
    if (!input.strict) while (input.lines[at] === "") at++;
    if (!input.lines[at]?.startsWith("@@") || input.lines[at]!.startsWith("@@@")) break;
    const { hunk, next } = readHunk(input, at, file.kind === "create");
    i = next;
    if (hunk === null) continue;
    if (file.kind === "create" && hunk.lines.some((line) => line[0] !== "+"))
      refuse(input, at, "bad-hunk", `The file ${file.after} is created, but the hunk has lines of an old text.`);
    if (file.kind === "delete" && hunk.lines.some((line) => line[0] !== "-"))
      refuse(input, at, "bad-hunk", `The file ${file.before} is deleted, but the hunk leaves lines in it.`);
    bodies.push(hunk);
  }
  const result = { ...file, hunks: identifyHunks(bodies) };
  if (bodies.length > 0 || result.git !== undefined || result.kind !== "modify" || result.oldMode !== result.newMode)
    files.push(result);
  return i;
}

/** Reads from a `diff --git` line: git's extended header, and the hunks if there are any. */
function readGitFile(input: Input, at: number, files: FilePatch[]): number {
  const text = input.lines[at]!.slice("diff --git ".length).replace(/\r$/, "");
  if (/--- |\+\+\+ |@@ -|.index [0-9a-f]{4,}\.\./.test(text)) {
    refuse(input, at, "glued-header", `Header lines stand on one line: ${show(input.lines[at]!)}.`);
    return at + 1;
  }
  const said = parseGitNames(text);
  const header = readExtended(input, at + 1);
  let { next: i } = header;
  const line = input.lines[i] ?? "";
  if (/^(Binary files |GIT binary patch)/.test(line)) {
    refuseBinary(input, i, said?.after ?? text);
    return i + 1;
  }
  let old: string | null = said?.before ?? null;
  let now: string | null = said?.after ?? null;
  let stamps = {};
  if (line.startsWith("--- ") && input.lines[i + 1]?.startsWith("+++ ")) {
    const names = readNames(input, i);
    old = names.old.name;
    now = names.now.name;
    stamps = {
      ...(names.old.stamp !== undefined && { oldStamp: names.old.stamp }),
      ...(names.now.stamp !== undefined && { newStamp: names.now.stamp }),
    };
    i += 2;
  } else if (old === null && header.from === undefined) {
    refuse(input, at, "bad-header", `The names cannot be told apart: ${show(input.lines[at]!)}.`);
    return i;
  }
  const kind = header.kind ?? (old === null ? "create" : now === null ? "delete" : "modify");
  const paths =
    header.from !== undefined && header.to !== undefined
      ? { before: header.from, after: header.to }
      : readPaths(input, at, kind === "create" ? null : old, kind === "delete" ? null : now, false);
  const draft: FilePatch = {
    kind,
    ...paths,
    hunks: [],
    ...header.modes,
    ...(hasKeys(header.git) && { git: header.git }),
    ...stamps,
  };
  const count = files.length;
  const next = readHunks(input, i, draft, files);
  const file = files[count];
  if (file !== undefined && file.git === undefined && !impliesGitHeader(file)) files[count] = { ...file, git: {} };
  return next;
}

interface Extended {
  readonly kind?: FileKind;
  readonly from?: string;
  readonly to?: string;
  readonly modes: { oldMode?: string; newMode?: string };
  readonly git: GitHeader;
  readonly next: number;
}

const EXTENDED =
  /^(old mode|new mode|new file mode|deleted file mode|similarity index|dissimilarity index|rename from|rename to|rename old|rename new|copy from|copy to|index) (.*?)\r?$/s;

function readExtended(input: Input, from: number): Extended {
  let kind: FileKind | undefined;
  const paths: { from?: string; to?: string } = {};
  const modes: { oldMode?: string; newMode?: string } = {};
  const git: { -readonly [K in keyof GitHeader]: GitHeader[K] } = {};
  let i = from;
  for (; i < input.lines.length; i++) {
    const match = EXTENDED.exec(input.lines[i]!);
    if (match === null) break;
    const value = match[2]!;
    switch (match[1]) {
      case "old mode":
        modes.oldMode = value;
        break;
      case "new mode":
        modes.newMode = value;
        break;
      case "new file mode":
        kind = "create";
        modes.newMode = value;
        break;
      case "deleted file mode":
        kind = "delete";
        modes.oldMode = value;
        break;
      case "similarity index":
        git.similarity = Number.parseInt(value, 10);
        break;
      case "dissimilarity index":
        git.dissimilarity = Number.parseInt(value, 10);
        break;
      case "index": {
        const [names, mode] = value.split(" ");
        git.index = names!;
        if (mode !== undefined) modes.oldMode = modes.newMode = mode;
        break;
      }
      default: {
        const [verb, side] = match[1]!.split(" ") as ["rename" | "copy", string];
        kind = verb;
        paths[side === "from" || side === "old" ? "from" : "to"] = parseNameLine(value).name ?? "";
      }
    }
  }
  return { ...(kind !== undefined && { kind }), ...paths, modes, git, next: i };
}

function hasKeys(value: object): boolean {
  return Object.keys(value).length > 0;
}
