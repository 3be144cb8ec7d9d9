import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { createPatch } from "../../src/diff/create.js";
import { parseBeginPatch } from "../../src/read/begin-patch.js";
import { parseEditBlocks } from "../../src/read/edit-block.js";
import { parseEdits, readEdits } from "../../src/read/edits.js";
import { parseSearchReplace } from "../../src/read/search-replace.js";
import { parseStrReplace } from "../../src/read/str-replace.js";
import { parseWholeFiles } from "../../src/read/whole-file.js";
import { formatPatch, parsePatch } from "../../src/unified/parse.js";
import { measureGrowth } from "../growth.js";
import { seeded } from "../seed.js";
import { eventsOf, readAnswers } from "./answers.js";

const isLong = Boolean(process.env.PARLANCE_LONG);
const numRuns = isLong ? 20_000 : 400;
const seed = seeded(20_261_121);

/** Lines that mean something to some format, so that random texts come near to every decision. */
const LINES = [
  ...new Set(readAnswers().flatMap(({ text }) => text.split("\n"))),
  "``` ```",
  "````",
  "~~~",
  "+++ b/x",
  "--- ",
  "@@@",
  "\\",
  "\u2028",
  "\ufeff```edit",
  "__proto__: x",
  '{"path":"a","edits":[{"old_str":"a","new_str":"b"}]}',
];
const text = fc
  .array(fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...LINES) }, fc.string({ maxLength: 12 })), { maxLength: 14 })
  .map((lines) => lines.join("\n"));
const options = fc.record(
  { path: fc.constantFrom("open.ts"), limit: fc.constantFrom(20, 200, 1 << 20), wholeFiles: fc.boolean() },
  { requiredKeys: [] },
);

describe("whatever the text", () => {
  it("the reader gives the same events however the text is cut, and never throws", () => {
    fc.assert(
      fc.property(text, options, fc.array(fc.nat(300), { maxLength: 8 }), (whole, given, cuts) => {
        const places = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length];
        const pieces = places.slice(1).map((end, i) => whole.slice(places[i], end));
        const expected = JSON.stringify(eventsOf([whole], given));
        expect(JSON.stringify(eventsOf(pieces, given))).toBe(expected);
        expect(JSON.stringify(eventsOf(whole.split(""), given))).toBe(expected);
      }),
      { numRuns, seed },
    );
  });

  it("edits are numbered from 0 in the order in which they begin, and each is over before the next", () => {
    const check = (whole: string, given: object) => {
      let open = -1;
      let count = 0;
      for (const event of eventsOf([whole], given)) {
        if (event.type === "text") expect(open).toBe(-1);
        else if (event.type === "start") {
          expect([open, event.edit]).toEqual([-1, count]);
          open = count++;
        } else {
          expect(event.edit).toBe(open);
          if (["edit", "doubtful", "error"].includes(event.type)) open = -1;
        }
      }
      expect(open).toBe(-1);
    };
    for (const { text, options } of readAnswers()) check(text, options);
    fc.assert(fc.property(text, options, check), { numRuns, seed });
  });

  it.each([
    ["edit blocks", parseEditBlocks],
    ["SEARCH/REPLACE", parseSearchReplace],
    ["Begin Patch", parseBeginPatch],
    ["whole files", parseWholeFiles],
    ["str_replace", (input: string) => parseStrReplace(input)],
    ["every format", (input: string) => parseEdits(input, { wholeFiles: true })],
  ] as const)("the parser of %s gives a patch with changes or errors with a line, and never throws", (_, parse) => {
    fc.assert(
      fc.property(text, (input) => {
        const reading = parse(input);
        if (reading.ok) {
          const nothing = reading.repairs.some(({ kind }) => kind === "no-change");
          expect(reading.patch.files.length).toBeGreaterThan(nothing ? -1 : 0);
          expect(JSON.parse(JSON.stringify(reading.patch))).toEqual(reading.patch);
        } else for (const { line, message } of reading.errors) expect(line > 0 && message.length > 10).toBe(true);
      }),
      { numRuns, seed },
    );
  });

  it("any JSON value as a call is a patch or an error", () => {
    const names = ["command", "path", "old_str", "new_str", "file_text", "insert_line", "edits", "input", "arguments"];
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom("str_replace", "create", "insert", "a\nb", "", 3, -1, null, true),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...names), tie("value"), { maxKeys: 6 }),
      ),
    })).value;
    const property = fc.property(value, (call) => {
      expect(parseStrReplace(call).ok).toBeTypeOf("boolean");
    });
    fc.assert(property, { numRuns, seed });
  });
});

