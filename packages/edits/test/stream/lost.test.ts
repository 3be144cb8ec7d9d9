import { describe, expect, test } from "vitest";
import { parseEdits, readEdits } from "../../src/read/edits.js";
import type { EditEvent } from "../../src/read/format.js";
import { parsePatch } from "../../src/unified/parse.js";

const SEARCH = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
const [OPEN, CLOSE] = ["<<<<<<< SEARCH\n", ">>>>>>> REPLACE\n"];
const DIFF = "--- a/x.js\n+++ b/x.js\n@@ -1,3 +1,3 @@\n k\n-a\n+b\n l\n";
const BEGIN = "*** Update File: b.js\n@@\n-a\n+b\n";
const JSON_CALL = `{\n  "command": "str_replace",\n  "path": "b.js",\n  "old_str": "a",\n  "new_str": "b"\n}\n`;

const fenced = (text: string, info = "") => `\`\`\`${info}\n${text}\`\`\`\n`;
const quoted = (text: string) => text.replace(/^/gm, "> ").replace(/> $/, "");

/** Text that is meant as an edit and is not one, and its line that shows it. */
const LOST: Record<string, [text: string, line: string]> = {
  ...Object.fromEntries(
    [
      "<<<<<<< SEARCH:",
      "<<<<<<< SEARCH b.js",
      "<<<<<<< SEARCH (b.js)",
      "<<<<<<< search",
      "<<<<<<< Search",
      "<<<<<<<SEARCH",
      "<<<<<<< ORIGINAL",
      "<<<< SEARCH",
      "<<< SEARCH",
      "<<<<<<<<<<<< SEARCH",
      "&lt;&lt;&lt;&lt;&lt;&lt;&lt; SEARCH",
      "------- SEARCH:",
      "---- SEARCH",
    ].map((marker) => [marker, [SEARCH.replace("<<<<<<< SEARCH", marker), marker]]),
  ),
  "a SEARCH part without its marker": [`b.js\na\n=======\nb\n${CLOSE}`, CLOSE.trim()],
  "an UPDATED part": ["a\n=======\nb\n>>>>>>> UPDATED\n", ">>>>>>> UPDATED"],
  "a misspelt marker in a fence": [`b.js\n${fenced(SEARCH.replace("SEARCH", "SEARCH:"), "js")}`, "<<<<<<< SEARCH:"],
  "a block deep in a fence": [fenced(`1\n2\n3\n4\n${SEARCH}`, "js"), OPEN.trim()],
  "a quoted block": [quoted(`b.js\n${SEARCH}`), `> ${OPEN.trim()}`],
  "no Begin Patch": [BEGIN, "*** Update File: b.js"],
  "no Begin Patch, in a fence": [fenced(BEGIN, "text"), "*** Update File: b.js"],
  "an added file without Begin Patch": ["*** Add File: b.js\n+b\n", "*** Add File: b.js"],
  "Begin Patch in small letters": [`*** begin patch\n${BEGIN}*** end patch\n`, "*** begin patch"],
  "Begin Patch with its stars escaped": [`\\*\\*\\* Begin Patch\n${BEGIN}`, "\\*\\*\\* Begin Patch"],
  "a quoted Begin Patch": [quoted(`*** Begin Patch\n${BEGIN}*** End Patch\n`), "> *** Begin Patch"],
  "a fence of a diff without @@, below a path": [`b.js\n${fenced(" k\n-a\n+b\n", "diff")}`, "-a"],
  "a hunk without its file, in a fence of code": [fenced("x\n@@ -1 +1 @@\n-a\n+b\n", "js"), "@@ -1 +1 @@"],
  "a quoted diff": [quoted(DIFF), "> @@ -1,3 +1,3 @@"],
  "a call with a trailing comma": [fenced(JSON_CALL.replace('"b"\n', '"b",\n'), "json"), '  "command": "str_replace",'],
  "a call with a line feed in a string": [
    fenced(`{"path": "b.js", "old_str": "a\nb", "new_str": "b"}\n`, "json"),
    '{"path": "b.js", "old_str": "a',
  ],
  "a call without new_str": [fenced('{"path": "b.js", "old_str": "a"}\n'), '{"path": "b.js", "old_str": "a"}'],
  "a call without a fence": [JSON_CALL, '  "command": "str_replace",'],
  "a call without a fence, on one line": ['{"path": "b.js", "oldString": "a"}\n', '{"path": "b.js", "oldString": "a"}'],
  "two calls in one fence": [fenced(JSON_CALL + JSON_CALL, "json"), '  "command": "str_replace",'],
  "a call in single quotes": ["{'path': 'b.js', 'old_str': 'a'}\n", "{'path': 'b.js', 'old_str': 'a'}"],
  "a created file in a broken call": [
    fenced('{"path": "b.js", "file_text": "a",}\n', "json"),
    '{"path": "b.js", "file_text": "a",}',
  ],
  "a call in tags": ["<str_replace>\n<path>b.js</path>\n<old_str>a</old_str>\n</str_replace>\n", "<str_replace>"],
  "parameters in tags": ['<parameter name="old_str">a</parameter>\n', '<parameter name="old_str">a</parameter>'],
  "an edit block in another fence": [
    fenced("file: b.js\naction: edit\nold_content: |\n  a\nnew_content: |\n  b\n", "yaml"),
    "old_content: |",
  ],
  "a quoted edit block": [
    quoted(fenced("file: b.js\naction: edit\nold_content: |\n  a\nnew_content: |\n  b\n", "edit")),
    "> old_content: |",
  ],
};

