import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { writesInString } from "../../src/match/style.js";
import type { FileKind } from "../../src/patch.js";
import type { LineRange } from "../../src/result.js";
import { takeApart } from "../../src/sides.js";

function apply(lines: string[], text: string, at?: LineRange, kind: FileKind = "modify", more: object = {}) {
  const hunk = { id: "h", oldStart: null, newStart: null, lines, ...more };
  const result = applyPatch({ kind, before: "x.ts", after: "x.ts", hunks: [hunk] }, text, { at });
  if (result.ok) return [result.text, result.hunks.map(({ at, repairs }) => [at, ...repairs].join(" ")).join()];
  return result.conflicts.map(({ reason, candidates }) => [reason, ...candidates].join(" "));
}

/** Whether a context line may stand for the text's line. */
function isTaken(own: string, there: string): boolean {
  const made = apply([` ${own}`, " a", " d", "-b", "+c"], `${there}\na\nd\nb\n`);
  if (made.length === 2) expect(made).toEqual([`${there}\na\nd\nc\n`, "1 misspelt"]);
  else expect(made).toEqual(["not-found"]);
  return made.length === 2;
}

describe("a context line with a letter wrong", () => {
  test.each([
    ["a letter too few", "let margn = 1;", "let margin = 1;"],
    ["a letter too many", "let marginn = 1;", "let margin = 1;"],
    ["another letter", "let murgin = 1;", "let margin = 1;"],
    ["another first letter", "let nargin = 1;", "let margin = 1;"],
    ["two letters swapped", "let margni = 1;", "let margin = 1;"],
    ["the first two letters swapped", "ocnst zorbl = 1;", "const zorbl = 1;"],
    ["another letter of four", "run(zopb, 1);", "run(zorb, 1);"],
    ["a letter wrong in a part of a word", "let topMargni = 1;", "let topMargin = 1;"],
    ["a letter wrong behind an apostrophe", "// it doesn't mattre", "// it doesn't matter"],
    ["a letter wrong behind closed quotes", "run('x', zorbl);", "run('x', zorbel);"],
    ["a letter wrong in a script of its own", "// переменая здесь", "// переменная здесь"],
    ["a letter too few of 1,000 characters", `let margn = ${"1".repeat(987)}`, `let margin = ${"1".repeat(987)}`],
  ])("is the text's: %s", (_, own, there) => {
    expect(isTaken(own, there)).toBe(true);
  });

  test.each([
    ["a letter too few of four", "run(zrb, 1);", "run(zorb, 1);"],
    ["a letter too many of three", "run(zorb, 1);", "run(zrb, 1);"],
    ["two letters swapped, and one too few", "let zorabl = 1;", "let zorbacl = 1;"],
    ["two other letters", "let zorabl = 1;", "let zorcal = 1;"],
    ["two letters more", "let zorabl = 1;", "let zorl = 1;"],
    ["two parts of a word wrong", "let zorblMargni = 1;", "let zorbelMargin = 1;"],
    ["another capital of a word's parts", "let ZorbelMargin = 1;", "let zorbelMargin = 1;"],
    ["no capital for a word's second part", "let zorbelmargin = 1;", "let zorbelMargin = 1;"],
    ["another part of a word", "let zorbel = 1;", "let zorbel_x = 1;"],
    ["a hexadecimal digit too few", "let zorbel = 0xfacad;", "let zorbel = 0xfacade;"],
    ["two words wrong", "let margn = valeu;", "let margin = value;"],
    ["a letter on the other side of a blank", "let margi n= 1;", "let margin = 1;"],
    ["a letter too few, and no space where the text has one", "run(zorbl,1)", "run(zorbel, 1)"],
    ["a plural", "let margins = 1;", "let margin = 1;"],
    ["a singular", "let margin = 1;", "let margins = 1;"],
    ["a past tense", "let zorbled = 1;", "let zorble = 1;"],
    ["a prefix", "let nmargin = 1;", "let margin = 1;"],
    ["another case", "let MArgin = 1;", "let margin = 1;"],
    ["another digit", "let margin = 2;", "let margin = 1;"],
    ["another operator", "let margin - 1;", "let margin = 1;"],
    ["a letter wrong in quotes", "run('strct');", "run('strict');"],
    ["a letter wrong in a template", "run(`zorbl`);", "run(`zorbel`);"],
    ["a letter wrong behind an escaped quote", 'run("\\" zorbl");', 'run("\\" zorbel");'],
    ["a line of 1,001 characters", `let margn = ${"1".repeat(988)}`, `let margin = ${"1".repeat(988)}`],
    ["a dot for a letter", "run(·, 1);", "run(a, 1);"],
    ["a name without letters", "run(___, 1);", "run(__, 1);"],
    ["letters for a name without any", "run(ab, 1);", "run(__, 1);"],
    ["three letters more", "let marginxyz = 1;", "let margin = 1;"],
  ])("is another line: %s", (_, own, there) => {
    expect(isTaken(own, there)).toBe(false);
  });

  test("is another line where its word is one of the text or of the new lines", () => {
    const lines = [" let margn = 1;", " a", " d", "-b", "+c"];
    const text = "let margin = 1;\na\nd\nb\n";
    expect(apply(lines, `${text}margn\n`)).toEqual(["not-found"]);
    expect(apply([...lines, "+margn"], text)).toEqual(["not-found"]);
    expect(apply(lines, `${text}topMargn\n`)).toEqual(["not-found"]);
    expect(apply([" let topMargn = 1;", ...lines.slice(1)], "let topMargin = 1;\na\nd\nb\ntopmargn\n")).toEqual([
      "not-found",
    ]);
    expect(apply(lines, `${text}x\n`)).toEqual(["let margin = 1;\na\nd\nc\nx\n", "1 misspelt"]);
  });

  test("is another line where a second place has all other lines, whatever stands there in its place", () => {
    const lines = [" let margn = 1;", " a", " d", "-b", "+c"];
    const text = "let margin = 1;\na\nd\nb\n";
    expect(apply(lines, `${text}x\n`)).toEqual(["let margin = 1;\na\nd\nc\nx\n", "1 misspelt"]);
    expect(apply(lines, `${text}another(line);\na\nd\nb\n`)).toEqual(["ambiguous 1 5"]);
  });
});

