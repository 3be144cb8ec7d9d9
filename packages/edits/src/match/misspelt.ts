import { commonEnds } from "../same-ends.js";
import type { Aligner } from "./aligner.js";
import { isReworded } from "./comment.js";
import { alignContext } from "./context.js";

/** Words of the languages: a slip in one of them is seldom a word of its own. */
const RESERVED = new Set(
  (
    "async await break catch class const continue declare default delete elif else enum export extends final finally from " +
    "function implements import include instanceof interface lambda namespace null package private protected public raise " +
    "readonly require return static string struct super switch this throw throws true type typeof undefined unknown using var " +
    "void while with yield false boolean number strict object abstract assert"
  ).split(" "),
);
/** Other words that differ from some word by a letter and mean something of their own in one language or another. */
const KEYWORDS = new Set(
  (
    "alias also alter array begin bool byte case char clone close copy cost data date debug defer desc double each " +
    "elsif emit empty error even event exec exit extend extern file first float flow fold form format func goto head " +
    "hide host implement inner input into items join keep left less line link list load lock long loop loose lower " +
    "main mask match meet maybe merge need mode module more most move name next nonlocal none open order outer output " +
    "over page pair parse part pass past path peek poll port post prev print proc pull push quit read redo rest right " +
    "role root rows rule save seek select self send sent serial set shift short show side sign size skip slice sort " +
    "split start state step stop store style swap sync table tail take task test text then time token trim tuple " +
    "unable undo union unit unlock until upper user value wait warn when where width word wrap write zero"
  ).split(" "),
);

const TOKEN = /[\p{L}_$][\p{L}\p{M}\p{N}_$]*|\p{N}[\p{L}\p{N}._]*|[^\s]/gu;
/** The words that an identifier is made of. */
const PART = /\p{Lu}?[\p{Ll}\p{M}]+|\p{Lu}+(?!\p{Ll})|\p{Lo}+/gu;
/** Endings by which one word becomes another. */
const INFLECTION = /^[sdrnyte]$/i;
/** Characters of a line: a shorter one is another line, and a longer one is generated, not typed. */
const SHORTEST = 8;
const LONGEST = 1_000;

/**
 * A rung beyond "context", for `applyPatch(patch, text, { beyond: misspelt })`; it is used only where it is passed. One
 * context line may have a misspelt word (see `isTypo`). No rule tells every misspelt word from another one: `strcpy` is
 * a letter away from `strncpy`, so a hunk may be applied that was meant for other code.
 */
export const misspelt: Aligner = {
  rung: "misspelt",
  align(sides, target) {
    target.words ??= readWords(target.text);
    const { words } = target;
    const own = readWords(sides.changes.flatMap(({ insert }) => insert).join("\n"));
    const isWord = (word: string) => words.has(word) || own.has(word);
    return alignContext(
      sides,
      target,
      (patch, text) => isReworded(patch, text, target.path) || isTypo(patch, text, isWord),
    );
  },
};

/** The words of a text, and the parts that its identifiers are made of. */
function readWords(text: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (const [word] of text.matchAll(/[\p{L}_$][\p{L}\p{M}\p{N}_$]*/gu)) {
    if (words.has(word)) continue;
    words.add(word);
    for (const [part] of word.matchAll(PART)) words.add(part.toLowerCase());
  }
  return words;
}

/**
 * Whether a line of a patch is the text's line with one word misspelt: a letter too many, too few, another, or two of them
 * swapped. The word as the patch has it must mean nothing that can be known here: it is no word of the text nor of the
 * patch's new lines (`isWord`), no keyword, and no other form of the right word. No operator, digit or letter case may differ.
 */
function isTypo(patch: string, text: string, isWord: (word: string) => boolean): boolean {
  if (Math.min(patch.length, text.length) < SHORTEST || Math.max(patch.length, text.length) > LONGEST) return false;
  if (Math.abs(patch.length - text.length) > 2) return false;
  if (isSwapped(patch, text, isWord)) return true;
  const [own, there] = [patch, text].map((line) => line.match(TOKEN) ?? []);
  if (own!.length !== there!.length) return false;
  const wrong = own!.flatMap((token, i) => (token === there![i] ? [] : [i]));
  return wrong.length === 1 && isMisspelt(own![wrong[0]!]!, there![wrong[0]!]!, isWord);
}

/**
 * Whether a letter stands on the wrong side of the character beside it, which is no letter, or one of the other case: `stric't`,
 * `typ eA`. One of the words that this makes must be long enough, and none that is known.
 */
function isSwapped(patch: string, text: string, isWord: (word: string) => boolean): boolean {
  const { head: at } = commonEnds(patch, text);
  const pair = patch.slice(at, at + 2);
  if (patch !== text.slice(0, at) + (text[at + 1] ?? "") + (text[at] ?? "") + text.slice(at + 2)) return false;
  if (!/\p{L}/u.test(pair) || /\p{N}|\p{Lu}\p{Lu}|\p{Ll}\p{Ll}/u.test(pair)) return false;
  const words = [...patch.matchAll(/[\p{L}_$][\p{L}\p{M}\p{N}_$]*/gu)].filter(
    ({ 0: word, index }) => index <= at + 2 && index + word.length >= at,
  );
  return words.some(
    ([word]) => word.length > 2 && !isWord(word) && !KEYWORDS.has(word.toLowerCase()) && !RESERVED.has(word),
  );
}

/** Both words are letters alone where they differ, and differ inside one of the parts that they are made of. */
function isMisspelt(word: string, right: string, isWord: (word: string) => boolean): boolean {
  if (isWord(word) || word.toLowerCase() === right.toLowerCase() || !/^[\p{L}_$]/u.test(right)) return false;
  const parts = word.match(PART) ?? [];
  const rights = right.match(PART) ?? [];
  if (parts.length !== rights.length || word.replace(PART, "·") !== right.replace(PART, "·")) return false;
  const at = parts.findIndex((part, i) => part !== rights[i]);
  if (at < 0 || parts.some((part, i) => i !== at && part !== rights[i])) return false;
  const [part, other] = [parts[at]!.toLowerCase(), rights[at]!.toLowerCase()];
  if (KEYWORDS.has(part) || RESERVED.has(part) || isWord(part)) return false;
  if (part.length < 3 || other.length < 4 || (part.length < 4 && !RESERVED.has(other))) return false;
  return isOneSlip(part, other, RESERVED.has(other));
}

function isOneSlip(a: string, b: string, isReserved: boolean): boolean {
  const { head, tail } = commonEnds(a, b);
  const [left, right] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  if (isReserved && /^[sd]$/.test(left) && tail === 0) return false;
  if (left.length === 2 && right.length === 2) return left[0] === right[1] && left[1] === right[0];
  // Another letter, in a word long enough to be known without it.
  if (left.length === 1 && right.length === 1) return isReserved || (b.length >= 6 && head > 0);
  if (left.length + right.length !== 1) return false;
  if (left !== "" && (a[head - 1] === left || a[head + 1] === left)) return true;
  return (head > 0 || isReserved) && !(tail === 0 && INFLECTION.test(left + right) && !isReserved);
}
