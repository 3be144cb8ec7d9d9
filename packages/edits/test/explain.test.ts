import { expect, test } from "vitest";
import { applyPatch } from "../src/apply.js";
import { createPatch } from "../src/diff/create.js";
import { explainConflict } from "../src/explain.js";
import type { FilePatch, Hunk, Patch } from "../src/patch.js";
import { parseBeginPatch } from "../src/read/begin-patch.js";
import { parseSearchReplace } from "../src/read/search-replace.js";
import { parseStrReplace } from "../src/read/str-replace.js";
import type { Reading } from "../src/reading.js";
import type { Conflict, ConflictReason } from "../src/result.js";
import { parsePatch } from "../src/unified/parse.js";
import { type Random, random } from "./random.js";
import { seeded } from "./seed.js";
import { editText, readSources } from "./sources.js";

const seed = seeded(20_261_122);
const rounds = process.env.PARLANCE_LONG ? 20 : 2;

const before = Array.from({ length: 40 }, (_, i) => `const value${i} = ${i};`).join("\n");
const change = createPatch(before, before.replace("value20 = 20", "value20 = 21"), { path: "src/values.ts" });

function conflictsOf(patch: Patch | FilePatch, text: string): readonly Conflict[] {
  const result = applyPatch(patch, text);
  return result.ok ? [] : result.conflicts;
}

function explain(patch: Patch | FilePatch, text: string): string {
  const [conflict] = conflictsOf(patch, text);
  return conflict ? explainConflict(conflict, patch, text) : "applied";
}

const modify = (lines: string[], more: Partial<Hunk> = {}): FilePatch => ({
  kind: "modify",
  before: "src/a.ts",
  after: "src/a.ts",
  hunks: [{ id: "h", oldStart: null, newStart: null, lines, ...more }],
});

