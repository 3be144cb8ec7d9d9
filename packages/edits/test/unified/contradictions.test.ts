import { applyPatch, applyStrictly, parseEdits, parsePatch } from "@parlance/edits";
import { describe, expect, it } from "vitest";
import { askGit, askUs } from "./ask.js";

const HUNK = "@@ -1 +1 @@\n-a\n+b\n";
const FROM_NOTHING = "@@ -0,0 +1 @@\n+b\n";
const git = (names: string, header: string, hunk = HUNK) => `diff --git ${names}\n${header}${hunk}`;
const NAMES = "--- a/f\n+++ b/f\n";
const EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

const MODES: readonly (readonly [name: string, header: string])[] = [
  ["no mode", ""],
  ["an index line without a mode", "index 1234567..89abcde\n"],
  ["100644 in the index line", "index 1234567..89abcde 100644\n"],
  ["100755 in the index line", "index 1234567..89abcde 100755\n"],
  ["a symlink's mode in the index line", "index 1234567..89abcde 120000\n"],
  ["a mode that is made executable", "old mode 100644\nnew mode 100755\n"],
  ["a mode that is made plain", "old mode 100755\nnew mode 100644\n"],
  ["a mode that everybody may write and run", "old mode 100644\nnew mode 100777\n"],
  ["a mode that the group may write", "old mode 100755\nnew mode 100664\n"],
  ["a new mode alone", "new mode 100755\n"],
  ["an old mode alone", "old mode 100755\n"],
  ["a new mode and 100644 in the index line", "new mode 100755\nindex 1234567..89abcde 100644\n"],
];

describe("A mode is changed as git changes it", () => {
  for (const mode of [0o644, 0o755])
    it.each(MODES)(`where the file has ${mode.toString(8)}, by %s`, async (_, header) => {
      const patch = git("a/f b/f", header + NAMES);
      expect(await askUs(patch, "a\n", mode)).toEqual(askGit(patch, "a\n", mode));
    });

  it.each([0o644, 0o755])("by a rename with a mode in its index line, where the file has %i", async (mode) => {
    const header = "similarity index 50%\nrename from f\nrename to g\nindex 1234567..89abcde 100755\n";
    const patch = git("a/f b/g", `${header}--- a/f\n+++ b/g\n`);
    expect(await askUs(patch, "a\n", mode)).toEqual(askGit(patch, "a\n", mode));
  });
});

const MOVE = "similarity index 50%\nrename from f\nrename to g\n";

/** `doubt`: git takes one side of the contradiction, and we take none. */
const CONTRADICTIONS: { name: string; patch: string; text?: string; doubt?: true }[] = [
  { name: "no contradiction", patch: git("a/f b/f", NAMES) },
  { name: "another new name", patch: git("a/f b/f", "--- a/f\n+++ b/f-blah\n"), doubt: true },
  { name: "another old name", patch: git("a/f b/f", "--- a/f-blah\n+++ b/f\n") },
  { name: "two other names", patch: git("a/g b/g", NAMES), doubt: true },
  { name: "two names that tell of a rename", patch: git("a/f b/g", "--- a/f\n+++ b/g\n") },
  { name: "two names that tell of no rename", patch: git("a/f b/g", NAMES), doubt: true },
  { name: "a rename whose old name is another", patch: git("a/f b/g", `${MOVE}--- a/h\n+++ b/g\n`) },
  { name: "a rename whose new name is another", patch: git("a/f b/g", `${MOVE}--- a/f\n+++ b/h\n`) },
  { name: "a rename to another name than git's", patch: git("a/f b/h", MOVE, ""), doubt: true },
  {
    name: "a created file of another name",
    patch: git("a/g b/g", "new file mode 100644\n--- /dev/null\n+++ b/h\n", FROM_NOTHING),
  },
  { name: "a created file that is there", patch: `--- /dev/null\n+++ b/f\n${FROM_NOTHING}` },
  {
    name: "an empty file that has text",
    patch: git("a/f b/f", `index e69de29..89abcde 100644\n${NAMES}`, FROM_NOTHING),
  },
  {
    name: "an empty file that has the text already",
    patch: git("a/f b/f", `index e69de29..89abcde 100644\n${NAMES}`, FROM_NOTHING),
    text: "b\n",
  },
  {
    name: "an empty file that is empty",
    patch: git("a/f b/f", `index e69de29..89abcde 100644\n${NAMES}`, FROM_NOTHING),
    text: "",
  },
  {
    name: "an empty file with old lines",
    patch: git("a/f b/f", `index e69de29..89abcde 100644\n${NAMES}`),
    doubt: true,
  },
  {
    name: "an empty file by its whole name",
    patch: git("a/f b/f", `index ${EMPTY}..89abcde 100644\n${NAMES}`),
    doubt: true,
  },
  {
    name: "lines left in a file that is emptied",
    patch: git("a/f b/f", `index 1234567..e69de29 100644\n${NAMES}`, "@@ -1,2 +1 @@\n-a\n b\n"),
    text: "a\nb\n",
    doubt: true,
  },
  {
    name: "no line left in a file that is emptied",
    patch: git("a/f b/f", `index 1234567..e69de29 100644\n${NAMES}`, "@@ -1 +0,0 @@\n-a\n"),
  },
  {
    name: "a deleted file with more lines",
    patch: git(
      "a/f b/f",
      "deleted file mode 100644\nindex 1234567..0000000\n--- a/f\n+++ /dev/null\n",
      "@@ -1 +0,0 @@\n-a\n",
    ),
    text: "a\nb\n",
  },
  {
    name: "an empty file that is deleted, with text",
    patch: "diff --git a/f b/f\ndeleted file mode 100644\nindex e69de29..0000000\n",
  },
];

