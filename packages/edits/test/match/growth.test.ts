import { expect, test, vi } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { createPatch } from "../../src/diff/create.js";
import { explainConflict } from "../../src/explain.js";
import { applyStrictly } from "../../src/match/strict.js";
import { measureGrowth } from "../growth.js";

vi.setConfig({ testTimeout: 120_000 });

/** A text of so many lines, every tenth of them changed, and the patch. */
function texts(lines: number, line: (i: number) => string) {
  const before = Array.from({ length: lines }, (_, i) => line(i));
  const after = before.map((each, i) => (i % 10 === 5 ? `${each} // ${i}` : each));
  const [a, b] = [before.join("\n"), after.join("\n")];
  return { before: a, after: b, patch: createPatch(a, b) };
}

const own = (i: number) => `  const value${i} = compute(${i});`;
const few = (i: number) => ["", "}", "  return;"][i % 3]!;

const work: Record<string, (lines: number) => () => unknown> = {
  "applying in place": (lines) => {
    const { patch, before } = texts(lines, own);
    return () => applyPatch(patch, before);
  },
  "applying elsewhere": (lines) => {
    const { patch, before } = texts(lines, own);
    return () => applyPatch(patch, `x\n${before}`);
  },
  "applying strictly elsewhere": (lines) => {
    const { patch, before } = texts(lines, own);
    return () => applyStrictly(patch, `x\n${before}`);
  },
  "applying to a text of few distinct lines": (lines) => {
    const { patch, before } = texts(lines, few);
    return () => applyPatch(patch, `x\n${before}`);
  },
  "applying elsewhere what may stand there already": (lines) => {
    const before = `${"a\n".repeat(lines)}the end\n`;
    const patch = createPatch(before, before.replace("the", `${"a\n".repeat(lines)}b\nthe`));
    return () => applyPatch(patch, `x\n${before}`);
  },
  "applying below anchors that stand everywhere": (lines) => {
    const text = "class A:\n  def f():\n    x = 1\n".repeat(lines / 3);
    const hunk = { lines: ["-    x = 1", "+    x = 2"], oldStart: null, newStart: null };
    const hunks = Array.from({ length: lines / 10 }, (_, i) => ({
      ...hunk,
      id: `${i}`,
      anchors: ["class A:", i % 2 ? "def f():" : `def g${i}():`],
    }));
    return () => applyPatch({ kind: "modify", before: "a", after: "a", hunks }, text);
  },
  "applying below braces": (lines) => {
    const hunk = { id: "a", lines: ["-gone", "+  y"], oldStart: null, newStart: null, anchors: ["{"] };
    const text = `${"{\n".repeat(lines)}gone\n${"}\n".repeat(lines)}`;
    return () => applyPatch({ kind: "modify", before: "a", after: "a", hunks: [hunk] }, text);
  },
  "refusing blank lines around one that is not there": (lines) => {
    const blank = Array.from({ length: lines / 2 }, () => " ");
    const hunk = { id: "a", lines: [...blank, "-q", "+z", ...blank], oldStart: null, newStart: null };
    const text = "\n".repeat(20 * lines);
    return () => applyPatch({ kind: "modify", before: "a", after: "a", hunks: [hunk] }, text);
  },
  "refusing lines that may be parts of lines": (lines) => {
    const text = Array.from({ length: lines }, (_, i) => `${own(i)}\n`).join("");
    const hunks = Array.from({ length: lines / 2 }, (_, i) => ({
      id: `${i}`,
      lines: [`-compute(${i}); // `, "+x"],
      oldStart: null,
      newStart: null,
    }));
    return () => applyPatch({ kind: "modify", before: "a", after: "a", hunks }, text);
  },
  "applying with sections that stand far above": (lines) => {
    const { patch, before } = texts(lines, own);
    const [file] = patch.files;
    const hunks = file!.hunks.map((hunk) => ({ ...hunk, section: "function all() {" }));
    return () => applyPatch({ ...file!, hunks }, `function all() {\n${before}`);
  },
  "applying with context that is misspelt": (lines) => {
    const { patch, before } = texts(lines, (i) => `  const calculated = compute(${i});`);
    const [file] = patch.files;
    const hunks = file!.hunks.map((hunk) => ({
      ...hunk,
      lines: hunk.lines.map((line, i) => (i === 0 ? line.replace("calculated", "calcualted") : line)),
    }));
    return () => applyPatch({ ...file!, hunks }, before);
  },
  "refusing and explaining": (lines) => {
    const { patch, before } = texts(lines, own);
    const text = before.replaceAll("compute(", "calculate(");
    return () => {
      const result = applyPatch(patch, text);
      return result.ok || explainConflict(result.conflicts[0]!, patch, text);
    };
  },
};

/**
 * Lines of the smaller text. What allocates most is measured on a smaller one, where collecting garbage does not outweigh the work.
 * What takes tens of milliseconds on half of the lines is measured on so many without PARLANCE_LONG.
 */
const sizes: Readonly<Record<string, number>> = {
  ...(!process.env.PARLANCE_LONG && {
    "applying below anchors that stand everywhere": 2000,
    "refusing blank lines around one that is not there": 2000,
    "applying with context that is misspelt": 2000,
    "refusing and explaining": 2000,
    "applying strictly elsewhere": 2000,
  }),
};

test.each(Object.keys(work))("%s takes at most 2.6 times as long for twice the input", async (name) => {
  expect(await measureGrowth(work[name]!, sizes[name] ?? 4000, 2.6)).toBeLessThanOrEqual(2.6);
});
