import { type ReadError, type Repair, say, type UnifiedErrorReason, type UnifiedRepairKind } from "../reading.js";
import { REFUSED, SENTENCES } from "./message.js";

/** The text being read, line by line, and what was found out about it on the way. */
export interface Input {
  readonly lines: readonly string[];
  readonly strict: boolean;
  /** The patch stands in a markdown fence of this many characters; 0 outside of one. */
  fence: number;
  /** The file being read began with `diff --git`, so the next one does. */
  git: boolean;
  readonly repairs: Repair[];
  readonly errors: ReadError[];
  /** Where each line stood in the text, if lines were taken out. */
  readonly numbers: readonly number[] | null;
  /** The text that the lines are of; null where lines were taken out or ended otherwise. */
  readonly text: string | null;
  /** A line and where it starts in the text: what `textOf` was asked for last. */
  readonly cursor: { line: number; offset: number };
}

/** Opens the text: line endings of the patch itself, doubled lines and the final newline are put right here. */
export function openInput(text: string, strict: boolean): Input {
  const repairs: Repair[] = [];
  const clean = text.startsWith("\ufeff") ? text.slice(1) : text;
  const lineFeeds = clean.includes("\n");
  const onlyReturns = !strict && !lineFeeds && clean.includes("\r");
  const lines = clean.split(onlyReturns ? "\r" : "\n");
  const input = {
    lines,
    strict,
    fence: 0,
    git: false,
    repairs,
    errors: [],
    numbers: null,
    text: onlyReturns ? null : clean,
    cursor: { line: 0, offset: 0 },
  };
  if (onlyReturns) repair(input, 0, "carriage-return");
  if (lines[lines.length - 1] === "") lines.pop();
  else repair(input, lines.length - 1, "missing-final-newline");
  return strict ? input : undouble(input);
}

/** Lines `from` to `to` with line feeds between them: cut from the text, if it has them so. Asked for from top to bottom. */
export function textOf({ text, lines, cursor }: Input, from: number, to: number): string {
  if (text === null) return lines.slice(from, to).join("\n");
  for (; cursor.line < from; cursor.line++) cursor.offset += lines[cursor.line]!.length + 1;
  const start = cursor.offset;
  for (; cursor.line < to; cursor.line++) cursor.offset += lines[cursor.line]!.length + 1;
  return text.slice(start, cursor.offset - 1);
}

/** Lists a repair. Strict reading has none: what git does not read is an error, and of what it reads nothing is said. */
export function repair(input: Input, at: number, kind: UnifiedRepairKind, found?: string): void {
  const said = { line: lineNumber(input, at), message: say(SENTENCES[kind], found) };
  const reason = REFUSED[kind];
  if (!input.strict) input.repairs.push({ kind, ...said });
  else if (reason !== undefined) input.errors.push({ reason, ...said });
}

export function refuse(input: Input, at: number, reason: UnifiedErrorReason, found?: string): void {
  input.errors.push({ reason, line: lineNumber(input, at), message: say(SENTENCES[reason], found) });
}

function lineNumber(input: Input, at: number): number {
  return input.numbers?.[at] ?? at + 1;
}

/** Takes out the empty lines where one stands behind every line from the first header on. */
function undouble(input: Input): Input {
  const { lines } = input;
  const start = lines.findIndex((line) => line.startsWith("--- "));
  if (start < 0 || lines[start + 1] !== "" || !lines[start + 2]?.startsWith("+++ ")) return input;
  const from = start - 2 >= 0 && lines[start - 1] === "" ? firstDoubled(lines, start) : start;
  const kept = lines.slice(0, from);
  const numbers = kept.map((_, i) => i + 1);
  let i = from;
  for (; i < lines.length && !/^(`{3,}|~{3,})\s*$/.test(lines[i]!); i += 2) {
    if (i + 1 < lines.length && lines[i + 1] !== "") return input;
    kept.push(lines[i]!);
    numbers.push(i + 1);
  }
  for (; i < lines.length; i++) {
    kept.push(lines[i]!);
    numbers.push(i + 1);
  }
  repair(input, from, "doubled-lines");
  return { ...input, lines: kept, numbers, text: null };
}

/** Git's extended header stands above `---`, doubled as well. */
function firstDoubled(lines: readonly string[], start: number): number {
  let i = start;
  while (i >= 2 && lines[i - 1] === "" && /^(diff|index|new|old|deleted|similarity|rename|copy) /.test(lines[i - 2]!))
    i -= 2;
  return i;
}
