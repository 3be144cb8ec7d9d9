import { selectHunks } from "../src/algebra/select.js";
import { createPatch } from "../src/diff/create.js";
import type { FilePatch, Hunk } from "../src/patch.js";
import type { Random } from "../test/random.js";
import type { SourcePair } from "./pairs.js";

/** A change to one file as a model might have meant it: at most five hunks of a real one. */
export interface Meant {
  readonly path: string;
  readonly before: string;
  readonly after: string;
  readonly file: FilePatch;
}

/** What a program is given, and the text it must give; null where it must refuse. */
export interface SpoiltCase {
  readonly kind: string;
  readonly path: string;
  readonly text: string;
  readonly input: string;
  readonly expected: string | null;
}

/** Makes a case of a change, or null where the change has nothing to spoil in this way. */
export type Spoil = (meant: Meant, dice: Random, other: Meant) => Omit<SpoiltCase, "kind" | "path"> | null;

/** The kinds of one format, by name. */
export interface Spoils {
  readonly recoverable: Record<string, Spoil>;
  /** The right text or a refusal. */
  readonly either: Record<string, Spoil>;
  readonly refusals: Record<string, Spoil>;
}

export function chooseChange({ name, before, after }: SourcePair, dice: Random, most: number): Meant | null {
  const path = name.replace(/^[^/]+\//, "");
  const patch = createPatch(before, after, { path });
  const [whole] = patch.files;
  if (!whole) return null;
  const start = dice.below(Math.max(1, whole.hunks.length - most + 1));
  const chosen = whole.hunks.slice(start, start + most).filter(isUsual);
  const [file] = selectHunks(
    patch,
    chosen.map(({ id }) => id),
  ).files;
  if (!file || file.hunks.length === 0) return null;
  const hunks = most === 1 ? file.hunks.map(rediff) : file.hunks;
  return { path, before, after: replay(before.split("\n"), hunks), file: { ...file, hunks } };
}

/** A block says only its two sides: which of its lines are kept is what their own diff says. */
export function rediff(hunk: Hunk): Hunk {
  const side = (own: string) =>
    hunk.lines.filter((line) => line[0] === " " || line[0] === own).map((line) => `${line.slice(1)}\n`);
  const [file] = createPatch(side("-").join(""), side("+").join(""), { context: Number.POSITIVE_INFINITY }).files;
  return { ...hunk, lines: file?.hunks[0]?.lines ?? [] };
}

/** Whether the sides of a spoilt hunk still show its change. Without a line they can show another one, which nobody could know. */
export function isSameChange(spoilt: Hunk, hunk: Hunk): boolean {
  const [left, right] = [spoilt, hunk].map((each) => rediff(each).lines.filter((line) => /^[-+]./.test(line)).length);
  return left === right;
}

/** Whole-file rewrites and changes of the final newline are not what the kinds are about. */
function isUsual({ lines, oldNoNewline, newNoNewline }: Hunk): boolean {
  return lines.length < 120 && !oldNoNewline && !newNoNewline;
}

/** Lines of a text with hunks done at the very lines they name: what a perfect reader would make of it. */
export function replay(lines: readonly string[], hunks: readonly Hunk[]): string {
  const result: string[] = [];
  let at = 0;
  for (const { oldStart, lines: changes } of hunks) {
    const start = changes.some((line) => line[0] !== "+") ? oldStart! - 1 : oldStart!;
    while (at < start) result.push(lines[at++]!);
    for (const change of changes) {
      if (change[0] === "+") result.push(change.slice(1));
      else if (change[0] === "-") at++;
      else result.push(lines[at++]!);
    }
  }
  return [...result, ...lines.slice(at)].join("\n");
}

export function mapLines(file: FilePatch, change: (line: string, i: number, hunk: Hunk) => string | null): FilePatch {
  return {
    ...file,
    hunks: file.hunks.map((hunk) => ({ ...hunk, lines: hunk.lines.flatMap((line, i) => change(line, i, hunk) ?? []) })),
  };
}

/** One context line of the patch that fits, as hunk and line; null where there is none. */
export function pickContext(
  file: FilePatch,
  dice: Random,
  fits: (line: string, i: number, lines: readonly string[]) => boolean,
): { hunk: Hunk; i: number } | null {
  const all = file.hunks.flatMap((hunk) =>
    hunk.lines.flatMap((line, i) => (line[0] === " " && fits(line.slice(1), i, hunk.lines) ? [{ hunk, i }] : [])),
  );
  return all.length > 0 ? dice.pick(all) : null;
}

/** One letter changed, gone, doubled or swapped. */
export function mistype(line: string, dice: Random): string {
  const letters = [...line.matchAll(/[a-z]/g)].map((match) => match.index);
  const at = dice.pick(letters);
  const kind = dice.below(4);
  if (kind === 0) return line.slice(0, at) + line.slice(at + 1);
  if (kind === 1) return line.slice(0, at) + line[at] + line.slice(at);
  if (kind === 2) return line.slice(0, at) + (line[at] === "e" ? "a" : "e") + line.slice(at + 1);
  return line.slice(0, at) + (line[at + 1] ?? "") + line[at] + line.slice(at + 2);
}

/** Inside a hunk: with lines of the old side before it and behind it. */
export function isInside(i: number, lines: readonly string[]): boolean {
  const isOld = (line: string) => line[0] !== "+";
  return lines.slice(0, i).some(isOld) && lines.slice(i + 1).some(isOld);
}

/** The text's lines, some of those in the hunks (but the last of each) with white space behind them. */
export function padLines(text: string, file: FilePatch, dice: Random): string[] {
  const lines = text.split("\n");
  for (const { oldStart, lines: changes } of file.hunks) {
    let row = oldStart! - 1;
    const last = row + changes.filter((line) => line[0] !== "+").length - 1;
    for (const change of changes) {
      if (change[0] === "+") continue;
      // A line that is deleted and added again keeps what it has.
      const isAgain = change[0] === "-" && changes.includes(`+${change.slice(1)}`);
      if (dice.chance(0.3) && row < last && !isAgain) lines[row] += dice.pick([" ", "  ", "\t"]);
      row++;
    }
  }
  return lines;
}

/**
 * The patch with dots for the inner lines of its first long stretch of context between changes, in both parts (" ") or in the old
 * ("-") or new one ("+") alone; null where there is none.
 */
export function withDots(file: FilePatch, mark: " " | "-" | "+"): FilePatch | null {
  const [hunk] = file.hunks;
  const runs = [
    ...hunk!.lines
      .map((line) => (line[0] === " " ? " " : "x"))
      .join("")
      .matchAll(/(?<=x) {3,}(?=x)/g),
  ];
  const run = runs.find(({ index, 0: { length } }) => hunk!.lines.slice(index + 1, index + length - 1).some(isSolid));
  if (!run) return null;
  const [from, to] = [run.index + 1, run.index + run[0].length - 1];
  const inner = hunk!.lines.slice(from, to);
  const indent = /^\s*/.exec(inner.find(isSolid)!.slice(1))![0];
  const dots = `${mark}${indent}// ... existing code ...`;
  const kept = mark === " " ? [] : inner.map((line) => (mark === "-" ? "+" : "-") + line.slice(1));
  const lines = [...hunk!.lines.slice(0, from), dots, ...kept, ...hunk!.lines.slice(to)];
  return { ...file, hunks: [{ ...hunk!, lines }] };
}

function isSolid(line: string): boolean {
  return line.trim() !== "";
}
