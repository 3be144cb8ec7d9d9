import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { parseStrReplace } from "../../src/read/str-replace.js";

/** A call that lacks the text's lines which are marked with `!`, in its old text as in its new one. */
function applyWithout(text: string, now: string) {
  const without = (marked: string) => marked.replace(/^!.*\n/gm, "");
  const reading = parseStrReplace({ path: "x.ts", old_str: without(text), new_str: without(now) });
  if (!reading.ok) expect.fail(JSON.stringify(reading.errors));
  return applyPatch(reading.patch, text.replaceAll("!", ""));
}

const tail = "three();\nfour();\nfive();\n";

describe("a line of the text that a block has left out beside a change", () => {
  test.each([
    ["a blank one below", `one();\nlet price = 1;\n!\n${tail}`, `one();\nlet price = 2;\n!\n${tail}`],
    ["a blank one above", `one();\n!\nlet price = 1;\n${tail}`, `one();\n!\nlet price = 2;\n${tail}`],
    ["another below", `one();\nlet price = 1;\n!two();\n${tail}`, `one();\nlet price = 2;\n!two();\n${tail}`],
    ["a blank one below a deleted line", `one();\ntwo();\n!\n${tail}`, `one();\n!\n${tail}`],
    ["a blank one above a deleted line", `one();\n!\ntwo();\n${tail}`, `one();\n!\n${tail}`],
    ["a blank one not beside new ones", `one();\ntwo();\n!\n${tail}`, `zero();\n\none();\ntwo();\n!\n${tail}`],
  ])("stays where the new line has the place of the old one: %s", (_, text, now) => {
    expect(applyWithout(text, now)).toMatchObject({ ok: true, text: now.replace("!", "") });
  });

  test.each([
    ["lines are only inserted above or below it", `one();\n!\n${tail}`, `one();\nlet price = 2;\n${tail}`],
    [
      "the new line begins as it does",
      `one();\nlet price = 1;\n!let total = 1;\n${tail}`,
      `one();\nlet price = 2;\n${tail}`,
    ],
    [
      "an item of a sorted list may have moved",
      `import a from "./a.js";\n!import c from "./c.js";\nimport d from "./d.js";\n${tail}`,
      `import a from "./a.js";\nimport b from "./d.js";\n${tail}`,
    ],
    [
      "it resembles the new line more",
      `one();\nlet value = 1;\n!const price = 1;\n${tail}`,
      `one();\nlet price = 1;\n${tail}`,
    ],
    [
      "only another new line resembles the old one",
      `class A {\n!  constructor(handler) {\n    this.handler = handler\n  }\n${tail}`,
      `class A {\n  #handler\n    check(handler)\n    this.#handler = handler\n  }\n${tail}`,
    ],
    [
      "a line is moved past it",
      `one();\n"b": "1",\n!"c": "1",\n"a": "1",\n${tail}`,
      `one();\n"a": "1",\n"b": "1",\n${tail}`,
    ],
    ["blank ones are on both sides of a deleted line", `one();\n!\ntwo();\n!\n${tail}`, `one();\n!\n!\n${tail}`],
    [
      "new lines between blank ones are beside a blank one",
      `one();\n!\n${tail}`,
      `one();\n\nlet price = 2;\n\n${tail}`,
    ],
  ])("leaves a doubt, and is refused, where %s", (_, text, now) => {
    expect(applyWithout(text, now)).toMatchObject({ ok: false, conflicts: [{ reason: "not-found" }] });
  });
});

test.each([
  ["before new lines that end with one", `one();\n!\n${tail}`, `one();\n!\nzero();\n\n${tail}`],
  ["behind new lines that begin with one", `one();\n!\n${tail}`, `one();\n\nzero();\n!\n${tail}`],
])("a blank line of the text that a block has left out stays %s", (_, text, now) => {
  expect(applyWithout(text, now)).toMatchObject({ ok: true, text: now.replace("!", "") });
});

describe("a blank line that a block has before the text's first line or behind its last", () => {
  const text = "one();\n\ntwo();\n";
  test.each([
    ["above new lines", "\none();", "\nzero();\n\none();", `zero();\n\n${text}`],
    ["above a deleted line", "\none();\n\ntwo();", "\ntwo();", "two();\n"],
    ["below a new line", "two();\n\n", "two();\nthree();\n\n", `${text}three();\n`],
  ])("is no line of the text: %s", (_, old_str, new_str, made) => {
    const reading = parseStrReplace({ path: "x.ts", old_str, new_str });
    if (!reading.ok) expect.fail(JSON.stringify(reading.errors));
    expect(applyPatch(reading.patch, text)).toMatchObject({ ok: true, text: made });
  });

  test("is in doubt where new lines stand outside of it", () => {
    const reading = parseStrReplace({ path: "x.ts", old_str: "\none();", new_str: "zero();\n\none();" });
    if (!reading.ok) expect.fail(JSON.stringify(reading.errors));
    expect(applyPatch(reading.patch, text)).toMatchObject({ ok: false });
  });
});

describe("typographic characters of a block", () => {
  const replace = (text: string, old_str: string, new_str: string) => {
    const reading = parseStrReplace({ path: "x.ts", old_str, new_str });
    if (!reading.ok) expect.fail(JSON.stringify(reading.errors));
    const result = applyPatch(reading.patch, text);
    return result.ok ? result.text : result.conflicts[0]!.reason;
  };

  test.each([
    [
      "are made plain as the old ones were",
      "a('x');\nb();\n",
      "a(‘x’);\nb();",
      "a(‘x’);\nb(“y”);",
      "a('x');\nb(\"y\");\n",
    ],
    [
      "beside others that the text has itself",
      "it's … so\nb\n",
      "it’s … so\nb",
      "it’s … so\nb’s …",
      "it's … so\nb's …\n",
    ],
    [
      "in pairs, beside apostrophes",
      "// it’s\na('x');\nb();\n",
      "a(‘x’);\nb();",
      "a(‘x’);\nb(‘y’);",
      "// it’s\na('x');\nb('y');\n",
    ],
    [
      "are in doubt where the text has them",
      "// it’s\na('x');\nb();\n",
      "a(‘x’);\nb();",
      "a(‘x’);\nb(); // that’s",
      "ambiguous",
    ],
    [
      "are in doubt where no old one was of that kind",
      "a('x');\nb();\n",
      "a(‘x’);\nb();",
      "a(‘x’);\nb(); // x — y",
      "ambiguous",
    ],
  ])("%s", (_, text, old, now, made) => {
    expect(replace(text, old, now)).toBe(made);
  });
});
