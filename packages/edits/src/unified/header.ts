import { ordinals } from "../hunk.js";
import { withoutReturn } from "../lines.js";
import type { FileKind, FilePatch, GitHeader } from "../patch.js";
import { refuse } from "../read/message.js";
import { quote } from "../reading.js";
import { type Diff, type FileInProgress, isChanged, mend, refuseForeign, startsNames, take } from "./diff.js";
import { dropFolder, dropFolders, type NameLine, parseGitNames, parseNameLine, quoteName } from "./names.js";

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

interface Header {
  readonly git: boolean;
  readonly fields: Partial<Record<Field, string>>;
  /** The kind that its lines imply, and whether they imply another as well. */
  kind: FileKind | undefined;
  isMixed: boolean;
  /** Names behind `---` and `+++`; null where these lines are missing. */
  named: readonly [old: NameLine, now: NameLine] | null;
  both: { before: string; after: string } | null;
}

type GitFields = { -readonly [Name in keyof GitHeader]: GitHeader[Name] };

const TWO_KINDS = "it tells of two kinds of change";

/** Refuses header lines that lack the line break between them. */
export function checkGlued(diff: Diff, at: number): void {
  const line = diff.lines[at]!;
  const start = /^(?:diff --git|---|\+\+\+) /.exec(line)?.[0].length;
  if (start === undefined) return;
  const plus = line.indexOf("+++ ", start);
  const isGlued =
    (plus > 0 && line.includes("/", plus)) || /--- |@@ -\d|.index [0-9a-f]{4,}\.\./s.test(line.slice(start));
  if (isGlued) refuse(at, "glued-header", quote(line));
}

/** Passes over a line in no header and no hunk; those above the opening one are not in the block. */
export function passLine(diff: Diff, isInBlock: boolean): void {
  const { at, lines } = diff;
  const line = lines[at]!;
  refuseForeign(line, at, diff.open?.file.after);
  if (isInBlock || line.startsWith("--- ")) checkGlued(diff, at);
  if (isInBlock && isChanged(line)) refuseStray(lines, at);
  diff.at++;
}

export function refuseStray(lines: readonly string[], at: number): never {
  const row = Math.min(at, lines.length - 1);
  return refuse(row, "stray-line", quote(lines[row]!));
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
  const { lines } = diff;
  const git = lines[diff.at]!.startsWith("diff --git ");
  const header: Header = { git, fields: {}, kind: undefined, isMixed: false, named: null, both: null };
  if (git) {
    checkGlued(diff, diff.at);
    header.both = parseGitNames(withoutReturn(take(diff)).slice(11));
  }
  while (diff.at < lines.length && !startsNames(lines, diff.at)) {
    const line = lines[diff.at]!;
    const entry = EXTENDED.find((each) => line.startsWith(each[0]));
    if (entry === undefined) break;
    const [start, field, kind] = entry;
    header.kind ??= kind;
    header.isMixed ||= kind !== undefined && header.kind !== kind;
    header.fields[field] = withoutReturn(take(diff)).slice(start.length);
  }
  if (startsNames(lines, diff.at)) header.named = [takeName(diff), takeName(diff)];
  return header;
}

function takeName(diff: Diff): NameLine {
  checkGlued(diff, diff.at);
  const line = take(diff);
  if (line.endsWith("\r") && line.startsWith("---")) mend(diff, diff.at - 1, "carriage-return");
  return parseNameLine(withoutReturn(line).slice(4), diff.asGit);
}

