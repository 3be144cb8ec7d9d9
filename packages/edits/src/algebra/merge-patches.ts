import { countLines, identifyHunks } from "../hunk.js";
import { needPatch } from "../need.js";
import type { FilePatch, Hunk, Patch } from "../patch.js";
import { takeApart } from "../sides.js";
import { meet, type Span } from "./merge.js";

export type PatchMerge =
  | { readonly ok: true; readonly patch: Patch }
  | { readonly ok: false; readonly conflicts: readonly PatchConflict[] };

export interface PatchConflict {
  /** The file's path before the change; the path after it for a created file. */
  readonly path: string;
  /**
   * `overlap`: both change or touch the same lines differently. `base`: they were made from different texts.
   * `no-place`: a hunk has no line numbers. `file`: they create, delete, rename or replace the file differently.
   */
  readonly reason: "overlap" | "base" | "no-place" | "file";
  /** The hunks concerned, by id. */
  readonly ours: readonly string[];
  readonly theirs: readonly string[];
}

/**
 * Merges two patches of the same base into one. Changes that overlap or touch are a conflict unless they are the same.
 */
export function mergePatches(ours: Patch, theirs: Patch): PatchMerge {
  needPatch({ ours, theirs });
  const files: FilePatch[] = [];
  const conflicts: PatchConflict[] = [];
  const others = new Map(theirs.files.map((file) => [pathOf(file), file]));
  for (const file of ours.files) {
    const other = others.get(pathOf(file));
    others.delete(pathOf(file));
    const merged = other === undefined ? file : mergeFiles(file, other);
    if ("ours" in merged) conflicts.push(merged);
    else files.push(merged);
  }
  if (conflicts.length > 0) return { ok: false, conflicts };
  return { ok: true, patch: { files: [...files, ...others.values()] } };
}

function pathOf({ before, after }: FilePatch): string {
  return before ?? after ?? "";
}

function mergeFiles(ours: FilePatch, theirs: FilePatch): FilePatch | PatchConflict {
  if (isEqual(ours, theirs)) return ours;
  const idsOf = (hunks: readonly Hunk[]) => [...new Set(hunks.map(({ id }) => id))];
  const conflict = (reason: PatchConflict["reason"], mine = ours.hunks, other = theirs.hunks): PatchConflict => ({
    path: pathOf(ours),
    reason,
    ours: idsOf(mine),
    theirs: idsOf(other),
  });
  const header = mergeHeaders(ours, theirs);
  if (header === null) return conflict("file");
  const shown = new Map<number, string>();
  const left = readChanges(ours.hunks, shown);
  const right = typeof left === "string" ? left : readChanges(theirs.hunks, shown);
  if (typeof left === "string" || typeof right === "string") return conflict(right as "no-place" | "base");
  const changes: HunkChange[] = [];
  for (const meeting of meet(left, right)) {
    const { left: mine, right: other } = meeting;
    const [made, theirMade] = [mine, other].map((changes) => linesOf(meeting, changes, shown));
    if (mine.length > 0 && other.length > 0 && !isEqual(made, theirMade))
      return conflict(
        "overlap",
        mine.map(({ hunk }) => hunk),
        other.map(({ hunk }) => hunk),
      );
    for (const change of mine.length > 0 ? mine : other) changes.push(change);
  }
  return { ...header, hunks: writeHunks(changes, shown) };
}

