import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { applyPatch, type ParseOptions, parseEdits, parsePatch, readEdits } from "@parlance/edits";
import { describe, expect, it, test } from "vitest";
import { inFolder } from "../git.js";

const HUNK = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
const RULE = "=".repeat(67);

/** The header of each tool, the file it names, and the leading folders that git has to take off. */
const HEADERS: readonly (readonly [tool: string, header: string, path: string, strip: number])[] = [
  ["git", "diff --git a/f.js b/f.js\nindex 1234567..89abcde 100644\n--- a/f.js\n+++ b/f.js\n", "f.js", 1],
  ["git without prefixes", "diff --git f.js f.js\nindex 1234567..89abcde 100644\n--- f.js\n+++ f.js\n", "f.js", 0],
  ["git with mnemonic prefixes", "diff --git i/d/f.js w/d/f.js\n--- i/d/f.js\n+++ w/d/f.js\n", "d/f.js", 1],
  ["git, a name with a blank", "diff --git a/f g.js b/f g.js\n--- a/f g.js\t\n+++ b/f g.js\t\n", "f g.js", 1],
  [
    "git, a quoted name",
    'diff --git "a/\\303\\274.js" "b/\\303\\274.js"\n--- "a/\\303\\274.js"\n+++ "b/\\303\\274.js"\n',
    "ü.js",
    1,
  ],
  [
    "git format-patch",
    "From 0123 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH] x\n\n---\n f.js | 2 +-\n\ndiff --git a/f.js b/f.js\n--- a/f.js\n+++ b/f.js\n",
    "f.js",
    1,
  ],
  [
    "GNU diff -u of two files",
    "--- old.txt\t2026-07-19 12:28:25.056182029 +0100\n+++ new.txt\t2026-07-19 12:28:13.036639136 +0100\n",
    "new.txt",
    0,
  ],
  [
    "GNU diff -u of two folders",
    "diff -u a/d/f.js b/d/f.js\n--- a/d/f.js\t2026-07-19 12:28:25.056182029 +0100\n+++ b/d/f.js\t2026-07-19 12:28:13.036639136 +0100\n",
    "d/f.js",
    1,
  ],
  [
    "GNU diff -Nru of two versions",
    "diff -Nru x-1.0/d/f.js x-1.1/d/f.js\n--- x-1.0/d/f.js\t2026-07-19 12:28:25.000000000 +0100\n+++ x-1.1/d/f.js\t2026-07-19 12:28:13.000000000 +0100\n",
    "d/f.js",
    1,
  ],
  [
    "GNU diff beside a backup",
    "--- f.js.orig\t2026-07-19 12:28:25.056182029 +0100\n+++ f.js\t2026-07-19 12:28:13.036639136 +0100\n",
    "f.js",
    0,
  ],
  ["GNU diff --label", "--- f.js\tas it was\n+++ f.js\tas it is\n", "f.js", 0],
  [
    "a blank in place of the tab",
    "--- f.js 2026-07-19 12:28:25.056182029 +0100\n+++ f.js 2026-07-19 12:28:13.036639136 +0100\n",
    "f.js",
    0,
  ],
  ["jsdiff", `Index: f.js\n${RULE}\n--- f.js\n+++ f.js\n`, "f.js", 0],
  ["jsdiff with headers", `Index: f.js\n${RULE}\n--- f.js\told\n+++ f.js\tnew\n`, "f.js", 0],
  ["jsdiff with one header twice", "--- f.js\tOriginal\n+++ f.js\tOriginal\n", "f.js", 0],
  ["jsdiff createTwoFilesPatch", `${RULE}\n--- old.js\tbefore\n+++ new.js\tafter\n`, "new.js", 0],
  ["gemini-cli", `Index: f.js\n${RULE}\n--- f.js\tCurrent\n+++ f.js\tProposed\n`, "f.js", 0],
  ["gemini-cli, an edit by the user", `Index: f.js\n${RULE}\n--- f.js\tOriginal\n+++ f.js\tWritten\n`, "f.js", 0],
  ["Subversion", `Index: d/f.js\n${RULE}\n--- d/f.js\t(revision 3)\n+++ d/f.js\t(working copy)\n`, "d/f.js", 0],
  [
    "Subversion of two branches",
    `Index: f.js\n${RULE}\n--- f.js\t(.../trunk)\t(revision 3)\n+++ f.js\t(.../branches/b)\t(revision 4)\n`,
    "f.js",
    0,
  ],
  [
    "Mercurial",
    "diff -r 0123456789ab d/f.js\n--- a/d/f.js\tSun Jul 19 12:28:25 2026 +0100\n+++ b/d/f.js\tSun Jul 19 12:28:13 2026 +0100\n",
    "d/f.js",
    1,
  ],
  ["Mercurial like git", "diff --git a/d/f.js b/d/f.js\n--- a/d/f.js\n+++ b/d/f.js\n", "d/f.js", 1],
  [
    "Bazaar",
    "=== modified file 'd/f.js'\n--- d/f.js\t2026-07-19 11:28:25 +0000\n+++ d/f.js\t2026-07-19 11:28:13 +0000\n",
    "d/f.js",
    0,
  ],
  ["Python's difflib", "--- a/f.js\n+++ b/f.js\n", "f.js", 1],
  [
    "Python's difflib with dates",
    "--- before.py\t2026-07-19T12:28:25\n+++ after.py\t2026-07-19T12:28:13\n",
    "after.py",
    0,
  ],
];

