import type { Hunk } from "../patch.js";
import type { ApplyResult, Rung } from "../result.js";
import { hintOf, takeApart } from "../sides.js";
import { spliceText } from "../splice.js";
import { readAddress } from "./address.js";
import { type Standing, standInPlace, standMoved } from "./exact.js";
import type { Stand } from "./ladder.js";
import { hasAddress } from "./section.js";
import { readTarget } from "./target.js";

/**
 * The result where all hunks stand byte for byte and say nothing of their places that is against them; else null. The first time
 * each has to stand where it says.
 */
export const stand: Stand = (hunks, text, given, isFirst) => {
  if (hunks.some(isMixed)) return null;
  const inPlace = isFirst || given.length > 0 ? standInPlace(hunks, text) : null;
  const standing = inPlace ?? (isFirst ? null : standMoved(hunks, text));
  return standing && agrees(standing, hunks, text) ? writeStanding(standing, hunks, text, given) : null;
};

/** Lines that were typed, and not made by a diff, some with a carriage return: new ones get the ends of their place. */
function isMixed({ oldStart, lines }: Hunk): boolean {
  return oldStart === null && lines.some((line) => line.endsWith("\r") !== lines[0]!.endsWith("\r"));
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
