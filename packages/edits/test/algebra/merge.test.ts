import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Merge, merge3 } from "@parlance/edits";
import { describe, expect, it } from "vitest";
import { gitInEach, inFolder } from "../git.js";
import { random } from "../random.js";
import { editText, readSources } from "../sources.js";

const SOURCES = readSources(60).filter((text) => text.length < 60_000);

/** Small texts with many equal lines: changes meet, touch and slide far more often than in real files. */
function threeTexts(seed: number): { base: string; ours: string; theirs: string } {
  const dice = random(seed);
  const few = Array.from({ length: dice.below(12) }, () => dice.pick(["", "a", "b", "  c", "}"])).join("\n");
  const base = seed % 2 === 0 ? dice.pick(SOURCES) : few + (few !== "" && dice.chance(0.8) ? "\n" : "");
  return { base, ours: editText(dice, base, 1 + dice.below(4)), theirs: editText(dice, base, 1 + dice.below(4)) };
}

function swap(merge: Merge): Merge {
  if (merge.ok) return merge;
  const turn = (piece: (typeof merge.pieces)[number]) =>
    typeof piece === "string"
      ? piece
      : {
          ...piece,
          ours: piece.theirs,
          theirs: piece.ours,
          at: { ...piece.at, ours: piece.at.theirs, theirs: piece.at.ours },
        };
  return {
    ok: false,
    pieces: merge.pieces.map(turn),
    conflicts: merge.conflicts.map((one) => turn(one) as typeof one),
  };
}

describe("merge3", () => {
  it("agrees with git merge-file, byte for byte where that is clean", () => {
    const verdicts = { clean: 0, conflict: 0 };
    inFolder((folder) => {
      const seeds = Array.from({ length: process.env.PARLANCE_LONG ? 300 : 120 }, (_, i) => i + 1);
      const folders = seeds.map((seed) => join(folder, `${seed}`));
      seeds.forEach((seed, i) => {
        mkdirSync(folders[i]!);
        for (const [name, text] of Object.entries(threeTexts(seed))) writeFileSync(join(folders[i]!, name), text);
      });
      const merges = gitInEach(folders, "merge-file", "-p", "-q", "ours", "base", "theirs");
      seeds.forEach((seed, i) => {
        const texts = threeTexts(seed);
        const git = merges[i]!;
        const merge = merge3(texts.base, texts.ours, texts.theirs);
        if (git.ok) expect(merge, `seed ${seed}`).toEqual({ ok: true, text: git.stdout });
        else expect(merge.ok, `seed ${seed}`).toBe(false);
        verdicts[git.ok ? "clean" : "conflict"]++;
      });
    });
    const { clean, conflict } = verdicts;
    expect(Math.min(clean, conflict)).toBeGreaterThan((clean + conflict) / 6);
  });

  it("keeps its laws: one side unchanged, both sides equal, sides swapped, each conflict in its place", () => {
    for (let seed = 1; seed <= 400; seed++) {
      const { base, ours, theirs } = threeTexts(seed);
      expect(merge3(base, ours, base)).toEqual({ ok: true, text: ours });
      expect(merge3(base, base, theirs)).toEqual({ ok: true, text: theirs });
      expect(merge3(base, ours, ours)).toEqual({ ok: true, text: ours });
      const merge = merge3(base, ours, theirs);
      expect(merge3(base, theirs, ours), `seed ${seed}`).toEqual(swap(merge));
      if (merge.ok) continue;
      expect(merge.pieces.filter((piece) => typeof piece !== "string")).toEqual(merge.conflicts);
      expect(merge.pieces).not.toContain("");
      for (const { at, ...conflict } of merge.conflicts)
        for (const side of ["base", "ours", "theirs"] as const) {
          const lines = { base, ours, theirs }[side].split(/(?<=\n)/).slice(at[side] - 1);
          expect(lines.join("").startsWith(conflict[side]), `seed ${seed}`).toBe(true);
        }
    }
  });
});
