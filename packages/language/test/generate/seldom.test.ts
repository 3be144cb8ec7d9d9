import { expect, test } from "vitest";
import { seldom } from "../../src/generate/seldom.js";

test("what no expression checks is compiled once for equal keywords, and nothing where there is none", () => {
  const { compile, print } = seldom([], new Map());
  expect(print()).toBe("");
  const names = [{ uniqueItems: true }, { minProperties: 2 }, { uniqueItems: true }].map(compile);
  expect(names).toEqual(["compiled0", "compiled1", "compiled0"]);
  const text = print();
  for (const name of new Set(names)) expect(text).toMatch(new RegExp(`^(?!export ).*const ${name} = `, "m"));
  expect(text).not.toContain("schemaPath");
});
