import { expect, test } from "vitest";
import { createPatch } from "../../src/diff/create.js";
import { spliceText } from "../../src/lines.js";
import { climb } from "../../src/match/ladder.js";
import { standMoved } from "../../src/match/stand.js";
import type { Hunk } from "../../src/patch.js";
import { type Random, random } from "../random.js";

const rounds = process.env.PARLANCE_LONG ? 300_000 : 6_000;

/** Hunks of a small change whose context at the edges may be missing and whose numbers may be wrong, and a text for them. */
function draw(dice: Random): { hunks: Hunk[]; text: string } {
  const words = ["a", "b", "c", "", "x", "y", "z"].slice(0, 2 + dice.below(6));
  const old = Array.from({ length: 1 + dice.below(14) }, () => dice.pick(words));
  const lines = [...old];
  for (let i = dice.below(3); i >= 0; i--)
    lines.splice(dice.below(lines.length), dice.below(2), dice.pick(["N", "M", "a"]));
  const end = dice.chance(0.85) ? "\n" : "";
  const [before, after] = [old.join("\n") + end, lines.join("\n") + end];
  const shift = dice.below(5) - 2;
  const spoil = (hunk: Hunk): Hunk => {
    const { lines } = hunk;
    const last = dice.chance(0.5) && lines.length > 1 && lines.at(-1)![0] === " " ? -1 : undefined;
    const first = dice.chance(0.2) && lines.length > 2 && lines[0]![0] === " " ? 1 : 0;
    const [oldStart, newStart] = [hunk.oldStart!, hunk.newStart!].map((start) =>
      dice.chance(0.1) ? null : Math.max(0, start + shift + (dice.chance(0.2) ? dice.below(5) - 2 : 0)),
    );
    return { ...hunk, lines: lines.slice(first, last), oldStart: oldStart!, newStart: newStart! };
  };
  const hunks = (createPatch(before, after, { context: 1 + dice.below(3) }).files[0]?.hunks ?? []).map(spoil);
  return { hunks, text: dice.pick([before, after, `${before}q\n${before}`, `${dice.pick(words)}\n${before}`]) };
}

test("hunks that are found without a look at every line are written where the ladder writes them", () => {
  let taken = 0;
  for (let seed = 1; seed <= rounds; seed++) {
    const { hunks, text } = draw(random(seed));
    const standing = hunks.length > 0 && standMoved(hunks, text);
    if (!standing) continue;
    taken++;
    const result = climb(hunks, text, [], {});
    // Of several hunks the ladder refuses some that moved with those before them.
    if (hunks.length === 1 || result.ok)
      expect(result, `seed ${seed}`).toMatchObject({ ok: true, text: spliceText(text, standing.splices) });
  }
  expect(taken).toBeGreaterThan(rounds / 6);
});
