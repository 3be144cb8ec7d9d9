import type { UnifiedErrorReason, UnifiedRepairKind } from "../reading.js";

/** Repairs of what git reads as it is. */
export type Harmless =
  | "prose"
  | "fence"
  | "carriage-return"
  | "doubled-lines"
  | "missing-prefix"
  | "missing-file-header"
  | "blank-context";

/**
 * The sentence of each reason of an error, and of each kind of repair that is an error in strict reading; the text found
 * comes behind it.
 */
export const SENTENCES: Record<Exclude<UnifiedRepairKind, Harmless> | UnifiedErrorReason, string> = {
  "absolute-path": "The path is absolute.",
  "missing-line-numbers": "The hunk has no line numbers.",
  "hunk-header": "The hunk header is not written as the format has it.",
  "wrong-count": "The hunk header does not count the lines below it.",
  "missing-space": "A context line has no space in front.",
  "misplaced-no-newline": "`\\ No newline at end of file` follows a line that is not the last.",
  "empty-hunk": "Nothing is changed here.",
  "missing-final-newline": "The last line has no line feed; the patch may be cut off.",
  "no-hunk": "No hunk says what to change.",
  "no-file-header": "No --- and +++ lines say which file this hunk changes.",
  "glued-header": "A header and what follows it stand on one line.",
  "stray-line": "A line with a mark stands in no hunk; the counts of the hunk before it may be too small.",
  "bad-header": "The header contradicts itself or cannot be read.",
  "bad-hunk": "The hunk does not fit its header.",
  ambiguous: "This stands in the new text alone; write the lines that it stands for.",
  binary: "A binary patch cannot be read as lines.",
  "combined-diff": "A merge's diff has several old sides and cannot be applied.",
};

/** The sentences of repairs that lenient reading alone speaks of. */
export const HARMLESS: Record<Harmless, string> = {
  prose: "This is no part of the patch and was left out.",
  fence: "The patch stands in a markdown fence.",
  "carriage-return": "The line ends with a carriage return.",
  "doubled-lines": "An empty line stands behind every line.",
  "missing-prefix": "The path has no a/ or b/ in front.",
  "missing-file-header": "The hunk has no --- and +++ lines and is read as a change of the given path.",
  "blank-context": "An empty context line has no space in front.",
};