/** The advice, by the line that shows what was meant. */
const ADVICE: readonly (readonly [shown: RegExp, advice: string])[] = [
  [/_content:/, "write the keys in a fence of their own that begins with edit"],
  [/str|command|file_text/i, "send one JSON value with path, old_str and new_str, alone in a fence"],
  [/\* ?(?:Begin|Update|Add)/i, "write *** Begin Patch above all files and *** End Patch below them"],
  [/[<>&;] ?[a-z]|SEARCH/i, "write <<<<<<< SEARCH, ======= and >>>>>>> REPLACE, each alone on its line"],
  [/^(?:> )?[@-]/, "write its --- and +++ lines, and an @@ line above each hunk"],
];

/** Text that is meant as text. */
const TEXT: Record<string, string> = {
  prose: "I will search and replace `a` by `b`. See *** and === below.\n\nOriginal: a. Updated: b.\n",
  "prose about markers": "Use <<<<<<< SEARCH and >>>>>>> REPLACE to mark it, or *** Begin Patch, or old_str.\n",
  headings: "Title\n=======\n\nPart\n-------\n\n== Search results ==\n\n**Update file:**\n\n***Update file***\n",
  lists: "- one\n- two\n\n* three\n\n1. four\n   - five\n",
  "a list about diffs": "- The line +++ b/x stands above @@ -1,2 +1,2 @@.\n",
  code: fenced("const a = <T>(x: T) => x;\n--x;\n++x;\n-1;\n", "ts") + fenced("x = [-1,\n+ 2]\n@@x = 1\n", "ruby"),
  "shell code": fenced("cat <<EOF > a\nEOF\ncat <<< search\n@@ x\n", "sh"),
  "a conflict of git in a file": fenced(
    "<<<<<<< HEAD\na\n||||||| original\nc\n=======\nb\n>>>>>>> search-and-replace\n<<<<<<< Updated upstream\na\n=======\nb\n>>>>>>> Stashed changes\n",
    "js",
  ),
  "a conflict of git without a fence": "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n",
  "a quoted mail": "> On Monday, Jane wrote:\n>> Is it -5 or +5?\n> - It is 5.\n> + no\n> search and replace\n",
  "JSON that is no edit": fenced(
    '{\n  "name": "x",\n  "old": 1,\n  "new": "str",\n  "command": "build",\n  "search": "a",\n  "replace": "b"\n}\n',
    "json",
  ),
  "JSON without a fence": '{"edits": 3, "path": "a.js", "text": "b"}\n["old", "new"]\n',
  "the schema of a call": fenced(
    '{\n  "old_str": { "type": "string" },\n  "new_str": { "type": "string" }\n}\n',
    "json",
  ),
  "code with such keys": fenced('send({\n  "old_str": "a",\n  "new_str": "b",\n});\n', "js"),
  tags: "<search>\n<old>a</old>\n<details>\n<summary>Edit</summary>\n</details>\n",
  YAML: fenced("content: |\n  a\nold: |\n  b\nfile: a\naction: edit\n", "yaml"),
  "an example in a document": `${fenced(`1\n2\n3\n4\n${SEARCH}`, "markdown").replace(/```/g, "````")}`,
  "a table": "| old_str | new_str |\n|---|---|\n| a | b |\n",
  "a mail's signature": "\n-- \nJane\n",
};

const GOOD: Record<string, string> = {
  "a block": `a.js\n${SEARCH}`,
  "a diff": DIFF,
  "a fenced diff": fenced(DIFF, "diff"),
};

/** The events of the text in pieces of so many characters. */
function stream(text: string, size = text.length, complete = false): EditEvent[] {
  const reader = readEdits();
  const events: EditEvent[] = [];
  for (let at = 0; at < text.length; at += size) events.push(...reader.push(text.slice(at, at + size)));
  return [...events, ...reader.end({ complete })];
}

describe.each(Object.keys(LOST))("An edit that is not read is an error: %s", (name) => {
  const [text, line] = LOST[name]!;
  const good = Object.values(GOOD);
  const places = [text, ...good.map((each) => `${each}\n${text}`), ...good.map((each) => `${text}\n${each}`)];

  test("alone, behind an edit and before one, whole and in pieces", () => {
    for (const each of places) {
      const at =
        each
          .split("\n")
          .indexOf(line, each.indexOf(text) === 0 ? 0 : each.slice(0, each.indexOf(text)).split("\n").length - 1) + 1;
      expect(at).toBeGreaterThan(0);
      const reading = parseEdits(each);
      const errors = reading.ok ? [] : reading.errors;
      // Right behind a diff without a fence such a line is a deleted one.
      if (line[0] === "-" && each.startsWith(DIFF)) {
        expect(errors).toHaveLength(1);
        continue;
      }
      expect(errors, each).toContainEqual(
        expect.objectContaining({ line: at, message: expect.stringContaining(JSON.stringify(line)) }),
      );
      const message = errors.find((error) => error.line === at)!.message;
      if (message.includes("is in no edit"))
        expect(message).toContain(`; ${ADVICE.find(([shown]) => shown.test(line))?.[1]}.`);
      for (const size of [1, 7, each.length]) {
        const events = stream(each, size);
        expect(events).toContainEqual(
          expect.objectContaining({ type: "error", error: expect.objectContaining({ line: at }) }),
        );
        const failed = events.findIndex(({ type }) => type === "error");
        expect(events.slice(failed).some(({ type }) => type === "edit")).toBe(false);
      }
    }
  });
});

test.each(Object.keys(TEXT))("Text is no lost edit: %s", (name) => {
  const text = TEXT[name]!;
  expect(stream(text).every(({ type }) => type === "text")).toBe(true);
  for (const good of Object.values(GOOD))
    for (const each of [`${good}\n${text}`, `${good}\nIt does:\n\n${text}`, `${text}\n${good}`]) {
      expect(parseEdits(each), each).toMatchObject({ ok: true, patch: { files: [{ hunks: [{}] }] } });
      for (const size of [1, each.length])
        expect(stream(each, size).filter(({ type }) => type === "edit" || type === "error")).toMatchObject([
          { type: "edit" },
        ]);
    }
});

describe("A changed line behind a hunk with all its lines is the hunk's, or an error", () => {
  const many = Array.from({ length: 9 }, (_, i) => ` line ${i}\n`).join("");
  const between = [
    "",
    "\n",
    "\n\n",
    "\n\n\n\n\n",
    " m\n",
    "\n m\n",
    "\n m\n\n",
    `\n${many}`,
    `${many}\n${many}`,
    "m\n",
    "\nm\n",
    "\n  m\n",
    "Then:\n",
    "\nThen:\n\n",
    "```\n",
    "```\n m\n```\n",
    "\\ No newline at end of file\n",
    "---\n",
    "\n---\n",
  ];
  const tails = [
    "-c\n+d\n",
    "-c\n",
    "+d\n",
    "-  c\n+  d\n",
    "-\tc\n",
    "+\n",
    "- c\n+d\n",
    "- c\n+ d\n",
    " m\n-c\n n\n+d\n",
  ];
  const behind = ["", "\nDone.\n", "@@ -19 +19 @@\n-y\n+z\n"];
  const changed = (lines: readonly string[]) => lines.filter((line) => /^[-+](?!--|\+\+)/.test(line));

  test.each(between)("%j", (gap) => {
    for (const tail of tails)
      for (const end of behind) {
        const bare = `${DIFF}${gap}${tail}${end}`;
        const texts = [bare, `Fix:\n\n${bare}`, fenced(bare, "diff"), `a.js\n${SEARCH}\n${bare}`];
        if (gap === "" && !/^- |^ m/.test(tail)) texts.push(`${fenced(DIFF, "diff")}${tail}${end}`);
        for (const text of texts) {
          const all = changed(text.split("\n")).length;
          const readings = [parseEdits(text), ...(text.includes("SEARCH") ? [] : [parsePatch(text)])];
          for (const reading of readings)
            if (reading.ok) {
              const lines = reading.patch.files.flatMap(({ hunks }) => hunks.flatMap((hunk) => hunk.lines));
              expect(changed(lines).length - (text.includes("SEARCH") ? 2 : 0), text).toBe(all);
            }
          for (const complete of [false, true]) {
            const events = stream(text, 5, complete);
            if (events.some(({ type }) => type === "error")) continue;
            const lines = events.flatMap((event) =>
              event.type === "edit"
                ? event.patch.files.flatMap(({ hunks }) => hunks.flatMap((hunk) => hunk.lines))
                : [],
            );
            expect(changed(lines).length - (text.includes("SEARCH") ? 2 : 0), text).toBe(all);
          }
        }
      }
  });

  test("the hunk has context that its counts have missed", () => {
    const text = `${DIFF}\n m\n-c\n+d\n n\n`;
    const [file] = stream(text, 3, true).flatMap((event) => (event.type === "edit" ? event.patch.files : []));
    expect(file!.hunks[0]!.lines).toEqual([" k", "-a", "+b", " l", " ", " m", "-c", "+d", " n"]);
    expect(parseEdits(text)).toMatchObject({ ok: true, patch: { files: [{ hunks: file!.hunks }] } });
  });
});
