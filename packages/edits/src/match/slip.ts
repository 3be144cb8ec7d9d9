import { commonEnds } from "../lines.js";
import { looseLine, type Target } from "./target.js";

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
  const word = pieceAt(own, WORD, head);
  const right = pieceAt(there, WORD, head);
  if (!word || !right || own.length - word.end !== there.length - right.end) return false;
  if (own.length - tail > word.end || isQuoted(own.slice(0, head))) return false;
  const [wrong, other] = [word, right].map(({ text, start }) => pieceAt(text, PART, head - start));
  if (!wrong || !other || wrong.start !== other.start) return false;
  if (word.text.slice(wrong.end) !== right.text.slice(other.end)) return false;
  if (Math.min(wrong.text.length, other.text.length) < MIN_LETTERS || !isOneSlip(wrong.text, other.text)) return false;
  target.words ??= readWords(target);
  return ![word.text, wrong.text].some((each) => target.words!.has(each.toLowerCase()));
}

function pieceAt(line: string, pattern: RegExp, at: number) {
  for (const { 0: text, index: start } of line.matchAll(pattern))
    if (start <= at && start + text.length >= at) return { text, start, end: start + text.length };
  return null;
}

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

function isOneSlip(a: string, b: string): boolean {
  const { head, tail } = commonEnds(a, b);
  const [left, right] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  if (left.length === 2 && right.length === 2) return left[0] === right[1] && left[1] === right[0];
  if (left.length > 1 || right.length > 1) return false;
  if (left !== "" && right !== "") return true;
  if (head === 0) return false;
  return !(tail === 0 && /^[sdr]+$/.test(left + right)) || (right === "" && a[head - 1] === left);
}

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
