import { hashParts, lastLines } from "../hunk.js";
import type { HunkHeader } from "./hunk-header.js";
import { type Body, type Input, repair, takeTo } from "./input.js";
import { HEADER, isFence, isMarked } from "./mark.js";

/** Takes out the empty lines where one stands behind every line from the first header to the end of the fence. */
export function undouble(input: Input): void {
  const { lines } = input;
  const names = lines.findIndex((line) => line.startsWith("--- "));
  if (names < 0 || lines[names + 1] !== "" || !lines[names + 2]?.startsWith("+++ ")) return;
  let from = names;
  while (lines[from - 1] === "" && HEADER.test(lines[from - 2]!)) from -= 2;
  const fence = lines.findIndex((line, i) => i > from && isFence(line));
  const isDoubled = (i: number) => i > from && (i < fence || fence < 0) && (i - from) % 2 === 1;
  if (lines.some((line, i) => isDoubled(i) && line !== "")) return;
  const kept = [...lines.keys()].filter((i) => !isDoubled(i));
  repair(input, from, "doubled-lines");
  input.doubled = true;
  input.lines = kept.map((i) => lines[i]!);
  input.text = input.lines.join("\n");
  input.hash = hashParts(input.text);
  input.numbers = kept.map((i) => i + 1);
}

/**
 * Takes the lines of a hunk in which an empty line stands behind each: lines that kept their line feeds were joined by more
 * of them. A line without an empty one behind it has no newline at the end of the file.
 */
export function takeDoubled(input: Input, { oldCount, newCount }: HunkHeader): Body | null {
  const { lines, at: from, fence } = input;
  if (lines[from + 1] !== "" || oldCount === null || newCount === null) return null;
  const kept: string[] = [];
  const unended: number[] = [];
  let old = oldCount;
  let added = newCount;
  let end = from;
  while (old > 0 || added > 0) {
    const line = lines[end];
    if (line === undefined || !isMarked(line)) return null;
    if (line[0] !== "+") old--;
    if (line[0] !== "-") added--;
    kept.push(line);
    if (lines[++end] === "") end++;
    else unended.push(kept.length - 1);
  }
  const last = lastLines(kept);
  if (old < 0 || added < 0 || unended.some((index) => index !== last.old && index !== last.new)) return null;
  // Where the patch itself ends, that says nothing of the file, unless its other side
  // has no newline either, or nothing else would be changed there.
  const atEnd = end === lines.length || (fence > 0 && isFence(lines[end]!, fence));
  const other = kept[last.old]?.slice(1) === kept[last.new]?.slice(1) && last.old !== last.new;
  const told = (unended.length > 1 || other) && !(end === lines.length && input.ended);
  if (atEnd && !told && unended.at(-1) === kept.length - 1) unended.pop();
  if (!input.doubled) repair(input, from, "doubled-lines");
  input.doubled = true;
  takeTo(input, end);
  return { lines: kept, unended };
}
