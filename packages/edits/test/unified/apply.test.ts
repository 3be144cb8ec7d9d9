import { expect, test } from "vitest";
import { readPairs } from "../../bench/pairs.js";
import { makeCases } from "../../bench/spoilt.js";
import { anchored, applyPatch as applyWhole, parsePatch as parseWhole } from "../../src/index.js";
import { repairs, rungs } from "../../src/loose.js";
import { applyPatch, type Patch, parsePatch } from "../../src/unified.js";
import { seeded } from "../seed.js";

const seed = seeded(1 + (Date.now() % 10));

test("reads and applies spoilt diffs as strict reading and the rung trailing-space do, and as the whole package with the looser values", () => {
  const done = { read: 0, unread: 0, applied: 0, refused: 0 };
  const some = readPairs().filter((_, i) => i % 12 === seed % 12);
  const same = (input: string, text: string, own: unknown, whole: unknown) => {
    if (JSON.stringify(own) !== JSON.stringify(whole))
      expect({ input, text, own }).toEqual({ input, text, own: whole });
  };
  for (const { input, text } of makeCases("unified", some, seed)) {
    const strict = parsePatch(input);
    same(input, text, strict, parseWhole(input, { strict: true }));
    const reading = parsePatch(input, { repairs });
    same(input, text, reading, parseWhole(input));
    done[strict.ok ? "read" : "unread"]++;
    if (!reading.ok || reading.patch.files.length !== 1) continue;
    const result = applyPatch(reading.patch, text);
    const whole = applyWhole(reading.patch, text, { loosest: "trailing-space" });
    // Of hunks without numbers, only the looser rungs look for parts of lines, and call more of them ambiguous.
    const isBare = reading.patch.files[0]!.hunks.some(({ oldStart }) => oldStart === null);
    if (result.ok || whole.ok || !isBare) same(input, text, result, whole);
    same(input, text, applyPatch(reading.patch, text, { rungs }), applyWhole(reading.patch, text));
    done[result.ok ? "applied" : "refused"]++;
  }
  expect(Math.min(...Object.values(done))).toBeGreaterThan(100);
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
  expect(applyPatch(patch, text, { rungs })).toEqual(applyWhole(patch, text));
  expect(applyWhole(patch, text).ok).toBe(takenByWhole);
});

test("heeds no rung beyond without the rungs below it", () => {
  const patch = change({}, [" def a():", " nothing", "-    x = 1", "+    x = 2", "", " def b():"]);
  expect(applyPatch(patch, text, { beyond: anchored } as object).ok).toBe(false);
});