function mergeHeaders(ours: FilePatch, theirs: FilePatch): FilePatch | null {
  const [moved, rest] = ours.kind === "modify" && theirs.kind !== "modify" ? [theirs, ours] : [ours, theirs];
  const agree = rest.kind === "modify" || rest.after === moved.after;
  const oldMode = ours.oldMode ?? theirs.oldMode;
  const modes = new Set([ours.newMode, theirs.newMode].filter((mode) => mode !== undefined && mode !== ours.oldMode));
  if (!/^(?:modify|rename)$/.test(moved.kind) || !agree || ours.whole || theirs.whole || modes.size > 1) return null;
  const { git: _, ...header } = moved;
  const newMode = [...modes][0] ?? oldMode;
  return { ...header, ...(oldMode !== undefined && { oldMode }), ...(newMode !== undefined && { newMode }) };
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The new lines. Each ends with its line feed unless it has none in the file. */
interface HunkChange extends Span {
  readonly insert: readonly string[];
  readonly hunk: Hunk;
}

/** The lines that one side makes of a stretch; all of it is shown, since one of the sides changes it. */
function linesOf({ oldStart, oldEnd }: Span, changes: readonly HunkChange[], shown: ReadonlyMap<number, string>) {
  const keep = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => shown.get(from + i)!);
  const ends = [oldStart, ...changes.map((change) => change.oldEnd)];
  const made = changes.flatMap((change, i) => [...keep(ends[i]!, change.oldStart), ...change.insert]);
  return [...made, ...keep(ends.at(-1)!, oldEnd)];
}

function readChanges(hunks: readonly Hunk[], shown: Map<number, string>): HunkChange[] | "no-place" | "base" {
  const changes: HunkChange[] = [];
  let end = 0;
  for (const { hunk, hint, old, changes: own } of hunks.map(takeApart).sort((a, b) => a.hint! - b.hint!)) {
    // Lines are counted one by one from there, which numbers can do only so far.
    if (hint === null || !Number.isSafeInteger(hint + old.length)) return "no-place";
    if (hint < end) return "base";
    end = hint + old.length;
    for (const [i, body] of old.entries()) {
      const line = hunk.oldNoNewline && i === old.length - 1 ? body : `${body}\n`;
      if ((shown.get(hint + i) ?? line) !== line) return "base";
      shown.set(hint + i, line);
    }
    for (const { from, to, insert } of own) {
      const last = hunk.newNoNewline && to === old.length ? insert.length - 1 : -1;
      const lines = insert.map((line, i) => (i === last ? line : `${line}\n`));
      changes.push({ oldStart: hint + from, oldEnd: hint + to, insert: lines, hunk });
    }
  }
  return changes;
}

function writeHunks(changes: readonly HunkChange[], shown: ReadonlyMap<number, string>): Hunk[] {
  const hunks: Omit<Hunk, "id">[] = [];
  let shift = 0;
  for (let i = 0; i < changes.length; ) {
    let at = changes[i]!.oldStart;
    while (shown.has(at - 1) && at > (changes[i - 1]?.oldEnd ?? 0)) at--;
    const [oldStart, newStart] = [at, at + shift];
    const all: string[] = [];
    let section: string | undefined;
    const keep = (end: number) => {
      for (; at < end && shown.has(at); at++) all.push(` ${shown.get(at)}`);
    };
    do {
      const change = changes[i++]!;
      keep(change.oldStart);
      for (; at < change.oldEnd; at++) all.push(`-${shown.get(at)}`);
      for (const line of change.insert) all.push(`+${line}`);
      section ??= change.hunk.section;
      shift += change.insert.length - (change.oldEnd - change.oldStart);
      keep(changes[i]?.oldStart ?? Infinity);
    } while (at === changes[i]?.oldStart);
    const lines = all.map((line) => line.replace(/\n$/, ""));
    const count = countLines(lines);
    const isTorn = (mark: string) => all.findLast((line) => line[0] !== mark)?.endsWith("\n") === false;
    hunks.push({
      oldStart: oldStart + (count.old > 0 ? 1 : 0),
      newStart: newStart + (count.new > 0 ? 1 : 0),
      lines,
      ...(isTorn("+") && { oldNoNewline: true as const }),
      ...(isTorn("-") && { newNoNewline: true as const }),
      ...(section !== undefined && { section }),
    });
  }
  return identifyHunks(hunks);
}
