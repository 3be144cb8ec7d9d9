import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Mutant } from "../mutants.js";
import { Bench, type Outcome, reaching } from "../run.js";
import { clear, type Ground, prepare, type Sampling, sample } from "../sample.js";

/** A project with a line of each fate. */
const FILES: Readonly<Record<string, string>> = {
  "package.json": '{ "type": "module" }',
  ".gitignore": "node_modules",
  "tsconfig.json":
    '{ "compilerOptions": { "strict": true, "module": "NodeNext", "target": "ES2022", "types": [], "skipLibCheck": true } }',
  "vitest.config.ts": `import { defineConfig } from "vitest/config";
export default defineConfig({
  test: { isolate: false, projects: [{ extends: true, test: { name: "tests", include: ["packages/*/test/*.test.ts"] } }] },
});`,
  "packages/one/src/limit.ts": `export function within(size: number, limit: number): boolean {
  return size < limit;
}

export function unseen(size: number): boolean {
  return size > 3;
}

export function grown(size: number): number {
  while (size < 3) size += 1;
  return size;
}
`,
  "packages/one/src/program.ts": `import { within } from "./limit.js";
process.exitCode = within(3, 2) ? 1 : 0;
`,
  "packages/one/test/limit.test.ts": `import { expect, test } from "vitest";
import { grown, within } from "../src/limit.js";
test("a limit is not within itself", () => expect(within(2, 2)).toBe(false));
test("grows to three", () => expect(grown(1)).toBe(3));
`,
  "packages/one/test/program.test.ts": `import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
test("the program ends well", () => {
  const { status } = spawnSync(process.execPath, ["--import", "tsx", "packages/one/src/program.ts"]);
  expect(status).toBe(0);
});
`,
  "packages/one/src/copied.ts": `export const most = 3;
`,
  "packages/one/test/copied.test.ts": `import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
test("the text has its limit", () => expect(readFileSync("packages/one/src/copied.ts", "utf8")).toContain("most = 3"));
`,
  "packages/one/test/apart.test.ts": `import { expect, test } from "vitest";
test("nothing is reached", () => expect(1).toBe(1));
`,
};

describe.runIf(process.env.PARLANCE_LONG)("the whole, on a small project", { timeout: 300_000 }, () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "mutate-proof-")));
  const sampling: Sampling = { root, seed: 1, count: 100, atOnce: 1, tests: undefined, budget: 60_000, say: () => {} };
  const at = (file: string, line: number, after?: string): Mutant => {
    const before = FILES[file]!.split("\n")[line - 1]!;
    return { file, line, kind: "", before, after: after ?? before };
  };
  const limit = "packages/one/src/limit.ts";
  let ground: Ground;
  let bench: Bench;

  beforeAll(async () => {
    for (const [file, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), text);
    }
    mkdirSync(join(root, "node_modules"));
    for (const name of ["vitest", "tsx"])
      symlinkSync(realpathSync(`node_modules/${name}`), join(root, "node_modules", name));
    execFileSync("git", ["init", "-q"], { cwd: root });
    ground = await prepare(sampling, ["one"]);
    bench = new Bench(ground.copies[0]!, (mutant) => ({ tests: reaching(ground.reaches, mutant) }));
  }, 300_000);
  afterAll(() => {
    bench.close();
    rmSync(root, { recursive: true });
    clear(ground);
  });

  test("the lines that a test reaches are known, in a process that it starts too", () => {
    const tests = (line: number) => reaching(ground.reaches, { file: limit, line }).map((reach) => reach.test);
    expect(tests(2).sort()).toEqual(["packages/one/test/limit.test.ts", "packages/one/test/program.test.ts"]);
    expect(tests(6)).toEqual([]);
    expect(tests(10)).toEqual(["packages/one/test/limit.test.ts"]);
  });

  test("a mutant that changes nothing survives, before and after one that dies", async () => {
    const ends: Outcome["end"][] = [];
    for (const after of [undefined, "  return size <= limit;", undefined])
      ends.push((await bench.put(at(limit, 2, after))).end);
    expect(ends).toEqual(["survived", "killed", "survived"]);
  });

  test("a mutant that only a started process notices dies", async () => {
    const planted = at("packages/one/src/program.ts", 2, "process.exitCode = within(2, 3) ? 1 : 0;");
    expect(await bench.put(planted)).toMatchObject({
      end: "killed",
      by: "packages/one/test/program.test.ts › the program ends well",
    });
  });

  test("a mutant in a file that is only read as text dies", async () => {
    const planted = at("packages/one/src/copied.ts", 1, "export const most = 4;");
    expect(await bench.put(planted)).toMatchObject({
      end: "killed",
      by: "packages/one/test/copied.test.ts › the text has its limit",
    });
  });

  test("a sample names the end of each of its mutants and leaves the checkout as it was", async () => {
    const outcomes = await sample(sampling, ground, "one");
    const ends = new Map(outcomes.map(({ mutant, end }) => [mutant.after.trim(), end]));
    expect(new Set(outcomes.map(({ mutant }) => `${mutant.file}:${mutant.line}`)).size).toBe(outcomes.length);
    const unseen = outcomes.filter(({ mutant }) => mutant.file === limit && mutant.line === 6);
    expect(unseen.map(({ end }) => end)).toEqual(["not reached"]);
    expect([...ends.values()]).toContain("killed");
    for (const [file, text] of Object.entries(FILES)) expect(readFileSync(join(root, file), "utf8")).toBe(text);
  });

  test("a mutant without end is noticed by its time", async () => {
    const endless = at(limit, 10, "  while (size < 3) size -= 0;");
    expect((await bench.put(endless)).end).toBe("timed out");
    expect((await bench.put(at(limit, 10))).end).toBe("survived");
  });
});
