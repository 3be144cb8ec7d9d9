import type { UnifiedErrorReason, UnifiedRepairKind } from "../reading.js";

/** What each kind of repair and each reason of an error says; what was found comes behind it. */
export const SENTENCES: Record<UnifiedRepairKind | UnifiedErrorReason, string> = {
  prose: "Text that is no part of a patch was left out",
  fence: "The patch stands in a markdown fence",
  "carriage-return": "The line ends with a carriage return",
  "doubled-lines": "An empty line stands behind every line",
  "missing-prefix": "The path has no a/ or b/ in front",
  "absolute-path": "The path is absolute, not relative to the root",
  "missing-file-header": "The hunk has no --- and +++ lines; read as a change of the given path",
  "missing-line-numbers": "The hunk header has no line numbers",
  "hunk-header": "The hunk header is not written as the format has it",
  "wrong-count": "The hunk header does not count the lines below it",
  "missing-space": "A context line has no space in front",
  "blank-context": "An empty context line has no space in front",
  "misplaced-no-newline": "No newline at end of file is said of a line that is not the last",
  "empty-hunk": "Nothing is changed here",
  "missing-final-newline": "The last line has no line feed; the patch may be cut off",
  "no-hunk": "There is no hunk in the input: nothing says what to change",
  "no-file-header": "No --- and +++ lines say which file this hunk changes",
  "glued-header": "A header and what follows it stand on one line",
  "bad-header": "The header cannot be read, or contradicts itself",
  "bad-hunk": "The hunk does not fit its header",
  binary: "A binary patch cannot be read as lines",
  "combined-diff": "A diff of a merge commit has several old sides and cannot be applied",
};

/** The reason for which strict reading refuses what is repaired otherwise. The kinds that are not here git takes as well. */
export const REFUSED: Partial<Record<UnifiedRepairKind, UnifiedErrorReason>> = {
  "absolute-path": "bad-header",
  "missing-file-header": "no-file-header",
  "missing-line-numbers": "bad-hunk",
  "hunk-header": "bad-hunk",
  "wrong-count": "bad-hunk",
  "missing-space": "bad-hunk",
  "misplaced-no-newline": "bad-hunk",
  "empty-hunk": "bad-hunk",
  "missing-final-newline": "bad-hunk",
};
