import { commonEnds } from "../lines.js";
import type { Target } from "./target.js";
import { looseLine } from "./target.js";

const WORD = /(?<![\p{L}\p{N}_$])[\p{L}_$][\p{L}\p{M}\p{N}_$]*/gu;
/** The words that an identifier is made of. */
const PART = /\p{Lu}?[\p{Ll}\p{M}]+|\p{Lu}+(?!\p{Ll})|\p{Lo}+/gu;
/** Letters of the shortest word with a slip: too many shorter ones are one letter apart. */
const MIN_LETTERS = 4;
/** Characters of a line: a longer one is generated, not typed. */
const MAX_LENGTH = 1_000;

/**
 * Whether a line of a patch is the text's line with one slip of letters in a word: one too many, too few, another, or two
 * swapped. The word that it makes is none of the text or of the patch's new lines, and no plural, prefix or the like. All else is equal: no operator, digit, capital or text in quotes may differ.
 */
export function hasSlip(patch: string, text: string, target: Target): boolean {
  const [own, there] = [looseLine(patch), looseLine(text)];
  if (Math.max(own.length, there.length) > MAX_LENGTH || Math.abs(own.length - there.length) > 1) return false;
  const { head, tail } = commonEnds(own, there);
  const word = wordAt(own, head);
  const right = wordAt(there, head);
  if (word === null || right === null || own.length - word.end !== there.length - right.end) return false;
  if (own.length - tail > word.end || isQuoted(own.slice(0, head))) return false;
  const [wrong, other] = [partAt(word, head), partAt(right, head)];
  if (!wrong || !other || wrong.start !== other.start || wrong.rest !== other.rest) return false;
  if (Math.min(wrong.part.length, other.part.length) < MIN_LETTERS || !isOneSlip(wrong.part, other.part)) return false;
  target.words ??= readWords(target);
  return ![word.text, wrong.part].some((each) => target.words!.has(each.toLowerCase()));
}

interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The word that has a character, or ends before it. */
function wordAt(line: string, at: number): Word | null {
  for (const { 0: text, index } of line.matchAll(WORD))
    if (index <= at && index + text.length >= at) return { text, start: index, end: index + text.length };
  return null;
}

/** The part of a word that has a character, where it begins, and what stands behind it. */
function partAt({ text, start }: Word, at: number): { part: string; start: number; rest: string } | null {
  for (const { 0: part, index } of text.matchAll(PART))
    if (start + index <= at && start + index + part.length >= at)
      return { part, start: index, rest: text.slice(index + part.length) };
  return null;
}

/** Whether a text ends inside of quotes. An apostrophe behind a letter opens none. */
function isQuoted(before: string): boolean {
  let open = "";
  for (let i = 0; i < before.length; i++) {
    const char = before[i]!;
    if (char === "\\") i++;
    else if (open !== "") open = char === open ? "" : open;
    else if (/["'`]/.test(char) && !(char === "'" && /\p{L}/u.test(before[i - 1] ?? ""))) open = char;
  }
  return open !== "";
}

/** A prefix, a plural, a past tense or a negation is no slip. */
function isOneSlip(a: string, b: string): boolean {
  const { head, tail } = commonEnds(a, b);
  const [left, right] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  if (left.length === 2 && right.length === 2) return left[0] === right[1] && left[1] === right[0];
  if (left.length > 1 || right.length > 1) return false;
  if (left !== "" && right !== "") return true;
  if (head === 0) return false;
  return !(tail === 0 && /^[sdr]+$/.test(left + right)) || (right === "" && a[head - 1] === left);
}

/** The words of a text and of the lines that a patch adds to it, and the parts that its identifiers are made of. */
function readWords({ text, hunks }: Target): ReadonlySet<string> {
  const fresh = hunks.flatMap(({ lines }) => lines.filter((line) => line[0] === "+"));
  const words = new Set<string>();
  // Each new line begins with its mark, which is part of no word.
  for (const [word] of [text, ...fresh].join("").matchAll(WORD)) {
    if (words.has(word)) continue;
    words.add(word).add(word.toLowerCase());
    for (const [part] of word.matchAll(PART)) words.add(part.toLowerCase());
  }
  return words;
}
