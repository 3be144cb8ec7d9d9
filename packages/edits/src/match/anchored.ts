import type { Aligner } from "./aligner.js";
import { isSettled } from "./context.js";
import { looseLine } from "./normal.js";
import { indexBy } from "./target.js";

/**
 * The rung beyond "misspelt", for `applyPatch(patch, text, { beyond: anchored })`; it is used only where it is passed.
 * The hunk's first and last old line are its anchors: each must stand once in the text, up to white space. Between them a
 * context line may differ, be missing, or stand where the hunk has none; the text's own stays as it is. But every line that is
 * deleted must stand there, in a row with its change; beside inserted lines their neighbours must stand there and touch; of
 * all lines that are not blank more than half must stand there, in at most twice as many lines; and a line counts only where
 * hunk and text have it once, or it stands between two that do. Anything else is refused as not found, anchors that stand more than once as ambiguous.
 */
export const anchored: Aligner = {
  rung: "anchored",
  align(sides, target) {
    const { keys: lines, places } = indexBy(looseLine, target);
    const keys = sides.old.map(looseLine);
    const last = keys.length - 1;
    const [heads, tails] = [places.get(keys[0]!)!, places.get(keys[last]!)!];
    const [head, tail] = [heads[0] ?? 0, tails[0] ?? 0];
    if (keys[0] === "" || keys[last] === "" || tail <= head || tail - head > 2 * last) return [];
    if (heads.length > 1 || tails.length > 1) return null;
    const rows = pairUnique(keys, lines.slice(head, tail + 1)).map((at) => (at < 0 ? -1 : head + at));
    const known = rows.filter((row) => row >= 0);
    const isOrdered = known.every((row, i) => i === 0 || row > known[i - 1]!);
    const isHeld =
      2 * keys.filter((key, i) => key !== "" && rows[i]! >= 0).length > keys.filter((key) => key !== "").length;
    const isWhole = rows.every((row, i) => row >= 0 || !sides.deleted[i]);
    return isOrdered && isHeld && isWhole && isSettled(rows, sides, true, lines) ? [{ rows, mistyped: new Set() }] : [];
  },
};

/** For each line where it stands: if both have it once, or if it stands as far from one such line before it as from one behind; else -1. */
function pairUnique(keys: readonly string[], lines: readonly string[]): number[] {
  const [own, there] = [onlyAt(keys), onlyAt(lines)];
  const unique = keys.map((key, i) => (own.get(key) === i ? (there.get(key) ?? -1) : -1));
  const [down, up] = [unique.slice(), unique.slice()];
  const extend = (rows: number[], i: number, step: number) => {
    const next = rows[i - step] ?? -1;
    if (rows[i]! < 0 && next >= 0 && lines[next + step] === keys[i]) rows[i] = next + step;
  };
  for (let i = 0; i < keys.length; i++) extend(down, i, 1);
  for (let i = keys.length - 1; i >= 0; i--) extend(up, i, -1);
  return down.map((row, i) => (row === up[i] ? row : -1));
}

/** The index of each line, -1 for one that comes again. */
function onlyAt(lines: readonly string[]): Map<string, number> {
  const only = new Map<string, number>();
  lines.forEach((line, i) => {
    only.set(line, only.has(line) ? -1 : i);
  });
  return only;
}
