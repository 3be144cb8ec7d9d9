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
import type { HunkHeader } from "./hunk-header.js";
import { SENTENCES } from "./message.js";
import type { TabOf } from "./name.js";

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

/** A hunk's lines as found. */
export interface Body {
  readonly lines: readonly string[];
  /** The hash of the lines, if they needed no change. */
  readonly hash?: string;
  /** Indexes of the lines that have no newline at the end of the file. */
  readonly unended?: readonly number[];
}

/**
 * What lenient reading does beside strict reading: a value, so that a page loads it only where it is passed in.
 * Everything that it changes is listed in `Reading.repairs`.
 */
export interface Repairs {
  /** The sentences of repairs that strict reading needs no word for: git reads these as they are. */
  readonly sentences: Readonly<Record<string, string>>;
  /** Puts right what concerns each line alone: the byte order mark, line endings. */
  readonly clean: (source: string) => string;
  /** Puts right what concerns all lines. */
  readonly undouble: (input: Input) => void;
  /** Opens a file for hunks that have no header. */
  readonly openPath: (input: Input, path: string | undefined) => void;
  /** Leading folders to take off names where the caller has not said how many. */
  readonly foldersOf: (old: string | null, now: string | null) => number;
  readonly tabOf: TabOf;
  /** Takes a hunk's lines before its counts are tried; null where nothing is to be put right. */
  readonly takeAhead: (input: Input, header: HunkHeader) => Body | null;
  /** Takes the lines of a hunk that has a line without a mark while its counts are open. */
  readonly takeFenced: (input: Input, oldCount: number, newCount: number) => Body | null;
  /** Takes the lines of a hunk that its counts do not fit. */
  readonly takeMarked: (input: Input, header: HunkHeader, created: boolean) => Body;
  /** Whether lines of the hunk follow although its counts are used up. */
  readonly goesOn: (input: Input, at: number) => boolean;
  /** Looks at a line outside of all hunks, which may name another file. */
  readonly pass: (input: Input, line: string) => void;
  /** Checks the whole patch. */
  readonly check: (input: Input) => void;
}

/** The text being read, line by line, and the findings so far. */
export interface Input {
  text: string;
  lines: readonly string[];
  /** Null for strict reading. */
  readonly repairing: Repairs | null;
  /** Leading folders to take off each name, where the caller has set that. */
  readonly strip: number | undefined;
  /** The next line, and where it starts in the text. Both only grow, and only by `take` and `takeTo`. */
  at: number;
  offset: number;
  /** The patch stands in a markdown fence of this many characters; 0 outside of one. */
  fence: number;
  open: OpenFile | null;
  /** Prose behind a file has named another: while no file is open, hunks without a header may be that one's. */
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
export function openInput(source: string, repairing: Repairs | null, strip: number | undefined): Input {
  needText({ text: source });
  const text = repairing?.clean(source) ?? source;
  const lines = text.split("\n");
  const ended = lines[lines.length - 1] === "";
  const input: Input = {
    text,
    lines,
    repairing,
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
  if (source.includes("\r") && !text.includes("\r")) repair(input, 0, "carriage-return");
  if (ended) lines.pop();
  else repair(input, lines.length - 1, "missing-final-newline");
  repairing?.undouble(input);
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
  const { repairing, repairs } = input;
  const { [kind as "empty-hunk"]: sentence = repairing?.sentences[kind] } = SENTENCES;
  if (sentence === undefined) return;
  const message = say(sentence, found);
  if (repairing === null) addError(input, at, kind === "absolute-path" ? "bad-header" : "bad-hunk", message);
  else if (repairs.length < MOST_REPAIRS) repairs.push({ kind, line: lineOf(input, at), message });
}

export function refuse(input: Input, at: number, reason: UnifiedErrorReason, found?: string): void {
  addError(input, at, reason, say(SENTENCES[reason], found));
}

function addError(input: Input, at: number, reason: UnifiedErrorReason, message: string): void {
  input.errors.push({ reason, line: lineOf(input, at), message });
}

function lineOf({ numbers }: Input, at: number): number {
  return numbers?.[at] ?? at + 1;
}
