import type { FilePatch, Hunk } from "../src/patch.js";

/** A line with its line feed, if it has one. */
interface ImageLine {
  readonly text: string;
  /** Its place in the text; of a written line that of the last line it stands for, or stands behind. */
  readonly row: number;
  /** The hunk that wrote it; -1 for the text's own. */
  readonly by: number;
}

/**
 * What `git apply` makes of a text, after its source (apply.c), or null where it refuses. With `exactly` it is what strict mode
 * does instead, so that the two can be told apart case by case. It differs in this alone:
 *
 * 1. A line without line feed is the last of its text, before and after, and nothing is put behind it. git takes one for the
 *    start of a line of the same characters but for white space, and glues to it what follows.
 * 2. What is inserted behind the text's own last line without line feed begins on a line of its own. git glues it to the last.
 * 3. An earlier hunk's lines are closed: nothing is matched across lines it deleted, nor inserted among those it wrote, and
 *    two hunks do not insert at one place.
 * 4. An insertion without context is not moved to the end of a text.
 */
export function applyAsGit(
  { hunks }: FilePatch,
  text: string,
  { unidiffZero, exactly }: { unidiffZero: boolean; exactly: boolean },
): string | null {
  const lines = text.split(/(?<=\n)/).filter((line) => line !== "");
  let image: ImageLine[] = lines.map((line, row) => ({ text: line, row, by: -1 }));
  const inserted = new Set<number>();
  let ended = false;
  for (const [by, hunk] of hunks.entries()) {
    const old = sideOf(hunk, "+", hunk.oldNoNewline);
    const now = sideOf(hunk, "-", hunk.newNoNewline);
    const atStart = hunk.oldStart === 0 || (hunk.oldStart === 1 && !unidiffZero);
    const atEnd = !unidiffZero && hunk.lines.at(-1)![0] !== " ";
    const ends = hunk.oldNoNewline || hunk.newNoNewline;
    const startOf = (at: number) => (old.length > 0 ? image[at]!.row : (image[at - 1]?.row ?? -1) + 1);
    const fits = (at: number): boolean => {
      const there = image.slice(at, at + old.length);
      if (there.length < old.length || (atStart && at !== 0) || (atEnd && at + old.length !== image.length))
        return false;
      if (there.some((line) => line.by >= 0)) return false;
      if (old.some((line, i) => line.replace(/\s/g, "") !== there[i]!.text.replace(/\s/g, ""))) return false;
      const rest = join(image.slice(at));
      if (atEnd ? rest !== old.join("") : !rest.startsWith(old.join(""))) return false;
      if (!exactly) return true;
      if (old.some((line, i) => line !== there[i]!.text || there[i]!.row !== there[0]!.row + i)) return false;
      if (at + old.length === image.length && ended) return false;
      if (ends && (at + old.length < image.length || startOf(at) + old.length < lines.length)) return false;
      return old.length > 0 || (unidiffZero ? (image[at]?.by ?? -1) < 0 : image.length === 0);
    };
    const wanted = atStart ? 0 : atEnd ? image.length - old.length : Math.max(hunk.newStart! - 1, 0);
    const from = wanted < 0 || wanted > image.length ? image.length : wanted;
    const at = (exactly && old.length === 0 ? [from] : outward(from, image.length)).find(fits);
    if (at === undefined) return null;
    const row = startOf(at);
    if (ends) ended = true;
    if (exactly && old.length > 0 && now.length > 0 && unidiffZero && inserted.has(row)) return null;
    if (now.length > 0) inserted.add(row);
    const written = now.map((line) => ({ text: line, row: row + old.length - 1, by }));
    image = [...image.slice(0, at), ...written, ...image.slice(at + old.length)];
  }
  if (!exactly || image.every((line) => line.text.endsWith("\n"))) return join(image);
  return image.map((line) => line.text.replace(/\n$/, "")).join("\n");
}

function join(lines: readonly ImageLine[]): string {
  return lines.map((line) => line.text).join("");
}

function sideOf({ lines }: Hunk, other: string, noNewline: true | undefined): string[] {
  const side = lines.filter((line) => line[0] !== other).map((line) => `${line.slice(1)}\n`);
  if (noNewline) side.push(side.pop()!.slice(0, -1));
  return side;
}

/** Places by their distance, the later one of two first. */
function outward(from: number, end: number): number[] {
  const places = [from];
  for (let i = 1; from + i <= end || from - i >= 0; i++) {
    if (from + i <= end) places.push(from + i);
    if (from - i >= 0) places.push(from - i);
  }
  return places;
}