function describeFile(diff: Diff, at: number, header: Header): FileInProgress["file"] {
  const { fields, git, named } = header;
  const kind = header.kind ?? kindOf(header);
  const isMove = isMoved(kind);
  const [before, after] = namesOf(header, kind);
  const { oldMode, newMode } = fields;
  const [index, indexMode] = fields.index?.split(" ") ?? [];
  const mode = isOneSided(kind) ? undefined : indexMode;
  const isMode = !/[^0-7]/.test([oldMode, newMode, indexMode].join(""));
  const fault = findFault(header, kind, isMode);
  if (fault !== null || before === undefined || after === undefined) {
    const why = fault ?? "it does not give two names that can be read";
    return refuse(at, "bad-header", `${why}: ${quote(diff.lines[at]!)}`);
  }
  const strip = (diff.strip ?? 1) - 1;
  // The names of a rename or copy have no folder in front that is not theirs.
  const paths =
    header.kind && isMove
      ? { before: dropFolders(before!, strip), after: dropFolders(after!, strip) }
      : readPaths(diff, at, before, after, isMove);
  if (paths.before === "" || paths.after === "") {
    const name = quote((after ?? before)!);
    return refuse(at, "bad-header", `a name has fewer folders than \`strip\` takes off: ${name}`);
  }
  const [oldStamp, newStamp] = named?.map(({ stamp }) => stamp) ?? [];
  const similarity = readPercent(fields.similarity);
  const dissimilarity = readPercent(fields.dissimilarity);
  const said: GitFields | undefined = git ? setDefined({}, { index, mode, similarity, dissimilarity }) : undefined;
  const file: FileInProgress["file"] = { kind, before: paths.before, after: paths.after, hunks: [] };
  return setDefined(file, { oldMode, newMode, git: said, oldStamp, newStamp });
}

function isMoved(kind: FileKind): boolean {
  return kind === "rename" || kind === "copy";
}

function isOneSided(kind: FileKind): boolean {
  return kind === "create" || kind === "delete";
}

/** Sets the fields that have a value: a patch is plain JSON. A loop, because `Object.entries` was a tenth of the reading. */
function setDefined<Target extends object>(target: Target, fields: Partial<Target>): Target {
  for (const name in fields) if (fields[name] !== undefined) target[name] = fields[name];
  return target;
}

function readPercent(text = ""): number | undefined {
  const percent = Number.parseInt(text, 10);
  return percent >= 0 ? percent : undefined;
}

function kindOf({ git, named, both }: Header): FileKind {
  const [old, now] = named ?? [];
  if (old?.name === null) return "create";
  if (now?.name === null) return "delete";
  const differ = git && old?.name && now?.name && both !== null && dropFolder(old.name) !== dropFolder(now.name);
  return differ && dropFolder(both.before) !== dropFolder(both.after) ? "rename" : "modify";
}

function namesOf({ kind: said, fields, named, both }: Header, kind: FileKind): (string | null | undefined)[] {
  // Two names in the `diff` line alone may tell of a rename; only the lines below it can say so.
  const names = named === null && both !== null && dropFolder(both.before) === dropFolder(both.after) ? both : null;
  const [before, after] =
    isMoved(kind) && said !== undefined
      ? [nameOf(fields.before), nameOf(fields.after)]
      : [named?.[0].name ?? names?.before, named?.[1].name ?? names?.after];
  return [kind === "create" ? null : before, kind === "delete" ? null : after];
}

function nameOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : parseNameLine(text).name || undefined;
}

function findFault({ fields, named, both, isMixed }: Header, kind: FileKind, isMode: boolean): string | null {
  const [old, now] = named ?? [];
  if (isOneSided(kind) && fields.oldMode !== undefined && fields.newMode !== undefined) return TWO_KINDS;
  if (old && now && ((old.name === null) !== (kind === "create") || (now.name === null) !== (kind === "delete")))
    return "only what is not there is /dev/null";
  if (isMixed) return TWO_KINDS;
  if (!isMode) return "a mode is octal digits";
  // Names of one header that cannot be those of one file: git believes one or the other, or refuses.
  const [from, to] = [nameOf(fields.before), nameOf(fields.after)];
  const names = [old?.name, both?.before, now?.name, both?.after];
  if (isMoved(kind)) names.push(old?.name, from, now?.name, to, both?.before, from, both?.after, to);
  const isOther = names.some((name, i) => i % 2 === 1 && name && names[i - 1] && !agree(name, names[i - 1]!));
  return isOther ? "its lines name different files" : null;
}

function agree(a: string, b: string): boolean {
  const [shortA, shortB] = [dropFolder(a), dropFolder(b)];
  return a === b || shortA === b || a === shortB || shortA === shortB;
}