describe("A contradiction is a conflict, as for git or where git guesses", () => {
  it.each(CONTRADICTIONS)("$name", async ({ patch, text = "a\n", doubt }) => {
    const theirs = askGit(patch, text, 0o644);
    if (doubt) expect(theirs).not.toBeNull();
    const ours = await askUs(patch, text, 0o644);
    expect(ours).toEqual(doubt ? null : theirs);
    // Lenient reading is no less careful here.
    const lenient = parsePatch(patch);
    if (ours === null && lenient.ok) expect(applyPatch(lenient.patch, text)).toMatchObject({ ok: false });
  });

  it("an empty file that has the text already is told apart from one with another text", () => {
    const reading = parsePatch(git("a/f b/f", `index e69de29..89abcde 100644\n${NAMES}`, FROM_NOTHING));
    if (!reading.ok) throw new Error(reading.errors[0]!.message);
    for (const apply of [applyPatch, applyStrictly]) {
      expect(apply(reading.patch, "b\n")).toMatchObject({ conflicts: [{ reason: "already-applied" }] });
      expect(apply(reading.patch, "c\n")).toMatchObject({ conflicts: [{ reason: "stale" }] });
      expect(apply(reading.patch, "")).toMatchObject({ ok: true, text: "b\n" });
    }
  });
});

const PLACES: readonly (readonly [name: string, hunk: string, text: string])[] = [
  ["a last line without a line feed", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "a"],
  ["one where the text has it", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "a\n"],
  ["none where the text lacks it", HUNK, "a"],
  ["a line feed that goes", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", "a\n"],
  ["context that lacks it on both sides", "@@ -1,2 +1,2 @@\n-a\n+b\n c\n\\ No newline at end of file\n", "a\nc"],
  ["lines added at the end", "@@ -2 +2,2 @@\n c\n+d\n", "a\nc\n"],
  ["lines added at an end that is further down", "@@ -1 +1,2 @@\n c\n+d\n", "a\nc\n"],
  ["lines added at no end", "@@ -2 +2,2 @@\n c\n+d\n", "a\nc\ne\n"],
  ["lines deleted at the end", "@@ -1,2 +1 @@\n a\n-c\n", "a\nc\n"],
];

describe("The end of a file is strictly what git takes for it", () => {
  it.each(PLACES)("%s", async (_, hunk, text) => {
    const patch = NAMES + hunk;
    const reading = parsePatch(patch, { strict: true });
    if (!reading.ok) throw new Error(reading.errors[0]!.message);
    const result = applyStrictly(reading.patch, text);
    const theirs = askGit(patch, text, 0o644, "--whitespace=nowarn");
    expect(result.ok ? result.text : null).toBe(theirs === null ? null : theirs.text);
  });
});

describe("Header lines without git's name one file, of two names the new one as for git", () => {
  const cases: [old: string, now: string, path: string][] = [
    ["a/x.js", "b/x.js", "x.js"],
    ["x.js.orig", "x.js", "x.js"],
    ["x.js~", "x.js", "x.js"],
    ["old/src/x.js", "new/src/x.js", "src/x.js"],
    ["a/x.js", "b/y.js", "y.js"],
    ["a/x.js", "b/x.json", "x.js"],
    ["x.js", "y.js", "y.js"],
    ["a/src/x.js", "b/lib/x.js", "lib/x.js"],
  ];
  it.each(cases)("%s and %s", (old, now, path) => {
    const patch = `--- ${old}\n+++ ${now}\n${HUNK}`;
    for (const text of [patch, `\`\`\`diff\n${patch}\`\`\`\n`])
      for (const read of [parsePatch, parseEdits]) {
        const reading = read(text);
        expect(reading.ok && reading.patch.files[0]!.after).toBe(path);
      }
  });
});
