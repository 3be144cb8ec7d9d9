import { nameAlike } from "./alike.js";
import { isElision } from "./elision.js";
import { splitLines, withoutReturn } from "./lines.js";
import { isAnchored, readAddress } from "./match/address.js";
import { looseLine, readTarget } from "./match/target.js";
import { findNearest } from "./nearest.js";
import { needPatch } from "./need.js";
import { type FilePatch, filesOf, type Hunk, type Patch } from "./patch.js";
import type { Conflict, ConflictReason } from "./result.js";
import { type Sides, takeApart } from "./sides.js";

/** Characters of a message, of a path, of one quoted line, and of one line of the file. */
const LIMIT = 600;
const PATH = 80;
const QUOTED = 72;
const SHOWN = 80;

/** The parts of a message beside the file's own lines. */
interface Account {
  /** The old text of the hunk. */
  readonly problem: string;
  /** The instruction for the next attempt. */
  readonly advice: string;
  /** Row of the text that the file's lines are shown around. */
  readonly row: number;
}

interface Facts {
  readonly conflict: Conflict;
  readonly hunk: Hunk | undefined;
  readonly sides: Sides | null;
  readonly file: FilePatch | undefined;
  readonly lines: readonly string[];
}

const ACCOUNTS: Record<ConflictReason, (facts: Facts) => Account> = {
  "not-found": accountMissing,
  ambiguous: accountAmbiguous,
  "already-applied": (facts) => {
    const { text, row } = locate(facts, "+");
    return {
      problem: `the new lines are in the file already${text}.`,
      advice: "Leave this change out. If another place is meant, send the lines around that place.",
      row,
    };
  },
  overlap: (facts) => {
    const { text, row } = locate(facts, "-");
    return {
      problem: `another change of this patch changes the same lines${text}.`,
      advice: "Send one change that has both.",
      row,
    };
  },
  stale: ({ file }) => ({
    problem:
      file?.kind === "create"
        ? "the patch makes a new file, but there is one with text in it."
        : file?.kind === "delete"
          ? "the patch deletes the file, but the file has other lines than the patch takes away."
          : "the file is not in the state that the patch was made for.",
    advice: "Read the file again, and send a change of the lines that it has now.",
    row: 0,
  }),
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
  const several = files.length > 1 && !hunk;
  const { problem, advice, row } = several
    ? { problem: "the patch changes several files.", advice: "Apply it file by file.", row: 0 }
    : (conflict.rung === "elided" ? accountDots : ACCOUNTS[conflict.reason])({
        conflict,
        hunk,
        sides: hunk ? takeApart(hunk) : null,
        file,
        lines,
      });
  const path = clip(file?.before ?? file?.after ?? "the file", PATH);
  const head = `${path}${hunk && file!.hunks.length > 1 ? `, change ${index + 1} of ${file!.hunks.length}` : ""}: ${problem}`;
  const shown = several ? [] : showLines(lines, row, LIMIT - head.length - advice.length - 2);
  return plain([head, ...shown, advice].join("\n"));
}

/** Why dots in the lines are not filled in. */
function accountDots({ conflict: { reason, candidates }, hunk }: Facts): Account {
  const dots = hunk?.lines.filter((line) => isElision(line.slice(1))) ?? [];
  const alone = dots.find((line) => line[0] !== " ");
  const row = (candidates[0] ?? 1) - 1;
  const some = candidates.slice(0, 10).join(", ");
  const why = alone
    ? `stands in the ${alone[0] === "+" ? "new" : "old"} lines alone`
    : reason === "already-applied"
      ? `stands for lines beside a change that is in the file already, at line ${some}`
      : candidates.length > 1
        ? `stands beside lines that fit at lines ${some}`
        : "stands beside lines that are not there, or not in one block with the others";
  return {
    problem: `${quote((alone ?? dots[0])?.slice(1))} ${why}.`,
    advice: "Send the old and the new lines in full, or one change for each place.",
    row,
  };
}

