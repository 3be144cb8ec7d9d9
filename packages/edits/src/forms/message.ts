import type { FilePatch } from "../patch.js";
import { type EditErrorReason, type EditRepairKind, type ReadErrorReason, type Repair, say } from "../reading.js";

type Kind = EditRepairKind | "wrong-count" | "missing-space" | "blank-context";
type Reason = EditErrorReason | "no-hunk" | "bad-hunk";

/** What each kind of repair and each reason of an error says; what was found comes behind it. */
const SENTENCES: Record<Kind | Reason, string> = {
  "missing-action": "There is no action; old and new content make it an edit",
  "missing-bar": "Content stands below its key without |",
  "unindented-content": "Content stands as far left as its key",
  "indented-block": "The whole block is indented; that was taken off",
  "unknown-key": "The line belongs to no key of the block and was left out",
  "bad-line-number": "This is no line number and was left out",
  marker: "A marker is missing, or is not written as the one before it",
  "missing-plus": "A line of an added file has no + in front",
  anchor: "What the line says of the place is not kept",
  "wrong-count": "The line numbers do not count the old lines",
  "missing-space": "A context line has no space in front",
  "blank-context": "An empty context line has no space in front",
  unfinished: "The block is not finished; ask for the rest of it",
  "too-long": "The block is too long; read it with a higher limit, or ask for smaller edits",
  "no-path": "The block names no file; write its path where the form has it",
  "no-change": "Old and new text are the same, so nothing is changed",
  ambiguous: "This can be read in more than one way",
  "bad-block": "The block breaks its form",
  "no-hunk": "There is no edit in the input",
  "bad-hunk": "Text follows before the hunk has the lines it promises; write the diff in a fence",
};

/** Lists something that was understood although it is written wrongly; lines are counted from 0 at the block's first. */
export function repair(repairs: Repair[], line: number, kind: Kind, found?: string): void {
  repairs.push({ kind, line, message: say(SENTENCES[kind], found) });
}

/** Why a block cannot be read. Thrown by `refuse` and caught by `attempt`, so nothing outside ever sees it thrown. */
export class Unreadable extends Error {
  readonly line: number;
  readonly reason: ReadErrorReason;

  constructor(line: number, reason: ReadErrorReason, message: string) {
    super(message);
    this.line = line;
    this.reason = reason;
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
  const repairs: Repair[] = [];
  try {
    return { files: read(repairs), repairs };
  } catch (error) {
    if (error instanceof Unreadable) return error;
    throw error;
  }
}