/** One of each reason at least: what a new reason lacks here does not compile. */
const accounts: Record<ConflictReason, [what: string, patch: Patch | FilePatch, text: string, message: string][]> = {
  "not-found": [
    [
      "a deleted line that differs",
      change,
      before.replace("value20 = 20", "value20 = 7"),
      `src/values.ts: looked for \`const value20 = 20;\`, to be taken away; at line 21 is \`const value20 = 7;\`.
   18 | const value17 = 17;
   19 | const value18 = 18;
   20 | const value19 = 19;
   21 | const value20 = 7;
   22 | const value21 = 21;
   23 | const value22 = 22;
   24 | const value23 = 23;
Send the change again with old lines copied from the file.`,
    ],
    [
      "a line alone that is like one of the file",
      modify(["-  if (user.isAdmin) return grant(user);", "+  return;"]),
      "function check(user) {\n  if (!user.isAdmin) return grant(user);\n}\n",
      `src/a.ts: looked for \`if (user.isAdmin) return grant(user);\`, to be taken away; at line 2 is \`if (!user.isAdmin) return grant(user);\`.
    1 | function check(user) {
    2 |   if (!user.isAdmin) return grant(user);
    3 | }
Send the change again with old lines copied from the file.`,
    ],
    [
      "a text that has nothing of it",
      change,
      "nothing\nof\nit\n",
      `src/values.ts: looked for \`const value17 = 17;\`; no line of the file is like it.
    1 | nothing
    2 | of
    3 | it
Check the path, read the file, and send old lines copied from it.`,
    ],
    [
      "new lines with no place",
      modify(["+a"]),
      "b\n",
      `src/a.ts: new lines, and no old lines that say where they go.
    1 | b
Send them with the lines above and below, copied from the file.`,
    ],
    [
      "new lines below an anchor, with no line beside them",
      modify(["+  c"], { anchors: ["class A:"] }),
      "a\nclass A:\n  b\n",
      `src/a.ts: new lines below \`class A:\`, and no old lines that say where they go.
    1 | a
    2 | class A:
    3 |   b
Send them with the lines above and below, copied from the file.`,
    ],
    [
      "lines that the end of the file is not behind",
      modify([" a", "+b"], { atEnd: true }),
      "a\nc\n",
      `src/a.ts: the old lines are at line 1, but not at the end of the file, where the patch wants them.
    1 | a
    2 | c
Send the address of the place that is meant, or leave it out and send more lines around the change.`,
    ],
    [
      "a patch of several files",
      { files: [modify(["-a", "+b"]), modify(["-a", "+b"])] },
      "a\n",
      "src/a.ts: the patch changes several files.\nApply it file by file.",
    ],
  ],
  ambiguous: [
    [
      "a line that stands twice",
      modify(["-a = 1", "+a = 2"]),
      "a = 1\nb\na = 1\n",
      `src/a.ts: looked for \`a = 1\`, which fits at lines 1, 3.
    1 | a = 1
    2 | b
    3 | a = 1
Send more unchanged lines above and below it, until only one place fits.`,
    ],
  ],
  "already-applied": [
    [
      "lines that are new already",
      change,
      before.replace("value20 = 20", "value20 = 21"),
      `src/values.ts: the new lines are in the file already.
   18 | const value17 = 17;
   19 | const value18 = 18;
   20 | const value19 = 19;
   21 | const value20 = 21;
   22 | const value21 = 21;
   23 | const value22 = 22;
   24 | const value23 = 23;
Leave this change out. If another place is meant, send the lines around that place.`,
    ],
  ],
  overlap: [
    [
      "two changes of one line",
      { ...modify([]), hunks: [{ ...modify(["-a", "+b"]).hunks[0]! }, { ...modify(["-a", "+c"]).hunks[0]!, id: "i" }] },
      "a\n",
      `src/a.ts, change 1 of 2: another change of this patch changes the same lines.
    1 | a
Send one change that has both.`,
    ],
  ],
  stale: [
    [
      "a new file that is there",
      createPatch("", "new\n", { oldPath: null, newPath: "src/a.ts" }),
      "old\n",
      `src/a.ts: the patch makes a new file, but there is one with text in it.
    1 | old
Read the file again, and send a change of the lines that it has now.`,
    ],
    [
      "a deleted file that has more",
      createPatch("a\n", "", { oldPath: "src/a.ts", newPath: null }),
      "a\nb\n",
      `src/a.ts: the patch deletes the file, but the file has other lines than the patch takes away.
    1 | a
    2 | b
Read the file again, and send a change of the lines that it has now.`,
    ],
  ],
};

test.each(
  Object.entries(accounts).flatMap(([reason, cases]) =>
    cases.map(([what, ...rest]) => [reason, what, ...rest] as const),
  ),
)("%s: %s", (reason, _what, patch, text, message) => {
  expect(conflictsOf(patch, text)[0]?.reason).toBe(reason);
  expect(explain(patch, text)).toBe(message);
});

test("an anchor that is elsewhere is named", () => {
  const reading = parseBeginPatch(
    "*** Begin Patch\n*** Update File: a.py\n@@ def b():\n-    x = 1\n+    x = 2\n*** End Patch\n",
  );
  const text = "def a():\n    x = 1\n\ndef b():\n    y = 1\n";
  expect(reading.ok && explain(reading.patch, text)).toMatch(
    /^a\.py: the old lines are at line 2, but not below `def b\(\):`, where the patch wants them\.\n/,
  );
});

test("lines that stand outside of the range are named", () => {
  const file = modify(["-a", "+b"]);
  const text = "a\nc\nc\n";
  const result = applyPatch(file, text, { at: { line_start: 2 } });
  expect(!result.ok && explainConflict(result.conflicts[0]!, file, text)).toMatch(
    /^src\/a\.ts: the old lines are at line 1, but the patch may not be applied there\.\n/,
  );
});

test.each([
  ["a letter of another script", "const a = 1;", "const \u0430 = 1;", "the file has U+0430 where the patch has U+0061"],
  [
    "an invisible character",
    "const a = 1;",
    "const a\u200b = 1;",
    "the file has U+200B (zero-width space), which cannot be seen",
  ],
  [
    "an invisible character of the patch",
    "const a\u200b = 1;",
    "const a = 1;",
    "the patch has U+200B (zero-width space)",
  ],
  [
    "a part of a line",
    "list in state",
    "The list in\u00a0state is long.",
    "the file has U+00A0 (no-break space) where the patch has U+0020",
  ],
])("%s that looks like another is named", (_, old, there, part) => {
  expect(explain(modify([`-${old}`, "-gone", "+new"]), `${there}\nx\n`)).toContain(part);
});

