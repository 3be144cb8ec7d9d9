import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import type { FilePatch } from "../../src/patch.js";
import { parseEdits } from "../../src/read/edits.js";
import { parsePatch } from "../../src/unified/parse.js";
import { eventsOf } from "./answers.js";

const FIRST = "--- a/x.js\n+++ b/x.js\n@@ -1,3 +1,3 @@\n k\n-a\n+b\n l\n";
const SECOND = "@@ -9,3 +9,3 @@\n m\n-c\n+d\n n\n";

/** What stands between two hunks of a diff without a fence. */
const BETWEEN = [
  "",
  "\n",
  "\n\n",
  "...\n",
  "Now the second change:\n",
  "\nNow the second change:\n\n",
  "\nThen, below:\n\nwhich is\n\n\n\nthis:\n",
  "\nx.js:\n\n",
  "\n### x.js\n",
];

const linesOf = (files: readonly FilePatch[]) => files.flatMap(({ hunks }) => hunks.flatMap(({ lines }) => lines));

function streamed(text: string) {
  const events = eventsOf([text]);
  return {
    lines: linesOf(events.flatMap((event) => (event.type === "edit" ? event.patch.files : []))),
    text: events.flatMap((event) => (event.type === "text" ? event.text : [])).join(""),
    failed: events.some(({ type }) => type === "error"),
  };
}

describe("A hunk behind prose is read as parsePatch reads it", () => {
  const cases = BETWEEN.flatMap((between) => ["", "Here is the fix:\n\n"].map((lead) => [lead, between] as const));

  test.each(cases)("%j, a hunk, %j, another hunk", (lead, between) => {
    for (const strip of [(text: string) => text, (text: string) => text.replace(/@@.*@@/g, "@@")]) {
      const text = strip(`${lead}${FIRST}${between}${SECOND}`);
      const whole = parsePatch(text);
      const lines = whole.ok ? linesOf(whole.patch.files) : [];
      expect(lines.filter((line) => line[0] !== " ")).toEqual(["-a", "+b", "-c", "+d"]);
      const reading = parseEdits(text);
      const read = reading.ok ? linesOf(reading.patch.files) : [];
      expect(streamed(text)).toMatchObject({ lines: read, failed: false });
      // Without counts `parsePatch` takes prose right below a hunk for context that lost its space.
      expect(read.filter((line) => /^[-+]/.test(line))).toEqual(["-a", "+b", "-c", "+d"]);
      if (text.includes("@@ -")) expect(reading).toEqual(whole);
      expect(streamed(text).text).not.toMatch(/^[-+@]/m);
    }
  });

  test("below git's header both hunks are one file's", () => {
    const reading = parseEdits(`diff --git a/x.js b/x.js\nindex 1111111..2222222 100644\n${FIRST}\nThen:\n\n${SECOND}`);
    const before = "k\na\nl\n4\n5\n6\n7\n8\nm\nc\nn\n";
    expect(reading.ok && applyPatch(reading.patch, before)).toMatchObject({
      ok: true,
      text: before.replace("a", "b").replace("c", "d"),
    });
  });

  test("behind a line that names another file it is that file's", () => {
    const reading = parseEdits(`${FIRST}\n### y.js\n\n${SECOND}`);
    expect(reading).toMatchObject({ ok: true, patch: { files: [{ after: "x.js" }, { after: "y.js" }] } });
  });
});

test.each([
  ["a list whose items may be deleted lines", `${FIRST}\n- this removes c\n- that\n\n${SECOND}`],
  ["deleted lines", `${FIRST}\nThen:\n\n-c\n+d\n`],
])("Behind a diff without a fence %s are an error, not prose", (_, text) => {
  expect(parseEdits(text)).toMatchObject({ ok: false, errors: [{ reason: "stray-line" }] });
  expect(parseEdits(text)).toEqual(parsePatch(text));
});

test("An @@ line where no diff came before is text only if it is no header of a hunk", () => {
  for (const text of ["@@count += 1\n", `${FIRST}\n\n@@count += 1 is Ruby.\n`])
    expect(streamed(text)).toMatchObject({ failed: false });
  expect(streamed(`In a diff,\n${SECOND}`)).toMatchObject({ failed: true });
});

test.each([
  ["without a fence", ""],
  ["in a fence", "```"],
])("A list in the prose behind a diff without counts is text: %s", (_, fence) => {
  const diff = FIRST.replace(/@@.*@@/, "@@ ... @@");
  const text = `${fence && `${fence}diff\n`}${diff}${fence && `${fence}\n`}\nThis does:\n\n- replaces a\n- keeps k\n`;
  expect(streamed(text)).toMatchObject({ lines: [" k", "-a", "+b", " l"], failed: false });
  expect(streamed(text).text).toContain("- replaces a\n- keeps k\n");
});
