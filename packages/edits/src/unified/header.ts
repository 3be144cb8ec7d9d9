import { ordinals } from "../hunk.js";
import { withoutReturn } from "../lines.js";
import type { FileKind, GitHeader } from "../patch.js";
import { refuse } from "../read/message.js";
import { quote } from "../reading.js";
import { type Diff, mend, type OpenFile, take } from "./diff.js";
import { impliesGitHeader } from "./format.js";
import { startsNames } from "./marks.js";
import { dropFolder, dropFolders, type NameLine, parseGitNames, parseNameLine } from "./names.js";

type Field = "before" | "after" | "oldMode" | "newMode" | "index" | "similarity" | "dissimilarity";

/** The lines of git's extended header: the fields of each, and the kind of change it implies. */
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
export function isGlued(line: string): boolean {
  const start = /^(?:diff --git|---|\+\+\+) /.exec(line)?.[0].length;
  if (start === undefined) return false;
  const plus = line.indexOf("+++ ", start);
  return (plus > 0 && line.includes("/", plus)) || /--- |@@ -\d|.index [0-9a-f]{4,}\.\./s.test(line.slice(start));
}

/** The content of a header: its fields, the names as written, and the kind of change. */
interface Header {
  readonly git: boolean;
  readonly said: Partial<Record<Field, string>>;
  kind: FileKind | undefined;
  /** Names behind `---` and `+++`; null where these lines are not there. */
  named: readonly [old: NameLine, now: NameLine] | null;
  /** Text behind `diff --git`, and its names if they can be told apart and may differ from those below. */
  names: string;
  both: { before: string; after: string } | null;
  /** The contradiction in it; empty if there is none. */
  fault: string;
}

/** Reads the header that is next, git's or `---` and `+++` alone, and opens its file. */
export function readHeader(diff: Diff): void {
  const { at } = diff;
  const header = takeHeader(diff);
  // For git a `diff` line alone is no header.
  if (diff.strict && header.named === null && diff.at === at + 1) return closeFile(diff);
  const file = describeFile(diff, at, header);
  closeFile(diff);
  diff.open = { file, git: header.git, tellApart: ordinals(), line: at };
}

function takeHeader(diff: Diff): Header {
  const { at, lines } = diff;
  const git = lines[at]!.startsWith("diff --git ");
  const header: Header = { git, said: {}, kind: undefined, named: null, names: "", both: null, fault: "" };
  if (git) {
    checkGlued(diff, at);
    header.names = withoutReturn(take(diff)).slice(11);
  }
  while (diff.at < lines.length && !startsNames(lines, diff.at)) {
    const line = lines[diff.at]!;
    const entry = EXTENDED.find((each) => line.startsWith(each[0]));
    if (entry === undefined) break;
    const [start, field, means] = entry;
    if (header.kind !== undefined && means !== undefined && header.kind !== means) header.fault = TWO_KINDS;
    header.kind ??= means;
    header.said[field] = withoutReturn(take(diff)).slice(start.length);
  }
  if (startsNames(lines, diff.at)) header.named = [takeName(diff), takeName(diff)];
  const [old, now] = header.named ?? [];
  // Two names that say the same as those below them are the usual case, and need not be told apart.
  const same = old?.name && now?.name && dropFolder(old.name) === dropFolder(now.name);
  if (git && !(same && header.names === `${old.name} ${now.name}`)) header.both = parseGitNames(header.names);
  return header;
}

const TWO_KINDS = "it tells of two kinds of change";
const TWO_NAMES = "its lines name different files";

function takeName(diff: Diff): NameLine {
  checkGlued(diff, diff.at);
  const line = take(diff);
  if (line.endsWith("\r") && line.startsWith("---")) mend(diff, diff.at - 1, "carriage-return");
  return parseNameLine(withoutReturn(line).slice(4), diff.asGit);
}

/** The file that the header at this line is about. */
function describeFile(diff: Diff, at: number, header: Header): OpenFile["file"] {
  const { said, git, named, both } = header;
  const [old, now] = named ?? [undefined, undefined];
  const kind = header.kind ?? kindOf(header);
  const isMove = kind === "rename" || kind === "copy";
  const isWhole = kind === "create" || kind === "delete";
  // Two names in the `diff` line alone may tell of a rename; only the lines below it can say so.
  const names = named === null && both !== null && dropFolder(both.before) === dropFolder(both.after) ? both : null;
  const { oldMode, newMode } = said;
  let { fault } = header;
  if (isWhole && oldMode !== undefined && newMode !== undefined) fault = TWO_KINDS;
  else if (named && ((old!.name === null) !== (kind === "create") || (now!.name === null) !== (kind === "delete")))
    fault = "only what is not there is /dev/null";
  const [index, mode] = said.index?.split(" ") ?? [];
  if (/[^0-7]/.test([oldMode, newMode, mode].join(""))) fault ||= "a mode is octal digits";
  if (both !== null || isMove) fault ||= contradict(header, isMove);
  const moved = isMove && header.kind !== undefined;
  const before = kind === "create" ? null : moved ? nameOf(said.before) : (old?.name ?? names?.before);
  const after = kind === "delete" ? null : moved ? nameOf(said.after) : (now?.name ?? names?.after);
  if (fault !== "" || before === undefined || after === undefined) {
    const why = fault || "it does not give two names that can be read";
    return refuse(at, "bad-header", `${why}: ${quote(diff.lines[at]!)}`);
  }
  const paths = moved ? stripMove(diff, before!, after!) : readPaths(diff, at, before, after, isMove);
  if (paths.before === "" || paths.after === "") {
    const name = quote((after ?? before)!);
    return refuse(at, "bad-header", `a name has fewer folders than \`strip\` takes off: ${name}`);
  }
  const file: OpenFile["file"] = { kind, ...paths, hunks: [] };
  if (oldMode !== undefined) file.oldMode = oldMode;
  if (newMode !== undefined) file.newMode = newMode;
  if (git) file.git = gitHeader(said, index, isWhole ? undefined : mode);
  if (old?.stamp !== undefined) file.oldStamp = old.stamp;
  if (now?.stamp !== undefined) file.newStamp = now.stamp;
  return file;
}

