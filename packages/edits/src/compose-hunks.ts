import { countLines } from "./hunk.js";
import type { Hunk } from "./patch.js";

type Bare = Omit<Hunk, "id">;

/** A hunk with its places as indexes from 0, one past the end included, and its lines with their line feeds. */
interface Block {
  readonly old: { readonly from: number; readonly to: number };
  readonly new: { readonly from: number; readonly to: number };
  readonly lines: readonly string[];
  readonly section: string | undefined;
}

/** What is known of one stretch of the text between the two patches. Lists are by the line they stand before. */
interface Stretch {
  readonly from: number;
  to: number;
  /** No hunk in it has context. */
  bare: boolean;
  readonly text: Map<number, string>;
  readonly added: Set<number>;
  readonly deleted: Set<number>;
  readonly gone: Map<number, string[]>;
  readonly come: Map<number, string[]>;
}

/**
 * Works on the text between the two patches: where their hunks touch there, they make one hunk, and a line that the first added and
 * the second deleted is in neither side of it. Every line of such a stretch is shown by one of the patches.
 */
export function composeHunks(first: readonly Hunk[], second: readonly Hunk[]): Bare[] | "no-line-numbers" | "mismatch" {
  const earlier = first.map(readBlock);
  const later = second.map(readBlock);
  if (!areNumbered(earlier) || !areNumbered(later)) return "no-line-numbers";
  if (!areOrdered(earlier) || !areOrdered(later)) return "mismatch";
  const hunks: Bare[] = [];
  let [i, j, oldShift, newShift] = [0, 0, 0, 0];
  while (i < earlier.length || j < later.length) {
    const from = Math.min(earlier[i]?.new.from ?? Infinity, later[j]?.old.from ?? Infinity);
    const stretch: Stretch = {
      from,
      to: from,
      bare: true,
      text: new Map(),
      added: new Set(),
      deleted: new Set(),
      gone: new Map(),
      come: new Map(),
    };
    const [oldFrom, newFrom] = [from + oldShift, from + newShift];
    let section: string | undefined;
    while (true) {
      const [a, b] = [earlier[i], later[j]];
      if (a && a.new.from <= stretch.to) {
        if (!addBlock(stretch, a.lines, a.new.from, "+", stretch.added, stretch.gone)) return "mismatch";
        stretch.to = Math.max(stretch.to, a.new.to);
        oldShift = a.old.to - a.new.to;
        section ??= a.section;
        i++;
      } else if (b && b.old.from <= stretch.to) {
        if (!addBlock(stretch, b.lines, b.old.from, "-", stretch.deleted, stretch.come)) return "mismatch";
        stretch.to = Math.max(stretch.to, b.old.to);
        newShift = b.new.to - b.old.to;
        section ??= b.section;
        j++;
      } else break;
    }
    const hunk = writeHunk(stretch, oldFrom, newFrom, section);
    if (hunk) hunks.push(hunk);
  }
  return hunks;
}

/** Notes a block's lines: those of the middle text by number, the others by the line they stand before. */
function addBlock(
  stretch: Stretch,
  lines: readonly string[],
  from: number,
  own: "+" | "-",
  marked: Set<number>,
  others: Map<number, string[]>,
): boolean {
  let row = from;
  for (const line of lines) {
    const mark = line[0];
    const body = line.slice(1);
    if (mark !== "+" && mark !== "-") stretch.bare = false;
    if ((mark === "+" || mark === "-") && mark !== own) {
      const group = others.get(row);
      if (group) group.push(body);
      else others.set(row, [body]);
      continue;
    }
    const known = stretch.text.get(row);
    if (known !== undefined && known !== body) return false;
    stretch.text.set(row, body);
    if (mark === own) marked.add(row);
    row++;
  }
  return true;
}

function writeHunk(stretch: Stretch, oldFrom: number, newFrom: number, section: string | undefined): Bare | null {
  let lines: string[] = [];
  let gone: string[] = [];
  let come: string[] = [];
  for (let row = stretch.from; row <= stretch.to; row++) {
    gone.push(...(stretch.gone.get(row) ?? []));
    come.push(...(stretch.come.get(row) ?? []));
    const line = stretch.text.get(row);
    if (line === undefined) break;
    const kept = !stretch.deleted.has(row);
    if (!stretch.added.has(row)) {
      if (kept) {
        lines.push(...change(gone, come), ` ${line}`);
        gone = [];
        come = [];
      } else gone.push(line);
    } else if (kept) come.push(line);
  }
  lines.push(...change(gone, come));
  const first = lines.findIndex((line) => line[0] !== " ");
  if (first < 0) return null;
  if (stretch.bare) {
    // What the two undo between them is no context: on one side alone it would say that the text begins or ends there.
    oldFrom += first;
    newFrom += first;
    lines = lines.slice(first, lines.findLastIndex((line) => line[0] !== " ") + 1);
  }
  const count = countLines(lines);
  const lastOld = lines.findLast((line) => line[0] !== "+");
  const lastNew = lines.findLast((line) => line[0] !== "-");
  return {
    oldStart: count.old > 0 ? oldFrom + 1 : oldFrom,
    newStart: count.new > 0 ? newFrom + 1 : newFrom,
    ...(section !== undefined && { section }),
    lines: lines.map((line) => (line.endsWith("\n") ? line.slice(0, -1) : line)),
    ...(lastOld?.endsWith("\n") === false && { oldNoNewline: true }),
    ...(lastNew?.endsWith("\n") === false && { newNoNewline: true }),
  };
}

/** A change as lines of a hunk. Equal lines at its ends, one patch's undone by the other, are context. */
function change(gone: readonly string[], come: readonly string[]): string[] {
  const least = Math.min(gone.length, come.length);
  let head = 0;
  while (head < least && gone[head] === come[head]) head++;
  let tail = 0;
  while (tail < least - head && gone[gone.length - 1 - tail] === come[come.length - 1 - tail]) tail++;
  return [
    ...gone.slice(0, head).map((line) => ` ${line}`),
    ...gone.slice(head, gone.length - tail).map((line) => `-${line}`),
    ...come.slice(head, come.length - tail).map((line) => `+${line}`),
    ...gone.slice(gone.length - tail).map((line) => ` ${line}`),
  ];
}

function readBlock({ oldStart, newStart, lines, section, oldNoNewline, newNoNewline }: Hunk): Block | null {
  if (oldStart === null || newStart === null) return null;
  const count = countLines(lines);
  const old = count.old > 0 ? oldStart - 1 : oldStart;
  const after = count.new > 0 ? newStart - 1 : newStart;
  const bare = new Set<number>();
  if (oldNoNewline) bare.add(lines.findLastIndex((line) => line[0] !== "+"));
  if (newNoNewline) bare.add(lines.findLastIndex((line) => line[0] !== "-"));
  return {
    old: { from: old, to: old + count.old },
    new: { from: after, to: after + count.new },
    lines: lines.map((line, i) => (bare.has(i) ? line : `${line}\n`)),
    section,
  };
}

function areNumbered(blocks: readonly (Block | null)[]): blocks is readonly Block[] {
  return !blocks.includes(null);
}

function areOrdered(blocks: readonly Block[]): boolean {
  return blocks.every((block, i) => {
    const previous = blocks[i - 1];
    return block.old.from >= (previous?.old.to ?? 0) && block.new.from >= (previous?.new.to ?? 0);
  });
}
