import { hasAddress, readAddress } from "./match/address.js";
import type { ApplyOptions } from "./match/aligner.js";
import { evenEndings } from "./match/endings.js";
import { type Standing, standInPlace, standMoved } from "./match/exact.js";
import { applyFile } from "./match/file.js";
import { climb } from "./match/ladder.js";
import { applyInRange } from "./match/range.js";
import { readTarget } from "./match/target.js";
import type { FilePatch, Hunk, Patch } from "./patch.js";
import type { ApplyResult, Rung } from "./result.js";
import { hintOf, takeApart } from "./sides.js";
import { spliceText } from "./splice.js";

/**
 * Applies the patch of one file to its text. A conflict is a value; nothing throws, and nothing is applied in part.
 * Laws: bytes outside the hunks stay; a line that was not matched is never deleted; context keeps the text's own bytes,
 * line endings, byte order mark and final newline; a place is taken only if it is the only one (or see `settle`).
 * A patch without files changes nothing; one of several files has no one text and is refused as not found.
 */
export function applyPatch(patch: FilePatch | Patch, text: string, options: ApplyOptions = {}): ApplyResult {
  if (options.at !== undefined)
    return applyInRange(patch, text, options.at, (part) => applyPatch(patch, part, { ...options, at: undefined }));
  return applyFile(patch, text, (hunks) => {
    const inPlace = standInPlace(hunks, text);
    if (inPlace && agrees(inPlace, hunks, text)) return writeStanding(inPlace, hunks, text, []);
    const even = options.loosest === "exact" ? hunks : evenEndings(hunks, text);
    const repairs: Rung[] = even === hunks ? [] : ["line-endings"];
    // A byte order mark belongs to no line, unless the patch itself writes one.
    const mark = text[0] === "\ufeff" && !hunks.some(({ lines }) => lines.some((line) => line.includes("\ufeff")));
    const body = mark ? text.slice(1) : text;
    const standing = (repairs.length > 0 && standInPlace(even, body)) || standMoved(even, body);
    const result =
      standing && agrees(standing, even, body)
        ? writeStanding(standing, even, body, repairs)
        : climb(even, body, repairs, options);
    return mark && result.ok ? { ...result, text: `\ufeff${result.text}` } : result;
  });
}

/** Whether the hunks say nothing of their places that is against these. */
function agrees({ rows }: Standing, hunks: readonly Hunk[], text: string): boolean {
  if (!hunks.some(hasAddress)) return true;
  const target = readTarget(text, hunks);
  return hunks.every((hunk, i) => {
    if (!hasAddress(hunk)) return true;
    const sides = takeApart(hunk);
    const own = sides.old.map((_, line) => rows[i]! + line);
    const address = readAddress(sides, target);
    return !address || (address.inside(rows[i]!, own) && !address.contradicted(rows[i]!, own));
  });
}

function writeStanding(
  { rows, splices }: Standing,
  hunks: readonly Hunk[],
  text: string,
  repairs: readonly Rung[],
): ApplyResult {
  const applied = hunks.map((hunk, i) => {
    const row = rows[i]!;
    const offset = row - (hintOf(hunk) ?? row);
    return { id: hunk.id, at: row + 1, offset, repairs: offset === 0 ? repairs : ["place" as const, ...repairs] };
  });
  return { ok: true, text: spliceText(text, splices), hunks: applied };
}
