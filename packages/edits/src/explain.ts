import { isElision } from "./elision.js";
import { splitLines, withoutReturn } from "./lines.js";
import { isAnchored } from "./match/address.js";
import { looseLine } from "./match/target.js";
import { findNearest, nameAlike } from "./nearest.js";
import { needPatch } from "./need.js";
import { type FileKind, type FilePatch, filesOf, type Hunk, type Patch } from "./patch.js";
import type { Conflict, ConflictReason } from "./result.js";
import { type Sides, takeApart } from "./sides.js";

const MAX_MESSAGE = 600;
const MAX_PATH = 80;
const MAX_QUOTE = 72;
const MAX_SHOWN = 80;
const MAX_LINES = 7;

/** What is wrong, and the instruction for the next attempt. The file's lines around the row are shown between them. */
type Account = readonly [row: number, problem: string, advice: string];

interface Facts {
  readonly conflict: Conflict;
  readonly hunk: Hunk | undefined;
  readonly sides: Sides | null;
  readonly file: FilePatch | undefined;
  readonly lines: readonly string[];
}

const EXACTLY = "Send the old lines exactly as the file has them";

const ACCOUNTS: Record<ConflictReason, (facts: Facts) => Account> = {
  "not-found": accountMissing,
  ambiguous: accountAmbiguous,
  "already-applied": (facts) => {
    const advice = "Leave this change out. If another place is meant, send the lines around that place.";
    return [rowOf(facts), "the new lines are in the file already.", advice];
  },
  overlap: (facts) => [
    rowOf(facts),
    "another change of this patch changes the same lines.",
    "Send one change that has both.",
  ],
  stale: ({ file }) => {
    const problems: Partial<Record<FileKind, string>> = {
      create: "the patch makes a new file, but there is one with text in it.",
      delete: "the patch deletes the file, but the file has other lines than the patch takes away.",
    };
    const problem = problems[file?.kind ?? "modify"] ?? "the file is not in the state that the patch was made for.";
    return [0, problem, "Read the file again, and send a change of the lines that it has now."];
  },
};

/**
 * Explains a conflict to a model in at most 600 characters of plain English: the text looked for, the nearest text with
 * its line numbers, and the instruction for the next attempt. `text` is the text that the patch did not apply to.
 */
export function explainConflict(conflict: Conflict, patch: FilePatch | Patch, text: string): string {
  needPatch({ patch });
  const files = filesOf(patch);
  const file = files.find(({ hunks }) => hunks.some(({ id }) => id === conflict.hunk)) ?? files[0];
  const index = file?.hunks.findIndex(({ id }) => id === conflict.hunk) ?? -1;
  const hunk = file?.hunks[index];
  const lines = splitLines(text).lines.map(withoutReturn);
  const facts = { conflict, hunk, sides: hunk ? takeApart(hunk) : null, file, lines };
  const isOfSeveral = files.length > 1 && !hunk;
  const [row, problem, advice] = isOfSeveral
    ? ([0, "the patch changes several files.", "Apply it file by file."] as const)
    : ACCOUNTS[conflict.reason](facts);
  const path = clip(file?.before ?? file?.after ?? "the file", MAX_PATH);
  const head = `${path}${hunk && file!.hunks.length > 1 ? `, change ${index + 1} of ${file!.hunks.length}` : ""}: ${problem}`;
  const shown = isOfSeveral ? [] : showLines(lines, row, MAX_MESSAGE - head.length - advice.length - 2);
  return plain([head, ...shown, advice].join("\n"));
}

const ADVICE = {
  file: "Send the whole new file.",
  anchor: "Send a line of the file behind the @@, or none, and more lines around the change.",
  address: "Send the address of the place that is meant, or leave it out and send more lines around the change.",
  path: "Check the path, read the file, and send old lines copied from it.",
  beside: "Send them with the lines above and below, copied from the file.",
  range: "Send the lines of the place that is meant, and the range that they are in.",
  dots: "Send the old and the new lines in full, or one change for each place.",
  copied: "Send the change again with old lines copied from the file.",
  more: "Send more unchanged lines above and below it, until only one place fits.",
};

function accountMissing({ conflict, hunk, sides, lines }: Facts): Account {
  const row = Math.max(0, Math.min((hunk?.oldStart ?? 1) - 1, lines.length - 1));
  if (!hunk || !sides) return [row, "there is no such file, or no text of it.", ADVICE.file];
  const dots = sides.old.find((line) => isElision(line) && !lines.some((each) => looseLine(each) === looseLine(line)));
  if (dots !== undefined) return [row, `${quote(dots)} is no line of the file.`, ADVICE.dots];
  const elsewhere = conflict.candidates[0];
  const lost = hunk.anchors?.find((anchor) => findAnchor(anchor, lines) < 0);
  const problem = `looked for ${quote(lost)}, below which the patch wants its change; no line of the file begins so.`;
  if (lost !== undefined) return [elsewhere === undefined ? row : elsewhere - 1, problem, ADVICE.anchor];
  if (sides.old.length === 0) return accountBare(sides, row, lines);
  if (elsewhere !== undefined && isAnchored(hunk)) {
    const anchor = hunk.anchors?.at(-1);
    const address = anchor === undefined ? "at the end of the file" : `below ${quote(anchor)}`;
    const problem = `the old lines are at line ${elsewhere}, but not ${address}, where the patch wants them.`;
    return [elsewhere - 1, problem, ADVICE.address];
  }
  const near = elsewhere === undefined ? findNearest(sides, lines) : { place: elsewhere - 1, differs: null };
  if (near !== null) return accountNear(sides, lines, near.place, near.differs);
  return [row, `looked for ${quote(tell(hunk, " -"))}; no line of the file is like it.`, ADVICE.path];
}

