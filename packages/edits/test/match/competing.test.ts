import { expect, test } from "vitest";
import { readPairs } from "../../bench/pairs.js";
import { chooseChange, type Meant } from "../../bench/spoil.js";
import { applyPatch } from "../../src/apply.js";
import type { Hunk } from "../../src/patch.js";
import { parseBeginPatch } from "../../src/read/begin-patch.js";
import { parseSearchReplace } from "../../src/read/search-replace.js";
import { parseStrReplace } from "../../src/read/str-replace.js";
import type { Reading } from "../../src/reading.js";
import { parsePatch } from "../../src/unified/parse.js";
import { random } from "../random.js";
import { seeded } from "../seed.js";

const seed = seeded(20_261_126);
const rounds = process.env.PARLANCE_LONG ? 10 : 1;

const side = (lines: readonly string[], own: string) =>
  lines.filter((line) => line[0] === " " || line[0] === own).map((line) => line.slice(1));
const write = (lines: readonly string[], own: string) => side(lines, own).join("\n");

/** Each format's reading of one hunk of `f.ts`; the number is that of its first line. */
const READERS: Record<string, (lines: readonly string[], row: number) => Reading> = {
  "a unified diff": (lines, row) => {
    const [old, now] = [side(lines, "-").length, side(lines, "+").length];
    return parsePatch(`--- a/f.ts\n+++ b/f.ts\n@@ -${row},${old} +${row},${now} @@\n${lines.join("\n")}\n`);
  },
  "a unified diff without numbers": (lines) => parsePatch(`--- a/f.ts\n+++ b/f.ts\n@@ ... @@\n${lines.join("\n")}\n`),
  "*** Begin Patch": (lines) =>
    parseBeginPatch(`*** Begin Patch\n*** Update File: f.ts\n@@\n${lines.join("\n")}\n*** End Patch\n`),
  "SEARCH/REPLACE": (lines) =>
    parseSearchReplace(`f.ts\n<<<<<<< SEARCH\n${write(lines, "-")}\n=======\n${write(lines, "+")}\n>>>>>>> REPLACE\n`),
  "SEARCH/REPLACE with a line": (lines, row) =>
    parseSearchReplace(
      `f.ts\n<<<<<<< SEARCH\n:start_line:${row}\n-------\n${write(lines, "-")}\n=======\n${write(lines, "+")}\n>>>>>>> REPLACE\n`,
    ),
  str_replace: (lines) => parseStrReplace({ path: "f.ts", old_str: write(lines, "-"), new_str: write(lines, "+") }),
};

/** One hunk of each real change. */
function* changes(): Generator<{ meant: Meant; hunk: Hunk; dice: ReturnType<typeof random> }> {
  const dice = random(seed);
  for (let round = 0; round < rounds; round++)
    for (const pair of readPairs()) {
      const meant = pair.before.length < 20_000 ? chooseChange(pair, dice, 1) : null;
      const hunk = meant?.file.hunks[0];
      if (meant && hunk) yield { meant, hunk, dice };
    }
}

const isOld = (line: string) => line[0] !== "+";

test.each(Object.entries(READERS))(
  "%s with a context line left out is never written at the other of two places that fit",
  (_, read) => {
    let tried = 0;
    for (const { meant, hunk, dice } of changes()) {
      const inner = hunk.lines.flatMap((line, i) =>
        line[0] === " " && /\w/.test(line) && hunk.lines.slice(0, i).some(isOld) && hunk.lines.slice(i + 1).some(isOld)
          ? [i]
          : [],
      );
      if (inner.length === 0) continue;
      const left = dice.pick(inner);
      const lines = hunk.lines.filter((_, i) => i !== left);
      // The twin has another line in place of the one left out, so that both places fit alike.
      const twin = hunk.lines.flatMap((line, i) => (i === left ? "another(line);" : isOld(line) ? line.slice(1) : []));
      const start = hunk.oldStart!;
      const own = side(hunk.lines, "-");
      const all = meant.before.split("\n");
      const isFirst = dice.chance(0.5);
      const text = isFirst
        ? [...twin, "// between", ...all].join("\n")
        : [...all, "// between", ...twin, ""].join("\n");
      const row = isFirst ? start + twin.length + 1 : start;
      const reading = read(lines, row + dice.pick([-2, -1, 0, 1, 2]));
      const result = reading.ok ? applyPatch(reading.patch, text) : null;
      tried++;
      if (!result?.ok) continue;
      const made = meant.after.split("\n");
      const right = isFirst
        ? [...twin, "// between", ...made].join("\n")
        : [...made, "// between", ...twin, ""].join("\n");
      expect({ lines, own, made: result.text }).toEqual({ lines, own, made: right });
    }
    expect(tried).toBeGreaterThan(30 * rounds);
  },
);

test.each(Object.entries(READERS))(
  "%s with context one level out and a new line below it likewise is written a level further in, or refused",
  (_, read) => {
    let tried = 0;
    for (const { meant, dice } of changes()) {
      const all = meant.before.split("\n");
      const level = all.some((line) => line.startsWith("\t"))
        ? "\t"
        : /^(?: {2}| {4})\S/m.exec(meant.before)?.[0].slice(0, -1);
      if (level === undefined) continue;
      const deep = all.flatMap((line, i) =>
        line.startsWith(level) && /\w/.test(line) && i > 2 && i < all.length - 3 ? i : [],
      );
      if (deep.length === 0) continue;
      const at = dice.pick(deep);
      const from = at - 1 - dice.below(2);
      const old = all.slice(from, at + 1 + 1 + dice.below(2));
      const indent = /^\s*/.exec(all[at]!)![0];
      const out = (line: string) => line.slice(level.length);
      // A line that is replaced elsewhere in the hunk shows the right indentation.
      const lines = old.flatMap((line, i) =>
        from + i === at
          ? [` ${out(line)}`, `+${out(indent)}inserted(line);`]
          : i === old.length - 1
            ? [`-${line}`, `+${line}//`]
            : [` ${line}`],
      );
      const reading = read(lines, from + 1);
      const result = reading.ok ? applyPatch(reading.patch, meant.before) : null;
      tried++;
      if (!result?.ok) continue;
      const made = all.slice();
      made[from + old.length - 1] += "//";
      made.splice(at + 1, 0, `${indent}inserted(line);`);
      const right = made.join("\n");
      expect({ lines, made: result.text }).toEqual({ lines, made: right });
    }
    expect(tried).toBeGreaterThan(50 * rounds);
  },
);
