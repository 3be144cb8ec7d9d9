import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { applyPatch as jsdiffApply } from "diff";
import { describe, expect, test, vi } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { createPatch } from "../../src/diff/create.js";
import { applyStrictly } from "../../src/match/strict.js";
import type { FilePatch } from "../../src/patch.js";
import { formatPatch, parsePatch } from "../../src/unified/parse.js";
import { inFolder } from "../git.js";
import { applyAsGit } from "../git-apply.js";
import { type Random, random } from "../random.js";
import { seeded } from "../seed.js";
import { editText, readSources } from "../sources.js";

vi.setConfig({ testTimeout: 120_000 });

const seed = seeded(Date.now() % 1_000_000);
/** Cases with context, and without. */
const [some, bare] = process.env.PARLANCE_LONG ? [5000, 2000] : [2500, 1000];

interface Case {
  readonly patch: FilePatch;
  readonly text: string;
  readonly kind: string;
}

/** What may have happened to a text since a patch was made for it, and to the patch. */
const kinds: Record<string, (random: Random, before: string, patch: FilePatch, after: string) => [string, FilePatch]> =
  {
    clean: (_, before, patch) => [before, patch],
    "lines in front": (random, before, patch) => ["x\n".repeat(1 + random.below(40)) + before, patch],
    "lines gone in front": (random, before, patch) => [before.split("\n").slice(random.below(12)).join("\n"), patch],
    "edited since": (random, before, patch) => [editText(random, before, 1 + random.below(3)), patch],
    "already applied": (_, _before, patch, after) => [after, patch],
    "the text twice": (_, before, patch) => [`${before}\n${before}`, patch],
    "no final newline": (_, before, patch) => [before.replace(/\n+$/, ""), patch],
    "carriage returns": (_, before, patch) => [before.replaceAll("\n", "\r\n"), patch],
    "trailing space": (random, before, patch) => [
      before.replace(/;\n/g, () => (random.chance(0.05) ? "; \n" : ";\n")),
      patch,
    ],
    "wrong line numbers": (random, before, patch) => [before, renumber(random, patch)],
    "hunks out of order": (random, before, patch) => [before, shuffle(random, patch)],
    "a hunk left out": (random, before, patch) => [
      before,
      { ...patch, hunks: patch.hunks.filter(() => random.chance(0.6)) },
    ],
  };

function renumber(random: Random, patch: FilePatch): FilePatch {
  const hunks = patch.hunks.map((hunk) => {
    const off = random.below(40) - 20;
    const [oldStart, newStart] = [Math.max(1, hunk.oldStart! + off), Math.max(1, hunk.newStart! + off)];
    return hunk.oldStart === 0 || hunk.newStart === 0 ? hunk : { ...hunk, oldStart, newStart };
  });
  return { ...patch, hunks };
}

function shuffle(random: Random, patch: FilePatch): FilePatch {
  const hunks = [...patch.hunks];
  const [moved] = hunks.splice(random.below(hunks.length), 1);
  hunks.splice(random.below(hunks.length + 1), 0, moved!);
  return { ...patch, hunks };
}

function makeCases(count: number, context: readonly number[], source: Random, names: readonly string[]): Case[] {
  const sources = readSources(200);
  const cases: Case[] = [];
  for (let i = 0; cases.length < count; i++) {
    const before = i % 3 === 0 ? repetitive(source) : excerpt(source, source.pick(sources));
    const after = editText(source, before, 1 + source.below(5));
    const path = `${cases.length % 50}/${cases.length}`;
    const [file] = createPatch(before, after, { path, context: source.pick(context) }).files;
    const kind = names[i % names.length]!;
    if (!file) continue;
    const [text, patch] = kinds[kind]!(source, before, file, after);
    if (patch.hunks.length > 0) cases.push({ text, patch, kind });
  }
  return cases;
}

function excerpt(source: Random, text: string): string {
  const lines = text.split("\n");
  const from = source.below(lines.length);
  return lines.slice(from, from + 5 + source.below(120)).join("\n");
}

function repetitive(source: Random): string {
  const line = () => source.pick(["", "  a", "}", "  return;", `b${source.below(12)}`]);
  return Array.from({ length: source.below(60) }, line).join("\n") + (source.chance(0.8) ? "\n" : "");
}

