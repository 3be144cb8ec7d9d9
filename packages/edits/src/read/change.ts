import { createPatch } from "../diff/create.js";
import { findElision, isProse } from "../elision.js";
import { countLines, hunkId, identifyHunks } from "../hunk.js";
import { joinLines } from "../lines.js";
import type { FilePatch, Hunk, Patch } from "../patch.js";
import { quote, type Repair } from "../reading.js";
import { takeApart } from "../sides.js";
import { refuse, repair } from "./message.js";

/** Joins lines to a text: a block consists of lines, and the end of the last one is seldom specified. */
export function asText(lines: readonly string[], newlineAtEnd = true): string {
  return joinLines({ lines, newlineAtEnd });
}

/** The hunk of the lines that differ; null if none does. `start` is the first line in the file, if known. */
export function changeOf(before: string, after: string, start: number | null = null): Hunk | null {
  const hunk = createPatch(before, after, { context: Number.POSITIVE_INFINITY }).files[0]?.hunks[0];
  if (hunk === undefined) return null;
  if (start === null) return { ...hunk, oldStart: null, newStart: null };
  return { ...hunk, oldStart: hunk.oldStart! + start - 1, newStart: hunk.newStart! + start - 1 };
}

/** The hunk as `changeOf` makes it of its sides, each line with its line feed; null where it changes nothing. */
export function remake(hunk: Hunk): Hunk | null {
  const { oldStart, lines } = hunk;
  const [old = "", now = ""] = lines;
  // One line in place of another is as a diff would have it.
  if (oldStart === null && lines.length === 2 && old[0] === "-" && now[0] === "+" && old.slice(1) !== now.slice(1))
    return { id: hunkId(lines), oldStart, newStart: null, lines };
  const sides = takeApart(hunk);
  return changeOf(asText(sides.old), asText(sides.new), oldStart);
}

export function modify(path: string, hunks: readonly Hunk[]): FilePatch {
  return { kind: "modify", before: path, after: path, hunks };
}

/** The hunk as a change of its file; none where it changes nothing, which is listed at this line of the block. */
export function modifyBy(path: string, hunk: Hunk | null, repairs: Repair[], line: number): FilePatch[] {
  refuseDots(hunk?.lines ?? [], path, line);
  if (hunk !== null) return [modify(path, [hunk])];
  repair(repairs, line, "no-change", path);
  return [];
}

/** Dots that only new text has stand for lines of the old one that would be lost. */
export function refuseDots(changes: readonly string[], path: string, line: number): void {
  const dots = findElision(changes, path);
  if (dots === null) return;
  refuse(line, "ambiguous", `${quote(dots.slice(1))} stands in the new text alone; write the lines that it stands for`);
}

/** The same for the files of a diff, whose lines stand in this text. */
export function refuseDotsIn(files: readonly FilePatch[], text: readonly string[]): void {
  for (const { before, after, hunks } of files)
    for (const { lines } of hunks) {
      const path = after ?? before!;
      const dots = findElision(lines, path);
      if (dots !== null) refuseDots(lines, path, Math.max(0, text.indexOf(dots)));
    }
}

/** The file with another text, whatever it had. A document may show dots as an example. */
export function replaceFile(path: string, lines: readonly string[], newlineAtEnd: boolean, line: number): FilePatch {
  if (!isProse(path)) refuseDots(["-", ...lines.map((each) => `+${each}`)], path, line);
  const { hunks } = create(path, asText(lines, newlineAtEnd));
  return { kind: "modify", before: path, after: path, whole: true, hunks };
}

export function create(path: string, text: string): FilePatch {
  const hunk = changeOf("", text, 1);
  return { kind: "create", before: null, after: path, hunks: hunk === null ? [] : [hunk] };
}

/** A deleted file; without its text if that is not given. */
export function remove(path: string, text = ""): FilePatch {
  const hunk = changeOf(text, "", 1);
  return { kind: "delete", before: path, after: null, hunks: hunk === null ? [] : [hunk] };
}

/** The text that the hunks leave, if they cover the whole file. */
export function newText(hunks: readonly Hunk[]): string {
  return asText(
    hunks.flatMap((hunk) => takeApart(hunk).new),
    !hunks.some((hunk) => hunk.newNoNewline),
  );
}

/**
 * One patch of many blocks: changes of one file become one entry, in the order they were written. Their old places are
 * those of the file before all of them; the new places follow from that. A move, a deletion or another text of the whole
 * file comes between them: what is changed behind it may be another file.
 */
export function gather(files: readonly FilePatch[]): Patch {
  const groups: FilePatch[][] = [];
  const open = new Map<string | null, FilePatch[]>();
  for (const file of files) {
    const { kind, whole, oldMode, newMode, git, before, after } = file;
    const plain = kind === "modify" && !whole && (oldMode ?? newMode ?? git) === undefined;
    const group = plain ? open.get(before) : undefined;
    if (group !== undefined) {
      group.push(file);
      continue;
    }
    const started = [file];
    groups.push(started);
    open.delete(before);
    open.delete(after);
    if (kind === "modify" && !whole) open.set(before, started);
  }
  return { files: groups.map((group) => (group.length === 1 ? group[0]! : merge(group))) };
}

function merge(group: readonly FilePatch[]): FilePatch {
  const hunks = group.flatMap((file) => file.hunks);
  const starts = new Map<Hunk, number>();
  let shift = 0;
  for (const hunk of hunks.filter(({ oldStart }) => oldStart !== null).sort((a, b) => a.oldStart! - b.oldStart!)) {
    const count = countLines(hunk.lines);
    // Blocks that delete the same lines would place the later one before the file.
    starts.set(hunk, Math.max(hunk.newStart! + shift, count.new === 0 ? 0 : 1));
    shift += count.new - count.old;
  }
  const reasons = new Set(group.flatMap(({ reason }) => reason ?? []));
  return {
    ...group[0]!,
    hunks: identifyHunks(hunks.map((hunk) => ({ ...hunk, newStart: starts.get(hunk) ?? null }))),
    ...(reasons.size > 0 && { reason: [...reasons].join("\n") }),
  };
}

const GUTTER = /^[ \t]*(\d{1,7}) ?\|(?: |\r?$)/;

/**
 * The lines of an edit without the gutter that a model has copied with them, and the number that stood in front of the first.
 * Certain only where every old line has one and the numbers go up by one: a file may have such lines itself. A single line
 * has to have the number of the block's line hint.
 */
export function takeOffGutter(
  old: readonly string[],
  now: readonly string[],
  repairs: Repair[],
  line: number,
  hint: number | null = null,
) {
  if (!GUTTER.test(old[0] ?? "")) return { old, now };
  const numbers = old.map((each) => Number(GUTTER.exec(each)?.[1] ?? Number.NaN));
  if (old.length < 2 && numbers[0] !== hint) return { old, now };
  if (!numbers.every((number, i) => number === numbers[0]! + i)) return { old, now };
  const without = (each: string) => each.replace(GUTTER, "");
  const marked = now.filter((each) => GUTTER.test(each)).length;
  if (marked > 0 && marked < now.length)
    refuse(line, "ambiguous", "some of the new lines begin with a line number and a bar; write all lines without");
  repair(repairs, line, "gutter");
  return { old: old.map(without), now: now.map(without), start: numbers[0]! };
}
