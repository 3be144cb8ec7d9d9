import { expect, test } from "vitest";
import { readPairs } from "../../bench/pairs.js";
import { makeCases } from "../../bench/spoilt.js";
import { anchored, applyPatch as applyWhole } from "../../src/index.js";
import { applyPatch, type Patch, parsePatch } from "../../src/unified.js";
import { seeded } from "../seed.js";

const seed = seeded(1 + (Date.now() % 10));

test("does to spoilt diffs what the whole package does as far as the rung trailing-space", () => {
  const done = { applied: 0, refused: 0 };
  const some = readPairs().filter((_, i) => i % 8 === seed % 8);
  for (const { input, text } of makeCases("unified", some, seed)) {
    const reading = parsePatch(input);
    if (!reading.ok || reading.patch.files.length !== 1) continue;
    const result = applyPatch(reading.patch, text);
    const whole = applyWhole(reading.patch, text, { loosest: "trailing-space" });
    if (JSON.stringify(result) !== JSON.stringify(whole))
      expect({ input, text, result }).toEqual({ input, text, whole });
    done[result.ok ? "applied" : "refused"]++;
  }
  expect(Math.min(done.applied, done.refused)).toBeGreaterThan(100);
});

const text = "def a():\n    x = 1\n\ndef b():\n    x = 1\n";

function change(fields: object, lines = ["-    x = 1", "+    x = 2"]): Patch {
  const hunk = { id: "1", oldStart: null, newStart: null, lines, ...fields };
  return { files: [{ kind: "modify", before: "a.py", after: "a.py", hunks: [hunk] }] };
}

test.each([
  ["anchors", change({ anchors: ["def b():"] }), true],
  ["the end of the file", change({ atEnd: true }), true],
  ["indentation that differs", change({}, [" def a():", "-  x = 1", "+  x = 2"]), true],
  ["a section that contradicts its number", change({ oldStart: 2, newStart: 2, section: "def b():" }), false],
] as const)("refuses a hunk with %s rather than guess", (_name, patch, takenByWhole) => {
  expect(applyPatch(patch, text).ok).toBe(false);
  expect(applyWhole(patch, text).ok).toBe(takenByWhole);
});

test("heeds no rung of its caller's, whose style it does not know", () => {
  const patch = change({}, [" def a():", " nothing", "-    x = 1", "+    x = 2", "", " def b():"]);
  expect(applyPatch(patch, text, { beyond: anchored } as object).ok).toBe(false);
});
