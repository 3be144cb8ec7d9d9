import type { Hunk } from "./patch.js";
import type { Splice } from "./splice.js";

const LINE_FEED = 10;
const PLUS = 43;
const MINUS = 45;

/**
 * The splices of hunks that all stand, byte for byte, exactly where they say; null as soon as one does not. It walks the
 * text once and never splits it. A hunk that has context on one side only must begin or end the text, as git demands: in
 * the middle of a text it may have been applied before. Where `bare` is true a hunk without any context around it is trusted.
 */
export function matchInPlace(hunks: readonly Hunk[], text: string, bare: boolean): Splice[] | null {
  const splices: Splice[] = [];
  let at = 0;
  let line = 0;
  for (const hunk of hunks) {
    if (hunk.oldStart === null) return null;
    const { lines } = hunk;
    const target = lines.some((old) => old.charCodeAt(0) !== PLUS) ? hunk.oldStart - 1 : hunk.oldStart;
    if (target < line) return null;
    for (; line < target; line++) {
      at = text.indexOf("\n", at) + 1;
      if (at === 0) return null;
    }
    at = matchLines(hunk, text, at, splices);
    if (at === -1) return null;
    const leading = isContext(lines[0]);
    const trailing = isContext(lines[lines.length - 1]);
    if (!(bare && !leading && !trailing) && ((!leading && target > 0) || (!trailing && at < text.length))) return null;
    if (hunk.newNoNewline && at < text.length) return null;
    for (const old of lines) if (old.charCodeAt(0) !== PLUS) line++;
  }
  return splices;
}

/** Matches one hunk at an offset and adds its splices; returns the offset behind its old side, or -1. */
function matchLines(hunk: Hunk, text: string, start: number, splices: Splice[]): number {
  const { lines } = hunk;
  const lastOld = hunk.oldNoNewline ? lines.findLastIndex((line) => line.charCodeAt(0) !== PLUS) : -1;
  const lastNew = hunk.newNoNewline ? lines.findLastIndex((line) => line.charCodeAt(0) !== MINUS) : -1;
  if (lastNew >= 0 && isContext(lines[lastNew]) && lastNew !== lastOld) return -1;
  let at = start;
  let from = start;
  let insert = "";
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    const mark = line.charCodeAt(0);
    const body = line.slice(1);
    if (mark === PLUS) {
      insert += i === lastNew ? body : `${body}\n`;
      continue;
    }
    if (!text.startsWith(body, at)) return -1;
    const end = at + body.length;
    if (i === lastOld ? end !== text.length : text.charCodeAt(end) !== LINE_FEED) return -1;
    if (mark !== MINUS) {
      if (at > from || insert !== "") splices.push({ from, to: at, insert });
      insert = "";
      from = i === lastOld ? end : end + 1;
    }
    at = i === lastOld ? end : end + 1;
  }
  if (at > from || insert !== "") {
    // Behind a last line without a line feed an inserted line would be glued to it.
    if (at === text.length && from === at && at > 0 && text.charCodeAt(at - 1) !== LINE_FEED) return -1;
    splices.push({ from, to: at, insert });
  }
  return at;
}

function isContext(line: string | undefined): boolean {
  const mark = line?.charCodeAt(0);
  return line !== undefined && mark !== PLUS && mark !== MINUS;
}