function accountMissing({ conflict, hunk, sides, lines }: Facts): Account {
  const start = (hunk?.oldStart ?? 1) - 1;
  const row = Math.max(0, Math.min(start, lines.length - 1));
  if (!hunk || !sides)
    return { problem: "there is no such file, or no text of it.", advice: "Send the whole new file.", row };
  if (sides.old.length === 0 && sides.hint !== null)
    return {
      problem: `the new lines are to stand behind line ${sides.hint}, and the file has ${lines.length}.`,
      advice: `Send a line number from 0 to ${lines.length}.`,
      row: Math.max(0, lines.length - 1),
    };
  const elsewhere = conflict.candidates[0];
  const rowOf = (anchor: string) => lines.findIndex((line) => looseLine(line).startsWith(looseLine(anchor)));
  const lost = hunk.anchors?.find((anchor) => rowOf(anchor) < 0);
  if (lost !== undefined)
    return {
      problem: `looked for ${quote(lost)}, below which the patch wants its change; no line of the file begins so.`,
      advice: "Send a line of the file behind the @@, or none, and more lines around the change.",
      row: elsewhere === undefined ? row : elsewhere - 1,
    };
  const last = hunk.anchors?.at(-1);
  if (sides.old.length === 0)
    return {
      problem: `new lines${last === undefined ? "" : ` below ${quote(last)}`}, and no old lines that say where they go.`,
      advice: "Send them with the lines above and below, copied from the file.",
      row: last === undefined ? row : rowOf(last),
    };
  if (elsewhere !== undefined && isAnchored(hunk))
    return {
      problem: `the old lines are at line ${elsewhere}, but not ${addressOf(hunk)}.`,
      advice: "Send the address of the place that is meant, or leave it out and send more lines around the change.",
      row: elsewhere - 1,
    };
  const near = elsewhere === undefined ? findNearest(sides, lines) : { place: elsewhere - 1, differs: null };
  if (near === null)
    return {
      problem: `looked for ${quote(tell(hunk, " -"))}; no line of the file is like it.`,
      advice: "Check the path, read the file, and send old lines copied from it.",
      row,
    };
  const { place, differs } = near;
  const other = accountOther(sides, lines, place);
  if (other === null)
    return {
      problem: `the old lines are at line ${place + 1}, but the patch may not be applied there.`,
      advice: "Send the lines of the place that is meant, and the range that they are in.",
      row: place,
    };
  if (differs === null) return other;
  const at = place + differs;
  const wanted = `${quote(sides.old[differs])}${sides.deleted[differs] ? ", to be taken away" : ""}`;
  const alike = nameAlike(sides.old[differs]!, lines[at] ?? "");
  const found = at < lines.length ? `at line ${at + 1} ${alike ?? `is ${quote(lines[at])}`}` : "the file ends there";
  return {
    problem: `looked for ${wanted}; ${found}.`,
    advice: "Send the change again with old lines copied from the file.",
    row: at,
  };
}

/** Old lines that are at a place but for white space or characters; null where they are exactly the file's. */
function accountOther({ old }: Sides, lines: readonly string[], place: number): Account | null {
  const other = old.findIndex((line, i) => withoutReturn(line) !== lines[place + i]);
  if (other < 0) return null;
  const row = place + other;
  const alike = nameAlike(old[other]!, lines[row] ?? "");
  return {
    problem: `the old lines are at line ${place + 1}, but with other white space or characters that look alike: at line ${row + 1} ${alike ?? `is ${quote(lines[row])}`}.`,
    advice: "Send the old lines exactly as the file has them.",
    row,
  };
}

function accountAmbiguous({ conflict, hunk, sides, lines }: Facts): Account {
  const { at, candidates: starts, total } = conflict;
  const sought = tell(hunk, " -");
  const wanted = quote(sought);
  // The line that is quoted need not be the first of the hunk.
  const offset = Math.max(0, sides?.old.indexOf(sought) ?? 0);
  const isBehind = starts.every((start) => looseLine(lines[start - 1 + offset] ?? "") === looseLine(sought));
  const candidates = isBehind ? starts.map((start) => start + offset) : starts;
  const row = (candidates[0] ?? at ?? 1) - 1;
  const more = "Send more unchanged lines above and below it, until only one place fits.";
  if (candidates.length > 1) {
    const some = candidates.slice(0, 10).join(", ");
    const rest = total > 10 ? ` and ${total - 10} more` : "";
    return { problem: `looked for ${wanted}, which fits at lines ${some}${rest}.`, advice: more, row };
  }
  if (candidates.length === 1 && sides) return accountOne(sides, wanted, starts[0]! - 1, row, lines);
  return { problem: `looked for ${wanted}, which fits at too many places.`, advice: more, row };
}