const body = (n: number) => Array.from({ length: n }, (_, i) => `  line ${i} of the text\n`).join("");

test.each<[string, (n: number) => string]>([
  ["one long edit block", (n) => `\`\`\`edit\nfile: a\naction: create\nnew_content: |\n${body(n)}\`\`\`\n`],
  ["one long SEARCH block", (n) => `a.ts\n<<<<<<< SEARCH\nx\n=======\n${body(n)}>>>>>>> REPLACE\n`],
  ["many SEARCH blocks", (n) => "a.ts\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n".repeat(n / 4)],
  ["a long diff", (n) => formatPatch(createPatch("", body(n), { oldPath: null }))],
  ["one line without an end", (n) => "x y ".repeat(n * 5)],
  ["one line of backticks", (n) => "`".repeat(n * 10)],
  ["one line of blanks", (n) => " ".repeat(n * 20)],
  ["paths", (n) => "src/a.ts\n".repeat(n)],
  ["openings without an end", (n) => "a.ts\n<<<<<<< SEARCH\n".repeat(n)],
  ["fences that open and close", (n) => "```\n".repeat(n)],
  ["blank lines in a diff", (n) => `--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n${"\n".repeat(n)}`],
  ["blank lines in a hunk", (n) => `*** Begin Patch\n*** Update File: a\n@@\n-a\n${"\n".repeat(n)}+b\n*** End Patch\n`],
  ["a json value in a fence", (n) => `\`\`\`json\n{"a": "${"x".repeat(n * 10)}"}\n\`\`\`\n`],
  ["quotes in a scalar", (n) => `\`\`\`edit\nfile: a\nreason: "${'\\"'.repeat(n * 5)}\n\`\`\`\n`],
])("twice of %s costs at most 2.6 times as much, in pieces of one and of many", async (_, make) => {
  const read = (whole: string, size: number) => {
    const reader = readEdits();
    for (let at = 0; at < whole.length; at += size) reader.push(whole.slice(at, at + size));
    reader.end();
  };
  for (const [size, n] of [
    [1, isLong ? 1_500 : 1_000],
    [4096, isLong ? 7_000 : 4_000],
  ] as const) {
    const ratio = await measureGrowth(
      (lines) => {
        const text = make(lines);
        return () => read(text, size);
      },
      n,
      2.6,
      1_000,
    );
    expect(ratio, `pieces of ${size}`).toBeLessThanOrEqual(2.6);
  }
});

test("a block beyond the limit is let go of, and the text behind it comes", () => {
  const reader = readEdits({ limit: 1000 });
  const events = reader.push("a.ts\n<<<<<<< SEARCH\n");
  for (let i = 0; i < 1000; i++) events.push(...reader.push("one more line of many\n"));
  events.push(...reader.push(">>>>>>> REPLACE\nbye\n"), ...reader.end());
  expect(events.filter((event) => event.type === "error")).toMatchObject([{ error: { reason: "too-long" } }]);
  expect(events.reduce((sum, event) => sum + JSON.stringify(event).length, 0)).toBeLessThan(5000);
  expect(events.at(-1)).toEqual({ type: "text", text: "bye\n" });
});

test("text comes as it is typed, not when its line ends", () => {
  const reader = readEdits();
  expect(reader.push("The change")).toEqual([{ type: "text", text: "The change" }]);
  expect(reader.push(" is")).toEqual([{ type: "text", text: " is" }]);
});

test("the start and the path of a block come before its end", () => {
  const reader = readEdits();
  expect(reader.push("```edit\n")).toEqual([{ type: "start", edit: 0, format: "edit-block" }]);
  expect(reader.push("file: a.py\n")).toEqual([{ type: "path", edit: 0, path: "a.py" }]);
});

test("a bare diff with too few lines is cut off in a stream, and repaired where the text is known to be whole", () => {
  const diff = "--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n one\n-two\n+TWO\n";
  const reader = readEdits();
  expect([...reader.push(diff), ...reader.end()].at(-1)).toMatchObject({
    type: "error",
    error: { reason: "unfinished" },
  });
  expect(parseEdits(diff)).toMatchObject({ ok: true, repairs: [{ kind: "wrong-count", line: 3 }] });
});

