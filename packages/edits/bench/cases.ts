import { type Random, random } from "../test/random.js";

/** A pair of texts by kind and number of lines; the same every time. */
export interface Case {
  readonly kind: Kind;
  readonly lines: number;
  /** Number of edits, for the kind "edits". */
  readonly edits?: number;
  /** How the file differs from the text that the patch was made of. */
  readonly file?: "drifted" | "CRLF";
}

export type Kind = "edits" | "unrelated" | "shuffled" | "reversed" | "interleaved" | "few distinct" | "swapped blocks";

export function makeTexts({ kind, lines, edits = 0 }: Case): [before: string, after: string] {
  const dice = random(lines + edits);
  const makeOne = kind === "few distinct" ? () => `line ${dice.below(10)}` : (i: number) => makeLine(dice, i);
  const before = Array.from({ length: lines }, (_, i) => makeOne(i));
  return [join(before), join(makeAfter(dice, kind, before, edits))];
}

/** The file that a patch is applied to: the text, or with thirty lines more in front, or with other line endings. */
export function makeFile(before: string, file: Case["file"]): string {
  if (file === "CRLF") return before.replaceAll("\n", "\r\n");
  return file === "drifted" ? join(Array.from({ length: 30 }, (_, i) => `// generated ${i}`)) + before : before;
}

/** Three texts: a base, and two that changed it at different places. */
export function makeThree(lines: number, edits: number): [base: string, ours: string, theirs: string] {
  const dice = random(lines + edits);
  const base = Array.from({ length: lines }, (_, i) => makeLine(dice, i));
  const ours = base.slice();
  const theirs = base.slice();
  const step = lines / edits / 2;
  for (let i = 0; i < edits; i++) {
    ours[Math.floor(2 * i * step)] = `ours ${i}`;
    theirs[Math.floor((2 * i + 1) * step)] = `theirs ${i}`;
  }
  return [join(base), join(ours), join(theirs)];
}

/** Lines as source has them: indented, some blank, some braces, the most of their own. */
function makeLine(dice: Random, i: number): string {
  const indent = "  ".repeat(dice.below(5));
  const kind = dice.below(10);
  if (kind === 0) return "";
  if (kind === 1) return `${indent}}`;
  return `${indent}const value${i} = compute(${dice.below(1_000_000)}, other${dice.below(100)});`;
}

function makeAfter(dice: Random, kind: Kind, before: readonly string[], edits: number): string[] {
  switch (kind) {
    case "edits":
      return edit(dice, before, edits);
    case "unrelated":
      return before.map((_, i) => `unrelated ${i} ${dice.below(1_000_000)}`);
    case "shuffled":
      return shuffle(dice, before);
    case "reversed":
      return before.toReversed();
    case "interleaved":
      return before.flatMap((line, i) => (i % 2 === 0 ? [line, `between ${i}`] : [`instead ${i}`]));
    case "few distinct":
      return before.map(() => `line ${dice.below(10)}`);
    case "swapped blocks":
      return [...before.slice(before.length / 2), ...before.slice(0, before.length / 2)];
  }
}

function edit(dice: Random, before: readonly string[], edits: number): string[] {
  const at = new Set<number>();
  while (at.size < edits) at.add(dice.below(before.length));
  return before.flatMap((line, i) => {
    if (!at.has(i)) return [line];
    const kind = dice.below(3);
    return kind === 0 ? [] : kind === 1 ? [line, `const added = ${i};`] : [`${line} // changed`];
  });
}

function shuffle(dice: Random, before: readonly string[]): string[] {
  const lines = before.slice();
  for (let i = lines.length - 1; i > 0; i--) {
    const j = dice.below(i + 1);
    [lines[i], lines[j]] = [lines[j]!, lines[i]!];
  }
  return lines;
}

function join(lines: readonly string[]): string {
  return `${lines.join("\n")}\n`;
}
