import { expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { parseSearchReplace } from "../../src/read/search-replace.js";

/** Nested code with one indentation a level, written with tabs. */
const FILES: Record<string, string> = {
  "a.py":
    "import os\n\nclass A:\n\tdef first(self):\n\t\tone = 1\n\t\tif one:\n\t\t\ttwo = 2\n\t\treturn two\n\n\tdef second(self):\n\t\tfor x in self:\n\t\t\tyield x\n\t\tself.end()\n",
  "a.js":
    "const a = 1;\n\nclass A {\n\tfirst() {\n\t\tconst one = 1;\n\t\tif (one) {\n\t\t\ttwo();\n\t\t}\n\t\treturn three;\n\t}\n\n\tsecond(x) {\n\t\treturn x\n\t\t\t.map(four)\n\t\t\t.filter(five);\n\t}\n}\n",
  "a.yaml":
    "root:\n\tname: a\n\tjobs:\n\t\tbuild:\n\t\t\truns: one\n\t\t\tsteps:\n\t\t\t\t- uses: two\n\t\t\t\t\twith: three\n\t\t\t\t- run: four\n\t\ttest:\n\t\t\truns: five\n",
};

/** New lines in place of a block of old ones, one indentation (`\t`) a level as these have. */
const CHANGES: Record<string, (old: readonly string[], indent: string) => readonly string[]> = {
  "its first line": ([first, ...rest]) => [first!.replace(/\w+/, "fresh"), ...rest],
  "its last line": (old) => [...old.slice(0, -1), old.at(-1)!.replace(/\w+/, "fresh")],
  "all lines": (old) => old.map((line) => line.replace(/\w+/, "fresh")),
  "a line before it": (old, indent) => [`${indent}fresh()`, ...old],
  // Behind a line that opens a block there is a deeper one.
  "a line behind its first": ([first, ...rest], indent) =>
    /[:{]$/.test(first!) ? [] : [first!, `${indent}fresh()`, ...rest],
  "a deeper line behind its first": ([first, ...rest], indent) => [first!, `${indent}\tfresh()`, ...rest],
  "its first line and a deeper one": ([first, ...rest], indent) => [
    first!.replace(/\w+/, "fresh"),
    `${indent}\tfresh()`,
    ...rest,
  ],
  "its first line and one beside it": ([first, ...rest], indent) =>
    /[:{]$/.test(first!) ? [] : [first!.replace(/\w+/, "fresh"), `${indent}other()`, ...rest],
  "a line around it": (old, indent) => [`${indent}if fresh:`, ...old.map((line) => (line === "" ? line : `\t${line}`))],
  "a line behind it": (old, indent) => (/[:{]$/.test(old.at(-1)!) ? [] : [...old, `${indent}fresh()`]),
  "one line for all": (_, indent) => [`${indent}fresh()`],
  "two lines for all": (_, indent) => [`${indent}fresh:`, `${indent}\tother()`],
  "its first line gone": ([first, ...rest]) => (rest[0]?.startsWith(`${/^\t*/.exec(first!)![0]}\t`) ? [] : rest),
};

const trimFirst = ([first, ...rest]: readonly string[]) => [first!.trimStart(), ...rest];
const keep = (lines: readonly string[]) => lines;
/** No line of a block is less indented than its first. */
const dedent = (lines: readonly string[]) => lines.map((line) => line.slice(/^\s*/.exec(lines[0]!)![0].length));
const scale = (by: number) => (lines: readonly string[]) =>
  lines.map((line) => line.replace(/^ +/, ({ length }) => " ".repeat(length * by)));
/** Most are refused where the parts are spoilt unlike, or in width, since no rule tells how new lines are meant then. */
const REFUSED = ["trimmed with all others, in the old part", "doubled, in the old part", "halved, in the old part"];
const TRIMS: Record<string, readonly [old: typeof keep, now: typeof keep, least?: number]> = {
  "trimmed first, in neither part": [keep, keep],
  "trimmed first, in the old part": [trimFirst, keep],
  "trimmed first, in the new part": [keep, trimFirst],
  "trimmed first, in both parts": [trimFirst, trimFirst],
  "trimmed with all others, in both parts": [dedent, dedent],
  "trimmed with all others, in the old part": [dedent, keep],
  "doubled, in both parts": [scale(2), scale(2)],
  "doubled, in the old part": [scale(2), keep],
  // A level of one column cannot be told from a marker that was lost.
  "halved, in both parts": [scale(0.5), scale(0.5), 4],
  "halved, in the old part": [scale(0.5), keep, 4],
};

interface Case {
  readonly text: string;
  readonly old: readonly string[];
  readonly now: readonly string[];
  readonly expected: string;
  /** What the parts say letter by letter. */
  readonly literal: string | null;
}

/** Every block of one to three lines of every file, in every indentation, with every change. */
function makeCases(
  [trimOld, trimNow]: readonly [typeof keep, typeof keep, number?],
  file: string,
  unit: string,
): Case[] {
  const cases: Case[] = [];
  const tabbed = FILES[file]!.split("\n");
  const write = (lines: readonly string[]) =>
    lines.map((line) => line.replace(/^\t+/, (all) => unit.repeat(all.length)));
  for (let from = 1; from < tabbed.length - 1; from++)
    for (let to = from + 1; to <= Math.min(from + 3, tabbed.length - 1); to++) {
      const old = tabbed.slice(from, to);
      const indent = /^\t*/.exec(old[0]!)![0];
      if (old[0] === "" || old.at(-1) === "" || indent === "") continue;
      if (old.some((line) => line !== "" && !line.startsWith(indent))) continue;
      for (const change of Object.values(CHANGES)) {
        const now = change(old, indent);
        if (now.length === 0) continue;
        const around = (lines: readonly string[]) =>
          [...write(tabbed.slice(0, from)), ...lines, ...write(tabbed.slice(to))].join("\n");
        const [search, replace] = [trimOld(write(old)), trimNow(write(now))];
        const text = around(write(old));
        if (search.join("\n") === replace.join("\n")) continue;
        const isLiteral = search.join("\n") === write(old).join("\n");
        // Old lines that stand in the text as they are mean that place.
        if (!isLiteral && `${text}\n`.includes(`\n${search.join("\n")}\n`)) continue;
        cases.push({
          text,
          old: search,
          now: replace,
          expected: around(write(now)),
          literal: isLiteral ? around(replace) : null,
        });
      }
    }
  return cases;
}

test.each(Object.keys(TRIMS))("indentation that is lost or of another width, %s: the exact change or none", (trim) => {
  let taken = 0;
  let all = 0;
  for (const file of Object.keys(FILES))
    for (const unit of (file === "a.yaml" ? ["  ", "    "] : ["\t", "  ", "    "]).filter(
      ({ length }) => length >= (TRIMS[trim]![2] ?? 0),
    ))
      for (const { text, old, now, expected, literal } of makeCases(TRIMS[trim]!, file, unit)) {
        const block = `${file}\n<<<<<<< SEARCH\n${old.join("\n")}\n=======\n${now.join("\n")}\n>>>>>>> REPLACE\n`;
        const reading = parseSearchReplace(block);
        const result = applyPatch(reading.ok ? reading.patch : { files: [] }, text);
        all++;
        if (!result.ok) continue;
        taken++;
        if (result.text !== expected && result.text !== literal) expect(`${block}${result.text}`).toBe(expected);
      }
  expect(taken / all).toBeGreaterThanOrEqual(REFUSED.includes(trim) ? 0 : 0.3);
});
