import type { FilePatch } from "../patch.js";
import {
  type EditErrorReason,
  type EditRepairKind,
  MOST_REPAIRS,
  type ReadErrorReason,
  type Repair,
  say,
} from "../reading.js";

type Kind = EditRepairKind | "wrong-count" | "missing-space" | "blank-context";
type Reason = EditErrorReason | "no-hunk" | "bad-hunk";

/** What each kind of repair and each reason of an error says; what was found comes behind it. */
const SENTENCES: Record<Kind | Reason, string> = {
  "missing-action": "There is no action; read as an edit.",
  "missing-bar": "There is no | behind the key of the content.",
  "unindented-content": "Content is not indented below its key.",
  "indented-block": "The whole block is indented.",
  "unknown-key": "The key is unknown; left out.",
  "bad-line-number": "The line number is none; left out.",
  marker: "A marker is missing or of another length.",
  "missing-plus": "A line of an added file has no + in front.",
  anchor: "An @@ line or *** End of File belongs to no hunk; left out.",
  "wrong-count": "The line numbers do not count the old lines.",
  "missing-space": "A context line has no space in front.",
  "blank-context": "An empty context line has no space in front.",
  unfinished: "The block is not finished; ask for the rest.",
  "too-long": "The block is too long; ask for smaller edits or raise the limit.",
  "no-path": "The block names no file; write its path.",
  "no-change": "Old and new text are the same; left out.",
  gutter: "Line numbers stand in front of the old lines; taken off.",
  ambiguous: "The block can be read in two ways.",
  "bad-block": "The block breaks its format.",
  "no-hunk": "There is no edit in the input.",
  "bad-hunk": "Text follows before the hunk has all its lines; write the diff in a fence.",
};

/** Lists something that was understood although it is written wrongly; lines are counted from 0 at the block's first. */
export function repair(repairs: Repair[], line: number, kind: Kind, found?: string): void {
  if (repairs.length < MOST_REPAIRS) repairs.push({ kind, line, message: say(SENTENCES[kind], found) });
}

/**
 * Why a block cannot be read. Thrown by `refuse` and caught by `attempt`, so nothing outside ever sees it thrown; it is no
 * `Error`, whose stack would cost more than the reading where a text has many such blocks.
 */
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

export function unreadable(line: number, reason: Reason, found?: string): Unreadable {
  return new Unreadable(line, reason, say(SENTENCES[reason], found));
}

export function refuse(line: number, reason: Reason, found?: string): never {
  throw unreadable(line, reason, found);
}

/** What a block says, or why it cannot be read. */
export function attempt(read: (repairs: Repair[]) => readonly FilePatch[]) {
  const repairs: { -readonly [Field in keyof Repair]: Repair[Field] }[] = [];
  try {
    return { files: read(repairs), repairs };
  } catch (error) {
    if (error instanceof Unreadable) return error;
    throw error;
  }
}