/** Ends the file that is being read, and keeps it if it changes anything. */
export function closeFile(diff: Diff): void {
  if (diff.open === null) return;
  const { file, line } = diff.open;
  diff.open = null;
  const { kind, before, after, hunks, oldMode, newMode, git } = file;
  // Of a file that stays, git needs both modes.
  const isModeChange = oldMode !== newMode && (kind !== "modify" || (oldMode !== undefined && newMode !== undefined));
  // A header of git's that says nothing of its own is kept, so that it is written again; where it goes without saying, it is not.
  if (git !== undefined && Object.keys(git).length === 0 && impliesGitHeader(file)) delete file.git;
  // Stamps are behind the names of a file with hunks; without hunks they are not written.
  if (hunks.length === 0) {
    delete file.oldStamp;
    delete file.newStamp;
  }
  if (hunks.length > 0 || isMoved(kind) || isModeChange) diff.files.push(file);
  else mend(diff, line, "empty-hunk", quote(after ?? before ?? ""));
}

function readPaths(diff: Diff, at: number, old: string | null, now: string | null, isMove: boolean) {
  const { strip } = diff;
  const count = strip ?? (diff.asGit || isPrefixed(old, now) ? 1 : 0);
  const dropped = (name: string | null) => name && dropFolders(name, count, strip === undefined);
  let [before, after] = [dropped(old), dropped(now)];
  if (before !== null && after !== null && !isMove) before = after = after.startsWith(before) ? before : after;
  const path = after ?? before ?? "";
  if (path.startsWith("/")) mend(diff, at, "absolute-path", path);
  else if (count === 0 && strip === undefined) mend(diff, at, "missing-prefix", path);
  return { before, after };
}

function isPrefixed(old: string | null, now: string | null): boolean {
  if (old === null || now === null) return /^[abciow12]\/./.test(old ?? now ?? "");
  const differ = old !== now && old.includes("/") && now.includes("/") && dropFolder(old) === dropFolder(now);
  return differ || (/^[ab]\//.test(old) && /^[ab]\//.test(now));
}

/** Whether the change needs more than `---`, `+++` and hunks. */
export function impliesGitHeader({ kind, oldMode, newMode, hunks }: FilePatch): boolean {
  return isMoved(kind) || (oldMode ?? newMode) !== undefined || hunks.length === 0;
}

/** Writes the header of a file: git's where a plain one does not suffice, and its names if it has hunks. */
export function formatHeader(file: FilePatch, out: string[]): void {
  if (file.git !== undefined || impliesGitHeader(file)) formatGitHeader(file, out);
  if (file.hunks.length === 0) return;
  const isCreated = file.before === null || file.whole === true;
  out.push(`--- ${formatName("a/", isCreated ? null : file.before, file.oldStamp)}`);
  out.push(`+++ ${formatName("b/", file.after, file.newStamp)}`);
}

function formatGitHeader({ kind, git = {}, hunks, ...file }: FilePatch, out: string[]): void {
  const before = file.before ?? file.after ?? "";
  const after = file.after ?? before;
  // Above hunks /dev/null tells the kind, so a mode that is not known is not made up.
  const known = (mode: string | undefined) => mode ?? (hunks.length > 0 ? undefined : "100644");
  const [isMove, isStay] = [isMoved(kind), !isOneSided(kind)];
  const lines: readonly (readonly [start: string, value: string | number | undefined, end?: string])[] = [
    ["new file mode ", kind === "create" ? known(file.newMode) : undefined],
    ["deleted file mode ", kind === "delete" ? known(file.oldMode) : undefined],
    ["old mode ", isStay ? file.oldMode : undefined],
    ["new mode ", isStay ? file.newMode : undefined],
    ["similarity index ", git.similarity, "%"],
    ["dissimilarity index ", git.dissimilarity, "%"],
    [`${kind} from `, isMove ? quoteName(before) : undefined],
    [`${kind} to `, isMove ? quoteName(after) : undefined],
    ["index ", git.index, git.mode && ` ${git.mode}`],
  ];
  out.push(`diff --git ${quoteName(`a/${before}`)} ${quoteName(`b/${after}`)}`);
  for (const [start, value, end = ""] of lines) if (value !== undefined) out.push(`${start}${value}${end}`);
}

function formatName(prefix: string, path: string | null, stamp: string | undefined): string {
  const name = path === null ? "/dev/null" : quoteName(prefix + path);
  // A tab ends a name with blanks, so that GNU patch does not take what follows the blank for a time stamp.
  return stamp !== undefined ? `${name}\t${stamp}` : name.includes(" ") ? `${name}\t` : name;
}
