import type { Conflict } from "./apply.js";
import { splitLines } from "./lines.js";
import { looseLine } from "./normal.js";
import type { FilePatch, Patch } from "./patch.js";
import { type Sides, takeApart } from "./sides.js";

/** Lines of the file that are shown around a place, and characters of a line. */
const AROUND = 3;
const WIDTH = 200;

/**
 * The message a model needs to try again: what was looked for, the first line that differs, the file's own lines there with
 * their numbers, and how far matching went. `text` is the text the patch was refused for.
 */
export function explainConflict(conflict: Conflict, patch: FilePatch | Patch, text: string): string {
  const files = "files" in patch ? patch.files : [patch];
  const file = files.find(({ hunks }) => hunks.some(({ id }) => id === conflict.hunk)) ?? files[0];
  const hunk = file?.hunks.find(({ id }) => id === conflict.hunk);
  const path = file?.before ?? file?.after ?? "the file";
  if (!hunk) return `${path}: ${fileReasons[conflict.reason] ?? fileReasons.stale}`;
  const lines = splitLines(text).lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  const sides = takeApart(hunk);
  const head = `${path}, hunk ${hunk.id}${hunk.oldStart === null ? "" : ` at line ${hunk.oldStart}`}`;
  switch (conflict.reason) {
    case "already-applied":
      return `${head}: this change is already in the file${where(conflict)}; leave it out.`;
    case "ambiguous":
      return conflict.candidates.length > 1
        ? `${head}: the old lines stand ${conflict.candidates.length} times, at lines ${conflict.candidates.slice(0, 10).join(", ")}. ` +
            `Add lines around the change until they stand once.\n${conflict.candidates
              .slice(0, 3)
              .map((line) => show(lines, line - 1))
              .join("\n...\n")}`
        : `${head}: there is a likely place${where(conflict)}, but not enough to be sure of it or of how the new lines are written there. ` +
            `Copy the old lines from the file exactly, white space included.\n${show(lines, (conflict.at ?? 1) - 1)}`;
    case "overlap":
      return `${head}: another hunk of the patch changes the same lines${where(conflict)}. Make one hunk of the two.`;
    case "stale":
      return `${head}: ${fileReasons.stale}`;
    case "not-found":
      return `${head}: ${explainMiss(sides, lines)} Matching was tried up to "${conflict.rung}".`;
  }
}

const fileReasons: Partial<Record<Conflict["reason"], string>> = {
  "already-applied": "the file already has this text.",
  "not-found": "the patch is of several files; apply it file by file.",
  stale: "the file is not in the state the patch was made for: read it again and write a new patch.",
};

function where({ at }: Conflict): string {
  return at === null ? "" : `, at line ${at}`;
}

function explainMiss(sides: Sides, lines: readonly string[]): string {
  if (sides.old.length === 0)
    return "it has no old lines that say where the new ones go, and no line number inside the file.";
  const best = nearest(sides, lines);
  if (best === null)
    return `none of its old lines is in the file (${lines.length} lines); the first is:\n${quote(sides.old[0]!)}\nIt may be meant for another file, or for another version of this one.\n`;
  const { row, differs } = best;
  if (differs === -1)
    return `its old lines are at line ${row + 1} up to white space, but not so that its new lines can be written.\n${show(lines, row)}\n`;
  const there = lines[row + differs];
  return (
    `its old lines are not in the file. They come nearest at line ${row + 1}; the first that differs there is its old line ${differs + 1}` +
    `${sides.deleted[differs] ? ", which it deletes" : ""}:\n  looked for: ${quote(sides.old[differs]!)}\n  the file has: ` +
    `${there === undefined ? "(the end of the file)" : quote(there)}\n${show(lines, row + differs)}\n`
  );
}

/** The place where most old lines stand at their offset, and the first that does not. */
function nearest({ old, hint }: Sides, lines: readonly string[]): { row: number; differs: number } | null {
  const offsets = new Map<string, number[]>();
  old.forEach((line, i) => {
    const key = looseLine(line);
    if (key.length < 2) return;
    const known = offsets.get(key);
    if (!known) offsets.set(key, [i]);
    else if (known.length < 8) known.push(i);
  });
  const votes = new Map<number, number>();
  lines.forEach((line, row) => {
    for (const i of offsets.get(looseLine(line)) ?? []) votes.set(row - i, (votes.get(row - i) ?? 0) + 1);
  });
  let best: number | null = null;
  const distance = (row: number) => (hint === null ? 0 : Math.abs(row - hint));
  for (const [row, count] of votes) {
    const most = best === null ? 0 : votes.get(best)!;
    if (count > most || (count === most && distance(row) < distance(best!))) best = row;
  }
  if (best === null) return null;
  const row = best;
  return {
    row: Math.max(row, 0),
    differs: old.findIndex((line, i) => looseLine(line) !== looseLine(lines[row + i] ?? "\0")),
  };
}

function show(lines: readonly string[], row: number): string {
  const from = Math.max(0, row - AROUND);
  const shown = lines.slice(from, Math.max(0, row) + AROUND + 1);
  return shown.map((line, i) => `${String(from + i + 1).padStart(6)} | ${line.slice(0, WIDTH)}`).join("\n");
}

function quote(line: string): string {
  return JSON.stringify(line.slice(0, WIDTH));
}
