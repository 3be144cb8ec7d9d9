import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, it, test } from "vitest";
import { measureGrowth } from "../growth.js";

/** Of each regular expression of the source the text that is worst for it: what begins it, what is repeated, what ends it. */
const HOSTILE: Record<string, [start: string, repeated: string, end: string]> = JSON.parse(
  readFileSync(new URL("../expressions.json", import.meta.url), "utf8"),
);

const SOURCE = new URL("../../src/", import.meta.url);

/** Every regular expression that is written in the source. */
function findExpressions(): string[] {
  const found = new Set<string>();
  for (const path of readdirSync(SOURCE, { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".ts")) continue;
    const text = readFileSync(new URL(path, SOURCE), "utf8");
    const visit = (node: ts.Node): void => {
      if (ts.isRegularExpressionLiteral(node)) found.add(node.text);
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest));
  }
  return [...found];
}

function compile(source: string): RegExp {
  const [, body, flags] = /^\/(.*)\/([a-z]*)$/s.exec(source)!;
  return new RegExp(body!, flags);
}

const expressions = findExpressions();

test("each regular expression of the source has a hostile text in expressions.json, and no other has", () => {
  expect(Object.keys(HOSTILE).sort()).toEqual([...expressions].sort());
});

describe("A regular expression takes twice the time for twice the text", () => {
  it.each(expressions.filter((source) => HOSTILE[source]))("%s", async (source) => {
    const [start, repeated, end] = HOSTILE[source]!;
    const expression = compile(source);
    const make = (size: number) => {
      const text = start + repeated.repeat(size / repeated.length) + end;
      return () => {
        if (expression.global) text.replace(expression, "");
        else expression.exec(text);
      };
    };
    expect(await measureGrowth(make, 5_000, 2.6, 1_000)).toBeLessThanOrEqual(2.6);
  });
});