test.each([
  ["an empty line behind every line", "--- a/a\n\n+++ b/a\n\n@@ -1,2 +1,2 @@\n\n a\n\n-b\n\n+B\n\n"],
  ["prose behind counts that are too large", "--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n a\n-b\n+B\n\nNow the tests.\n"],
  ["a binary patch", "Binary files a/x.png and b/x.png differ\n"],
  ["nothing", ""],
])("a text that can only be a bare diff is read as parsePatch reads it: %s", (_, whole) => {
  expect(parseEdits(whole)).toEqual(parsePatch(whole));
});

test("a diff whose counts are too large ends before the prose behind it, also among other edits", () => {
  const whole =
    "a.ts\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n\n--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n a\n-b\n+B\n\nNow the tests.\n";
  expect(parseEdits(whole)).toMatchObject({ ok: true, repairs: [{ kind: "wrong-count", line: 10 }] });
});

test("several blocks for one file are one entry, with places in the file as it was", () => {
  const block = (line: number, old: string, now: string) =>
    `\`\`\`edit\nfile: a\naction: edit\nline_start: ${line}\nold_content: |\n  ${old}\nnew_content: |\n  ${now}\n\`\`\`\n`;
  const reading = parseEdits(block(9, "x", "y\n  z") + block(2, "a", "b\n  c"));
  expect(reading).toMatchObject({
    ok: true,
    patch: {
      files: [
        {
          before: "a",
          hunks: [
            { oldStart: 9, newStart: 10 },
            { oldStart: 2, newStart: 2 },
          ],
        },
      ],
    },
  });
});

const MARKED: Record<string, (path: string, old: string, now: string) => string> = {
  "edit-block": (path, old, now) =>
    `\`\`\`edit\nfile: ${path}\naction: edit\nold_content: |\n${old}\nnew_content: |\n${now}\n\`\`\`\n`,
  "search-replace": (path, old, now) => `${path}\n<<<<<<< SEARCH\n${old}\n=======\n${now}\n>>>>>>> REPLACE\n`,
  dashes: (path, old, now) => `${path}\n------- SEARCH\n${old}\n=======\n${now}\n+++++++ REPLACE\n`,
  "begin-patch": (path, old, now) =>
    `*** Begin Patch\n*** Update File: ${path}\n@@\n${prefix("-", old)}\n${prefix("+", now)}\n*** End Patch\n`,
  unified: (path, old, now) =>
    `\`\`\`diff\n--- a/${path}\n+++ b/${path}\n@@ -1,${count(old)} +1,${count(now)} @@\n${prefix("-", old)}\n${prefix("+", now)}\n\`\`\`\n`,
  call: (path, old, now) => `\`\`\`json\n${JSON.stringify({ path, old_str: old, new_str: now })}\n\`\`\`\n`,
};
const count = (text: string) => text.split("\n").length;
const prefix = (mark: string, text: string) => text.replace(/^/gm, mark);

describe("content of a block that failed never becomes an edit", () => {
  const names = Object.keys(MARKED);
  const cases = names.flatMap((outer) => names.map((inner) => [outer, inner] as const));

  it.each(cases)("%s around %s, whose markers are not escaped", (outer, inner) => {
    const content = MARKED[inner]!("inner.ts", "a", "b").trimEnd();
    for (const [old, now] of [
      [content, content.replace("b", "c")],
      [content, "x"],
      ["x", content],
    ] as const) {
      const events = eventsOf([MARKED[outer]!("outer.ts", old, now)]);
      const edits = events.filter((event) => event.type === "edit");
      expect(edits.flatMap(({ patch }) => patch.files.map(({ after }) => after))).not.toContain("inner.ts");
      const failed = events.some(({ type }) => type === "error");
      expect(parseEdits(MARKED[outer]!("outer.ts", old, now)).ok).toBe(!failed);
    }
  });

  it.each(names)("and what comes behind it is doubtful: %s", (format) => {
    const broken = "a.ts\n<<<<<<< SEARCH\na\n<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE\n";
    const events = eventsOf([`${broken}Then:\n\n${MARKED[format]!("b.ts", "a", "b")}`]);
    expect(events.filter(({ type }) => type === "edit")).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: "doubtful", patch: { files: [{ after: "b.ts" }] } });
  });
});