/** Why the only place of a hunk is not certain. */
function accountOne(sides: Sides, wanted: string, place: number, row: number, lines: readonly string[]): Account {
  const { hunk, hint, old } = sides;
  const target = readTarget(lines.join("\n"), [hunk]);
  const own = old.map((_, i) => place + i);
  if (hunk.section !== undefined && readAddress(sides, target)?.contradicted(place, own))
    return {
      problem: `${wanted} is at line ${row + 1}, but not below ${quote(hunk.section)}, which the @@ line names.`,
      advice: "Send the right name behind the @@, or none.",
      row,
    };
  const other = accountOther(sides, lines, place);
  const isLoose = old.every((line, i) => looseLine(line) === looseLine(lines[place + i] ?? "\0"));
  if (other && isLoose) return other;
  if (hint !== null && hint !== place)
    return {
      problem: `${wanted} is at line ${row + 1}, but the @@ line names another place, where most of the lines fit as well.`,
      advice: "Send the right line numbers, or none.",
      row,
    };
  return {
    problem: `looked for ${wanted}; it is near line ${row + 1}, and how its lines are meant there is not certain.`,
    advice: "Send the old lines exactly as the file has them, white space included.",
    row,
  };
}

/** Where the line that a hunk is known by stands: its first added (`+`) or deleted (`-`) one, else one beside its change. */
function locate({ conflict: { at }, sides, lines }: Facts, mark: "+" | "-"): { text: string; row: number } {
  const start = (at ?? 1) - 1;
  if (sides === null || at === null) return { text: "", row: start };
  const side = mark === "+" ? sides.new : sides.old;
  const other = new Set(mark === "+" ? sides.old : sides.new);
  const own = sides.hunk.lines
    .flatMap((line) => (line[0] === mark && line.trim().length > 2 ? [line.slice(1)] : []))
    .find((line, _, all) => !other.has(line) || all.length === 1);
  const offset = own === undefined ? Math.max(0, (sides.changes[0]?.from ?? 0) - 1) : side.indexOf(own);
  const key = looseLine(side[offset] ?? "");
  // Lines that the hunk left out, or that the file has more of, move the rest.
  const behind = Array.from({ length: 2 * side.length }, (_, i) => start + i);
  const row = [start + offset, ...behind].find((each) => each in lines && looseLine(lines[each]!) === key) ?? start;
  return { text: row in lines ? `: at line ${row + 1} is ${quote(lines[row])}` : "", row };
}

function addressOf({ anchors = [], atEnd }: Hunk): string {
  const anchor = anchors.at(-1);
  if (anchor !== undefined)
    return `below ${quote(anchor)}, where the patch wants it${atEnd ? ", at the end of the file" : ""}`;
  return atEnd ? "at the end of the file, where the patch wants them" : "where the patch wants them";
}

/** The file's lines around a row with their numbers: as many as there is room for, up to seven. */
function showLines(lines: readonly string[], row: number, room: number): string[] {
  const numbered = (at: number) => `${String(at + 1).padStart(5)} | ${clip(lines[at]!, SHOWN)}`;
  let from = Math.min(row, lines.length);
  let to = from;
  for (let left = room; to - from < 7; ) {
    // Outwards, a line below and a line above in turn.
    const at = to < lines.length && (from === 0 || to - row <= row - from) ? to : from - 1;
    left -= at < 0 ? Infinity : numbered(at).length + 1;
    if (left < 0) break;
    if (at === to) to++;
    else from--;
  }
  return lines.slice(from, to).map((_, i) => numbered(from + i));
}

/** The first line with one of these marks that has more than a bracket; or the first of any kind. */
function tell(hunk: Hunk | undefined, marks: string): string {
  const bodies = (hunk?.lines ?? []).flatMap((line) => (marks.includes(line[0]!) ? [line.slice(1)] : []));
  return bodies.find((body) => body.trim().length > 1) ?? bodies[0] ?? hunk?.lines[0]?.slice(1) ?? "";
}

/** As it is, without escapes that a model would copy. */
function quote(line: string | undefined): string {
  return `\`${clip(line?.trim() ?? "", QUOTED)}\``;
}

function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

/** Lone surrogates and control characters are useless in a message. */
function plain(message: string): string {
  return message.replace(/[^\P{Cc}\n\t]|\p{Surrogate}/gu, "\ufffd");
}