test.each([
  ["Chinese", '打印("你好世界")', '打印("你好，世界")'],
  ["Cyrillic", "сохранить(новый, файл)", "сохранить(старый, файл)"],
  ["Thai", "พิมพ์สวัสดี", "พิมพ์สวัสดีครับ"],
])("a line in %s is found by one that is like it", (_, old, there) => {
  expect(explain(modify([`-${old}`, "+new"]), `x\n${there}\n`)).toContain(`at line 2 is \`${there}\``);
});

test("a place below its section is not said to be elsewhere", () => {
  const text = "exports.v = (o) => {\n  if (x) {\n    try {\n      go(x);\n    }\n  }\n};\n";
  const hunk = modify([" };", "+", "+more();"], { oldStart: 6, newStart: 6, section: "exports.v = (o) => {" });
  const twice = `${text}exports.w = 1;\n};\n`;
  for (const each of [text, twice]) expect(explain(hunk, each)).not.toContain("not below");
});

/** Every line that a message quotes with its number is that line of the file. */
function expectNamed(head: string, text: string, label: unknown): void {
  const lines = text.split("\n");
  const expectAt = (number: string, quoted: string) => {
    const there = lines[Number(number) - 1]!.trim().replace(/[^\P{Cc}\t]|\p{Surrogate}/gu, "\ufffd");
    expect([
      label,
      head,
      there.startsWith(quoted.replace(/\ufffd?…$/u, "")) && (there === "") === (quoted === ""),
    ]).toEqual([label, head, true]);
  };
  for (const [, number, quoted] of head.matchAll(/at line (\d+) is `(.*?)`[.;]/gu)) expectAt(number!, quoted!);
  for (const [, quoted, numbers] of head.matchAll(/ looked for `(.*)`, which fits at lines ([\d, ]+)/gu))
    for (const number of numbers!.split(", ").filter(Number)) expectAt(number, quoted!);
}

/** One conflict of each kind as every format has it: the old and the new lines, or an insertion by number, of a file. */
const FORMATS: Record<string, (old: string[], now: string[]) => Reading> = {
  "SEARCH/REPLACE": (old, now) =>
    parseSearchReplace(`a.py\n<<<<<<< SEARCH\n${old.join("\n")}\n=======\n${now.join("\n")}\n>>>>>>> REPLACE\n`),
  str_replace: (old, now) =>
    parseStrReplace(
      JSON.stringify({ command: "str_replace", path: "a.py", old_str: old.join("\n"), new_str: now.join("\n") }),
    ),
  "*** Begin Patch": (old, now) =>
    parseBeginPatch(`*** Begin Patch\n*** Update File: a.py\n@@\n${mark("-", old)}${mark("+", now)}*** End Patch\n`),
  "a unified diff": (old, now) => parsePatch(`--- a/a.py\n+++ b/a.py\n@@ ... @@\n${mark("-", old)}${mark("+", now)}`),
};
const mark = (sign: string, lines: string[]) => lines.map((line) => `${sign}${line}\n`).join("");

const KINDS: Record<string, [old: string[], now: string[], text: string, message: RegExp]> = {
  "a line that differs": [
    ["def b():", "    y = 9"],
    ["pass"],
    "def a():\n    x = 1\ndef b():\n    y = 2\n",
    /at line 4 is `y = 2`/,
  ],
  "other white space": [["\ta:", "\t b"], ["\ta:", "\tc"], "x\n  a:\n  b\n", /white space .* at line 2 is `a:`/],
  "two places": [["a = 1"], ["a = 2"], "b\na = 1\nb\na = 1\n", /which fits at lines 2, 4\./],
  "two places, known by their second line": [
    ["}", "a = 1"],
    ["a = 2"],
    "}\na = 1\n}\na = 1\n",
    /`a = 1`, which fits at lines 2, 4\./,
  ],
  "new lines that are there": [
    ["first", "old = 1", "last"],
    ["first", "new = 1", "last"],
    "x\nfirst\nnew = 1\nlast\n",
    /already\.\n(?: .*\n)* {4}3 \| new = 1\n/,
  ],
  "nothing like it": [["unheard = of()"], ["x"], "a\nb\n", /no line of the file is like it/],
};

