import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { applyPatch, createPatch, formatPatch, parsePatch } from "@parlance/edits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Kind, makeTexts } from "../../bench/cases.js";
import { gitDiff, inFolder } from "../git.js";
import { measureGrowth } from "../growth.js";
import { random } from "../random.js";
import { editText, readSources } from "../sources.js";

const isLong = Boolean(process.env.PARLANCE_LONG);
const numRuns = isLong ? 20_000 : 1_000;
const size = isLong ? 20_000 : 4_000;
const seeds = isLong ? 60 : 20;
const HARD: Kind[] = ["unrelated", "shuffled", "reversed", "interleaved", "few distinct", "swapped blocks"];

function countChanged(text: string): number {
  return text.split("\n").filter((line) => /^[-+](?!--|\+\+)/.test(line)).length;
}

const require = createRequire(import.meta.url);
const diffSequences: typeof import("diff-sequences").default = require("diff-sequences").default;

describe("createPatch", () => {
  it("gives a patch that makes the one text into the other and survives being written and read", () => {
    const texts = fc
      .array(fc.constantFrom("", "a", "b", "  c", "}", "é", "\r", "\ud800", "-- x", "\\ y"), { maxLength: 25 })
      .chain((lines) => fc.constantFrom("\n", "").map((end) => lines.join("\n") + end));
    const check = (before: string, after: string, context: number, cost: number | undefined) => {
      const patch = createPatch(before, after, { path: "x", context, cost });
      if (before === after) {
        expect(patch).toEqual({ files: [] });
        return;
      }
      const reading = parsePatch(formatPatch(patch), { strict: true });
      expect(reading.ok ? reading.patch : reading.errors).toEqual(patch);
      if (context < 3) return;
      expect(applyPatch(patch, before)).toMatchObject({ ok: true, text: after });
    };
    const costs = fc.constantFrom(undefined, 1, Number.POSITIVE_INFINITY);
    fc.assert(fc.property(texts, texts, fc.nat({ max: 5 }), costs, check), { numRuns });
  });

  it("applies, whatever the cost bound, to hard pairs that are too long for the exact search", () => {
    for (const kind of HARD)
      for (const cost of [undefined, 1, 16]) {
        const [before, after] = makeTexts({ kind, lines: 1500 });
        const applied = applyPatch(createPatch(before, after, { cost }), before);
        expect(applied.ok && applied.text === after, `${kind} at cost ${cost}`).toBe(true);
      }
  });

  it("is minimal at unlimited cost, and changes at most one line in fifty more than git by default", () => {
    const sources = readSources(60);
    let ours = 0;
    let theirs = 0;
    inFolder((folder) => {
      for (let seed = 1; seed <= seeds; seed++) {
        const dice = random(seed);
        const before = dice.pick(sources);
        const after = editText(dice, before, 1 + dice.below(60));
        const [a, b] = [before.split(/(?<=\n)/), after.split(/(?<=\n)/)];
        let common = 0;
        const same = (i: number, j: number) => a[i] === b[j];
        diffSequences(a.length, b.length, same, (count: number) => {
          common += count;
        });
        const exact = countChanged(formatPatch(createPatch(before, after, { cost: Number.POSITIVE_INFINITY })));
        expect(exact, `seed ${seed}`).toBe(a.length + b.length - 2 * common);
        writeFileSync(join(folder, "before"), before);
        writeFileSync(join(folder, "after"), after);
        ours += countChanged(formatPatch(createPatch(before, after)));
        theirs += countChanged(gitDiff(folder, "before", "after"));
      }
    });
    expect(ours).toBeLessThanOrEqual(theirs * 1.02);
  });

  it("places a change where git does: at blank lines, and in front of the less indented", () => {
    const block = (name: string) => `def ${name}():\n    one\n    two\n\n`;
    const item = (name: string) => `  {\n    name: ${name}\n  },\n`;
    const comment = (name: string) => `/**\n * ${name}\n */\nfunction ${name}() {\n  run();\n}\n\n`;
    const pairs = [block, item, comment].flatMap((make) => [
      [make("a") + make("c"), make("a") + make("b") + make("c")],
      [make("a") + make("b"), make("a")],
      [make("a") + make("b") + make("c"), make("a") + make("c")],
      [make("a"), make("a") + make("a")],
      [make("a") + make("a") + make("a"), make("a") + make("b") + make("a")],
    ]) as [string, string][];
    const hunksOf = (text: string) => text.slice(text.indexOf("@@")).replace(/^(@@.*@@).*$/gm, "$1");
    inFolder((folder) => {
      for (const [before, after] of pairs) {
        writeFileSync(join(folder, "before"), before);
        writeFileSync(join(folder, "after"), after);
        expect(hunksOf(formatPatch(createPatch(before, after)))).toBe(hunksOf(gitDiff(folder, "before", "after")));
      }
    });
  });

  it("says creation, deletion, rename and nothing by its paths", () => {
    const kindOf = (before: string, after: string, oldPath: string | null, newPath: string | null) =>
      createPatch(before, after, { oldPath, newPath }).files.map(({ kind, hunks }) => `${kind} ${hunks.length}`);
    expect(kindOf("", "a\n", null, "x")).toEqual(["create 1"]);
    expect(kindOf("", "", null, "x")).toEqual(["create 0"]);
    expect(kindOf("a\n", "", "x", null)).toEqual(["delete 1"]);
    expect(kindOf("a\n", "a\n", "x", "y")).toEqual(["rename 0"]);
    expect(kindOf("a\n", "b\n", "x", "y")).toEqual(["rename 1"]);
    expect(kindOf("a\n", "a\n", "x", "x")).toEqual([]);
  });

  // The cost bound is the square root of the number of lines, so the hardest kinds take a little more than twice as long.
  it.each(HARD)(
    "takes at most 3 times as long for twice the lines: %s",
    async (kind) => {
      const make = (lines: number) => {
        const [before, after] = makeTexts({ kind, lines });
        return () => createPatch(before, after);
      };
      expect(await measureGrowth(make, size, 2.8)).toBeLessThan(3);
    },
    120_000,
  );
});

describe("parsePatch", () => {
  const patch = (lines: number) => formatPatch(createPatch(...makeTexts({ kind: "edits", lines, edits: lines / 10 })));
  const shapes: Record<string, (size: number) => string> = {
    "a clean patch": patch,
    "hunks without counts": (size) => patch(size).replace(/^@@.*$/gm, "@@ ... @@"),
    "wrong counts": (size) => patch(size).replace(/^@@ -(\d+),\d+ \+(\d+),\d+ @@$/gm, "@@ -$1,99999 +$2,99999 @@"),
    "empty lines": (size) => `--- a/x\n+++ b/x\n${"@@ -1,9 +1,9 @@\n\n\n".repeat(size / 4)}-a\n`,
    prose: (size) => "--- a/x\n".repeat(4 * size),
    "one long line": (size) => `--- a/x\n+++ b/x\n@@ -${"1 ".repeat(size * 10)}`,
  };
  it.each(Object.keys(shapes))("takes twice as long for twice the input: %s", async (name) => {
    const make = (size: number) => {
      const text = shapes[name]!(size);
      return () => parsePatch(text);
    };
    expect(await measureGrowth(make, size)).toBeLessThan(2.6);
  });
});
