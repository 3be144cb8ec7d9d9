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

/** The sentence of each kind of repair and each reason of an error; the text found comes behind it. */
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

/** Lists a repaired mistake; lines are counted from 0 at the block's first. */
export function repair(repairs: Repair[], line: number, kind: Kind, found?: string): void {
  if (repairs.length < MOST_REPAIRS) repairs.push({ kind, line, message: say(SENTENCES[kind], found) });
}

/**
 * The reason why a block cannot be read. `refuse` throws it and `attempt` catches it, so it never leaves this package. It
 * is no `Error`, whose stack would cost more than the reading in a text with many such blocks.
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
