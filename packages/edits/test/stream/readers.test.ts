import { createPatch, formatPatch, type Patch, parseEdits, parsePatch, readEdits } from "@parlance/edits";
import { expect, test } from "vitest";
import { type Random, random } from "../random.js";
import { seeded } from "../seed.js";
import { editText, readSources } from "../sources.js";
import { readAnswers } from "./answers.js";

const seed = seeded(20_261_126);
const rounds = process.env.PARLANCE_LONG ? 20_000 : 1_500;

/** What a patch changes; hunks of one file in their order, whether or not they came in one block. */
function changesOf(patches: readonly Patch[]): string {
  const hunks = patches.flatMap(({ files }) =>
    files.flatMap(({ kind, before, after, hunks }) =>
      hunks.length === 0
        ? [[kind, before, after]]
        : hunks.map(({ oldStart, lines, oldNoNewline, newNoNewline }) => [
            kind,
            before,
            after,
            oldStart,
            lines,
            oldNoNewline,
            newNoNewline,
          ]),
    ),
  );
  return JSON.stringify(hunks.sort((a, b) => (`${a[1]} ${a[2]}` < `${b[1]} ${b[2]}` ? -1 : 1)));
}

/** The changes that a stream of these pieces gives; null where it has an error. */
function stream(pieces: Iterable<string>): string | null {
  const reader = readEdits();
  const events = [...pieces].flatMap((piece) => reader.push(piece));
  events.push(...reader.end({ complete: true }));
  if (events.some(({ type }) => type === "error")) return null;
  return changesOf(events.flatMap((event) => (event.type === "edit" ? [event.patch] : [])));
}

