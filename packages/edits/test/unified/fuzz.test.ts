import { formatPatch, parsePatch } from "@parlance/edits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const numRuns = process.env.PARLANCE_LONG ? 20_000 : 2_000;

/** Lines that a patch could have, whole and spoilt, in any order. */
const LINES = [
  ...[
    "diff --git a/x b/x",
    'diff --git "a/\\303\\251" "b/\\303\\251"',
    "diff --git a/x b/y",
    "diff --cc x",
    "Index: x",
  ],
  ...["index 1234567..89abcde 100644", "new file mode 100644", "deleted file mode 100644", "old mode 100644"],
  ...["new mode 100755", "similarity index 90%", "rename from x", "rename to y", "copy from x", "copy to y"],
  ...["--- a/x", "+++ b/x", "--- /dev/null", "+++ /dev/null", "--- x", "+++ y", '--- "a/x', "--- a/x\t2020-01-01"],
  ...["@@ -1 +1 @@", "@@ -1,2 +1,3 @@ f", "@@ -0,0 +1 @@", "@@ ... @@", "@@ -XX +XX @@", "@@", "@@@ -1 -1 +1 @@@"],
  ...[" a", "-a", "+b", "", "\r", " ", "a", "- a", "-- ", "\\ No newline at end of file", "\\", "+c\r", "-- a", "++ b"],
  ...["```", "```diff", "~~~~", "Prose.", "GIT binary patch", "Binary files a/x and b/x differ", "\u2028", "\ud800"],
];
const patches = fc
  .tuple(
    fc.array(fc.constantFrom(...LINES), { maxLength: 30 }),
    fc.constantFrom("\n", "\r\n", "\n\n", "\r"),
    fc.boolean(),
  )
  .map(([lines, feed, ends]) => lines.join(feed) + (ends ? feed : ""));

describe("Reading a unified diff", () => {
  it("never throws, gives a patch with a change or errors with lines, and what it gives is what is written", () => {
    const check = (text: string, strict: boolean) => {
      const reading = parsePatch(text, { strict, path: "p" });
      if (!reading.ok) {
        expect(reading.errors.length).toBeGreaterThan(0);
        for (const { line } of reading.errors) expect(line).toBeGreaterThan(0);
        return;
      }
      expect(reading.patch.files.length).toBeGreaterThan(0);
      if (strict) expect(reading.repairs).toEqual([]);
      expect(JSON.parse(JSON.stringify(reading.patch))).toEqual(reading.patch);
      const hunks = reading.patch.files.flatMap((file) => file.hunks);
      const places = hunks.every((hunk) => hunk.oldStart !== null);
      // Without counts to go by, or against them, changed lines that look like a header or a signature are taken for one.
      if (!places && hunks.some(({ lines }) => lines.some((line) => /^---? /.test(line)))) return;
      const again = parsePatch(formatPatch(reading.patch), { strict: places });
      expect(again.ok ? again.patch : again.errors).toEqual(reading.patch);
    };
    fc.assert(
      fc.property(fc.oneof({ weight: 9, arbitrary: patches }, fc.string({ unit: "binary" })), fc.boolean(), check),
      { numRuns, examples: [["@@ -1,2 +1,3 @@ f\n--- /dev/null\n--- a/x\n\\\n@@ -1 +1 @@\n-- a", false]] },
    );
  });
});
