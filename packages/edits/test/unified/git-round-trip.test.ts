import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { formatPatch, parsePatch } from "@parlance/edits";
import { beforeAll, describe, expect, it } from "vitest";
import { git, inFolder } from "../git.js";
import { type Random, random } from "../random.js";
import { editText, readSources } from "../sources.js";

const NAMES = [
  "plain.ts",
  "deep/er/file.ts",
  "two words.txt",
  "café.md",
  'say "hi".js',
  "tab\there",
  "back\\slash",
  "日本/語 x.ts",
  "b b/b",
];

const OPTIONS = [[], ["-M", "-C", "--find-copies-harder"], ["-U0"], ["-U20", "--full-index"], ["--patience", "-B"]];

/** By seed and options. Each repository is made once, and git writes the diff of it with all options in turn. */
const diffs = new Map<number, readonly string[]>();
beforeAll(() => {
  const sources = readSources(60);
  for (const seed of [1, 2, 3])
    diffs.set(
      seed,
      inFolder((folder) => {
        edit(folder, sources, random(seed));
        return OPTIONS.map((args) => git(folder, "diff", "--no-color", ...args));
      }),
    );
}, 30_000);

describe("What git writes", () => {
  it.each(OPTIONS.map((args, i) => [args.join(" ") || "no options", i] as const))(
    "comes back byte for byte with %s",
    (_, i) => {
      for (const [seed, texts] of diffs) {
        const text = texts[i]!;
        expect(text.length).toBeGreaterThan(5_000);
        for (const strict of [true, false]) {
          const reading = parsePatch(text, { strict });
          if (!reading.ok) throw new Error(`seed ${seed}: ${JSON.stringify(reading.errors)}`);
          expect(reading.repairs, `seed ${seed}`).toEqual([]);
          expect(firstDifference(formatPatch(reading.patch), text), `seed ${seed}`).toBeNull();
          // Deep equality by Node: the patches are large.
          expect(isDeepStrictEqual(JSON.parse(JSON.stringify(reading.patch)), reading.patch), `seed ${seed}`).toBe(
            true,
          );
        }
      }
    },
  );
});

/** Instead of a comparison of whole texts, whose report would be megabytes. */
function firstDifference(ours: string, theirs: string): string | null {
  if (ours === theirs) return null;
  const lines = theirs.split("\n");
  const at = ours.split("\n").findIndex((line, i) => line !== lines[i]);
  return `line ${at + 1}: ${ours
    .split("\n")
    .slice(at - 3, at + 3)
    .join("\n")} INSTEAD OF ${lines.slice(at - 3, at + 3).join("\n")}`;
}

/** A repository of real files, each edited, moved, copied, made, emptied, made executable or deleted. */
function edit(folder: string, sources: readonly string[], dice: Random): void {
  const paths = sources.map((_, i) => `${i}/${NAMES[i % NAMES.length]}`);
  git(folder, "init", "-q");
  sources.forEach((text, i) => {
    write(folder, paths[i]!, i % 7 === 3 ? text.replaceAll("\n", "\r\n") : text);
  });
  write(folder, "empty.txt", "");
  git(folder, "add", "-A");
  sources.forEach((text, i) => {
    const path = paths[i]!;
    const kind = dice.below(10);
    if (kind === 0) rmSync(join(folder, path));
    else write(folder, path, editText(dice, i % 7 === 3 ? text.replaceAll("\n", "\r\n") : text, 1 + dice.below(12)));
    if (kind === 1) renameSync(join(folder, path), join(folder, `moved ${i}.ts`));
    if (kind === 2) write(folder, `copied-${i}.ts`, editText(dice, text, 2));
    if (kind === 3) chmodSync(join(folder, path), 0o755);
    if (kind === 4) write(folder, `new/é ${i}`, dice.chance(0.5) ? "" : text);
  });
  rmSync(join(folder, "empty.txt"));
  git(folder, "add", "-A", "-N");
}

function write(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}