function cut(dice: Random, text: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const size = 1 + dice.below(dice.chance(0.5) ? 4 : 200);
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

function read(parse: typeof parsePatch | typeof parseEdits, text: string): string | null {
  const reading = parse(text);
  return reading.ok ? changesOf([reading.patch]) : null;
}

/** A diff that is spoilt in a few ways together, bare or in a fence, with or without prose. */
function drawDiff(dice: Random, sources: readonly string[]): string {
  const files = Array.from({ length: 1 + dice.below(2) }, (_, i) => {
    const before = dice.pick(sources);
    return createPatch(before, editText(dice, before, 1 + dice.below(4)), {
      path: `d/f${i}.js`,
      context: dice.below(4),
    }).files;
  }).flat();
  const lines = formatPatch({ files }).split("\n");
  const spoilt = lines.map((line) => {
    if (line.startsWith("@@") && dice.chance(0.3))
      return dice.pick(["@@ ... @@", "@@", line.replace(/,(\d)/g, ",1$1")]);
    if (line.startsWith("@@") && dice.chance(0.3))
      return line.replace(/,(\d+)/g, (_, count) => `,${Math.max(0, count - 1)}`);
    if (line === " " && dice.chance(0.4)) return "";
    if (/^(?:---|\+\+\+) /.test(line) && dice.chance(0.2)) return `${line}\t${dice.pick(["Current", "2026-07-19"])}`;
    return line[0] === " " && dice.chance(0.1) ? line.slice(1) : line;
  });
  if (dice.chance(0.1)) spoilt.splice(dice.below(spoilt.length), 0, dice.pick(["Then:", "", "- an item", "```", "-x"]));
  const text = spoilt.join("\n");
  const shape = dice.below(4);
  if (shape === 0) return text;
  if (shape === 1) return `Here:\n\n\`\`\`diff\n${text}\`\`\`\n\nDone:\n\n- it works\n`;
  return shape === 2 ? `Here:\n\n${text}\nDone.\n` : text.replace(/\n$/, "");
}

test("a diff is read alike by parsePatch, parseEdits and a stream cut anywhere", () => {
  const dice = random(seed);
  const sources = readSources(20).filter((text) => text.length < 6_000);
  let read_ = 0;
  for (let round = 0; round < rounds / 3; round++) {
    const text = drawDiff(dice, sources);
    const whole = read(parsePatch, text);
    expect(read(parseEdits, text), text).toBe(whole);
    expect(stream(cut(dice, text)), text).toBe(whole);
    if (whole !== null) read_++;
  }
  expect(read_).toBeGreaterThan(rounds / 6);
});

test("a diff that strict reading takes is read the same by every reader", () => {
  const dice = random(seed);
  const sources = readSources(20).filter((text) => text.length < 6_000);
  for (let round = 0; round < rounds / 10; round++) {
    const before = dice.pick(sources);
    const patch = createPatch(before, editText(dice, before, 1 + dice.below(5)), {
      path: "d/f.js",
      context: dice.below(4),
    });
    if (patch.files.length === 0) continue;
    const text = formatPatch(patch);
    const strictly = parsePatch(text, { strict: true });
    const expected = strictly.ok ? changesOf([strictly.patch]) : null;
    // Prose around it keeps the readers from the shorter way of a text that is nothing but a diff.
    for (const each of [text, `Here:\n\n${text}\nDone.\n`])
      expect([read(parsePatch, each), read(parseEdits, each), stream(cut(dice, each))]).toEqual([
        expected,
        expected,
        expected,
      ]);
  }
});

test("a change without hunks before that of another file is read the same by every reader", () => {
  const created = createPatch("", "new 1\n", { oldPath: null, newPath: "c.js" }).files[0]!;
  const kinds = [
    { kind: "rename", before: "a.js", after: "b.js", hunks: [] },
    { kind: "copy", before: "a.js", after: "b.js", hunks: [] },
    { kind: "modify", before: "a.js", after: "a.js", hunks: [], oldMode: "100644", newMode: "100755" },
    { kind: "delete", before: "a.js", after: null, hunks: [], oldMode: "100644" },
    { kind: "create", before: null, after: "a.js", hunks: [], newMode: "100644" },
  ] as const;
  for (const file of kinds) {
    const patch: Patch = { files: [file, created] };
    const text = formatPatch(patch);
    for (const each of [text, `Here:\n\n${text}\nDone.\n`, `\`\`\`diff\n${text}\`\`\`\n`])
      expect([read(parsePatch, each), read(parseEdits, each), stream([each])], each).toEqual(
        Array(3).fill(changesOf([patch])),
      );
  }
});

/** Parts of answers, of every format, with prose and examples between. */
const PARTS = [
  "Here is the change:\n\n",
  "It was so:\n\n```diff\n-old way\n+new way\n```\n\n",
  "It was so:\n\n```js\nconst a = 1;\n```\n\n",
  "- a list\n- of items\n\n",
  "a.js\n```js\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n\n",
  "```edit\nfile: b.js\naction: edit\nold_content: |\n  a\nnew_content: |\n  b\n```\n\n",
  "*** Begin Patch\n*** Update File: c.js\n@@\n-a\n+b\n*** End Patch\n\n",
  "```diff\n--- a/d.js\n+++ b/d.js\n@@ -1 +1 @@\n-a\n+b\n```\n\n",
  "--- a/e.js\n+++ b/e.js\n@@ -1 +1 @@\n-a\n+b\n\n",
  '```json\n{"path": "f.js", "old_str": "a", "new_str": "b"}\n```\n\n',
];

test("an answer of edits of every format is read, whatever prose and examples are between", () => {
  const dice = random(seed);
  for (let round = 0; round < rounds / 3; round++) {
    const parts = Array.from({ length: 2 + dice.below(6) }, () => dice.pick(PARTS));
    const text = parts.join("");
    const edits = parts.filter((part) => PARTS.indexOf(part) > 3).length;
    const reading = parseEdits(text);
    if (edits === 0) continue;
    const hunks = reading.ok ? reading.patch.files.reduce((sum, file) => sum + file.hunks.length, 0) : reading.errors;
    expect(hunks, text).toBe(edits);
    expect(stream(cut(dice, text)), text).toBe(reading.ok && changesOf([reading.patch]));
  }
});

test("parseEdits reads a text as a stream of it", () => {
  const dice = random(seed);
  const lines = readAnswers().flatMap(({ text }) => text.split("\n"));
  for (let round = 0; round < rounds; round++) {
    const text = Array.from({ length: dice.below(14) }, () => dice.pick(lines)).join("\n");
    const reading = parseEdits(text);
    const whole = stream(cut(dice, text));
    if (reading.ok) expect(whole, text).toBe(changesOf([reading.patch]));
    else expect(whole === null || whole === "[]", text).toBe(true);
  }
});
