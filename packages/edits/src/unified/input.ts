import { hashParts } from "../hunk.js";
import { needText } from "../need.js";
import type { FilePatch, Hunk } from "../patch.js";
import {
  MOST_REPAIRS,
  type ReadError,
  type Repair,
  say,
  type UnifiedErrorReason,
  type UnifiedRepairKind,
} from "../reading.js";
import { REFUSED, SENTENCES } from "./message.js";

/** The file being read, with the hunks so far. */
export interface OpenFile {
  readonly file: { -readonly [Key in keyof FilePatch]: FilePatch[Key] } & { hunks: Hunk[] };
  /** Whether it has git's header, and where its header begins. */
  readonly git: boolean;
  readonly line: number;
  /** Tells the names of its hunks apart where they are equal. */
  readonly tellApart: (name: string) => string;
}

/** How sure the end of the patch is that was read last: a changed line behind it may be prose, or a line of a hunk. */
export type Tail =
  | "none" // there is no patch before this line, or a fence is between
  | "sure" // the counts of the hunk fit
  | "unsure"; // the counts do not fit, or there was no hunk

/** The text being read, line by line, and the findings so far. */
export interface Input {
  text: string;
  lines: readonly string[];
  readonly strict: boolean;
  /** Leading folders to take off each name, where the caller has set that. */
  readonly strip: number | undefined;
  /** The next line, and where it starts in the text. Both only grow, and only by `take` and `takeTo`. */
  at: number;
  offset: number;
  /** The patch stands in a markdown fence of this many characters; 0 outside of one. */
  fence: number;
  open: OpenFile | null;
  /** Prose behind the last file names another: hunks without a header may be that one's. */
  astray: boolean;
  tail: Tail;
  /** The line behind the last hunk. */
  behind: number;
  /** The first line since the last hunk that has a mark and was taken for an item of a list. */
  item: number | null;
  readonly files: FilePatch[];
  readonly repairs: Repair[];
  readonly errors: ReadError[];
  /** The name of a hunk whose lines stand in the text as they are. */
  hash: (start: number, end: number) => string;
  /** Where each line stood in the text, if lines were taken out. */
  numbers: readonly number[] | null;
  /** An empty line stands behind every line, or behind every line of the hunks. */
  doubled: boolean;
  /** The last line has its line feed. */
  readonly ended: boolean;
}

/** Opens the text: line endings of the patch itself, doubled lines and the final newline are put right here. */
export function openInput(source: string, strict: boolean, strip: number | undefined): Input {
  needText({ text: source });
  const clean = !strict && source.startsWith("\ufeff") ? source.slice(1) : source;
  const onlyReturns = !strict && !clean.includes("\n") && clean.includes("\r");
  const text = onlyReturns ? clean.replaceAll("\r", "\n") : clean;
  const lines = text.split("\n");
  const ended = lines[lines.length - 1] === "";
  const input: Input = {
    text,
    lines,
    strict,
    strip,
    at: 0,
    offset: 0,
    fence: 0,
    open: null,
    astray: false,
    tail: "none",
    behind: -1,
    item: null,
    files: [],
    repairs: [],
    errors: [],
    hash: hashParts(text),
    numbers: null,
    doubled: false,
    ended,
  };
  if (onlyReturns) repair(input, 0, "carriage-return");
  if (ended) lines.pop();
  else repair(input, lines.length - 1, "missing-final-newline");
  if (!strict) undouble(input);
  return input;
}

/** Takes the next line. */
export function take(input: Input): string {
  const line = input.lines[input.at++]!;
  input.offset += line.length + 1;
  return line;
}

/** Takes all lines before this one. */
export function takeTo(input: Input, end: number): void {
  while (input.at < end) take(input);
}

/** Lists a repair. Strict reading has none: what git does not read is an error, and what it reads needs no repair. */
export function repair(input: Input, at: number, kind: UnifiedRepairKind, found?: string): void {
  const { [kind]: reason = "bad-hunk" } = REFUSED;
  if (!input.strict) {
    if (input.repairs.length < MOST_REPAIRS)
      input.repairs.push({ kind, line: lineOf(input, at), message: say(SENTENCES[kind], found) });
  } else if (reason !== null)
    input.errors.push({ reason, line: lineOf(input, at), message: say(SENTENCES[kind], found) });
}

export function refuse(input: Input, at: number, reason: UnifiedErrorReason, found?: string): void {
  input.errors.push({ reason, line: lineOf(input, at), message: say(SENTENCES[reason], found) });
}

function lineOf({ numbers }: Input, at: number): number {
  return numbers?.[at] ?? at + 1;
}

/** Takes out the empty lines where one stands behind every line from the first header to the end of the fence. */
function undouble(input: Input): void {
  const { lines } = input;
  const names = lines.findIndex((line) => line.startsWith("--- "));
  if (names < 0 || lines[names + 1] !== "" || !lines[names + 2]?.startsWith("+++ ")) return;
  let from = names;
  while (lines[from - 1] === "" && HEADER.test(lines[from - 2]!)) from -= 2;
  const fence = lines.findIndex((line, i) => i > from && isFence(line));
  const isDoubled = (i: number) => i > from && (i < fence || fence < 0) && (i - from) % 2 === 1;
  if (lines.some((line, i) => isDoubled(i) && line !== "")) return;
  const kept = [...lines.keys()].filter((i) => !isDoubled(i));
  repair(input, from, "doubled-lines");
  input.doubled = true;
  input.lines = kept.map((i) => lines[i]!);
  input.text = input.lines.join("\n");
  input.hash = hashParts(input.text);
  input.numbers = kept.map((i) => i + 1);
}

/** A line of git's extended header. */
export const HEADER = /^(diff|index|new|old|deleted|similarity|dissimilarity|rename|copy) /;

/** Whether the line closes a fence, of this many characters at least. */
export function isFence(line: string, least = 3): boolean {
  return /^(`{3,}|~{3,})\s*$/.test(line) && line.trim().length >= least;
}