test.each(Object.keys(FORMATS).flatMap((format) => Object.keys(KINDS).map((kind) => [kind, format] as const)))(
  "%s, in %s: the message names the line that is there",
  (kind, format) => {
    const [old, now, text, message] = KINDS[kind]!;
    const reading = FORMATS[format]!(old, now);
    if (!reading.ok) expect.fail(reading.errors[0]!.message);
    const [conflict] = conflictsOf(reading.patch, text);
    expectMessage(conflict!, reading.patch.files[0]!, text, [kind, format]);
    expect(explain(reading.patch, text)).toMatch(message);
    expect(explain(reading.patch, text)).not.toMatch(/where the patch wants/);
  },
);

test("the message of an insertion behind the last line says how many lines there are", () => {
  const reading = parseStrReplace(JSON.stringify({ command: "insert", path: "a.py", insert_line: 9, new_str: "x\n" }));
  expect(reading.ok && explain(reading.patch, "a\nb\n")).toBe(
    "a.py: the new lines are to stand behind line 9, and the file has 2.\n    1 | a\n    2 | b\nSend a line number from 0 to 2.",
  );
});

test("the message of an anchor that the file lacks names the anchor", () => {
  const patch = (anchor: string) =>
    parseBeginPatch(`*** Begin Patch\n*** Update File: a.py\n@@ ${anchor}\n-    x = 1\n+    x = 2\n*** End Patch\n`);
  for (const text of ["def a():\n    x = 1\n", "def a():\n    z = 1\n"]) {
    const reading = patch("def b():");
    expect(reading.ok && explain(reading.patch, text)).toMatch(
      /^a\.py: looked for `def b\(\):`, below which .*; no line /,
    );
  }
});

/** All that a message promises, whatever the conflict. */
function expectMessage(conflict: Conflict, patch: FilePatch, text: string, label: unknown): void {
  const message = explainConflict(conflict, patch, text);
  const lines = text.split("\n");
  const [head, ...rest] = message.split("\n");
  const advice = rest.pop()!;
  expect([label, message.length <= 600]).toEqual([label, true]);
  expect([label, message]).toEqual([label, expect.not.stringMatching(/[^\P{Cc}\n\t]|\p{Surrogate}/u)]);
  expect([label, head]).toEqual([label, expect.stringMatching(/^\S.*: .+\.$/u)]);
  expect([label, advice]).toEqual([label, expect.stringMatching(/^(?:Send|Leave|Read|Apply|Check) .+\.$/)]);
  expectNamed(head!, text, label);
  const shown = text.trim() === "" ? 0 : 1;
  expect([label, rest.length >= shown]).toEqual([label, true]);
  for (const line of rest) {
    const [, number, content = ""] = /^ *(\d+) \| (.*)$/s.exec(line) ?? expect.fail(`${label}: ${line}`);
    const plain = lines[Number(number) - 1]!.replace(/\r$/, "").replace(/[^\P{Cc}\t]|\p{Surrogate}/gu, "\ufffd");
    expect([label, plain.startsWith(content.replace(/\ufffd?…$/u, ""))]).toEqual([label, true]);
  }
}

