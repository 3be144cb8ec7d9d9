import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import type { ApplyOptions } from "../../src/result.js";
import { parsePatch } from "../../src/unified/parse.js";

/** Applies a hunk whose first context line is another than the text's. */
function applyWith(
  line: string,
  there: string,
  { rest = "", path = "x.ts", ...options }: ApplyOptions & { rest?: string; path?: string } = {},
) {
  const body = `const first = one();\nconst second = two();\nold(line);\nconst third = three();\nconst fourth = four();\n`;
  const text = `${there}\n${body}${rest}`;
  const hunk = ` ${line}\n${body.replace(/^/gm, " ").trimEnd()}\n`.replace(" old(line);", "-old(line);\n+now(line);");
  const reading = parsePatch(`--- a/${path}\n+++ b/${path}\n@@ ... @@\n${hunk}`);
  if (!reading.ok) expect.fail(JSON.stringify(reading.errors));
  const result = applyPatch(reading.patch, text, options);
  if (result.ok) expect(result.text).toBe(text.replace("old(line)", "now(line)"));
  return result;
}

describe("a context line of another meaning is another line", () => {
  test.each([
    ["an operator more", "if (!user.ok) return;", "if (user.ok) return;"],
    ["another operator", "if (count == limit) return;", "if (count != limit) return;"],
    ["an operator for two", "if (count > limit) return;", "if (count >= limit) return;"],
    ["another sign", "const total = price + margin;", "const total = price - margin;"],
    ["a bracket more", "const total = call((price);", "const total = call(price);"],
    ["another digit", "const total = price * 10;", "const total = price * 20;"],
    ["a digit more", "const total = price * 10;", "const total = price * 100;"],
    ["a digit in a name", "const value1 = compute();", "const value2 = compute();"],
    ["another word of two letters", "const bound = getMin(values);", "const bound = getMax(values);"],
    ["another short name", "const bound = rows[i][k];", "const bound = rows[i][j];"],
    ["another keyword", "let total = price(margin);", "set total = price(margin);"],
    ["a keyword more", "await async total(margin);", "async total(margin);"],
    ["true for false", "const isOpen = true; // now", "const isOpen = false; // now"],
    ["another case", "const User = find(margin);", "const user = find(margin);"],
    ["more than one of it", "const users = find(margin);", "const user = find(margin);"],
    ["another time", "const closed = find(margin);", "const close = find(margin);"],
    ["another string", 'const mode = "read only";', 'const mode = "road only";'],
    ["other quotes", "const mode = 'read only';", 'const mode = "read only";'],
    [
      "a comment that a tool reads",
      "open(); // eslint-disable-line no-alert",
      "open(); // eslint-disable-line no-eval",
    ],
    ["a comment about something else", "open(); // the first of the rows", "open(); // tells why nobody is there"],
    ["a letter before a sign that is a word of its own", "const total = a -b.margin;", "const total = -ab.margin;"],
    ["an operator on the other side of a name", "total = i++ + margin;", "total = +i+ + margin;"],
    ["a digit on the other side of a letter", "const total = sh1a(margin);", "const total = sha1(margin);"],
    ["two words misspelt", "const totol = prcie(margin);", "const total = price(margin);"],
  ])("with %s", (_, line, there) => {
    const refused = { ok: false, conflicts: [{ reason: "not-found" }] };
    expect(applyWith(line, there)).toMatchObject(refused);
    expect(applyWith(there, line)).toMatchObject(refused);
  });

  /** Words that a prefix, a plural, a digit or more than one letter tells apart. */
  const PAIRS = (
    "enable disable|min max|get set|lock unlock|equality quality|user users|else elseif|getMin getMax|isOpen open|" +
    "valid invalid|active inactive|possible impossible|known unknown|able unable|null nonnull|empty nonempty|" +
    "encode decode|margin1 margin2|closed close|reader read|sync async|_sync _async|true false|first last"
  ).split("|");

  test.each(PAIRS)("with a letter more, fewer or another: %s", (pair) => {
    const [one, other] = pair.split(" ").map((word) => `  ${word}(total, margin);`) as [string, string];
    expect(applyWith(one, other)).toMatchObject({ ok: false });
    expect(applyWith(other, one)).toMatchObject({ ok: false });
  });

  test("with white space where there is none", () => {
    expect(applyWith("color = a .b;", "color = a.b;")).toMatchObject({ ok: false });
    expect(applyWith("total = i++ + j;", "total = i + ++j;")).toMatchObject({ ok: false });
    expect(applyWith("total  =  i;", "total = i;")).toMatchObject({ ok: true });
  });
});

describe("a context line may have a misspelt word", () => {
  test("but not one that the text has, or that the patch writes", () => {
    const [line, there] = ["const margni = price();", "const margin = price();"];
    expect(applyWith(line, there)).toMatchObject({ ok: true });
    expect(applyWith(line, there, { rest: "use(margni);\n" })).toMatchObject({ ok: false });
    expect(applyWith(line, there, { rest: "use(margniOf);\n" })).toMatchObject({ ok: false });
    const text = "const a = margin(1);\nconst b = 2;\nconst c = 3;\nconst d = 4;\n";
    const patch = (word: string) =>
      `--- a/x\n+++ b/x\n@@ ... @@\n const a = margni(1);\n const b = 2;\n+use(${word});\n const c = 3;\n const d = 4;\n`;
    for (const [word, ok] of [
      ["margin", true],
      ["margni", false],
    ] as const) {
      const reading = parsePatch(patch(word));
      expect(reading.ok && applyPatch(reading.patch, text)).toMatchObject({ ok });
    }
  });

  test.each([
    ["a letter too few", "const total = calcuateMargin;", "const total = calculateMargin;"],
    ["a letter twice", "const totall = price(margin);", "const total = price(margin);"],
    ["two letters swapped", "const total = calcualteMargin;", "const total = calculateMargin;"],
    ["another letter", "const total = calcelateMargin;", "const total = calculateMargin;"],
    ["a keyword", "retrun total(margin);", "return total(margin);"],
    ["the first letter of a keyword", "erturn total(margin);", "return total(margin);"],
    ["another word that the file does not have", "const angel = turn(margin);", "const angle = turn(margin);"],
  ])("%s, where letters are not compared one by one", (_, line, there) => {
    expect(applyWith(line, there)).toMatchObject({ ok: true, hunks: [{ repairs: ["misspelt"] }] });
    expect(applyWith(line, there, { loosest: "context" })).toMatchObject({ ok: false });
  });

  test("if there is one such place", () => {
    const place = (word: string) => `const a = ${word}(1);\nconst b = 2;\nconst c = 3;\nconst d = 4;\n`;
    const reading = parsePatch(
      "--- a/x\n+++ b/x\n@@ ... @@\n const a = margni(1);\n const b = 2;\n+use(a);\n const c = 3;\n",
    );
    if (!reading.ok) expect.fail(JSON.stringify(reading.errors));
    expect(applyPatch(reading.patch, place("margin"))).toMatchObject({ ok: true });
    expect(applyPatch(reading.patch, place("margin") + place("margin"))).toMatchObject({ ok: false });
  });
});