function findAnchor(anchor: string, lines: readonly string[]): number {
  return lines.findIndex((line) => looseLine(line).startsWith(looseLine(anchor)));
}

function accountBare({ hunk, hint }: Sides, row: number, lines: readonly string[]): Account {
  const end = lines.length;
  const problem = `the new lines are to stand behind line ${hint}, and the file has ${end}.`;
  if (hint !== null) return [Math.max(0, end - 1), problem, `Send a line number from 0 to ${end}.`];
  const last = hunk.anchors?.at(-1);
  const below = last === undefined ? "" : ` below ${quote(last)}`;
  const at = last === undefined ? row : findAnchor(last, lines);
  return [at, `new lines${below}, and no old lines that say where they go.`, ADVICE.beside];
}

function accountNear(sides: Sides, lines: readonly string[], place: number, differs: number | null): Account {
  const other = accountOther(sides, lines, place);
  const problem = `the old lines are at line ${place + 1}, but the patch may not be applied there.`;
  if (other === null) return [place, problem, ADVICE.range];
  if (differs === null) return other;
  const at = place + differs;
  const wanted = `${quote(sides.old[differs])}${sides.deleted[differs] ? ", to be taken away" : ""}`;
  const found = at < lines.length ? describe(sides.old[differs]!, lines, at) : "the file ends there";
  return [at, `looked for ${wanted}; ${found}.`, ADVICE.copied];
}

function describe(old: string, lines: readonly string[], row: number): string {
  return `at line ${row + 1} ${nameAlike(old, lines[row] ?? "") ?? `is ${quote(lines[row])}`}`;
}

function accountOther({ old }: Sides, lines: readonly string[], place: number): Account | null {
  const other = old.findIndex((line, i) => withoutReturn(line) !== lines[place + i]);
  if (other < 0) return null;
  const found = describe(old[other]!, lines, place + other);
  const problem = `the old lines are at line ${place + 1}, but with other white space or characters that look alike: ${found}.`;
  return [place + other, problem, `${EXACTLY}.`];
}

function accountAmbiguous({ conflict, hunk, sides, lines }: Facts): Account {
  const { at, candidates: starts, total } = conflict;
  const sought = tell(hunk, " -");
  // The line that is quoted need not be the first of the hunk.
  const offset = Math.max(0, sides?.old.indexOf(sought) ?? 0);
  const isBehind = starts.every((start) => looseLine(lines[start - 1 + offset] ?? "") === looseLine(sought));
  const candidates = isBehind ? starts.map((start) => start + offset) : starts;
  const row = (candidates[0] ?? at ?? 1) - 1;
  if (candidates.length === 1 && sides) return accountOne(sides, quote(sought), starts[0]! - 1, row, lines);
  const rest = total > 10 ? ` and ${total - 10} more` : "";
  const where = candidates.length > 1 ? `lines ${candidates.slice(0, 10).join(", ")}${rest}` : "too many places";
  return [row, `looked for ${quote(sought)}, which fits at ${where}.`, ADVICE.more];
}

/** Why the only place of a hunk is not certain. */
function accountOne(sides: Sides, wanted: string, place: number, row: number, lines: readonly string[]): Account {
  const other = accountOther(sides, lines, place);
  if (other && sides.old.every((line, i) => looseLine(line) === looseLine(lines[place + i] ?? "\0"))) return other;
  const problem = `looked for ${wanted}; it is near line ${row + 1}, and whether that is the place is not certain.`;
  return [row, problem, `${EXACTLY}, white space included, and the right @@ line or none.`];
}

/** The first line that the change is about. */
function rowOf({ conflict: { at }, sides, lines }: Facts): number {
  return at === null ? 0 : Math.min(at - 1 + (sides?.leading ?? 0), Math.max(0, lines.length - 1));
}

function showLines(lines: readonly string[], row: number, room: number): string[] {
  const numbered = (at: number) => `${String(at + 1).padStart(5)} | ${clip(lines[at]!, MAX_SHOWN)}`;
  let from = Math.min(row, lines.length);
  let to = from;
  for (let left = room; to - from < MAX_LINES; ) {
    // Outwards, a line below and a line above in turn.
    const at = to < lines.length && (from === 0 || to - row <= row - from) ? to : from - 1;
    left -= at < 0 ? Infinity : numbered(at).length + 1;
    if (left < 0) break;
    if (at === to) to++;
    else from--;
  }
  return lines.slice(from, to).map((_, i) => numbered(from + i));
}

function tell(hunk: Hunk | undefined, marks: string): string {
  const bodies = (hunk?.lines ?? []).flatMap((line) => (marks.includes(line[0]!) ? [line.slice(1)] : []));
  return bodies.find((body) => body.trim().length > 1) ?? bodies[0] ?? hunk?.lines[0]?.slice(1) ?? "";
}

/** As it is, without escapes that a model would copy. */
function quote(line: string | undefined): string {
  return `\`${clip(line?.trim() ?? "", MAX_QUOTE)}\``;
}

function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

function plain(message: string): string {
  return message.replace(/[^\P{Cc}\n\t]|\p{Surrogate}/gu, "\ufffd");
}
