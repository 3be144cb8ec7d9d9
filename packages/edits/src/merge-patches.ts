import { countLines, identifyHunks } from "./hunk.js";
import type { FilePatch, Hunk, Patch } from "./patch.js";

export type PatchMerge =
  | { readonly ok: true; readonly patch: Patch }
  | { readonly ok: false; readonly conflicts: readonly PatchConflict[] };

export interface PatchConflict {
  /** The file's path before the change, or after it where it is created. */
  readonly path: string;
  /**
   * `overlap`: both change or touch the same lines, each in its own way. `base`: they disagree about the text they start
   * from. `no-place`: a hunk has no line numbers. `file`: they create, delete, rename or replace the file differently.
   */
  readonly reason: "overlap" | "base" | "no-place" | "file";
  /** The hunks concerned, by id. */
  readonly ours: readonly string[];
  readonly theirs: readonly string[];
}

/**
 * One patch that makes the changes of two patches of the same base, each at its place in the base. Changes that overlap
 * or touch are a conflict unless they are the same.
 */
export function mergePatches(ours: Patch, theirs: Patch): PatchMerge {
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
  return conflicts.length === 0
    ? { ok: true, patch: { files: [...files, ...others.values()] } }
    : { ok: false, conflicts };
}

function pathOf({ before, after }: FilePatch): string {
  return before ?? after ?? "";
}

function mergeFiles(ours: FilePatch, theirs: FilePatch): FilePatch | PatchConflict {
  if (isEqual(ours, theirs)) return ours;
  const conflict = (reason: PatchConflict["reason"], mine: readonly Hunk[], other: readonly Hunk[]): PatchConflict => ({
    path: pathOf(ours),
    reason,
    ours: mine.map(({ id }) => id),
    theirs: other.map(({ id }) => id),
  });
  const moved = [ours, theirs].find(({ kind }) => kind !== "modify") ?? ours;
  const rest = moved === ours ? theirs : ours;
  const mayMerge =
    (moved.kind === "modify" || moved.kind === "rename") && (rest.kind === "modify" || rest.after === moved.after);
  const modes = new Set([ours.newMode, theirs.newMode].filter((mode) => mode !== undefined && mode !== ours.oldMode));
  if (!mayMerge || ours.whole || theirs.whole || modes.size > 1) return conflict("file", ours.hunks, theirs.hunks);
  const base = new Map<number, string>();
  const left = readChanges(ours.hunks, base);
  const right = readChanges(theirs.hunks, base);
  if (left === "no-place" || right === "no-place") return conflict("no-place", ours.hunks, theirs.hunks);
  if (left === "base" || right === "base") return conflict("base", ours.hunks, theirs.hunks);
  const changes: Edit[] = [];
  let j = 0;
  for (const change of left) {
    while (j < right.length && right[j]!.end < change.start) changes.push(right[j++]!);
    const other = right[j];
    if (other !== undefined && other.start <= change.end) {
      if (!isEqual({ ...change, hunk: 0 }, { ...other, hunk: 0 }))
        return conflict("overlap", [change.hunk], [other.hunk]);
      j++;
    }
    changes.push(change);
  }
  const { git: _git, ...header } = moved;
  const oldMode = ours.oldMode ?? theirs.oldMode;
  const newMode = [...modes][0] ?? oldMode;
  return {
    ...header,
    ...(oldMode !== undefined && { oldMode }),
    ...(newMode !== undefined && { newMode }),
    hunks: identifyHunks(writeHunks(changes.concat(right.slice(j)), base)),
  };
}

/** Base lines `start` to `end`, counted from 0, become `lines`; a line has its line feed unless it has none in the file. */
interface Edit {
  readonly start: number;
  end: number;
  readonly lines: string[];
  readonly hunk: Hunk;
}

/** The changes of the hunks in their order, and into `base` what they say of the text they start from. */
function readChanges(hunks: readonly Hunk[], base: Map<number, string>): Edit[] | "no-place" | "base" {
  const edits: Edit[] = [];
  for (const hunk of hunks) {
    if (hunk.oldStart === null) return "no-place";
    let at = countLines(hunk.lines).old > 0 ? hunk.oldStart - 1 : hunk.oldStart;
    let edit: Edit | null = null;
    const lastOld = hunk.oldNoNewline ? hunk.lines.findLastIndex((line) => line[0] !== "+") : -1;
    const lastNew = hunk.newNoNewline ? hunk.lines.findLastIndex((line) => line[0] !== "-") : -1;
    for (const [i, line] of hunk.lines.entries()) {
      const text = line.slice(1);
      if (line[0] === " ") edit = null;
      else if (edit === null) {
        edit = { start: at, end: at, lines: [], hunk };
        edits.push(edit);
      }
      if (line[0] === "+") edit!.lines.push(i === lastNew ? text : `${text}\n`);
      else {
        const old = i === lastOld ? text : `${text}\n`;
        if ((base.get(at) ?? old) !== old) return "base";
        base.set(at++, old);
        if (edit !== null) edit.end = at;
      }
    }
  }
  return edits;
}

/** Hunks of the changes, with all that is known of the lines around; what is known without a gap is one hunk. */
function writeHunks(edits: readonly Edit[], base: ReadonlyMap<number, string>): Omit<Hunk, "id">[] {
  const hunks: Omit<Hunk, "id">[] = [];
  let growth = 0;
  for (let i = 0; i < edits.length; ) {
    let start = edits[i]!.start;
    while (base.has(start - 1) && start > (edits[i - 1]?.end ?? 0)) start--;
    const old: string[] = [];
    const now: string[] = [];
    const lines: string[] = [];
    let at = start;
    const keep = () => {
      const line = base.get(at++)!;
      lines.push(` ${line}`);
      old.push(line);
      now.push(line);
    };
    do {
      const edit = edits[i++]!;
      while (at < edit.start) keep();
      for (; at < edit.end; at++) {
        lines.push(`-${base.get(at)}`);
        old.push(base.get(at)!);
      }
      for (const line of edit.lines) {
        lines.push(`+${line}`);
        now.push(line);
      }
      while (base.has(at) && at < (edits[i]?.start ?? Number.POSITIVE_INFINITY)) keep();
    } while (i < edits.length && at === edits[i]!.start);
    hunks.push({
      oldStart: old.length > 0 ? start + 1 : start,
      newStart: now.length > 0 ? start + growth + 1 : start + growth,
      lines: lines.map((line) => (line.endsWith("\n") ? line.slice(0, -1) : line)),
      ...(old.length > 0 && !old.at(-1)!.endsWith("\n") && { oldNoNewline: true as const }),
      ...(now.length > 0 && !now.at(-1)!.endsWith("\n") && { newNoNewline: true as const }),
    });
    growth += now.length - old.length;
  }
  return hunks;
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
