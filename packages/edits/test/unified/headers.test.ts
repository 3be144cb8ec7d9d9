import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { applyStrictly, formatPatch, parsePatch } from "@parlance/edits";
import { describe, expect, it } from "vitest";
import { inFolder } from "../git.js";

const FILES = { x: "a\n", "x y": "a\n", empty: "" };
const DIFF = "diff --git a/x b/x\n";
const NAMES = "--- a/x\n+++ b/x\n";
const HUNK = "@@ -1 +1 @@\n-a\n+b\n";

/** Headers, each with its reading or the reason for none. Git is asked about each of them too. */
const HEADERS: { name: string; text: string; says: string }[] = [
  {
    name: "an empty file that is deleted",
    text: "diff --git a/empty b/empty\ndeleted file mode 100644\nindex e69de29..0000000\n",
    says: "delete empty -",
  },
  {
    name: "an empty file that is created",
    text: "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29\n",
    says: "create - n",
  },
  { name: "two modes", text: `${DIFF}old mode 100644\nnew mode 100755\n`, says: "modify x x" },
  {
    name: "a name with a blank",
    text: "diff --git a/x y b/x y\nold mode 100644\nnew mode 100755\n",
    says: "modify x y x y",
  },
  {
    name: "a rename",
    text: "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
    says: "rename x y",
  },
  { name: "a copy", text: "diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n", says: "copy x y" },
  { name: "the old mode alone", text: `${DIFF}old mode 100644\n`, says: "bad-hunk" },
  { name: "the new mode alone", text: `${DIFF}new mode 100755\n`, says: "bad-hunk" },
  { name: "the same mode twice", text: `${DIFF}old mode 100644\nnew mode 100644\n`, says: "bad-hunk" },
  { name: "a mode that is none", text: `${DIFF}old mode 10064x\nnew mode 100755\n`, says: "bad-header" },
  { name: "an index line alone", text: `${DIFF}index 1234567..89abcde 100644\n`, says: "bad-hunk" },
  { name: "a similarity alone", text: `${DIFF}similarity index 90%\n`, says: "bad-hunk" },
  { name: "an index line and a hunk", text: `${DIFF}index 1234567..89abcde 100644\n${HUNK}`, says: "modify x x" },
  { name: "no line below the diff line but a hunk", text: DIFF + HUNK, says: "no-file-header" },
  { name: "names below the diff line", text: DIFF + NAMES + HUNK, says: "modify x x" },
  { name: "a rename without its new name", text: "diff --git a/x b/y\nrename from x\n", says: "bad-header" },
  { name: "a rename without its old name", text: "diff --git a/x b/y\nrename to y\n", says: "bad-header" },
  {
    name: "two names of which none is marked as new",
    text: "diff --git a/x b/y\nold mode 100644\nnew mode 100755\n",
    says: "bad-header",
  },
  {
    name: "created and deleted at once",
    text: `${DIFF}new file mode 100644\ndeleted file mode 100644\n`,
    says: "bad-header",
  },
  {
    name: "renamed and copied at once",
    text: "diff --git a/x b/y\nrename from x\nrename to y\ncopy from x\ncopy to y\n",
    says: "bad-header",
  },
  {
    name: "created, but with an old name",
    text: "diff --git a/n b/n\nnew file mode 100644\n--- a/n\n+++ b/n\n@@ -0,0 +1 @@\n+b\n",
    says: "bad-header",
  },
  {
    name: "deleted, but with a new name",
    text: `${DIFF}deleted file mode 100644\n${NAMES}@@ -1 +0,0 @@\n-a\n`,
    says: "bad-header",
  },
  { name: "prose between two hunks", text: `${NAMES}${HUNK}prose\n@@ -5 +5 @@\n-a\n+b\n`, says: "no-file-header" },
  { name: "prose in front", text: `prose\n${NAMES}${HUNK}`, says: "modify x x" },
  { name: "a byte order mark", text: `\ufeff${NAMES}${HUNK}`, says: "no-file-header" },
  { name: "a second file without a change", text: `${NAMES}${HUNK}${DIFF}index 1..2 100644\n`, says: "bad-hunk" },
  {
    name: "a line of context that ends with a carriage return only",
    text: `${NAMES}@@ -1,2 +1,2 @@\n\r\n-a\n+b\n`,
    says: "bad-hunk",
  },
];

/** Where we refuse what git takes: a doubt that git settles by a guess. */
const DOUBTFUL: typeof HEADERS = [
  {
    name: "a name whose bytes are no UTF-8, which a string cannot hold",
    text: '"b/\\377"',
    says: "bad-header",
  },
  { name: "a name whose quotes do not end", text: '"b/x', says: "bad-header" },
].map((one) => ({ ...one, text: `--- a/x\n+++ ${one.text}\n${HUNK}` }));

function read(text: string, strict: boolean): string {
  const reading = parsePatch(text, { strict });
  if (!reading.ok) return reading.errors[0]!.reason;
  expect(parsePatch(formatPatch(reading.patch), { strict })).toEqual(reading);
  const { kind, before, after } = reading.patch.files[0]!;
  return `${kind} ${before ?? "-"} ${after ?? "-"}`;
}

function ask(text: string, how = "--check"): boolean {
  return inFolder((folder) => {
    for (const [name, content] of Object.entries(FILES)) writeFileSync(join(folder, name), content);
    const env = {
      ...process.env,
      LC_ALL: "C",
      GIT_CEILING_DIRECTORIES: join(folder, ".."),
      GIT_CONFIG_GLOBAL: "/dev/null",
    };
    return spawnSync("git", ["apply", how, "-"], { cwd: folder, input: text, env }).status === 0;
  });
}

describe("A header is read strictly as git reads it", () => {
  it.each(HEADERS)("with $name", ({ text, says }) => {
    expect(read(text, true)).toBe(says);
    expect(ask(text)).toBe(says.includes(" "));
  });

  it.each(DOUBTFUL)("but for $name", ({ text, says }) => {
    expect([read(text, true), read(text, false)]).toEqual([says, says]);
    expect(ask(text, "--numstat")).toBe(true);
  });
});

describe("A file without hunks", () => {
  const deletion = "diff --git a/empty b/empty\ndeleted file mode 100644\nindex e69de29..0000000\n";
  it.each([
    { text: "", ok: true },
    { text: "a\n", ok: false },
  ])("is deleted strictly only if it is empty: $ok", ({ text, ok }) => {
    const reading = parsePatch(deletion, { strict: true });
    if (!reading.ok) throw new Error(reading.errors[0]!.message);
    expect(applyStrictly(reading.patch, text).ok).toBe(ok);
  });
});
