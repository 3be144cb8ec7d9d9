import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { parsePatch } from "../../src/unified/parse.js";

/** Lines with a slip, and without, by letters that stand for them below. */
const SLIPS: Record<string, string> = {
  C: "let margni = 1;",
  R: "let margin = 1;",
  E: "let zorbl = 1;",
  K: "let zorbel = 1;",
};

/** Lines as words: `a` is a call, `_` a blank line, a capital one with a slip or without. */
const lineOf = (word: string) => (word === "_" ? "" : (SLIPS[word] ?? `${word}();`));
const textOf = (words: string) => `${words.split(" ").map(lineOf).join("\n")}\n`;
const hunkOf = (words: string) =>
  words
    .split(" ")
    .map((word) => (/^[-+]/.test(word) ? `${word[0]}${lineOf(word.slice(1))}` : ` ${lineOf(word)}`))
    .join("\n");

function apply(hunk: string, text: string) {
  const reading = parsePatch(`--- a/a.ts\n+++ b/a.ts\n@@ ... @@\n${hunk}\n`);
  return reading.ok ? applyPatch(reading.patch, text) : expect.fail(JSON.stringify(reading.errors));
}

function expectMade(hunk: string, text: string, made: string | null): void {
  const result = apply(hunk, text);
  if (made === null) expect(result).toMatchObject({ ok: false });
  else
    expect(result).toMatchObject({
      ok: true,
      text: made,
      hunks: [{ repairs: [/zorbl|margni/.test(hunk) ? "misspelt" : "context"] }],
    });
}

type Row = readonly [what: string, hunk: string, text: string, made: string | null];
const expectWords = (_: string, hunk: string, text: string, made: string | null) =>
  expectMade(hunkOf(hunk), textOf(text), made === null ? null : textOf(made));

describe("lines of the text that a hunk leaves out away from its changes", () => {
  test.each<Row>([
    ["one, where three lines hold", "a b -c +n", "a x b c", "a x b n"],
    ["one, where two hold", "a -c +n", "a x c", null],
    ["one before a blank line, where two hold, one of them long", "a _ -deleted8 +n", "a x _ deleted8", null],
    ["one before a blank line, where two hold, one long", "a _ -deleted89 +n", "a x _ deleted89", "a x _ n"],
    ["one behind a blank line, where two hold, one long", "-deleted89 +n _ a", "deleted89 _ x a", "n _ x a"],
    ["two, of eight", "a b c d e f g -h +n", "a x b c y d e f g h", "a x b c y d e f g n"],
    ["two, of seven", "a b c d e f -g +n", "a x b c y d e f g", null],
    ["two of the same, of eight, at one place", "a b c d e f g -h +n", "a x y b c d e f g h", null],
    ["one beside a line that is replaced", "a b -c +n d e", "a b x c d e", null],
    ["one beside lines that are inserted", "a b c +n d e", "a b c x d e", null],
    ["one that is like the line beside it", "a b c -d +n e", "a b b c d e", null],
    ["one that is like the line behind it, which the hunk has", "a b x x c -d +n", "a b x c d", null],
    ["one, and a slip, of seven", "C a b c e f -d +n", "R a x b c e f d", null],
    ["one, and a slip, of eight", "C a b c e f g -d +n", "R a x b c e f g d", "R a x b c e f g n"],
  ])("%s", expectWords);

  test("are lines that the text must not lack in turn", () => {
    for (const text of ["a -c d e", "a c d e", "b c d e", "a b c d"])
      expectMade(hunkOf("a b -c +n d e"), textOf(text.replace("-", "")), null);
  });
});

