import { expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";

function apply(lines: readonly string[], text: string) {
  const hunk = { id: "h", oldStart: null, newStart: null, lines };
  return applyPatch({ kind: "modify", before: "x", after: "x", hunks: [hunk] }, text);
}

test.each<[what: string, lines: string[], text: string, made: string, repairs: string[]]>([
  ["with the tabs that both have", ["-\ta", "+\tb"], "\ta", "\tb", ["final-newline"]],
  ["with the escapes that both have", ["-x\\ty", "+x\\tz"], "x\\ty", "x\\tz", ["final-newline"]],
  ["behind a line that ends in a hard space", ["-a", "+it's"], "a\u00a0\n", "it's\n", ["trailing-space"]],
  ["where a tab inside of a line was a space", ["-a b", "+c d"], "a\tb\n", "c d\n", ["indentation"]],
  ["with quotes of both kinds as the text has one", ["-f(“x”)", "+f(‘y’)"], 'f("x")\n', "f('y')\n", ["typography"]],
  ["without white space that the patch has behind all", ["-a  ", "+n  "], "a\n", "n\n", ["trailing-space"]],
  ["with white space where the text has some", ["-a  ", "+n  "], "a \n", "n  \n", ["trailing-space"]],
  [
    "with white space where only blank lines lack it",
    [" a", "   ", "-b", "+n  "],
    "a\n\nb\n",
    "a\n\nn  \n",
    ["trailing-space"],
  ],
])("new lines are written %s", (_, lines, text, made, repairs) => {
  expect(apply(lines, text)).toMatchObject({ ok: true, text: made, hunks: [{ repairs }] });
});

test.each<[what: string, lines: string[], text: string]>([
  ["the text has an apostrophe of another kind", [" x", "-it's", "+don't"], "x\nit’s\n"],
  ["spaces in a row may be a tab", ["-a b", "+c  d"], "a\tb\n"],
  ["spaces in a row differ", ["-a b", "+c d"], "a  b\n"],
  ["the text has quotes of both kinds", ["-f(“x”)", "+f(“y”)"], 'f("x")\n“z”\n'],
  ["one step of the text may be two of the patch", [" \t}", "+  n"], "f {\n}\n  b\n"],
  ["lines that fit begin at many depths", ["+  n", " a"], "b\n  a\n\ta\n  a\n\ta\n  a\n  a\n"],
])("new lines are not written where %s", (_, lines, text) => {
  expect(apply(lines, text)).toMatchObject({ ok: false });
});