/** One process reads all cases at once: with `--reject` git judges each file by itself. */
function askGit(folder: string, cases: readonly Case[], ...args: string[]): (string | null)[] {
  for (let i = 0; i < 50; i++) mkdirSync(join(folder, `${i}`), { recursive: true });
  for (const { patch, text } of cases) writeFileSync(join(folder, patch.before!), text);
  writeFileSync(join(folder, "all.patch"), formatPatch({ files: cases.map(({ patch }) => patch) }));
  const run = spawnSync("git", ["apply", "--reject", "--whitespace=nowarn", ...args, "all.patch"], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    env: { ...process.env, LC_ALL: "C", GIT_CEILING_DIRECTORIES: join(folder, "..") },
  });
  expect(run.stderr).not.toMatch(/^(fatal|error: corrupt)/m);
  return cases.map(({ patch }) => {
    const path = join(folder, patch.before!);
    return existsSync(`${path}.rej`) ? null : readFileSync(path, "utf8");
  });
}

/**
 * Strict mode gives git's verdict and git's bytes, but for the differences that `applyAsGit` lists; there it gives what that says.
 * Returns in how many cases the two agreed on applying and on refusing, and in how many they differ.
 */
function compare(
  cases: readonly Case[],
  verdicts: readonly (string | null)[],
  unidiffZero: boolean,
): { taken: number; refused: number; differ: number } {
  const unexplained: unknown[] = [];
  const counts = { taken: 0, refused: 0, differ: 0 };
  cases.forEach(({ patch, text, kind }, i) => {
    const result = applyStrictly(patch, text, { unidiffZero });
    const ours = result.ok ? result.text : null;
    const theirs = verdicts[i]!;
    if (ours === theirs) counts[ours === null ? "refused" : "taken"]++;
    else {
      counts.differ++;
      const expected = [false, true].map((exactly) => applyAsGit(patch, text, { unidiffZero, exactly }));
      if (theirs !== expected[0] || ours !== expected[1])
        unexplained.push({ kind, text, theirs, ours, expected, patch });
    }
  });
  expect(unexplained.slice(0, 3), `${unexplained.length} differences`).toEqual([]);
  return counts;
}

