import { commonEnds } from "../same-ends.js";
import type { Aligner } from "./aligner.js";
import { isReworded } from "./comment.js";
import { alignContext } from "./context.js";
import type { Target } from "./target.js";

/** Words of the languages: a slip in one of them is seldom a word of its own. */
const RESERVED = new Set(
  (
    "async await break catch class const continue declare default delete elif else enum export extends final finally from " +
    "function implements import include instanceof interface lambda namespace null package private protected public raise " +
    "readonly require return static string struct super switch this throw throws true type typeof undefined unknown using var " +
    "void while with yield false boolean number strict object abstract assert"
  ).split(" "),
);
/** Other words that are one slip from another word, and mean something of their own in one language or another. */
const WORDS = new Set(
  (
    "action adapt adapter adaptor adopt affect alias argc argv atoi atol attach attack auction begin bend bind bool " +
    "cache cached caching canceled cancelled cards cars catched catching cause center centre choose chose clause " +
    "clone close closed closer compete complaint complete compliant cons const contact content contest context " +
    "contract count court data date defect deflect derive desc dest detect device devise discreet discrete drive " +
    "driver edit effect elseif elsif emit equality even event execlp execvp existing exit exiting expand expend " +
    "extend extern field file filed files filler filter find fine flags flies form formal format getpid getppid " +
    "ifdef ifndef impart indent inject inner insert inspect intent internal interval invent invert large later " +
    "latter left line link list load lock loose lose lower made mask massage match math merge message mkdir modal " +
    "mode model module most must native next noerror onerror open order pair parse part past patch path pause " +
    "perform point poll port post preform present prev prevent price print prize properly property purse putc puts " +
    "quality quiet quite quota quote read recvmmsg recvmsg redo replay reply reside resize resolve resolver " +
    "rest retires retries retro retry revolver right rmdir road role rule save scope self send sent server setattr " +
    "setgid setsid setuid setxattr sever shape shard share shift short side signal simulate single size slack slope " +
    "space span spare spawn split stack stage start stat state stdin stdio step stimulate sting stop storage store " +
    "strchr string striped stripped strong strrchr table task test text than them then there these thorough through " +
    "time token trace track trail transit transmit trial tuple union unit unlock until user value wait when where " +
    "width word write"
  ).split(" "),
);

const TOKEN = /[\p{L}_$][\p{L}\p{M}\p{N}_$]*|\p{N}[\p{L}\p{N}._]*|[^\s]/gu;
const WORD = /[\p{L}_$][\p{L}\p{M}\p{N}_$]*/gu;
/** The words that an identifier is made of. */
const PART = /\p{Lu}?[\p{Ll}\p{M}]+|\p{Lu}+(?!\p{Ll})|\p{Lo}+/gu;
/** Endings by which one word becomes another. */
const ENDING = /^[sdr]+$/;
/** Characters of a line: a shorter one is another line, and a longer one is generated, not typed. */
const SHORTEST = 8;
const LONGEST = 1_000;
/** Letters of a word, one of which may be another: too many shorter words are one letter apart. */
const EXCHANGEABLE = 5;

/** A context line may have a misspelt word (see `isTypo`), which no word of the text or of the patch's new lines is. */
export const misspelt: Aligner = {
  rung: "misspelt",
  align(sides, target) {
    return alignContext(sides, target, (patch, text, row) => {
      if (isReworded(patch, text, row, target)) return true;
      target.words ??= readWords(target);
      return isTypo(patch, text, target.words);
    });
  },
};

/** The words of a text and of the lines that a patch adds to it, and the parts that its identifiers are made of. */
function readWords({ text, hunks }: Target): ReadonlySet<string> {
  const fresh = hunks.flatMap(({ lines }) => lines.filter((line) => line[0] === "+"));
  const words = new Set<string>();
  // Each new line begins with its mark, which is part of no word.
  for (const [word] of [text, ...fresh].join("").matchAll(WORD)) {
    if (words.has(word)) continue;
    words.add(word);
    for (const [part] of word.matchAll(PART)) words.add(part.toLowerCase());
  }
  return words;
}

/**
 * Whether a line of a patch is the text's line with one word misspelt: a letter too many, too few, another, or two of them
 * swapped. The word as the patch has it must mean nothing that can be known here: it is none of the text's and of the patch's
 * new words, none that languages have, and no plural or negation of the right one. No operator, digit or letter case may differ.
 */
function isTypo(patch: string, text: string, words: ReadonlySet<string>): boolean {
  if (Math.min(patch.length, text.length) < SHORTEST || Math.max(patch.length, text.length) > LONGEST) return false;
  if (Math.abs(patch.length - text.length) > 2) return false;
  if (isSwapped(patch, text, words)) return true;
  const [own, there] = [patch, text].map((line) => line.match(TOKEN));
  if (own!.length !== there!.length) return false;
  const wrong = own!.flatMap((token, i) => (token === there![i] ? [] : [i]));
  return wrong.length === 1 && isMisspelt(own![wrong[0]!]!, there![wrong[0]!]!, words);
}

/**
 * Whether a letter stands on the wrong side of the character beside it, which is no letter, or one of the other case: `stric't`,
 * `typ eA`. One of the words that this makes must be long enough, and none that is known.
 */
function isSwapped(patch: string, text: string, words: ReadonlySet<string>): boolean {
  const { head: at } = commonEnds(patch, text);
  const pair = patch.slice(at, at + 2);
  if (patch !== text.slice(0, at) + text.charAt(at + 1) + text.charAt(at) + text.slice(at + 2)) return false;
  if (!/\p{L}/u.test(pair) || /\p{N}|\p{Lu}\p{Lu}|\p{Ll}\p{Ll}/u.test(pair)) return false;
  // All other words of the line are the text's.
  return [...patch.matchAll(WORD)].some(([word]) => word.length > 2 && !isKnown(word, words));
}

function isKnown(word: string, words: ReadonlySet<string>): boolean {
  const small = word.toLowerCase();
  return words.has(word) || words.has(small) || WORDS.has(small) || RESERVED.has(small);
}

/** Both words are letters alone where they differ, and differ inside one of the parts that they are made of. */
function isMisspelt(word: string, right: string, words: ReadonlySet<string>): boolean {
  if (isKnown(word, words) || !/^[\p{L}_$]/u.test(right)) return false;
  if (word.replace(PART, " ") !== right.replace(PART, " ")) return false;
  const parts = word.match(PART) ?? [];
  const rights = right.match(PART) ?? [];
  const at = parts.findIndex((part, i) => part !== rights[i]);
  if (parts.some((part, i) => i !== at && part !== rights[i])) return false;
  const [part, other] = [parts[at]!.toLowerCase(), rights[at]!.toLowerCase()];
  return other.length > 3 && !isKnown(part, words) && isOneSlip(part, other, RESERVED.has(right));
}

/** A prefix, a plural or a negation is no slip: a word's first letter must be right, unless all of it is a keyword. */
function isOneSlip(a: string, b: string, isKeyword: boolean): boolean {
  const { head, tail } = commonEnds(a, b);
  const [left, right] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  if (head === 0 && !isKeyword) return false;
  if (left.length === 2 && right.length === 2) return left[0] === right[1] && left[1] === right[0];
  if (left.length > 1 || right.length > 1) return false;
  if (left !== "" && right !== "" && b.length < EXCHANGEABLE) return false;
  const letters = left + right;
  const isTwice = right === "" && a[head - 1] === left;
  return isTwice || !(letters === "n" || (tail === 0 && ENDING.test(letters)));
}
