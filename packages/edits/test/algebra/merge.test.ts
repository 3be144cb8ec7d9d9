import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { applyPatch, createPatch, type Merge, merge3, mergePatches, type Patch } from "@parlance/edits";
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

interface Edit {
  start: number;
  end: number;
  text: string;
}

/** The changes of the patch's hunks, by line numbers alone. */
function editsOf(patch: Patch): Edit[] {
  return patch.files.flatMap(({ hunks }) =>
    hunks.flatMap(({ oldStart, lines, newNoNewline }) => {
      const edits: Edit[] = [];
      let at = oldStart! - (lines.some((line) => line[0] !== "+") ? 1 : 0);
      const last = newNoNewline ? lines.findLastIndex((line) => line[0] !== "-") : -1;
      for (const [i, line] of lines.entries()) {
        const edit =
          edits.at(-1)?.end === at && lines[i - 1]?.[0] !== " " ? edits.at(-1)! : { start: at, end: at, text: "" };
        if (line[0] !== "+") at++;
        if (line[0] === " ") continue;
        if (edit !== edits.at(-1)) edits.push(edit);
        edit.end = at;
        if (line[0] === "+") edit.text += line.slice(1) + (i === last ? "" : "\n");
      }
      return edits;
    }),
  );
}

function splice(base: string, edits: Edit[]): string {
  const lines = base.split(/(?<=\n)/);
  const seen = new Set<number>();
  for (const { start, end, text } of edits.toSorted((a, b) => b.start - a.start)) {
    if (!seen.has(start)) lines.splice(start, end - start, text);
    seen.add(start);
  }
  return lines.join("");
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

describe("mergePatches", () => {
  it("gives a patch that makes the changes of both, each at its place in the base", () => {
    let merged = 0;
    for (let seed = 1; seed <= 600; seed++) {
      const { base, ours, theirs } = threeTexts(seed);
      const context = seed % 5;
      const [left, right] = [createPatch(base, ours, { context }), createPatch(base, theirs, { context })];
      const merge = mergePatches(left, right);
      if (!merge.ok || merge.patch.files.length === 0) continue;
      const applied = applyPatch(merge.patch, base);
      // Without context a hunk's place may be in doubt, and then applying refuses.
      if (context === 0 && !applied.ok) continue;
      expect(applied.ok && applied.text, `seed ${seed}`).toBe(splice(base, [...editsOf(left), ...editsOf(right)]));
      merged++;
    }
    expect(merged).toBeGreaterThan(200);
  });

  it("says which hunks are in conflict, and why", () => {
    const edit = (after: string) => createPatch("a\nb\nc\n", after, { path: "x" });
    const [one, two] = [edit("a\nB\nc\n"), edit("a\n2\nc\n")];
    const [mine, other] = [one.files[0]!.hunks[0]!.id, two.files[0]!.hunks[0]!.id];
    const conflict = (reason: string) => ({
      ok: false,
      conflicts: [{ path: "x", reason, ours: [mine], theirs: [other] }],
    });
    expect(mergePatches(one, two)).toEqual(conflict("overlap"));
    const moved = { files: [{ ...two.files[0]!, hunks: [{ ...two.files[0]!.hunks[0]!, oldStart: null }] }] };
    expect(mergePatches(one, moved)).toEqual(conflict("no-place"));
    const elsewhere = { files: [{ ...two.files[0]!, hunks: [{ ...two.files[0]!.hunks[0]!, oldStart: 2 }] }] };
    expect(mergePatches(one, elsewhere)).toEqual(conflict("base"));
    const gone = createPatch("a\nb\nc\n", "", { oldPath: "x", newPath: null });
    expect(mergePatches(one, gone)).toMatchObject({ conflicts: [{ path: "x", reason: "file" }] });
  });

  it("takes a file that only one patch names as it is, and what both say once", () => {
    const x = createPatch("a\n", "b\n", { path: "x" });
    const y = createPatch("", "new\n", { oldPath: null, newPath: "y" });
    expect(mergePatches(x, y)).toEqual({ ok: true, patch: { files: [...x.files, ...y.files] } });
    expect(mergePatches(y, y)).toEqual({ ok: true, patch: y });
  });

  it("joins a rename with the other side's edits", () => {
    const renamed = createPatch("a\nb\nc\nd\ne\nf\n", "A\nb\nc\nd\ne\nf\n", { oldPath: "x", newPath: "y" });
    const edited = createPatch("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\ne\nF\n", { path: "x" });
    const merge = mergePatches(edited, renamed);
    expect(merge).toMatchObject({ ok: true, patch: { files: [{ kind: "rename", before: "x", after: "y" }] } });
    const applied = merge.ok && applyPatch(merge.patch, "a\nb\nc\nd\ne\nf\n");
    expect(applied).toMatchObject({ ok: true, text: "A\nb\nc\nd\ne\nF\n" });
  });
});

describe("mergePatches keeps what is not in the lines", () => {
  const file = { kind: "modify", before: "f", after: "f", hunks: [] } as const;
  const mode = { oldMode: "100644", newMode: "100755" };
  const [lines] = createPatch("a\n", "b\n", { path: "f" }).files;
  it.each([
    ["a mode of the one side", { ...file, ...mode }, lines!, mode],
    ["the same mode of both", { ...file, ...mode }, { ...lines!, ...mode }, mode],
    [
      "an old mode that stays",
      { ...lines!, oldMode: "100755" },
      { ...lines!, oldMode: "100755" },
      { oldMode: "100755" },
    ],
  ])("%s", (_, ours, theirs, modes) => {
    for (const sides of [
      [ours, theirs],
      [theirs, ours],
    ] as const) {
      const merged = mergePatches({ files: [sides[0]] }, { files: [sides[1]] });
      expect(merged).toMatchObject({ ok: true, patch: { files: [{ ...modes, hunks: [{ lines: ["-a", "+b"] }] }] } });
    }
  });
});
