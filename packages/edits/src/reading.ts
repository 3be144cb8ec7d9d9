import type { Patch } from "./patch.js";

/** The result of reading a unified diff: a patch and its repairs, or errors. */
export type Reading =
  | { readonly ok: true; readonly patch: Patch; readonly repairs: readonly Repair[] }
  | { readonly ok: false; readonly errors: readonly ReadError[] };

/** A mistake in the input that was repaired. Strict reading refuses it instead. At most 10,000 are listed. */
export interface Repair {
  readonly kind: RepairKind;
  /** Line of the input, counted from 1. */
  readonly line: number;
  readonly message: string;
}

export type RepairKind = UnifiedRepairKind | EditRepairKind;

/** Repairs in unified diffs. */
export type UnifiedRepairKind =
  | "carriage-return" // header lines, or all lines, ended with a carriage return
  | "doubled-lines" // an empty line stood behind every line, or behind every line of the hunks
  | "missing-prefix" // a path had no `a/` or `b/`
  | "absolute-path" // a path was absolute, for instance `a//home/me/x`
  | "missing-file-header" // hunks without `---` and `+++`, given to the path of the options
  | "missing-line-numbers" // `@@ ... @@`, `@@ -XXX,XX +XXX,XX @@`
  | "hunk-header" // line numbers were there, but not written as the format has it
  | "wrong-count" // the counts of the `@@` line did not fit the lines below it
  | "missing-space" // a context line had no leading space
  | "blank-context" // an empty line stood for an empty context line
  | "misplaced-no-newline" // `\ No newline at end of file` behind a line that is not the last; ignored
  | "empty-hunk" // a hunk or a file header that changes nothing; left out
  | "missing-final-newline"; // the patch's last line had no line feed

/** Repairs in the other formats. */
export type EditRepairKind =
  | "missing-action" // an edit block without `action` that has old and new content
  | "missing-bar" // content below its key without `|`
  | "unindented-content" // content that stands as far left as its key
  | "indented-block" // the whole block was indented; what all its lines share was taken off
  | "unknown-key" // a key that the format does not have; left out
  | "bad-line-number" // a line number that is none; left out
  | "no-change" // old and new text are the same; left out
  | "gutter" // line numbers with a bar stood in front of the old lines; taken off
  | "marker" // a divider of another length, `*** End Patch` missing before the closing fence
  | "missing-plus" // a line of an added file without its `+`
  | "anchor"; // an `@@` line or `*** End of File` that belongs to no hunk; left out

export interface ReadError {
  /** Line of the input, counted from 1. */
  readonly line: number;
  readonly reason: ReadErrorReason;
  readonly message: string;
}

export type ReadErrorReason = UnifiedErrorReason | EditErrorReason;

/** Errors in unified diffs. */
export type UnifiedErrorReason =
  | "no-hunk" // nothing in the input changes anything
  | "no-file-header" // a hunk, but no file it belongs to
  | "glued-header" // header lines without a line break between them
  | "bad-header" // a header that contradicts itself or cannot be read
  | "bad-hunk" // a hunk that cannot be read; in strict reading also any hunk that would need a repair
  | "ambiguous" // a new line alone stands for lines that would be lost: `// ... existing code ...`
  | "stray-line" // an added or deleted line outside of any hunk
  | "binary" // a binary patch
  | "combined-diff"; // a diff of a merge commit (`@@@`)

/** Errors in the other formats. */
export type EditErrorReason =
  | "unfinished" // the text ended, or another block began, before the block's end
  | "too-long" // the block is longer than the reader's limit
  | "no-path" // nothing says which file is meant
  | "ambiguous" // markers in the content: where the old text ends is not certain
  | "bad-block"; // the block breaks its format; the message says how

/** The most repairs that one reading lists, because a list of a million only costs memory. */
export const MAX_REPAIRS = 10_000;

/** The message of a repair or an error: the sentence of its kind, then the text found there. */
export function say(sentence: string, found?: string): string {
  return found === undefined ? sentence : `${sentence.slice(0, -1)}: ${found}.`;
}

/** A line as a message quotes it. */
export function quote(line: string): string {
  return JSON.stringify(line.length > 60 ? `${line.slice(0, 60)}…` : line);
}
