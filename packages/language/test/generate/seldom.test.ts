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

test("a chain of references through such keywords takes space in proportion to its length", () => {
  const run = (length: number) => {
    const $defs = Object.fromEntries(
      Array.from({ length }, (_, at) => [
        `N${at}`,
        at ? { contains: { $ref: `#/$defs/N${at - 1}` } } : { minItems: 1 },
      ]),
    );
    const { compile, print } = seldom([{ $id: "/a", $defs }], new Map());
    compile({ contains: { $ref: `/a#/$defs/N${length - 1}` } });
    return print().length;
  };
  expect(run(1000) / run(250)).toBeLessThan(4.2);
});
