import { splitLines } from "./lines.js";
import { looseLine, withoutReturn } from "./match/normal.js";
import type { FilePatch, Patch } from "./patch.js";
import type { Conflict } from "./result.js";
import { type Sides, takeApart } from "./sides.js";

/** Lines of the file that are shown around a place, and characters of a line. */
const AROUND = 3;
const WIDTH = 200;

const SENTENCES: Record<Conflict["reason"], string> = {
  "already-applied": "this change is already in the file; leave it out.",
  ambiguous: "it is not certain which lines are meant.",
  overlap: "another hunk changes the same lines; make one hunk of the two.",
  stale: "the file is not in the state the patch was made for; read it again.",
  "not-found": "its old lines are not in the file.",
};

/**
 * The message a model needs to try again: what was looked for, the first line that differs, the file's own lines there with
 * their numbers, and how far matching went. `text` is the text the patch was refused for.
 */
export function explainConflict(conflict: Conflict, patch: FilePatch | Patch, text: string): string {
  const { reason, at, candidates, rung } = conflict;
  const files = "files" in patch ? patch.files : [patch];
  const file = files.find(({ hunks }) => hunks.some(({ id }) => id === conflict.hunk)) ?? files[0];
  const hunk = file?.hunks.find(({ id }) => id === conflict.hunk);
  const line = at ?? hunk?.oldStart ?? null;
  const head = `${file?.before ?? file?.after ?? "the file"}${hunk ? `, hunk ${hunk.id}` : ""}${line === null ? "" : ` at line ${line}`}`;
  const message = [`${head}: ${SENTENCES[reason]}`];
  const lines = splitLines(text).lines.map(withoutReturn);
  if (!hunk) {
    if (reason === "not-found") message.push("A patch of several files is applied file by file.");
  } else if (reason === "not-found") message.push(...explainMiss(takeApart(hunk), lines), `Matched up to "${rung}".`);
  else if (reason === "ambiguous") {
    const [advice, places] =
      candidates.length > 1
        ? [`They stand at lines ${candidates.slice(0, 10).join(", ")}; add lines around them.`, candidates.slice(0, 3)]
        : ["Copy the old lines from the file exactly, white space included.", [at ?? 1]];
    message.push(advice, ...places.map((place) => show(lines, place - 1)));
  }
  return message.join("\n");
}

/** Where the old lines come nearest, and the first of them that differs there. */
function explainMiss(sides: Sides, lines: readonly string[]): string[] {
  const { old, deleted } = sides;
  if (old.length === 0) return ["It has none: give it lines that say where the new ones go."];
  const row = nearest(sides, lines);
  if (row === null) return [`None of them is; is another file meant? The first is ${quote(old[0])}.`];
  const differs = old.findIndex((line, i) => looseLine(line) !== looseLine(lines[row + i] ?? "\0"));
  if (differs < 0) return [`Up to white space they are, at line ${row + 1}.`, show(lines, row)];
  return [
    `They come nearest at line ${row + 1}; the first that differs is old line ${differs + 1}${deleted[differs] ? ", which is deleted" : ""}:`,
    `  looked for: ${quote(old[differs])}`,
    `  the file has: ${quote(lines[row + differs])}`,
    show(lines, row + differs),
  ];
}

/** The place where most old lines stand at their offset; of equal ones the one nearest to the hunk's number. */
function nearest({ old, hint }: Sides, lines: readonly string[]): number | null {
  const offsets = new Map<string, number[]>();
  for (const [i, line] of old.entries()) {
    const key = looseLine(line);
    const known = offsets.get(key) ?? [];
    if (key.length > 1 && known.length < 8) offsets.set(key, [...known, i]);
  }
  const votes = new Map<number, number>();
  for (const [row, line] of lines.entries())
    for (const i of offsets.get(looseLine(line)) ?? []) votes.set(row - i, (votes.get(row - i) ?? 0) + 1);
  const distance = (row: number) => Math.abs(row - (hint ?? row));
  const [best] = [...votes].sort(([a, m], [b, n]) => n - m || distance(a) - distance(b));
  return best === undefined ? null : Math.max(best[0], 0);
}

function show(lines: readonly string[], row: number): string {
  const from = Math.max(0, row - AROUND);
  const shown = lines.slice(from, row + AROUND + 1);
  return shown.map((line, i) => `${String(from + i + 1).padStart(6)} | ${line.slice(0, WIDTH)}`).join("\n");
}

function quote(line?: string): string {
  return line === undefined ? "(the end of the file)" : JSON.stringify(line.slice(0, WIDTH));
}