describe("blank lines", () => {
  test.each<Row>([
    ["that the text lacks", "a _ b -c +n d", "a b c d", "a b n d"],
    ["three that the text lacks", "a _ b _ c _ d -f +n", "a b c d f", "a b c d n"],
    ["four that the text lacks", "a _ b _ c _ d _ e -f +n", "a b c d e f", null],
    ["two together that the text lacks", "a _ _ b -c +n d", "a b c d", "a b n d"],
    ["two together, of which the text lacks one", "a _ _ b -c +n d", "a _ b c d", "a _ b n d"],
    ["two together beside a change, of which the text lacks one", "a _ _ -c +n d", "a _ c d", null],
    ["one that the text has more", "a b -c +n d", "a _ b c d", "a _ b n d"],
    ["three that the text has more", "a b -c +n d", "a _ _ _ b c d", "a _ _ _ b n d"],
    ["four that the text has more", "a b -c +n d", "a _ _ _ _ b c d", null],
    ["one more behind the change", "a b -c +n d e f", "a b c d _ e f", "a b n d _ e f"],
    ["that are deleted, and that the text lacks", "a -_ b", "a b", null],
    ["that are deleted before other lines, and that the text lacks", "a -_ -c b", "a c b", null],
    ["that are deleted behind other lines, and that the text lacks", "a -c -_ b", "a c b", null],
    ["that are deleted between other lines, and that the text lacks", "a -b -_ -c d", "a b c d", null],
    ["that are replaced, and that the text lacks", "a -_ +n b", "a b", null],
    ["that are replaced with others, and that the text lacks", "a -c -_ +n b", "a c b", null],
    ["two that are deleted, and that the text lacks", "a -x -_ -_ y", "a x y", null],
    ["above inserted lines, that the text lacks", "a _ +n b", "a b", null],
    ["below inserted lines, that the text lacks", "a +n _ b", "a b", null],
    ["below a deleted line, that the text lacks", "a -b _ c", "a b c", "a c"],
    ["below a replaced line, that the text lacks", "a b -c +n _ d", "a b c d", "a b n d"],
    ["that are inserted beside some that the text has more", "a +_ b c", "a _ _ b c", null],
    ["that are inserted away from one that the text has more", "a b +_ c d e", "a b c d _ e", "a b _ c d _ e"],
    ["that are inserted away from one that the text lacks", "a b +_ c _ d", "a b c d", "a b _ c d"],
    [
      "that are inserted behind a line that is replaced, below one that the text has more",
      "a -value +values +_ c d",
      "a _ value c d",
      null,
    ],
    ["that the text has more above a line that is replaced", "a -value +values c d", "a _ value c d", "a _ values c d"],
    ["that the text has behind lines with a new one", "a +n +_ b c d", "a b _ c d", "a n _ b _ c d"],
  ])("%s", expectWords);
});

describe("a blank line at the edge of a hunk", () => {
  test.each<Row>([
    ["above the text's first line", "_ a +n b", "a b", "a n b"],
    ["above a line that is not the first", "_ a +n b", "x a b", "x a n b"],
    ["below the text's last line", "a +n b _", "a b", "a n b"],
    ["that is to be deleted above the first line", "-_ a +n", "a b", "a n b"],
    ["that is to be deleted above it, and another that the text lacks", "-_ a _ b c +n", "a b c", "a b c n"],
    ["that is to be deleted behind a new line", "a +n -_", "a b", "a n b"],
    ["below new lines at the end", "a b +n _", "a b", "a b n"],
    ["below new lines at the beginning", "+n _ a b", "a b", null],
    ["above new lines at the end", "a b _ +n", "a b", null],
    ["above a deleted line", "a b _ -c", "a b c", "a b"],
  ])("%s", expectWords);

  test.each([["x a b +n c"], ["a b +n c x"], ["x a -b +n c"], ["a -b +n c x"]])("is no other line: %s", (hunk) =>
    expectMade(hunkOf(hunk), textOf("a b c"), null),
  );
});

describe("a slip", () => {
  test.each<Row>([
    ["beside a long line that is deleted", "C -deleted89 +n", "R deleted89", "R n"],
    ["beside a short line that is deleted", "C -deleted8 +n", "R deleted8", null],
    ["beside two short lines", "C b -d +n", "R b d", "R b n"],
    ["beside a long line that stands twice", "C -deleted89 +n", "R deleted89 x deleted89", null],
    ["beside a long line that is kept", "C deleted89 +n", "R deleted89", null],
    ["and another one, of eight lines", "C E b c d e f -g +n", "R K b c d e f g", "R K b c d e f n"],
    ["and another one, of seven lines", "C E b c d e -g +n", "R K b c d e g", null],
    ["and another one, beside a long line", "C E -deleted89 +n", "R K deleted89", null],
    ["above a new line", "a b C +n d e", "a b R d e", "a b R n d e"],
    ["below a new line", "a b +n C d e", "a b R d e", "a b n R d e"],
    ["above a line that is deleted", "a b C -d e", "a b R d e", "a b R e"],
    ["that the text has not right beside the new line", "a b C +n d e", "a b R x d e", null],
  ])("%s", expectWords);
});

