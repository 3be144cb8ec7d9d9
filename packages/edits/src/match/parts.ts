import { endingAt } from "./rewrite.js";
import { STEPS } from "./rungs.js";
import { findRows, lastUpTo, readTarget } from "./target.js";

/** A part of a text, by offsets. */
export interface Part {
  readonly from: number;
  readonly to: number;
}

/** Every part of a text that is a string, whatever line ends the two have. None overlaps another. */
export function findParts(sought: string, text: string): Part[] {
  const plain = text.replaceAll("\r\n", "\n");
  const wanted = sought.replaceAll("\r\n", "\n");
  const feeds = plain.length < text.length ? findReturned(text) : [];
  const inText = (offset: number) => offset + lastUpTo(feeds, offset - 1) + 1;
  const parts: Part[] = [];
  for (let at = wanted === "" ? -1 : plain.indexOf(wanted); at >= 0; at = plain.indexOf(wanted, at + wanted.length))
    parts.push({ from: inText(at), to: inText(at + wanted.length) });
  return parts;
}

/** The line feeds of a text that have a carriage return before them, as offsets in the text without these. */
function findReturned(text: string): number[] {
  const feeds: number[] = [];
  for (let at = text.indexOf("\r\n"); at >= 0; at = text.indexOf("\r\n", at + 2)) feeds.push(at - feeds.length);
  return feeds;
}

/** A string with the line ends of a place in a text. */
export function withEndsOf(text: string, offset: number, written: string): string {
  return written.replace(/\r?\n/g, endingAt(text, offset));
}

/** Every row at which lines are in a text, none of them in two places, by the first rung that has one. */
export function findEvery(sought: readonly string[], text: string): number[] {
  const lines = sought.map((line) => ` ${line}`);
  const target = readTarget(text, [{ id: "", oldStart: null, newStart: null, lines }]);
  for (const [, keyOfText, keyOfPatch] of STEPS) {
    const rows = findRows(sought, keyOfText, keyOfPatch, target) ?? [];
    let end = 0;
    const apart = rows.filter((row) => {
      if (row < end) return false;
      end = row + sought.length;
      return true;
    });
    if (apart.length > 0) return apart;
  }
  return [];
}
