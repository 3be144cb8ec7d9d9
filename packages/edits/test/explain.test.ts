import { expect, test } from "vitest";
import { applyPatch } from "../src/apply.js";
import { createPatch } from "../src/diff/create.js";
import { explainConflict } from "../src/explain.js";
import { parseBeginPatch } from "../src/formats/begin-patch.js";
import type { FilePatch, Hunk, Patch } from "../src/patch.js";
import type { Conflict, ConflictReason } from "../src/result.js";
import { type Random, random } from "./random.js";
import { editText, readSources } from "./sources.js";

const seed = Number(process.env.PARLANCE_SEED ?? 20_261_122);
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
      `src/values.ts: the new lines are in the file already at line 18: \`const value20 = 21;\`.
   15 | const value14 = 14;
   16 | const value15 = 15;
   17 | const value16 = 16;
   18 | const value17 = 17;
   19 | const value18 = 18;
   20 | const value19 = 19;
   21 | const value20 = 21;
Leave this change out. If another place is meant, send the lines around that place.`,
    ],
  ],
  overlap: [
    [
      "two changes of one line",
      { ...modify([]), hunks: [{ ...modify(["-a", "+b"]).hunks[0]! }, { ...modify(["-a", "+c"]).hunks[0]!, id: "i" }] },
      "a\n",
      `src/a.ts, change 1 of 2: another change of this patch changes the same lines at line 1: \`a\`.
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
    /^a\.py: the old lines are at line 2, but not below `def b\(\):`, where the patch wants it\.\n/,
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

test(`every message keeps its promises (seed ${seed})`, () => {
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

test(`the message of one wrong old line names the line of the file that it stands for (seed ${seed})`, () => {
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