/** Whether a hunk of these lines, which all match, writes a line inside of a string. */
function isInString(lines: readonly string[]): boolean {
  const { old, deleted, changes } = takeApart({ id: "h", oldStart: null, newStart: null, lines });
  const pairs = old.map((patch, at) => ({ patch, text: patch, deleted: deleted[at]!, at }));
  return writesInString(pairs, changes);
}

test.each<[what: string, lines: string[], inString: boolean]>([
  ["in a here document of a bare word", [" cat <<-END", "+y", " END"], true],
  ["in a here document of a quoted word", [" cat <<'end'", "+y", " end"], true],
  ["below a context line that opens one", [" `a", "+n"], true],
  ["below a new line that opens one", ["+`a", "+n"], true],
  ["below a deleted line that opens one", ["-`a", "+n"], false],
  ["a blank line", [" `a", "+", " `"], false],
  ["behind a quote that a line closes", [' x "', "+n", ' "'], true],
])("a new line is in a string or not: %s", (_, lines, inString) => {
  expect(isInString(lines)).toBe(inString);
});

describe("a range of lines", () => {
  const text = "a\nb\na\nb\n";
  const change = ["-b", "+c"];
  test.each<[what: string, lines: string[], text: string, at: LineRange, made: string[]]>([
    ["to the end", change, text, { line_start: 3 }, ["a\nb\na\nc\n", "4"]],
    ["of one line", change, text, { line_start: 2, line_end: 2 }, ["a\nc\na\nb\n", "2"]],
    ["with both places", change, text, { line_start: 2, line_end: 4 }, ["ambiguous 2 4"]],
    ["without a place", change, text, { line_start: 3, line_end: 3 }, ["not-found"]],
    ["that ends behind the text", change, text, { line_start: 3, line_end: 9 }, ["a\nb\na\nc\n", "4"]],
    ["that ends before it begins", change, text, { line_start: 3, line_end: 1 }, ["not-found"]],
    ["without lines", ["+c"], text, { line_start: 3, line_end: 2 }, ["a\nb\nc\na\nb\n", "3"]],
    ["behind the last line", ["+c"], text, { line_start: 5 }, ["a\nb\na\nb\nc\n", "5"]],
    ["further behind", ["+c"], text, { line_start: 6 }, ["not-found"]],
    ["before the first line", change, text, { line_start: 0, line_end: 2 }, ["not-found"]],
    ["that is half a line", change, text, { line_start: 1.5 }, ["not-found"]],
    ["that is deleted", ["-a", "-b"], text, { line_start: 3 }, ["a\nb\n", "3"]],
  ])("%s", (_, lines, own, at, made) => {
    expect(apply(lines, own, at)).toEqual(made);
  });

  test("keeps the line feed at its end, as the text writes it", () => {
    const more = { newNoNewline: true };
    const at = { line_start: 1, line_end: 1 };
    expect(apply(["-a", "+c"], "a\r\nb\r\n", at, "modify", more)[0]).toBe("c\r\nb\r\n");
    expect(apply(["-b", "+c"], "a\nb\n", { line_start: 2 }, "modify", more)[0]).toBe("a\nc");
  });

  test("is ignored where the file is made, deleted or replaced", () => {
    const at = { line_start: 2, line_end: 1 };
    expect(apply(["+a"], "b\n", at, "create")).toEqual(["stale"]);
    expect(apply(["-b"], "b\n", { line_start: 1 }, "delete")).toEqual(["", "1"]);
    const whole = { kind: "modify", before: "x", after: "x", whole: true, hunks: [] } as const;
    const hunk = { id: "h", oldStart: 1, newStart: 1, lines: ["+n"] };
    expect(applyPatch({ ...whole, hunks: [hunk] }, text, { at: { line_start: 2 } })).toMatchObject({ text: "n\n" });
  });
});
