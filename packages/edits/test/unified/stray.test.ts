import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createPatch, formatPatch, type ParseOptions, parseEdits, parsePatch, readEdits } from "@parlance/edits";
import { describe, expect, it, test } from "vitest";
import { inFolder } from "../git.js";
import { type Random, random } from "../random.js";
import { seeded } from "../seed.js";
import { editText, readSources } from "../sources.js";

const seed = seeded(Date.now() % 1_000_000);
const rounds = process.env.PARLANCE_LONG ? 40 : 4;

const HEAD = "--- a/x\n+++ b/x\n";

describe("A changed line outside of any hunk", () => {
  it.each<[string, string, number]>([
    ["behind a blank line and counts that are too small", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n\n- c\n+d\n", 9],
    ["in a list with another hunk behind it", "@@ -1 +1 @@\n-a\n+b\n\nThis does:\n- c\n@@ -9 +9 @@\n-x\n+y\n", 8],
    ["in a list with two kinds of marks", "@@ -1 +1 @@\n-a\n+b\n\nThis does:\n- c\n+ d\n", 9],
    ["in a list right behind counts that do not fit", "@@ -1,9 +1,9 @@\n a\n-b\n+B\n\n- c\n", 8],
  ])("is an error: %s", (_, hunks, line) => {
    const reading = parsePatch(HEAD + hunks);
    expect(reading).toMatchObject({ ok: false, errors: [{ reason: "stray-line", line }] });
  });

  it("is an error in strict reading as well where it is context right behind counts that are too small", () => {
    const reading = parsePatch(`${HEAD}@@ -1,0 +1 @@\n+a\n b\n c\n`, { strict: true });
    expect(reading).toMatchObject({ ok: false, errors: [{ reason: "stray-line", line: 5 }] });
  });

  it.each<[string, string]>([
    ["alone", `${HEAD}-a\n+b\n`],
    ["behind another file", `${HEAD}@@ -1 +1 @@\n-a\n+b\n${HEAD.replaceAll("x", "y")}-a\n+b\n`],
    ["before another file", `${HEAD}-a\n+b\n${HEAD.replaceAll("x", "y")}@@ -1 +1 @@\n-a\n+b\n`],
    ["below git's header", `diff --git a/x b/x\n${HEAD}-a\n+b\n${HEAD.replaceAll("x", "y")}@@ -1 +1 @@\n-a\n+b\n`],
  ])("is an error where the hunk has no header: %s", (_, text) => {
    for (const strict of [false, true]) expect(parsePatch(text, { strict }).ok).toBe(false);
  });

  it.each<[string, string]>([
    ["context lost its space", "@@ -1,2 +1,2 @@\n a\n-b\n+B\nc\n+d\n"],
    ["in a fence", "```\n"],
  ])("belongs to the hunk where nothing else can be meant: %s", (kind, hunks) => {
    const body = "@@ -1,2 +1,2 @@\n a\n-b\n+B\nc\n+d\n";
    const reading = parsePatch(kind === "in a fence" ? `${hunks}${HEAD}${body}${hunks}` : HEAD + hunks);
    expect(reading).toMatchObject({
      ok: true,
      patch: { files: [{ hunks: [{ lines: [" a", "-b", "+B", " c", "+d"] }] }] },
    });
  });

  it.each<[string, string]>([
    ["behind prose", "\nThis does:\n- c\n- d\n"],
    ["behind prose, with pluses", "\nThis does:\n+ c\n+ d\n"],
    ["behind a blank line", "\n- c\n- d\n"],
    ["behind a rule", "\n---\n\n- c\n"],
    ["behind a mail's signature", "-- \n2.39.5\n\nFrom 0 Mon Sep 17\n-fPIC is needed\n"],
  ])("is prose in a list: %s", (_, prose) => {
    expect(parsePatch(`${HEAD}@@ -1,2 +1,2 @@\n a\n-b\n+B\n${prose}`)).toMatchObject({ ok: true });
  });
});

describe("A fence inside a hunk", () => {
  const body = " Run:\n```sh\n-npm i\n+pnpm i\n```\n Enjoy.\n";
  const meant = [" Run:", " ```sh", "-npm i", "+pnpm i", " ```", " Enjoy."];
  const bare = " Run:\n```\n-npm i\n+pnpm i\n```\n Enjoy.\n";

  it.each<[string, string, string[]]>([
    ["with a language", body, meant],
    ["without one", bare, meant.map((line) => line.replace("```sh", "```"))],
  ])("is context while the counts are open: %s", (_, lines, expected) => {
    const diff = `${HEAD}@@ -1,5 +1,5 @@\n${lines}`;
    for (const text of [diff, `\`\`\`diff\n${diff}\`\`\`\nDone.\n`, `\`\`\`diff\n${diff}\`\`\`\n\n- done\n`]) {
      expect(parsePatch(text)).toMatchObject({ ok: true, patch: { files: [{ hunks: [{ lines: expected }] }] } });
      const reader = readEdits();
      const edits = [...reader.push(text), ...reader.end({ complete: true })].filter(({ type }) => type === "edit");
      expect(edits).toMatchObject([{ patch: { files: [{ hunks: [{ lines: expected }] }] } }]);
    }
  });

  it("ends nothing in silence where the counts do not fit either", () => {
    const text = `\`\`\`diff\n${HEAD}@@ -1,7 +1,7 @@\n${bare}\`\`\`\nDone.\n`;
    expect(parsePatch(text)).toMatchObject({ ok: false, errors: [{ reason: "stray-line", line: 7 }] });
  });
});

/** Spoils each hunk as models do: wrong counts, context without its space, blank context without it. */
function spoil(random: Random, text: string): string {
  const lines = text.split("\n");
  return lines
    .map((line) => {
      if (line.startsWith("@@") && random.chance(0.6))
        return line.replace(/,(\d+)/g, (_, count) => `,${Math.max(0, Number(count) + random.below(7) - 4)}`);
      if (line === " " && random.chance(0.5)) return "";
      return line.startsWith(" ") && random.chance(0.1) ? line.slice(1) : line;
    })
    .join("\n");
}

const changed = (lines: readonly string[]) => lines.filter((line) => /^[-+]/.test(line)).length;

test("every changed line of a spoilt patch is read or the patch is refused", () => {
  const draw = random(seed);
  let read = 0;
  let all = 0;
  for (let round = 0; round < rounds; round++)
    for (const before of readSources(80)) {
      const patch = createPatch(before, editText(draw, before, 1 + draw.below(6)), { path: "x" });
      if (patch.files.length === 0) continue;
      const meant = patch.files.flatMap(({ hunks }) => hunks.flatMap(({ lines }) => lines));
      const spoilt = spoil(draw, formatPatch(patch));
      const wrapped = draw.chance(0.5) ? spoilt : `Here:\n\n\`\`\`diff\n${spoilt}\`\`\`\n\nThat is all:\n- done\n`;
      const reading = parsePatch(wrapped);
      all++;
      if (!reading.ok) continue;
      const found = reading.patch.files.flatMap(({ hunks }) => hunks.flatMap(({ lines }) => lines));
      expect(changed(found), wrapped).toBeGreaterThanOrEqual(changed(meant));
      read++;
    }
  expect(read / all).toBeGreaterThan(0.5);
});

test.each<[string, ParseOptions, string, string[]]>([
  ["one by default", {}, "a/src/x", ["src/x"]],
  ["none", { strip: 0 }, "src/x", ["src/x"]],
  ["three, as an absolute path needs", { strip: 4 }, "a//home/me/src/x", ["src/x"]],
])("leading folders are taken off: %s", (_, options, name, [path]) => {
  const other = name.replace(/^a/, "b");
  const text = `--- ${name}\n+++ ${other}\n@@ -1 +1 @@\n-a\n+b\n`;
  expect(parsePatch(text, options)).toMatchObject({ ok: true, patch: { files: [{ before: path, after: path }] } });
  if (options.strip === undefined || !name.includes("//"))
    expect(parsePatch(text, { ...options, strict: true })).toMatchObject({
      ok: true,
      patch: { files: [{ after: path }] },
    });
});

test("leading folders are counted as git apply counts them, and several slashes made one", () => {
  const names = ["a//b", "./a/b", "a/./b", "/abs/a/b", "//a/b", "x/a//b", "a/b/", "a///b//c", "b"];
  inFolder((folder) => {
    for (const name of names)
      for (let strip = 0; strip < 6; strip++) {
        const text = `--- /dev/null\n+++ ${name}\n@@ -0,0 +1 @@\n+x\n`;
        writeFileSync(join(folder, "diff"), text);
        const run = spawnSync("git", ["apply", `-p${strip}`, "--numstat", "diff"], { cwd: folder, encoding: "utf8" });
        const theirs = run.status === 0 ? run.stdout.trim().split("\t")[2] : null;
        const made = (strict: boolean) => {
          const reading = parsePatch(text, { strip, strict });
          return reading.ok ? reading.patch.files[0]!.after : null;
        };
        expect(made(false), `${name} -p${strip}`).toBe(theirs);
        // Strict reading refuses what is absolute, which git refuses when it writes.
        expect(made(true), `${name} -p${strip}`).toBe(theirs?.startsWith("/") ? null : theirs);
      }
  });
});

test.each<[string, string]>([
  ["GNU diff", "1970-01-01 00:00:00.000000000 +0000"],
  ["GNU diff in another zone", "1969-12-31 19:00:00.000000000 -0500"],
  ["busybox", "1970-01-01 00:00:00"],
  ["Mercurial", "Thu Jan 01 00:00:00 1970 +0000"],
  ["an ISO date", "1970-01-01T00:00:00Z"],
])("a file whose old time stamp is the epoch is created, one whose new is deleted: %s", (_, epoch) => {
  const text = `--- a/x\t${epoch}\n+++ b/x\t2026-11-22 10:00:00\n@@ -0,0 +1 @@\n+a\n`;
  expect(parsePatch(text)).toMatchObject({ ok: true, patch: { files: [{ kind: "create", after: "x" }] } });
  const back = `--- a/x\t2026-11-22 10:00:00\n+++ b/x\t${epoch}\n@@ -1 +0,0 @@\n-a\n`;
  expect(parsePatch(back)).toMatchObject({ ok: true, patch: { files: [{ kind: "delete", before: "x" }] } });
});

test.each([
  ["-3,1 +3,1", "bad-hunk"],
  ["-3 +3", "bad-hunk"],
  ["-3,1 +3,2", "bad-hunk"],
  ["-2,3 +2,4", "bad-hunk"],
  ["-3,0 +4,1", undefined],
  ["-3,0 +4,2", undefined],
])("new lines alone below a header that counts old ones have no certain place: %s", (numbers, reason) => {
  for (const read of [parsePatch, parseEdits]) {
    const reading = read(`${HEAD}@@ ${numbers} @@\n+c\n`);
    expect(reading.ok ? undefined : reading.errors[0]!.reason).toBe(reason);
  }
});
