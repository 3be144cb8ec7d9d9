import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { draw } from "../draw.js";
import { equivalentOf, readEquivalents, stale } from "../equivalents.js";
import { type Mutant, mutantsOf, mutated } from "../mutants.js";
import { typeCheck } from "../types.js";

/** A line, and the lines that it becomes. */
const CHANGES: readonly [line: string, becomes: readonly string[]][] = [
  ["a < b;", ["a <= b;", ";"]],
  ["x = a === b", ["x = a !== b", ";"]],
  ["x = a && b || c", ["x = a && b && c", "x = a || b || c", ";"]],
  ["if (a) b();", ["if (!(a)) b();", "if (a) ;"]],
  ["if (!a) b();", ["if (a) b();", "if (!a) ;"]],
  ["const x = a ? b : c;", ["const x = !(a) ? b : c;"]],
  ["const x = a + b - c;", ["const x = a + b + c;", "const x = a - b - c;"]],
  ["const x = `a` + b;", ['const x = "" + b;']],
  ["const x = true;", ["const x = false;"]],
  ["const x = 1_000;", ["const x = 2000;", "const x = 500;"]],
  ["const x = 0;", ["const x = 1;", "const x = -1;"]],
  ["const x = 'y';", ['const x = "";']],
  ["const x = '';", []],
  ["const x = a ?? b;", ["const x = a!;"]],
  ["const x = a?.b;", ["const x = a!.b;"]],
  ["const x = a?.(b);", ["const x = a!(b);"]],
  ["const x = a?.[b];", ["const x = a![b];"]],
  ["const x = a.some(b);", ["const x = a.every(b);"]],
  ["const x = Math.min(a, b);", ["const x = Math.max(a, b);"]],
  [
    "const x = { a, b: c, ...d };",
    ["const x = {  b: c, ...d };", "const x = { a,  ...d };", "const x = { a, b: c,  };"],
  ],
  ["function f() { return x; }", ["function f() { return undefined; }"]],
  ['import { a } from "b";', []],
  ['export * from "b";', []],
  ['const a = await import("b");', []],
  ['type A = "b" | 1 | true;', []],
  ['let x: "b" | 1;', []],
  ['throw new TypeError("It is too long.");', []],
  ['throw new Refusal("too_long");', ['throw new Refusal("");']],
];

describe("the mutants of a line", () => {
  test.each(CHANGES)("%s", (line, becomes) => {
    const found = mutantsOf("a.ts", `// Before.\n${line}\n`);
    expect(found.map(({ after }) => after).sort()).toEqual([...new Set(becomes)].sort());
    for (const mutant of found) {
      expect(mutant).toMatchObject({ file: "a.ts", line: 2, before: line });
      expect(mutated(`// Before.\n${line}\n`, mutant)).toBe(`// Before.\n${mutant.after}\n`);
    }
  });

  test("are none where a change would take several lines", () => {
    const found = mutantsOf("a.ts", "call(\n  1,\n);\n");
    expect(found.map(({ line, after }) => [line, after])).toEqual([
      [2, "  2,"],
      [2, "  0,"],
    ]);
  });
});

test("a mutant is accepted only where it compiles, however often it is checked", () => {
  const root = mkdtempSync(join(tmpdir(), "mutate-types-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  writeFileSync(join(root, "tsconfig.json"), '{ "compilerOptions": { "strict": true, "lib": ["ES5"], "types": [] } }');
  const before = "const b: number = a + 1;";
  writeFileSync(join(root, "a.ts"), `const a = 1;\n${before}\n`);
  const compiles = typeCheck(root, ["a.ts"]);
  const cases = ["const b: number = a - 1;", "const b: number = a + '';", "const b: number = (;", before];
  for (let round = 0; round < 2; round++) {
    const found = cases.map((after) => compiles({ file: "a.ts", line: 2, kind: "", before, after }));
    expect(found).toEqual([true, false, false, true]);
  }
});

describe("a draw", () => {
  const mutants = Array.from({ length: 300 }, (_, index): Mutant => {
    return { file: `${index % 7}.ts`, line: index >> 2, kind: "", before: "", after: String(index) };
  });
  const names = (lines: Mutant[][]) => lines.map((line) => line.map(({ after }) => after));

  test("is the same for the same seed, and another for another", () => {
    expect(names(draw(mutants, 1))).toEqual(names(draw(mutants, 1)));
    expect(names(draw(mutants, 1))).not.toEqual(names(draw(mutants, 2)));
  });

  test("has every mutant once, by lines", () => {
    const lines = draw(mutants, 3);
    expect(new Set(lines.flat())).toEqual(new Set(mutants));
    expect(lines.flat()).toHaveLength(mutants.length);
    for (const line of lines) expect(new Set(line.map((mutant) => `${mutant.file}:${mutant.line}`)).size).toBe(1);
  });
});

describe("the list of equivalents", () => {
  const mutant = mutantsOf("mutate/draw.ts", "  a < b;").find(({ kind }) => kind === "boundary");
  const entry = { file: "mutate/draw.ts", line: "a < b;", change: "a <= b;", reason: "none" };

  test("is found by text, wherever the line is", () => {
    expect(equivalentOf([entry], { ...mutant!, line: 99 })).toBe(entry);
    expect(equivalentOf([entry], { ...mutant!, file: "mutate/types.ts" })).toBeUndefined();
    expect(equivalentOf([{ ...entry, change: "a > b;" }], mutant!)).toBeUndefined();
  });

  test("names only changes of lines that there are", () => {
    expect(stale(process.cwd(), [entry])).toEqual([entry]);
    expect(stale(process.cwd(), readEquivalents(process.cwd()))).toEqual([]);
  });
});