describe("git apply as the oracle of strict mode", () => {
  test("gives the same verdict and the same bytes in thousands of cases with context", () => {
    const cases = makeCases(some * 1.12, [3, 3, 3, 1, 2, 8], random(seed), Object.keys(kinds));
    const { taken, refused, differ } = inFolder((folder) => compare(cases, askGit(folder, cases), false));
    expect(taken + refused).toBeGreaterThan(some);
    expect(Math.min(taken, refused)).toBeGreaterThan(some / 5);
    expect(differ).toBeLessThan(cases.length / 20);
  });

  test("gives the same verdict and the same bytes in a thousand cases without context", () => {
    const cases = makeCases(bare * 1.2, [0], random(seed + 1), Object.keys(kinds));
    const { taken, refused, differ } = inFolder((folder) =>
      compare(cases, askGit(folder, cases, "--unidiff-zero"), true),
    );
    expect(taken + refused).toBeGreaterThan(bare);
    expect(Math.min(taken, refused)).toBeGreaterThan(bare / 10);
    expect(differ).toBeLessThan(cases.length / 10);
  });

  test("gives the same verdict and the same bytes for every small change at the end of every small file", () => {
    const ends = ["", "a", "a\n", "b\n", "a\nb", "a\nb\n", "a\n\n", "a\nb\n\n", "a\nb\na\n", "a\r\nb\r\n", "b\na\nb"];
    const cases: Case[] = [];
    for (const before of ends)
      for (const after of ends)
        for (const context of [1, 3])
          for (const text of ends) {
            const path = `${cases.length % 50}/${cases.length}`;
            const [patch] = createPatch(before, after, { path, context }).files;
            if (patch) cases.push({ text, patch, kind: JSON.stringify([before, after, context]) });
          }
    const { taken, refused } = inFolder((folder) => compare(cases, askGit(folder, cases), false));
    expect(Math.min(taken, refused)).toBeGreaterThan(200);
    // What strict mode takes at the end of its own text, the ladder takes as well, and makes the same of it.
    for (const { text, patch, kind } of cases) {
      const [before, after] = JSON.parse(kind);
      if (before === text) expect(applyPatch(patch, text), kind).toMatchObject({ ok: true, text: after });
    }
  });

  test("git apply accepts whatever is written: each kind of change, mode and name", () => {
    const texts = ["", "a\n", "a\nb", "a\r\nb\r\n", "\n"];
    const names = [
      "plain",
      "with blank",
      " first",
      "last ",
      "tab\t",
      'quo"te',
      "back\\slash",
      "é",
      "a\nb",
      "deep/er/x",
      "-- x",
      "b/x",
    ];
    const before: Record<string, string> = {};
    const after: Record<string, string> = {};
    const files: FilePatch[] = [];
    const add = (
      oldPath: string | null,
      newPath: string | null,
      old: string,
      now: string,
      more: Partial<FilePatch> = {},
    ) => {
      const [file] = createPatch(old, now, { oldPath, newPath }).files;
      files.push({ ...(file ?? { kind: "modify", before: oldPath, after: newPath, hunks: [] }), ...more });
      if (oldPath !== null) before[oldPath] = old;
      if (oldPath !== null && more.kind === "copy") after[oldPath] = old;
      if (newPath !== null) after[newPath] = now;
    };
    names.forEach((name, n) => {
      texts.forEach((text, i) => {
        const other = texts[(i + 1 + (n % 4)) % texts.length]!;
        add(null, `${i}/new/${name}`, "", text);
        add(`${i}/gone/${name}`, null, text, "");
        add(`${i}/changed/${name}`, `${i}/changed/${name}`, text, other);
        add(`${i}/from/${name}`, `${i}/to/${name}`, text, text);
        add(`${i}/mode/${name}`, `${i}/mode/${name}`, text, text, { oldMode: "100644", newMode: "100755" });
        add(`${i}/was/${name}`, `${i}/is/${name}`, `${"x\n".repeat(9)}${text}`, `${"x\n".repeat(9)}${other}`);
        add(`${i}/old/${name}`, `${i}/copy/${name}`, text, text, { kind: "copy" });
      });
    });
    const patch = formatPatch({ files });
    expect(parsePatch(patch, { strict: true })).toEqual({ ok: true, patch: { files }, repairs: [] });
    inFolder((folder) => {
      for (const [path, text] of Object.entries(before)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), text);
      }
      const run = spawnSync("git", ["apply", "--whitespace=nowarn", "-"], {
        cwd: folder,
        input: patch,
        encoding: "utf8",
        env: { ...process.env, GIT_CEILING_DIRECTORIES: join(folder, "..") },
      });
      expect(run.stderr).toBe("");
      const found: Record<string, string> = {};
      for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
        if (entry.isFile()) {
          const path = join(entry.parentPath, entry.name);
          found[relative(folder, path)] = readFileSync(path, "utf8");
          expect(statSync(path).mode & 0o100, path).toBe(path.includes("/mode/") ? 0o100 : 0);
        }
      expect(found).toEqual(after);
    });
  });

  test("GNU patch and jsdiff read what is written, and make the same of it", () => {
    const cases = makeCases(600, [3], random(seed + 2), ["clean"]);
    inFolder((folder) => {
      for (let i = 0; i < 50; i++) mkdirSync(join(folder, `${i}`));
      for (const { patch, text } of cases) writeFileSync(join(folder, patch.before!), text);
      const all = formatPatch({ files: cases.map(({ patch }) => patch) });
      const run = spawnSync("patch", ["-p1", "--force", "--silent"], { cwd: folder, input: all, encoding: "utf8" });
      expect(run.stdout + run.stderr).toBe("");
      for (const { patch, text } of cases) {
        const after = applyPatch(patch, text);
        expect(after.ok && after.text).toBe(readFileSync(join(folder, patch.before!), "utf8"));
        expect(after.ok && after.text).toBe(jsdiffApply(text, formatPatch({ files: [patch] })));
      }
    });
  });
});