/** A patch that no longer fits: its lines, or the text, are changed behind its back. */
function spoil(draw: Random, file: FilePatch, text: string): { file: FilePatch; text: string } {
  const lines = text.split("\n");
  const hunks = file.hunks.map((hunk) => ({ ...hunk, ...(draw.chance(0.5) && { oldStart: null, newStart: null }) }));
  const how = draw.below(6);
  if (how === 0) return { file: { ...file, hunks }, text: [...lines, ...lines].join("\n") };
  if (how === 1)
    return { file: { ...file, hunks: [...hunks, ...hunks].map((hunk, i) => ({ ...hunk, id: `${i}` })) }, text };
  if (how === 2) return { file: { ...file, kind: "create", before: null, hunks: hunks.slice(0, 1) }, text };
  if (how === 3)
    return { file: { ...file, hunks }, text: draw.pick(["", "\n\n", "x\n", "\u001b[31m\ud800\n", "z".repeat(5000)]) };
  const old = (line: string) => line[0] !== "+" && line.trim().length > 2;
  const changed = hunks.map((hunk) => ({
    ...hunk,
    lines: hunk.lines.map((line) =>
      old(line) && draw.chance(0.5)
        ? `${line[0]}${draw.pick(["!", "\u0007", "\ud800", "`x".repeat(400)])}${line.slice(1)}`
        : line,
    ),
  }));
  return { file: { ...file, hunks: changed }, text };
}

test("every message keeps its promises", () => {
  const draw = random(seed);
  const seen: Record<string, number> = {};
  for (const [i, source] of readSources(150).entries())
    for (let round = 0; round < rounds; round++) {
      const path = draw.pick(["a.ts", `${"deep/".repeat(60)}b.ts`, "src/ü .ts"]);
      const now = editText(draw, source, 1 + draw.below(4));
      const [made] = createPatch(source, now, { path, context: draw.below(4) }).files;
      if (!made) continue;
      const { file, text } = draw.chance(0.15) ? { file: made, text: now } : spoil(draw, made, source);
      for (const conflict of conflictsOf(file, text).slice(0, 5)) {
        seen[conflict.reason] = (seen[conflict.reason] ?? 0) + 1;
        expectMessage(conflict, file, text, [i, round, conflict]);
      }
    }
  expect(Object.keys(seen).sort()).toEqual(Object.keys(accounts).sort());
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(5);
});

test("the message of one wrong old line names the line of the file that it stands for", () => {
  const draw = random(seed);
  let told = 0;
  for (const source of readSources(150)) {
    const lines = source.split("\n");
    const once = lines.flatMap((line, row) =>
      line.trim().length > 20 && lines.indexOf(line) === lines.lastIndexOf(line) ? [row] : [],
    );
    if (once.length === 0) continue;
    const row = draw.pick(once);
    const now = [...lines.slice(0, row), "changed", ...lines.slice(row + 1)].join("\n");
    const [file] = createPatch(source, now, { path: "a.ts", context: 2 }).files;
    // A whole word more: no reader may forgive that.
    const wrong = lines[row]!.replace(/\s*$/, " && unheard_of");
    const hunks = file!.hunks.map((hunk) => ({
      ...hunk,
      lines: hunk.lines.map((line) => (line === `-${lines[row]}` ? `-${wrong}` : line)),
    }));
    const message = explain({ ...file!, hunks }, source);
    expect(message).toContain(`at line ${row + 1} is \``);
    expect(message).toContain(`${String(row + 1).padStart(5)} | `);
    told++;
  }
  expect(told).toBeGreaterThan(80);
});

test("a hunk that stands before one that came earlier in the patch is applied, and its order is reported", () => {
  const after = before.replace("value5 = 5", "value5 = 6").replace("value30 = 30", "value30 = 31");
  const [file] = createPatch(before, after, { path: "a.ts" }).files;
  const result = applyPatch({ ...file!, hunks: [...file!.hunks].reverse() }, before);
  expect(result).toMatchObject({ ok: true, text: after, hunks: [{ repairs: [] }, { repairs: ["order"] }] });
});

test("a conflict of a hunk that is longer than the text shows lines that are there", () => {
  const [file] = createPatch("\n\n\na\n", "\n\n\n", { path: "a.ts" }).files;
  const at = { hunk: file!.hunks[0]!.id, at: 1, candidates: [1], total: 1, rung: "exact" } as const;
  for (const reason of ["already-applied", "overlap", "not-found", "ambiguous", "stale"] as const)
    expect(explainConflict({ ...at, reason }, file!, "\n"), reason).toContain("    1 | \n");
});
