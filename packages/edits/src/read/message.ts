import type { FilePatch } from "../patch.js";
import { MAX_REPAIRS, quote, type ReadErrorReason, type Repair, type RepairKind, say } from "../reading.js";

/** Repairs of what git reads as it is. */
export const HARMLESS: ReadonlySet<RepairKind> = new Set([
  "carriage-return",
  "doubled-lines",
  "missing-prefix",
  "missing-file-header",
  "blank-context",
]);

/** The sentence of each kind of repair and each reason of an error; the text found comes behind it. */
export const SENTENCES: Record<RepairKind | ReadErrorReason, string> = {
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

/** Lists a repaired mistake; lines are counted from 0 at the block's first. */
export function repair(repairs: Repair[], line: number, kind: RepairKind, found?: string): void {
  if (repairs.length < MAX_REPAIRS) repairs.push({ kind, line, message: say(SENTENCES[kind], found) });
}

/** Why a block cannot be read: thrown by `refuse`, caught by `attempt`. No `Error`, whose stack would cost more than the reading. */
export class Unreadable {
  readonly line: number;
  readonly reason: ReadErrorReason;
  readonly message: string;

  constructor(line: number, reason: ReadErrorReason, message: string) {
    this.line = line;
    this.reason = reason;
    this.message = message;
  }
}

/** `sentence` is that of a repair which strict reading refuses. */
export function unreadable(
  line: number,
  reason: ReadErrorReason,
  found?: string,
  sentence: RepairKind | ReadErrorReason = reason,
): Unreadable {
  return new Unreadable(line, reason, say(SENTENCES[sentence], found));
}

export function refuse(line: number, reason: ReadErrorReason, found?: string, sentence?: RepairKind): never {
  throw unreadable(line, reason, found, sentence);
}

/** An edit that was meant and not read, shown by this line. */
export function lost(line: string, advice: string): Unreadable {
  return unreadable(0, "bad-block", `${quote(line)} is in no edit; ${advice}`);
}

/** The content of a block, or the reason why it cannot be read. */
export function attempt(read: (repairs: Repair[]) => readonly FilePatch[]) {
  const repairs: { -readonly [Field in keyof Repair]: Repair[Field] }[] = [];
  try {
    return { files: read(repairs), repairs };
  } catch (error) {
    if (error instanceof Unreadable) return error;
    throw error;
  }
}
