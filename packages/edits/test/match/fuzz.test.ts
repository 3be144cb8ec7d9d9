import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { invertPatch } from "../../src/algebra/invert.js";
import { selectHunks } from "../../src/algebra/select.js";
import { applyPatch } from "../../src/apply.js";
import { explainConflict } from "../../src/explain.js";
import { applyStrictly } from "../../src/match/strict.js";
import type { FileKind, Patch } from "../../src/patch.js";
import { seeded } from "../seed.js";

const numRuns = process.env.PARLANCE_LONG ? 20_000 : 2_000;
const seed = seeded(Date.now() % 1_000_000_000);

const word = fc.constantFrom(
  "",
  "a",
  "b",
  "  a",
  "\ta",
  "}",
  "const x = 1;",
  "\u201ca\u201d",
  "\\ta",
  "a\r",
  "\ufeff",
  "...",
);
const text = fc.array(word, { maxLength: 12 }).map((lines) => lines.join("\n"));
const line = fc.oneof(
  fc.tuple(fc.constantFrom(" ", "-", "+", "", "x"), word).map(([mark, body]) => mark + body),
  fc.string({ maxLength: 4 }),
);
const start = fc.oneof(
  fc.constant(null),
  fc.integer({ min: -3, max: 20 }),
  fc.constantFrom(1e9, Number.MAX_SAFE_INTEGER, 0.5),
);
const flag = fc.constantFrom(undefined, true as const);
const hunk = fc.record({
  id: fc.string({ maxLength: 2 }),
  oldStart: start,
  newStart: start,
  lines: fc.array(line, { maxLength: 8 }),
  oldNoNewline: flag,
  newNoNewline: flag,
});
const path = fc.constantFrom(null, "x", "y", "");
const patch: fc.Arbitrary<Patch> = fc.record({
  files: fc.array(
    fc.record({
      kind: fc.constantFrom<FileKind>("create", "modify", "delete", "rename", "copy"),
      before: path,
      after: path,
      hunks: fc.array(hunk, { maxLength: 4 }),
      whole: flag,
    }),
    { maxLength: 3 },
  ),
});

describe("any value of a patch's shape and any text", () => {
  test("are applied or refused with reasons that can be explained, never by an exception", () => {
    fc.assert(
      fc.property(patch, text, fc.boolean(), fc.boolean(), (value, before, strict, unidiffZero) => {
        for (const file of value.files) {
          const result = strict ? applyStrictly(file, before, { unidiffZero }) : applyPatch(file, before);
          if (result.ok) expect(typeof result.text).toBe("string");
          else for (const conflict of result.conflicts) expect(explainConflict(conflict, file, before)).not.toBe("");
        }
      }),
      { numRuns, seed },
    );
  });

  test("never lose a line that no hunk deletes", () => {
    fc.assert(
      fc.property(patch, text, (value, before) => {
        for (const file of value.files) {
          if (file.whole || file.kind === "delete") continue;
          const result = applyPatch(file, before);
          if (!result.ok) continue;
          const deleted = file.hunks.flatMap(({ lines }) => lines.filter((each) => each[0] === "-"));
          const lines = before.split("\n").filter((each) => each.trim() !== "").length;
          const kept = result.text.split("\n").filter((each) => each.trim() !== "").length;
          expect(kept).toBeGreaterThanOrEqual(lines - deleted.length);
        }
      }),
      { numRuns, seed },
    );
  });

  test("are inverted and selected from", () => {
    fc.assert(
      fc.property(patch, fc.array(fc.string({ maxLength: 2 })), (first, ids) => {
        expect(invertPatch(first).files.length).toBe(first.files.length);
        expect(selectHunks(first, ids).files.length).toBeLessThanOrEqual(first.files.length);
      }),
      { numRuns, seed },
    );
  });
});
