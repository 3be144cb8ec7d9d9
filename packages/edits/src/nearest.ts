import { looseLine } from "./match/target.js";
import type { Sides } from "./sides.js";

/** Finds the place with the most old lines, or else the line most like the longest of them; and the first that differs. */
export function findNearest(
  { old, hint }: Sides,
  lines: readonly string[],
): { place: number; differs: number | null } | null {
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
  if (best === undefined) return findLike(old, lines);
  const place = Math.max(best[0], 0);
  const differs = old.findIndex((line, i) => looseLine(line) !== looseLine(lines[place + i] ?? "\0"));
  return { place, differs: differs < 0 ? null : differs };
}

/** The line of the text that shares the most words with the longest old line, at least half of them. */
function findLike(old: readonly string[], lines: readonly string[]): { place: number; differs: number } | null {
  const longest = old.reduce((best, line) => (line.length > best.length ? line : best), "");
  const wanted = wordsOf(longest);
  let most = 0.5;
  let found = -1;
  for (const [row, line] of lines.entries()) {
    const words = wordsOf(line);
    let shared = 0;
    for (const word of words) if (wanted.has(word)) shared++;
    const likeness = (2 * shared) / (wanted.size + words.size);
    if (likeness > most) [most, found] = [likeness, row];
  }
  if (found < 0) return null;
  const place = Math.max(found - old.indexOf(longest), 0);
  return { place, differs: found - place };
}

/** A word, or one character of a script that has no spaces between words. */
const WORD =
  /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}]|(?:(?![\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}])[\p{L}\p{M}\p{N}_])+/gu;

function wordsOf(line: string): Set<string> {
  return new Set(line.slice(0, 1000).match(WORD));
}
