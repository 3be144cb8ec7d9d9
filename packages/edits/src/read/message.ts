import type { FilePatch } from "../patch.js";
import { quote, REASONS, REPAIRS, type ReadErrorReason, type Repair, type RepairKind } from "../reading.js";

/** The most repairs that one reading lists, because a list of a million only costs memory. */
const MAX_REPAIRS = 10_000;

/** Repairs of what git reads as it is. */
export const HARMLESS: ReadonlySet<RepairKind> = new Set([
  "carriage-return",
  "doubled-lines",
  "missing-prefix",
  "missing-file-header",
  "blank-context",
]);

/** The sentence, with what was found before its full stop. */
export function say(sentence: string, found?: string): string {
  return found === undefined ? sentence : `${sentence.slice(0, -1)}: ${found}.`;
}

/** Lists a repaired mistake; lines are counted from 0 at the block's first. */
export function repair(repairs: Repair[], line: number, kind: RepairKind, found?: string): void {
  if (repairs.length < MAX_REPAIRS) repairs.push({ kind, line, message: say(REPAIRS[kind], found) });
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

/** `mistake` is a repair that strict reading refuses. */
export function unreadable(line: number, reason: ReadErrorReason, found?: string, mistake?: RepairKind): Unreadable {
  return new Unreadable(line, reason, say(mistake === undefined ? REASONS[reason] : REPAIRS[mistake], found));
}

export function refuse(line: number, reason: ReadErrorReason, found?: string, mistake?: RepairKind): never {
  throw unreadable(line, reason, found, mistake);
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
