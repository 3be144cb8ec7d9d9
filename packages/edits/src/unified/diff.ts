import { hashParts } from "../hunk.js";
import type { FilePatch, Hunk } from "../patch.js";
import { HARMLESS, refuse, repair } from "../read/message.js";
import type { Repair, UnifiedRepairKind } from "../reading.js";

/** The file being read, with the hunks so far. */
export interface OpenFile {
  readonly file: { -readonly [Key in keyof FilePatch]: FilePatch[Key] } & { hunks: Hunk[] };
  /** Whether it has git's header, and where its header begins. */
  readonly git: boolean;
  readonly line: number;
  /** Tells the names of its hunks apart where they are equal. */
  readonly tellApart: (name: string) => string;
}

/** The lines of a unified diff while they are read. */
export interface Diff {
  readonly text: string;
  readonly lines: readonly string[];
  /** Refuse what git refuses, instead of repairing it. */
  readonly strict: boolean;
  /** List no repair of what git reads as it is, and take one folder off each name, whatever it is called. */
  readonly asGit: boolean;
  /** Leading folders to take off each name, where the caller has set that. */
  readonly strip: number | undefined;
  /** The next line, and where it starts in the text. */
  at: number;
  offset: number;
  open: OpenFile | null;
  readonly files: FilePatch[];
  readonly repairs: Repair[];
  /** The name of a hunk whose lines are in the text as they are. */
  readonly hash: (start: number, end: number) => string;
}

export function openDiff(
  text: string,
  lines: readonly string[],
  how: Pick<Diff, "strict" | "asGit" | "strip" | "repairs">,
): Diff {
  const { strict, asGit, strip, repairs } = how;
  return { text, lines, strict, asGit, strip, repairs, at: 0, offset: 0, open: null, files: [], hash: hashParts(text) };
}

/** Takes the next line. */
export function take(diff: Diff): string {
  const line = diff.lines[diff.at++]!;
  diff.offset += line.length + 1;
  return line;
}

/** Lists a repair. Strict reading refuses what git does not read as it is. */
export function mend(diff: Diff, at: number, kind: UnifiedRepairKind, found?: string): void {
  if (!diff.strict) return repair(diff.repairs, at, kind, found);
  if (HARMLESS.has(kind)) {
    if (!diff.asGit) repair(diff.repairs, at, kind, found);
  } else refuse(at, kind === "absolute-path" ? "bad-header" : "bad-hunk", found, kind);
}
