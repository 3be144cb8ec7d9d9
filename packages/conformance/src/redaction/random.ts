// Words that no one chose: keys and passwords from a generator, which need no name to be known.

import type { Span } from "./span.js";

/** The fewest characters of a random word, and the most: what is longer is data, such as an image. */
const LEAST = 16;
const MOST = 128;

const WORD = /(?<![\w+/-])[\w+/-]{16,}={0,2}/g;
const ROW = /[A-Za-z\d]{16,}/g;
/** Letters and digits of base64, as URLs have them too. */
const DASHED = /[\w+-]{16,}/g;
const PARTS = /[A-Z]?[a-z]+|[A-Z]+|\d+/g;
/** What stands before a word that is an id, a digest, a path or data by its place. */
const NAMED =
  /(?:(?<![A-Za-z])[iI][dD]|[a-z]I[dD]|(?:uu|gu|ul)id|UUID|[hH]ash|[dD]igest|(?:sha|SHA)-?\d*|h1|[eE][tT]ag|[cC]hecksum|[iI]ntegrity|[cC]ommit|[cC]ursor|[nN]once|base64)s?\\{0,7}["']?\]?\s{0,3}[:=,]\s{0,3}\\{0,7}["']?$/;
const PATH = /(?:^|[\s"'`(<[=,])(?:[a-z][a-z+.-]{1,20}:\/|[\w.~-]{0,40})?\/[^\s"'`<>]{0,400}$/i;
/** A digest with the name of its function, and what an image or another file begins with. */
const DIGEST = /^(?:sha\d+|md5)-|^0x/i;

/** Adds the random words of a text. */
export function randomIn(text: string, found: Span[]): Span[] {
  if (text.length < LEAST) return found;
  for (const { 0: word, index } of wordsIn(text)) {
    if (DIGEST.test(word) || !isRandom(word)) continue;
    const before = text.slice(Math.max(0, index - 60), index);
    if (
      NAMED.test(before) ||
      word.startsWith("/") ||
      (/[/.:~]$/.test(before) && PATH.test(text.slice(Math.max(0, index - 400), index)))
    )
      continue;
    const from = index + /^-*/.exec(word)![0].length;
    found.push({ from, to: index + word.length });
  }
  return found;
}

/** The long words of a text. A placeholder is none, nor a part of one. */
function* wordsIn(text: string): Iterable<{ readonly 0: string; readonly index: number }> {
  for (const match of text.matchAll(WORD)) {
    let at = match.index;
    for (const part of match[0].split(/(__redacted_\d+__)/)) {
      if (part.length >= LEAST && !part.startsWith("__redacted_")) yield { 0: part, index: at };
      at += part.length;
    }
  }
}

/** Whether letters and digits follow each other as in no name. */
export function isRandom(word: string): boolean {
  if (word.length > MOST || !/\d[A-Za-z]|[a-z][A-Z]/.test(word)) return false;
  return (word.match(ROW) ?? []).some(isRandomRow) || (word.match(DASHED) ?? []).some(isRandomBase64);
}

/** A name has words of some letters each; where it has digits, they are few. */
function isRandomRow(row: string): boolean {
  if (/^(?:[\da-f]+|[\dA-F]+)$/.test(row)) return false;
  const length = row.length / row.match(PARTS)!.length;
  const digits = row.match(/\d+/g)?.length ?? 0;
  if (digits === 0) return length < 2.5 && /[a-z]/.test(row);
  return length < 2.6 || digits >= 3 || (digits === 2 && /[bcdfghjklmnpqrstvwxz]{4}/i.test(row));
}

function isRandomBase64(word: string): boolean {
  if (!(/[a-z]/.test(word) && /[A-Z]/.test(word) && /\d/.test(word))) return false;
  const parts = word.match(PARTS)!;
  return parts.every((part) => part.length <= 5) && word.length / parts.length < 2.6;
}
