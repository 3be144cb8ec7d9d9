import { isSameLine, type Source } from "./source.js";

/**
 * Moves each run of changed lines to where a reader expects it. A run whose last line equals the line above it may as well
 * start one line higher. Runs that meet become one; a run comes to stand beside a change of the other text if it can;
 * otherwise the place is chosen that splits the text best: at blank lines, in front of the less indented. The scores are
 * those of git's indent heuristic (diff.indentHeuristic), found by its authors over a large corpus of human judgements.
 */
export function slideChanges(source: Source, changed: Uint8Array, others: Uint8Array, readable: boolean): void {
  const indentOf = (line: number) => measureIndent(source, line);
  const length = source.length;
  // `start` to `end` is a run of changed lines in this text; `other` to `otherEnd` is the run, often empty, that stands
  // at the same place of the other text. Runs are separated by exactly one unchanged line.
  let start = 0;
  let end = 0;
  let otherStart = 0;
  let otherEnd = 0;
  while (changed[end] === 1) end++;
  while (others[otherEnd] === 1) otherEnd++;

  const otherBack = () => {
    otherEnd = otherStart - 1;
    otherStart = otherEnd;
    while (otherStart > 0 && others[otherStart - 1] === 1) otherStart--;
  };
  const otherOn = () => {
    otherStart = otherEnd + 1;
    otherEnd = otherStart;
    while (others[otherEnd] === 1) otherEnd++;
  };
  const slideUp = (): boolean => {
    if (start === 0 || !isSameLine(source, start - 1, source, end - 1)) return false;
    changed[--start] = 1;
    changed[--end] = 0;
    while (start > 0 && changed[start - 1] === 1) start--;
    otherBack();
    return true;
  };
  const slideDown = (): boolean => {
    if (end >= length || !isSameLine(source, start, source, end)) return false;
    changed[start++] = 0;
    changed[end++] = 1;
    while (changed[end] === 1) end++;
    otherOn();
    return true;
  };

  for (;;) {
    if (end > start) {
      let size: number;
      let highest: number;
      let beside: number;
      do {
        size = end - start;
        while (slideUp());
        highest = end;
        beside = otherEnd > otherStart ? end : -1;
        while (slideDown()) if (otherEnd > otherStart) beside = end;
      } while (end - start !== size);
      if (end !== highest) {
        if (beside >= 0) while (otherEnd === otherStart) slideUp();
        else if (readable) {
          const best = bestSplit(Math.max(highest, end - size - 1, end - FURTHEST), end, size, length, indentOf);
          while (end > best) slideUp();
        }
      }
    }
    if (end >= length) return;
    start = end + 1;
    end = start;
    while (changed[end] === 1) end++;
    otherOn();
  }
}

const FURTHEST = 100;

function bestSplit(from: number, to: number, size: number, length: number, indentOf: (line: number) => number): number {
  let best = from;
  let bestIndent = 0;
  let bestPenalty = 0;
  for (let end = from; end <= to; end++) {
    const below = score(end, length, indentOf);
    const above = score(end - size, length, indentOf);
    const indent = below.indent + above.indent;
    const penalty = below.penalty + above.penalty;
    const worse = 60 * Math.sign(indent - bestIndent) + (penalty - bestPenalty);
    if (end > from && worse > 0) continue;
    best = end;
    bestIndent = indent;
    bestPenalty = penalty;
  }
  return best;
}

/** How good it is to split the text in front of the line: less is better. */
function score(line: number, length: number, indentOf: (line: number) => number): { indent: number; penalty: number } {
  const own = line < length ? indentOf(line) : -1;
  const above = nearest(line - 1, -1, length, indentOf);
  const below = nearest(line + 1, 1, length, indentOf);
  const blanksBelow = own < 0 ? 1 + below.blanks : 0;
  const blanks = above.blanks + blanksBelow;
  const indent = own >= 0 ? own : below.indent;
  let penalty = 6 * blanksBelow - 30 * blanks;
  if (above.indent < 0 && above.blanks === 0) penalty += 1; // the text starts here
  if (line >= length) penalty += 21; // the text ends here
  if (indent >= 0 && above.indent >= 0) {
    if (indent > above.indent) penalty += blanks > 0 ? 10 : -4;
    else if (indent < above.indent) {
      if (below.indent > indent) penalty += blanks > 0 ? 17 : 24;
      else penalty += blanks > 0 ? 17 : 23;
    }
  }
  return { indent, penalty };
}

/** The indentation of the nearest line that is not blank, and how many blank lines are skipped to get there. */
function nearest(from: number, step: 1 | -1, length: number, indentOf: (line: number) => number) {
  let blanks = 0;
  for (let i = from; i >= 0 && i < length; i += step) {
    const indent = indentOf(i);
    if (indent >= 0) return { indent, blanks };
    if (++blanks === 20) return { indent: 0, blanks };
  }
  return { indent: -1, blanks };
}

/** Columns of white space in front of the line's text, tabs to multiples of 8, at most 200; -1 for a blank line. */
function measureIndent({ text, starts }: Source, line: number): number {
  let columns = 0;
  const end = starts[line + 1]!;
  for (let i = starts[line]!; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code === 32) columns++;
    else if (code === 9) columns += 8 - (columns % 8);
    else if (code < 9 || code > 13) return columns;
    if (columns >= 200) return 200;
  }
  return -1;
}