/** The path that each reader finds; null where it refuses. */
const READERS: Readonly<Record<string, (text: string, options: ParseOptions) => string | null>> = {
  parsePatch: (text, options) => pathOf(parsePatch(text, options)),
  strictly: (text, options) => pathOf(parsePatch(text, { ...options, strict: true })),
  parseEdits: (text) => pathOf(parseEdits(text)),
  readEdits(text) {
    const reader = readEdits();
    const events = [...reader.push(text), ...reader.end()];
    const [edit] = events.filter((event) => event.type === "edit");
    return edit && !events.some(({ type }) => type === "error") ? edit.patch.files[0]!.after : null;
  },
};

function pathOf(reading: ReturnType<typeof parsePatch>): string | null {
  return reading.ok ? reading.patch.files[0]!.after : null;
}

describe.each(HEADERS)("a header of %s", (_tool, header, path, strip) => {
  const text = header + HUNK;

  it("names the file that git finds, for each reader", () => {
    inFolder((folder) => {
      writeFileSync(join(folder, "diff"), text);
      const run = spawnSync("git", ["apply", `-p${strip}`, "-z", "--numstat", "diff"], {
        cwd: folder,
        encoding: "utf8",
      });
      // git knows no blank in place of a tab without its own header.
      expect(run.stdout.split("\0")[0]!.split("\t")[2]).toBe(path);
    });
    for (const [name, read] of Object.entries(READERS)) {
      if (name === "strictly" && / 2026/.test(header.split("\t")[0]!)) continue;
      expect(read(text, name === "strictly" ? { strip } : {}), name).toBe(path);
      if (name !== "strictly") expect(read(`Here it is:\n\n\`\`\`diff\n${text}\`\`\`\n\nDone.\n`, {}), name).toBe(path);
    }
  });

  it("leaves the hunk below it as it is", () => {
    for (const read of [parsePatch, parseEdits]) {
      const reading = read(text);
      expect(reading.ok && applyPatch(reading.patch, "a\nb\n")).toMatchObject({ ok: true, text: "a\nc\n" });
    }
  });
});

const NAMES: readonly (readonly [old: string, now: string, path: string])[] = [
  ["f.js", "f.js", "f.js"],
  ["a/d/f.js", "b/d/f.js", "d/f.js"],
  ["old.js", "new.js", "new.js"],
  ["my f.js", "my f.js", "my f.js"],
];
const STAMPS = ["", "\t", "\tCurrent", "\t(revision 3)", "\t2026-07-19 12:28:25.056 +0100", "\tx\ty", "\t1970"];
const ABOVE = ["", `Index: f.js\n${RULE}\n`, "diff -u a b\n", "Only in b: g.js\n"];

test("names, stamps and lines above them combine as they like", () => {
  for (const [old, now, path] of NAMES)
    for (const oldStamp of STAMPS)
      for (const newStamp of STAMPS)
        for (const above of ABOVE) {
          const text = `${above}--- ${old}${oldStamp}\n+++ ${now}${newStamp}\n${HUNK}`;
          for (const [name, read] of Object.entries(READERS))
            if (name !== "strictly") expect(read(text, {}), `${name}: ${text}`).toBe(path);
          const reading = parsePatch(text);
          expect(reading.ok && [reading.patch.files[0]!.oldStamp, reading.patch.files[0]!.newStamp]).toEqual(
            [oldStamp, newStamp].map((stamp) => stamp.slice(1) || undefined),
          );
        }
});

const MOVE = "similarity index 100%\nrename from d/old.js\nrename to d/new.js\n";

test.each([
  ["a rename", `diff --git a/d/old.js b/d/new.js\n${MOVE}`, "rename"],
  ["a rename behind prose", `It only moves:\n\ndiff --git a/d/old.js b/d/new.js\n${MOVE}`, "rename"],
  [
    "a rename and a change",
    `diff --git a/d/old.js b/d/new.js\n${MOVE.replace("100", "80")}--- a/d/old.js\n+++ b/d/new.js\n${HUNK}`,
    "rename",
  ],
  ["a copy", `diff --git a/d/old.js b/d/new.js\n${MOVE.replaceAll("rename", "copy")}`, "copy"],
])("%s is read by every reader", (_, text, kind) => {
  for (const each of [text, `\`\`\`diff\n${text}\`\`\`\n`])
    for (const read of [parsePatch, parseEdits])
      expect(read(each)).toMatchObject({
        ok: true,
        patch: { files: [{ kind, before: "d/old.js", after: "d/new.js" }] },
      });
  expect(READERS.readEdits!(text, {})).toBe("d/new.js");
});

test("a binary patch is refused by every reader", () => {
  const text = "diff --git a/x.png b/x.png\nindex 1234567..89abcde 100644\nBinary files a/x.png and b/x.png differ\n";
  for (const read of [parsePatch, parseEdits])
    expect(read(text)).toMatchObject({ ok: false, errors: [{ reason: "binary", line: 3 }] });
  expect(READERS.readEdits!(text, {})).toBeNull();
});
