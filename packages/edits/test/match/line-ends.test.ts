import { expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { findParts } from "../../src/match/search.js";
import { parseBeginPatch } from "../../src/read/begin-patch.js";
import { parseSearchReplace } from "../../src/read/search-replace.js";
import { parseStrReplace } from "../../src/read/str-replace.js";
import type { Reading } from "../../src/reading.js";
import { parsePatch } from "../../src/unified/parse.js";
import { random } from "../random.js";
import { seeded } from "../seed.js";

const seed = seeded(20_261_126);
const rounds = process.env.PARLANCE_LONG ? 2_000 : 200;

interface Change {
  readonly old: readonly string[];
  readonly now: readonly string[];
  /** One line of context before and behind. */
  readonly around: readonly [string, string];
  readonly text: string;
  /** How the change is typed. */
  readonly feed: string;
}

const strings = ({ old, now, feed }: Change) => ({ path: "f", old_str: old.join(feed), new_str: now.join(feed) });

const FORMATS: Record<string, (change: Change) => Reading> = {
  "a unified diff": ({ old, now, around: [head, tail], feed }) =>
    parsePatch(
      [
        "--- a/f",
        "+++ b/f",
        "@@ ... @@",
        ` ${head}`,
        ...old.map((line) => `-${line}`),
        ...now.map((line) => `+${line}`),
        ` ${tail}`,
        "",
      ].join(feed),
    ),
  "*** Begin Patch": ({ old, now, around: [head, tail], feed }) =>
    parseBeginPatch(
      [
        "*** Begin Patch",
        "*** Update File: f",
        "@@",
        ` ${head}`,
        ...old.map((line) => `-${line}`),
        ...now.map((line) => `+${line}`),
        ` ${tail}`,
        "*** End Patch",
        "",
      ].join(feed),
    ),
  "SEARCH/REPLACE": ({ old, now, feed }) =>
    parseSearchReplace(["f.ts", "<<<<<<< SEARCH", ...old, "=======", ...now, ">>>>>>> REPLACE", ""].join(feed)),
  str_replace: (change) => parseStrReplace(strings(change)),
  "str_replace with the text": (change) => parseStrReplace(strings(change), { text: change.text }),
  "str_replace of LF lines, and new ones of CRLF": ({ old, now }) =>
    parseStrReplace({ path: "f", old_str: old.join("\n"), new_str: now.join("\r\n") }),
  "str_replace of LF lines, and new ones of CRLF, with the text": ({ old, now, text }) =>
    parseStrReplace({ path: "f", old_str: old.join("\n"), new_str: now.join("\r\n") }, { text }),
  "replace_all with the text": (change) =>
    parseStrReplace({ ...strings(change), replace_all: true }, { text: change.text }),
  "a part of a line with the text": ({ old, now, text, feed }) =>
    parseStrReplace({ path: "f", old_str: old.join(feed).slice(1), new_str: now.join(feed).slice(1) }, { text }),
};

test.each(Object.entries(FORMATS))(
  "%s is written with the line ends of its place, in every kind of file",
  (_, read) => {
    const dice = random(seed);
    for (let round = 0; round < rounds; round++) {
      const kind = dice.pick(["LF", "CRLF", "mixed"]);
      const count = 4 + dice.below(6);
      const lines = Array.from({ length: count }, (_, i) => `line ${i};`);
      const at = 1 + dice.below(count - 3);
      const length = 1 + dice.below(2);
      const end = () => (kind === "LF" ? "\n" : kind === "CRLF" ? "\r\n" : dice.pick(["\n", "\r\n"]));
      const ends = lines.map(end);
      // Of a mixed file the changed lines have one kind: which of two an added line should get is open.
      for (let i = at; i < at + length; i++) ends[i] = ends[at]!;
      const text = lines.map((line, i) => line + ends[i]).join("");
      const old = lines.slice(at, at + length);
      const now = Array.from({ length: 1 + dice.below(3) }, (_, i) => `lone ${round} ${i}();`);
      const reading = read({
        old,
        now,
        around: [lines[at - 1]!, lines[at + length]!],
        text,
        feed: dice.pick(["\n", "\r\n"]),
      });
      if (!reading.ok) expect.fail(JSON.stringify(reading.errors));
      const result = applyPatch(reading.patch, text);
      const written = now.map((line) => line + ends[at]);
      const made = lines.map((line, i) => line + ends[i]);
      made.splice(at, length, ...written);
      expect({ text, result }).toMatchObject({ text, result: { ok: true, text: made.join("") } });
    }
  },
);

test.each([
  ["of CRLF lines", "a\r\nb\r\nx\r\na\r\nb\r\n", "c\r\nd\r\nx\r\nc\r\nd\r\n"],
  ["of indented lines", "  a\n  b\nx\n    a\n    b\n", "  c\n  d\nx\n    c\n    d\n"],
  ["of both", "  a\r\n  b\r\nx\n  a\n  b\n", "  c\r\n  d\r\nx\n  c\n  d\n"],
])("replace_all of several lines in a file %s changes each place", (_, text, made) => {
  const call = { path: "f", old_str: "a\nb", new_str: "c\nd", replace_all: true };
  const reading = parseStrReplace(call, { text });
  expect(reading.ok && applyPatch(reading.patch, text)).toMatchObject({ ok: true, text: made });
});

test("a string of many characters is found as a part of a text", () => {
  const long = "const { a } = b(c[0], /d/); // e\n".repeat(3_000);
  const reading = parseStrReplace({ path: "f", old_str: `x\n${long}y`, new_str: "z" }, { text: `ax\n${long}yb\n` });
  expect(reading.ok && applyPatch(reading.patch, `ax\n${long}yb\n`)).toMatchObject({ ok: true, text: "azb\n" });
});

test.each([
  ["\n", "a\r\nb", [[1, 3]]],
  [
    "a\n",
    "a\r\na\na",
    [
      [0, 3],
      [3, 5],
    ],
  ],
  [
    "\nb",
    "a\r\nb\r\nb",
    [
      [1, 4],
      [4, 7],
    ],
  ],
  ["aa", "aaa", [[0, 2]]],
  ["\r", "a\rb", [[1, 2]]],
  ["", "a", []],
] as const)("%j is these parts of %j: %j", (sought, text, parts) => {
  expect(findParts(sought, text)).toEqual(parts.map(([from, to]) => ({ from, to })));
});

test("a string that overlaps itself is not unique", () => {
  const reading = parseStrReplace({ path: "f", old_str: "aa", new_str: "b" }, { text: "aaa\n" });
  expect(reading.ok && applyPatch(reading.patch, "aaa\n")).toMatchObject({ ok: false });
});