/** The kind of a change without a header line for it: git takes two names that differ for a rename. */
function kindOf({ git, named, both }: Header): FileKind {
  const [old, now] = named ?? [];
  if (old?.name === null) return "create";
  if (now?.name === null) return "delete";
  const differ = git && old?.name && now?.name && both !== null && dropFolder(old.name) !== dropFolder(now.name);
  return differ && dropFolder(both.before) !== dropFolder(both.after) ? "rename" : "modify";
}

/** Names of one header that cannot be those of one file: git believes one or the other, or refuses. */
function contradict({ said, named, both }: Header, isMove: boolean): string {
  const [old, now] = named?.map(({ name }) => name) ?? [];
  const from = nameOf(said.before);
  const to = nameOf(said.after);
  const pairs = [
    [old, both?.before],
    [now, both?.after],
  ];
  if (isMove) pairs.push([old, from], [now, to], [both?.before, from], [both?.after, to]);
  return pairs.some(([a, b]) => a && b && !agree(a, b)) ? TWO_NAMES : "";
}

/** Whether two names are equal but for a first folder that one or each of them has. */
function agree(a: string, b: string): boolean {
  const [shortA, shortB] = [dropFolder(a), dropFolder(b)];
  return a === b || shortA === b || a === shortB || shortA === shortB;
}

function gitHeader({ similarity, dissimilarity }: Header["said"], index: string | undefined, mode: string | undefined) {
  const header: { -readonly [Key in keyof GitHeader]: GitHeader[Key] } = {};
  if (index !== undefined) header.index = index;
  if (mode !== undefined) header.mode = mode;
  const like = similarity === undefined ? -1 : Number.parseInt(similarity, 10);
  const unlike = dissimilarity === undefined ? -1 : Number.parseInt(dissimilarity, 10);
  if (like >= 0) header.similarity = like;
  if (unlike >= 0) header.dissimilarity = unlike;
  return header;
}

/** Ends the file that is being read, and keeps it if it changes anything. */
export function closeFile(diff: Diff): void {
  if (diff.open === null) return;
  const { file, line } = diff.open;
  diff.open = null;
  const { kind, before, after, hunks, oldMode, newMode, git } = file;
  const isMove = kind === "rename" || kind === "copy";
  // Of a file that stays, git needs both modes.
  const isModeChange = oldMode !== newMode && (kind !== "modify" || (oldMode !== undefined && newMode !== undefined));
  // A header of git's that says nothing of its own is kept, so that it is written again; where it goes without saying, it is not.
  if (git !== undefined && Object.keys(git).length === 0 && impliesGitHeader(file)) delete file.git;
  if (hunks.length > 0 || isMove || isModeChange) diff.files.push(file);
  else mend(diff, line, "empty-hunk", quote(after ?? before ?? ""));
}

/** The path in a line of a rename or copy; undefined where there is none. */
function nameOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : parseNameLine(text).name || undefined;
}

export function checkGlued(diff: Diff, at: number): void {
  if (isGlued(diff.lines[at]!)) refuse(at, "glued-header", quote(diff.lines[at]!));
}

/** The names of a rename or copy have no folder in front that is not theirs. */
function stripMove({ strip = 1 }: Diff, before: string, after: string) {
  return { before: dropFolders(before, strip - 1), after: dropFolders(after, strip - 1) };
}

/**
 * The paths behind the names of `---` and `+++`, without the first folder, as `git apply` reads them. Where both sides name a
 * file they name one: the new one, as for git, unless it goes on where the old one ends (`x` and `x.orig`).
 */
function readPaths(diff: Diff, at: number, old: string | null, now: string | null, isMove: boolean) {
  const { strip } = diff;
  const count = strip ?? (diff.asGit || isPrefixed(old, now) ? 1 : 0);
  let [before, after] = [old, now].map((name) => name && dropFolders(name, count, strip === undefined)) as [
    string | null,
    string | null,
  ];
  if (before !== null && after !== null && !isMove) {
    before = after = after.startsWith(before) ? before : after;
  }
  const path = after ?? before ?? "";
  if (path.startsWith("/")) mend(diff, at, "absolute-path", path);
  else if (count === 0 && strip === undefined) mend(diff, at, "missing-prefix", path);
  return { before, after };
}

/** Whether something was put in front of the names: `a/` and `b/`, or two folders that differ in front of the same path. */
function isPrefixed(old: string | null, now: string | null): boolean {
  if (old === null || now === null) return /^[abciow12]\/./.test(old ?? now ?? "");
  const differ = old !== now && old.includes("/") && now.includes("/") && dropFolder(old) === dropFolder(now);
  return differ || (/^[ab]\//.test(old) && /^[ab]\//.test(now));
}
