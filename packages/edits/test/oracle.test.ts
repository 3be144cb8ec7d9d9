import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { applyPatch as jsdiffApply } from "diff";
import { describe, expect, test, vi } from "vitest";
import { applyPatch } from "../src/apply.js";
import { createPatch } from "../src/create.js";
import type { FilePatch } from "../src/patch.js";
import { applyStrictly } from "../src/strict.js";
import { formatPatch } from "../src/unified/format.js";
import { inFolder } from "./git.js";
import { type Random, random } from "./random.js";
import { editText, readSources } from "./sources.js";

vi.setConfig({ testTimeout: 120_000 });

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

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

/**
 * Without context a number is all there is: kinds that falsify it ask nothing (there git also matches
 * across lines that an earlier hunk deleted, or inserts between those that one inserted). Nor do texts to whose last line git glues the next.
 */
const trustworthy = ["clean", "the text twice", "carriage returns", "trailing space"];

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
 * git takes a hunk that says "no newline at end of file" in the middle of a text too, and glues its last line to the next one. Strict mode
 * takes such a hunk at the end only, so where the middle is open to git the two are not compared.
 */
function mayBeGlued(text: string, patch: FilePatch): boolean {
  return patch.hunks.some(({ lines, oldNoNewline, newNoNewline }) => {
    if (!oldNoNewline && !newNoNewline) return false;
    const old = lines.filter((line) => line[0] !== "+").map((line) => line.slice(1));
    const side = old.join("\n");
    const at = text.indexOf(side);
    return side === "" || (at >= 0 && text.slice(at + side.length).trim() !== "");
  });
}

function compare(
  cases: readonly Case[],
  verdicts: readonly (string | null)[],
  unidiffZero: boolean,
): { taken: number; refused: number } {
  const differences: unknown[] = [];
  let taken = 0;
  cases.forEach(({ patch, text, kind }, i) => {
    const ours = applyStrictly(patch, text, { unidiffZero });
    const theirs = verdicts[i];
    if (theirs !== null) taken++;
    if (theirs !== null && mayBeGlued(text, patch)) return;
    if ((ours.ok ? ours.text : null) !== theirs) differences.push({ kind, text, theirs, ours, patch });
  });
  expect(differences.slice(0, 3), `${differences.length} differences`).toEqual([]);
  return { taken, refused: cases.length - taken };
}

describe(`git apply as the oracle of strict mode, seed ${seed}`, () => {
  test("gives the same verdict and the same bytes in 5,400 cases with context", () => {
    const cases = makeCases(5400, [3, 3, 3, 1, 2, 8], random(seed), Object.keys(kinds));
    const { taken, refused } = inFolder((folder) => compare(cases, askGit(folder, cases), false));
    expect(Math.min(taken, refused)).toBeGreaterThan(1000);
  });

  test("gives the same verdict and the same bytes in 1,200 cases without context", () => {
    const cases = makeCases(1200, [0], random(seed + 1), trustworthy).filter(({ text }) => text.endsWith("\n"));
    inFolder((folder) => compare(cases, askGit(folder, cases, "--unidiff-zero"), true));
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
