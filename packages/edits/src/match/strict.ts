import { applyFile, refuse } from "../apply.js";
import { needOptions, needPatch } from "../need.js";
import { type FilePatch, filesOf, type Hunk, type Patch } from "../patch.js";
import type { ApplyResult, Conflict } from "../result.js";
import { type Sides, takeApart } from "../sides.js";
import { rewrite } from "./rewrite.js";
import { conflict, findRows, type Placed } from "./search.js";
import { exactStyle } from "./style.js";
import { asIs, readTarget, type Target } from "./target.js";

export interface StrictOptions {
  /** Trust a hunk without context to stand where it says, as `git apply --unidiff-zero` does. */
  readonly unidiffZero?: boolean | undefined;
}

/** Lines that earlier hunks have matched, sorted, by how many lines each made the text longer, and all of them together. */
interface Taken {
  readonly blocks: { readonly from: number; readonly to: number; readonly grown: number }[];
  grown: number;
}

/**
 * The verdict of `git apply` instead of the ladder's: byte for byte; each hunk in the text that those before it made, nearest to
 * the line its new side names, forward first; never on lines of an earlier hunk. A hunk that names line 1 must begin the text, one that
 * ends without context must end it. With `unidiffZero` none of that is asked; there the verdict is git's only where the numbers are true,
 * since git then also matches across lines that an earlier hunk deleted. Unlike git, a last line without line feed matches only the end
 * of the text, an insertion without context is not moved to the end, one whose number lies among the lines of an earlier hunk is
 * an overlap (git puts it between them), and an `index` line that calls a text empty is trusted.
 */
export function applyStrictly(patch: FilePatch | Patch, text: string, options: StrictOptions = {}): ApplyResult {
  needPatch({ patch });
  needOptions(options, { unidiffZero: "boolean" });
  const { kind, hunks, whole } = filesOf(patch)[0] ?? {};
  // Without hunks, git creates and deletes only empty files.
  if ((kind === "delete" || kind === "create") && !whole && hunks?.length === 0 && text !== "") return refuse("stale");
  return applyFile(patch, text, (hunks, text) => {
    const target = readTarget(text, hunks);
    const taken: Taken = { blocks: [], grown: 0 };
    const place = (sides: Sides) => findPlace(sides, options.unidiffZero === true, taken, target);
    return rewrite(hunks.map(takeApart).map(place), target, []);
  });
}

function findPlace(sides: Sides, bare: boolean, taken: Taken, target: Target): Placed | Conflict {
  const rows = sides.old.length > 0 ? findRows(sides.old, asIs, target) : bareRows(sides, bare, taken, target);
  if (rows === null) return conflict(sides, "ambiguous", "place", []);
  if (rows === "overlap") return conflict(sides, rows, "place", []);
  // Behind a line that ends the text nothing can stand.
  const reach = sides.old.length + (sides.hunk.oldNoNewline || sides.hunk.newNoNewline ? 1 : 0);
  const free = rows.filter((row) => !overlaps(taken, row, row + reach));
  const row = nearest(free, sides, bare, taken, target);
  if (row === null) return conflict(sides, rows.length > free.length ? "overlap" : "not-found", "place", []);
  taken.grown += sides.new.length - sides.old.length;
  insert(taken, row, row + reach, sides.new.length - sides.old.length);
  return { sides, match: { rows: sides.old.map((_, i) => row + i), row, rung: "exact", style: exactStyle } };
}

function nearest(rows: readonly number[], sides: Sides, bare: boolean, taken: Taken, target: Target): number | null {
  const { hunk, old } = sides;
  const length = target.lines.length;
  const begins = hunk.oldStart === 0 || (hunk.oldStart === 1 && !bare);
  const ends = !bare && sides.trailing === 0;
  const wanted = wantedRow(hunk, taken, target);
  let best: number | null = null;
  let least = Infinity;
  for (const row of rows) {
    const end = row + old.length;
    const at = row + grownBefore(taken, row, target);
    if ((begins && at !== 0) || (ends && end !== length)) continue;
    if ((hunk.oldNoNewline === true) !== (old.length > 0 && end === length && !target.newlineAtEnd)) continue;
    if (hunk.newNoNewline && end !== length) continue;
    const distance = Math.abs(at - wanted);
    // Of two as near the one behind, as git does.
    if (distance <= least) [best, least] = [row, distance];
  }
  return best;
}

function wantedRow({ newStart }: Hunk, taken: Taken, target: Target): number {
  const row = newStart === null ? 0 : Math.max(newStart - 1, 0);
  return Math.min(row, target.lines.length + taken.grown);
}

function bareRows(sides: Sides, bare: boolean, taken: Taken, target: Target): number[] | "overlap" {
  if (!bare) return target.lines.length === 0 ? [0] : [];
  const at = wantedRow(sides.hunk, taken, target);
  let grown = 0;
  for (const { from, to, grown: more } of taken.blocks) {
    if (at < from + grown || (at === from + grown && from < to)) break;
    grown += more;
    if (at < to + grown) return "overlap";
  }
  return [at - grown];
}

function overlaps({ blocks }: Taken, from: number, to: number): boolean {
  const last = blocks.at(-1);
  return last !== undefined && from < last.to && blocks.some((block) => block.from < to && from < block.to);
}

function grownBefore(taken: Taken, row: number, target: Target): number {
  const last = taken.blocks.at(-1);
  if (last === undefined || last.to <= row) return taken.grown;
  target.effort.left -= taken.blocks.length;
  let grown = 0;
  for (const block of taken.blocks) if (block.to <= row) grown += block.grown;
  return grown;
}

function insert({ blocks }: Taken, from: number, to: number, grown: number): void {
  let at = blocks.length;
  // An insertion stands in front of the lines that another hunk changes there.
  while (at > 0 && (blocks[at - 1]!.from > from || (from === to && blocks[at - 1]!.to > from))) at--;
  blocks.splice(at, 0, { from, to, grown });
}
