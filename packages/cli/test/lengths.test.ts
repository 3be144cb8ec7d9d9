import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { below, filesIn, root, sources } from "./house.js";

// The second is generated from contract.schema.json, and grows with each keyword.
const GENERATED = /^packages\/(protocols\/src\/|wire\/src\/contract\/contract\.ts$)/;

/** Files above the limit that are still to be split. A file that is short enough leaves the list, and none may be added. */
const LONG_FILES: readonly string[] = [
  "packages/client/test/scenarios/peers.test.ts",
  "packages/conformance/test/scenarios/running.test.ts",
  "packages/edits/test/explain.test.ts",
  "packages/edits/test/node/plan.test.ts",
  "packages/inspect/test/node/inspect.test.ts",
  "packages/language/test/generate/read-back.test.ts",
  "packages/protocols/test/conversations/loco.test.ts",
  "packages/recordings/test/node/proxy.test.ts",
  "packages/server/test/cluster.ts",
  "packages/server/test/resume/alone.test.ts",
  "packages/store-redis/test/scenarios/writing.test.ts",
];

test("no file is above 400 lines", () => {
  const folders = ["src", "helpers", "test", "bench", "packaging"];
  const files = Object.keys(below).flatMap((name) =>
    folders.flatMap((folder) => filesIn(`packages/${name}/${folder}`)),
  );
  const long = [...files, ...["examples", "mutate", "bench", "docs/.vitepress", "interop"].flatMap(filesIn)]
    .filter((file) => !GENERATED.test(file))
    .filter((file) => readFileSync(join(root, file), "utf8").split("\n").length - 1 > 400);
  expect(long.sort()).toEqual(LONG_FILES);
});

/** Each function of a package: its file and name, its lines with the functions inside it, and its own branches. */
function functionsOf(name: string): { readonly name: string; readonly lines: number; readonly branches: number }[] {
  const written = sources(name).filter((file) => !GENERATED.test(file));
  return written.flatMap((file) => {
    const source = ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest, true);
    const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line + 1;
    const found: ReturnType<typeof functionsOf> = [];
    const visit = (node: ts.Node): void => {
      if (ts.isFunctionLike(node)) {
        const [first, last] = [lineOf(node.getStart(source)), lineOf(node.end)];
        const own = node.name?.getText(source) ?? `line ${first}`;
        found.push({ name: `${file} ${own}`, lines: last - first + 1, branches: countBranches(node) });
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
    return found;
  });
}

const SHORT_CIRCUITS = [
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
];

/** Conditions, loops, cases, catches and operators that may leave out their right side, without functions inside. */
function countBranches(inside: ts.Node): number {
  let count = 0;
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node)) return;
    if (
      ts.isIfStatement(node) ||
      ts.isConditionalExpression(node) ||
      ts.isIterationStatement(node, false) ||
      ts.isCaseClause(node) ||
      ts.isCatchClause(node) ||
      (ts.isBinaryExpression(node) && SHORT_CIRCUITS.includes(node.operatorToken.kind))
    )
      count++;
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(inside, visit);
  return count;
}

/** Functions above the limit that are still to be split. One that is short enough leaves the list, and none may be added. */
const LONG_FUNCTIONS: readonly string[] = ["packages/wire/src/link.ts link"];

test("no function is above 80 lines, with the functions inside it", () => {
  const long = Object.keys(below)
    .flatMap(functionsOf)
    .filter(({ lines }) => lines > 80);
  expect(long.map(({ name }) => name).sort()).toEqual(LONG_FUNCTIONS);
});

test("no function of edits has more than 15 branches", () => {
  expect(functionsOf("edits").filter(({ branches }) => branches > 15)).toEqual([]);
});

test("branches are counted", () => {
  const count = (code: string) => countBranches(ts.createSourceFile("x.ts", code, ts.ScriptTarget.Latest, true));
  expect(count("if (a && b) c(); else if (d ?? e) f();")).toBe(4);
  expect(count("for (;;) while (a ? b : c) try { d(); } catch { switch (e) { case 1: default: } }")).toBe(5);
  expect(count("a(() => b || c)")).toBe(0);
});
