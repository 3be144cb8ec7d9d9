import { looseLine } from "./match/target.js";
import type { Sides } from "./sides.js";

const MAX_VOTES = 8;

/** Finds the place with the most old lines, or else the line most like the longest of them; and the first that differs. */
export function findNearest({ old, hint }: Sides, lines: readonly string[]) {
  const offsets = new Map<string, number[]>();
  for (const [i, line] of old.entries()) {
    const key = looseLine(line);
    const known = offsets.get(key) ?? [];
    if (key.length > 1 && known.length < MAX_VOTES) offsets.set(key, [...known, i]);
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

const NAMES: Readonly<Record<string, string>> = {
  "\u00a0": " (no-break space)",
  "\u00ad": " (soft hyphen)",
  "\u200b": " (zero-width space)",
  "\ufeff": " (byte order mark)",
};
const MAX_COMPARED = 500;

/** Names the first character that is invisible or only looks like the one sought; null where a line is not alike, or is equal. */
export function nameAlike(sought: string, line: string): string | null {
  const charsOf = (text: string) => [...text.trim().slice(0, MAX_COMPARED)];
  const [wanted, there] = [charsOf(sought), charsOf(line)];
  const visible = (chars: readonly string[]) => chars.filter((char) => !isHidden(char)).join("");
  if (visible(there).includes(visible(wanted))) {
    const [inFile, inPatch] = [
      [there, wanted],
      [wanted, there],
    ].map(([one, other]) => one!.find((char) => isHidden(char) && !other!.includes(char)));
    const hidden = inFile ?? inPatch;
    if (hidden) return `the ${inFile ? "file" : "patch"} has ${nameOf(hidden)}, which cannot be seen`;
  }
  for (let from = 0; from + wanted.length <= there.length; from++) {
    const others = wanted.flatMap((char, i) => (char === there[from + i] ? [] : i));
    const isAlike = (i: number) => areAlike(wanted[i]!, there[from + i]!);
    // One character in four may be another.
    if (others.length === 0 || others.length > wanted.length / 4 || !others.every(isAlike)) continue;
    return `the file has ${nameOf(there[from + others[0]!]!)} where the patch has ${nameOf(wanted[others[0]!]!)}`;
  }
  return null;
}

function isHidden(char: string): boolean {
  return /\p{Cf}/u.test(char);
}

function areAlike(one: string, other: string): boolean {
  return one <= "~" !== other <= "~" && /\s/u.test(one) === /\s/u.test(other);
}

function nameOf(char: string): string {
  const code = char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
  return `U+${code}${NAMES[char] ?? ""}`;
}