describe("a line that is moved", () => {
  test.each<Row>([
    ["up, past a line that the hunk leaves out", "a +e b c d -e f", "a b x c d e f", null],
    ["down, past a line that the hunk leaves out", "-e a b c d +e f", "e a x b c d f", null],
    ["up, past a blank line that the hunk leaves out", "+e a b c d -e", "a b _ c d e", null],
    ["up, past a blank line that the text lacks", "+e a b _ c d -e", "a b c d e", null],
    ["down, past a blank line that the hunk leaves out", "-e a b c d +e", "e a b _ c d", null],
    ["up, below a line that the hunk leaves out", "x a +e b c d -e f", "x y a b c d e f", "x y a e b c d f"],
    ["up, above a line that the hunk leaves out", "a +e b c d -e f g h", "a b c d e f x g h", "a e b c d f x g h"],
    ["up, directly above a line that the hunk leaves out", "a +e b c d -e f x", "a b c d e y f x", null],
    ["down, below a blank line that the text lacks", "z _ y -e a b c d +e", "z y e a b c d", "z y a b c d e"],
    ["not at all, but written again with others", "a b c d -e +n +e f", "a b x c d e f", "a b x c d n e f"],
  ])("%s", expectWords);
});

describe("a line that the hunk leaves out beside one that is replaced stays behind the new one", () => {
  const rest = ["three();", "four();", "five();"];
  const replace = (old: readonly string[], now: readonly string[], there: readonly string[]) =>
    [
      [
        " one();",
        ...old.map((line) => `-${line}`),
        ...now.map((line) => `+${line}`),
        ...rest.map((line) => ` ${line}`),
      ],
      ["one();", ...there, ...rest],
    ].map((lines) => lines.join("\n")) as [hunk: string, text: string];

  test.each<[what: string, old: string, now: string, beside: string, sure: boolean]>([
    ["that shares its beginning and end", "let price = 1;", "let price = 2;", "two();", true],
    ["that shares a word and its end", "let price = 1;", "let cost = 2;", "two();", true],
    ["that shares more than a quarter", "abcdefgh", "abcXXXXX", "zz();", true],
    ["that shares a quarter", "abcdefgh", "abXXXXXX", "zz();", false],
    ["that shares a quarter at both ends", "abcdefgh", "aXXXXXXh", "zz();", false],
    ["that shares more than a quarter of a short one", "// a", "// b", "x();", true],
    ["that is another line", "let price = 1;", "go();", "two();", false],
    ["that begins as the line beside it does", "let price = 1;", "let price = 2;", "let other = 1;", false],
    ["that is as much like the line beside it", "let price = 1;", "set price = 2;", "get price = 2;", false],
    ["that is more like the line beside it", "abcdefgh", "abcXXXXX", "0bcXXXXX", false],
    ["that shares a third of its words, beside a blank line", "one two three", "uno two tre", "", false],
    ["that shares its end, beside a blank line", "one two three", "uno two three", "", true],
  ])("%s", (_, old, now, beside, sure) => {
    const [hunk, text] = replace([old], [now], [old, beside]);
    expectMade(hunk, `${text}\n`, sure ? `${text.replace(old, now)}\n` : null);
  });

  const [price, next, more] = ["let price = 1;", "let price = 2;", "more();"];
  test.each<[what: string, old: string[], now: string[], there: string[], made: string[] | null]>([
    ["is the last one above it", [price], [more, next], [price, ""], [more, next, ""]],
    ["is not the last one above it", [price], [next, more], [price, ""], null],
    ["is the first one below it", [price], [next, more], ["", price], ["", next, more]],
    ["is not the first one below it", [price], [more, next], ["", price], null],
    ["replaces the last one above it", [more, price], [next], [more, price, ""], [next, ""]],
    ["replaces another one above it", [price, more], [next], [price, more, ""], null],
  ])("if its version %s", (_, old, now, there, made) => {
    const [hunk, text] = replace(old, now, there);
    expectMade(hunk, `${text}\n`, made && `one();\n${made.join("\n")}\n${rest.join("\n")}\n`);
  });
});

test("a hunk whose rarest line is all too common is ambiguous, whatever is around it", () => {
  const text = (count: number) => textOf(`${"c ".repeat(count - 1)}a b y c d`);
  const hunk = hunkOf("a b -c +n d");
  for (const [count, reason] of [
    [400, "not-found"],
    [401, "ambiguous"],
  ] as const)
    expect(apply(hunk, text(count)), `${count}`).toMatchObject({ ok: false, conflicts: [{ reason }] });
});

describe("a hunk with lines that are all too common is placed by its rarest", () => {
  const common = "c ".repeat(401);
  test.each<Row>([
    ["of context", "c a b d +n e", `${common}a x b d e`, `${common}a x b d n e`],
    ["of those that it deletes", "a b -c -d +n", `${common}a x b c d`, `${common}a x b n`],
  ])("%s", expectWords);
});
