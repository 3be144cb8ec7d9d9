import type { FilePatch, Hunk } from "../src/patch.js";
import type { Random } from "../test/random.js";
import { isInside, isSameChange, type Meant, replay } from "./spoil.js";

/** One hunk that was spoilt, the text it is for, and what it should make of it. */
export interface SpoiltHunk {
  readonly hunk: Hunk;
  readonly text: string;
  readonly expected: string;
}

/**
 * A hunk without one of its context lines, and a text with two places that fit it alike: the twin has another line where the
 * hunk has left one out. The hunk's number is that of its own place. Null where no line can be left out.
 */
export function addSecondPlace({ before, file }: Meant, dice: Random): SpoiltHunk | null {
  const whole = dice.pick(file.hunks);
  const inner = whole.lines.flatMap((line, i) =>
    line[0] === " " && /\w/.test(line) && isInside(i, whole.lines) ? [i] : [],
  );
  if (inner.length === 0) return null;
  const left = dice.pick(inner);
  const twin = whole.lines.flatMap((line, i) =>
    i === left ? [`${/^\s*/.exec(line.slice(1))![0]}another(line);`] : line[0] === "+" ? [] : [line.slice(1)],
  );
  const after = replay(before.split("\n"), [whole]);
  const spoilt = { ...whole, lines: whole.lines.filter((_, i) => i !== left) };
  if (!isSameChange(spoilt, whole)) return null;
  const feed = before.endsWith("\n") ? "" : "\n";
  const [front, end] = [`${twin.join("\n")}\n// between\n`, `${feed}// between\n${twin.join("\n")}\n`];
  if (dice.chance(0.5)) return { hunk: spoilt, text: before + end, expected: after + end };
  const moved = twin.length + 1;
  const hunk = { ...spoilt, oldStart: spoilt.oldStart! + moved, newStart: spoilt.newStart! + moved };
  return { hunk, text: front + before, expected: front + after };
}

/**
 * The patch with the lines of one insertion and the context beside them one level out; null where they have no level to lose.
 * Other lines of the hunk keep their indentation, so it is no dedent of all of it.
 */
export function flatten(file: FilePatch, dice: Random, { before }: Meant): FilePatch | null {
  const level = /^\t/m.test(before) ? "\t" : /^(?: {4}| {2})(?=\S)/m.exec(before)?.[0];
  if (level === undefined) return null;
  const insertions = file.hunks.flatMap((hunk) =>
    [
      ...hunk.lines
        .map((line) => line[0])
        .join("")
        .matchAll(/(?<= )\++(?= )/g),
    ].flatMap(({ index, 0: { length } }) => {
      const beside = [index - 1, ...(dice.chance(0.5) ? [index + length] : [])];
      const rows = [...beside, ...Array.from({ length }, (_, i) => index + i)];
      const isDeep = (i: number) => hunk.lines[i]!.startsWith(level, 1) && hunk.lines[i]!.trim().length > 1;
      return isDeep(index - 1) && isDeep(index) ? [{ hunk, rows: rows.filter(isDeep) }] : [];
    }),
  );
  if (insertions.length === 0) return null;
  const { hunk, rows } = dice.pick(insertions);
  const lines = hunk.lines.map((line, i) => (rows.includes(i) ? line[0] + line.slice(1 + level.length) : line));
  return { ...file, hunks: file.hunks.map((each) => (each === hunk ? { ...hunk, lines } : each)) };
}

/** The text with LF and CRLF by turns, but one of them in each hunk: which of two a new line should get is open. */
export function mixEnds({ before, file }: Meant, dice: Random): { text: string; expected: string } | null {
  if (before.includes("\r")) return null;
  const lines = before.split("\n");
  const last = lines.length - 1;
  const ends: string[] = lines.map((_, i) => (i < last && dice.chance(0.5) ? "\r" : ""));
  const hunks = file.hunks.map((hunk) => {
    const from = hunk.oldStart! - 1;
    const end = dice.pick(["", "\r"]);
    for (let i = from; i < Math.min(last, from + hunk.lines.filter((line) => line[0] !== "+").length); i++)
      ends[i] = end;
    return { ...hunk, lines: hunk.lines.map((line) => (line[0] === "+" ? line + end : line)) };
  });
  const mixed = lines.map((line, i) => line + ends[i]);
  return { text: mixed.join("\n"), expected: replay(mixed, hunks) };
}

/** The change of a document that has a bare fence in one of its hunks, of as many marks as the fence around an answer has. */
export function addFence(meant: Meant, dice: Random): Meant {
  const hunk = dice.pick(meant.file.hunks);
  const at = hunk.lines.findIndex((line) => line[0] !== " ");
  const fence = ["```", "npm install", "```"];
  const row = hunk.oldStart! - 1 + at;
  const before = meant.before.split("\n").toSpliced(row, 0, ...fence);
  const hunks = meant.file.hunks.map((each) => {
    const moved =
      each.oldStart! > hunk.oldStart! ? { ...each, oldStart: each.oldStart! + 3, newStart: each.newStart! + 3 } : each;
    return each === hunk ? { ...each, lines: each.lines.toSpliced(at, 0, ...fence.map((line) => ` ${line}`)) } : moved;
  });
  return { ...meant, before: before.join("\n"), after: replay(before, hunks), file: { ...meant.file, hunks } };
}
