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

export type RepairKind = keyof typeof REPAIRS;

/** The sentence of each kind of repair; the text found comes behind it. */
export const REPAIRS = {
  "carriage-return": "The line ends with a carriage return.",
  "doubled-lines": "An empty line stands behind every line.",
  "missing-prefix": "The path has no a/ or b/ in front.",
  "missing-file-header": "The hunk has no --- and +++ lines and is read as a change of the given path.",
  "absolute-path": "The path is absolute.",
  "missing-line-numbers": "The hunk has no line numbers.",
  "hunk-header": "The hunk header is not written as the format has it.",
  "wrong-count": "The line numbers do not count the lines.",
  "missing-space": "A context line has no space in front.",
  "blank-context": "An empty context line has no space in front.",
  "misplaced-no-newline": "`\\ No newline at end of file` follows a line that is not the last.",
  "empty-hunk": "Nothing is changed here.",
  "missing-final-newline": "The last line has no line feed; it may be cut off.",
  "missing-action": "There is no action; read as an edit.",
  "missing-bar": "There is no | behind the key of the content.",
  "unindented-content": "Content is not indented below its key.",
  "indented-block": "The whole block is indented.",
  "unknown-key": "The key is unknown; left out.",
  "bad-line-number": "The line number is none; left out.",
  marker: "A marker is missing or of another length.",
  "missing-plus": "A line of an added file has no + in front.",
  anchor: "An @@ line or *** End of File belongs to no hunk; left out.",
  "no-change": "Old and new text are the same; left out.",
  gutter: "Line numbers stand in front of the old lines; taken off.",
};

export interface ReadError {
  /** Line of the input, counted from 1. */
  readonly line: number;
  readonly reason: ReadErrorReason;
  readonly message: string;
}

export type ReadErrorReason = keyof typeof REASONS;

/** The sentence of each reason; the text found comes behind it. */
export const REASONS = {
  "no-hunk": "There is no edit in the input.",
  "no-file-header": "No --- and +++ lines say which file this hunk changes.",
  "glued-header": "A header and what follows it stand on one line.",
  "stray-line": "A line with a mark stands in no hunk; the counts of the hunk before it may be too small.",
  "bad-header": "The header contradicts itself or cannot be read.",
  "bad-hunk": "The hunk does not fit its header.",
  binary: "A binary patch cannot be read as lines.",
  "combined-diff": "A merge's diff has several old sides and cannot be applied.",
  unfinished: "The block is not finished; ask for the rest.",
  "too-long": "The block is too long; ask for smaller edits or raise the limit.",
  "no-path": "The block names no file; write its path.",
  ambiguous: "The block can be read in two ways.",
  "bad-block": "The block breaks its format.",
};

/** A line as a message quotes it. */
export function quote(line: string): string {
  return JSON.stringify(line.length > 60 ? `${line.slice(0, 60)}…` : line);
}
