import { isSameLine, type Source } from "./source.js";

/**
 * Moves each run of changed lines to where a reader expects it. A run whose last line equals the line above it can start
 * one line higher. Runs that meet are joined, and a run moves beside a change of the other text if it can. Otherwise it
 * moves to the best split of the text: at blank lines, in front of less indented ones. The scores are those of git's
 * indent heuristic (diff.indentHeuristic), tuned by its authors on a large corpus of human judgements.
 */
export function slideChanges(source: Source, changed: Uint8Array, others: Uint8Array, readable: boolean): void {
  const run: Run = { source, changed, others, start: 0, end: 0, otherStart: 0, otherEnd: 0 };
  while (changed[run.end] === 1) run.end++;
  while (others[run.otherEnd] === 1) run.otherEnd++;
  for (;;) {
    if (run.end > run.start) slideRun(run, readable);
    if (run.end >= source.length) return;
    run.start = ++run.end;
    while (changed[run.end] === 1) run.end++;
    otherOn(run);
  }
}

/** A run of changed lines, and the one, often empty, at the same place of the other text. One unchanged line is between runs. */
interface Run {
  readonly source: Source;
  readonly changed: Uint8Array;
  readonly others: Uint8Array;
  start: number;
  end: number;
  otherStart: number;
  otherEnd: number;
}

function slideRun(run: Run, readable: boolean): void {
  let size: number;
  let highest: number;
  let beside: number;
  do {
    size = run.end - run.start;
    while (slideUp(run));
    highest = run.end;
    beside = run.otherEnd > run.otherStart ? run.end : -1;
    while (slideDown(run)) if (run.otherEnd > run.otherStart) beside = run.end;
  } while (run.end - run.start !== size);
  if (run.end === highest) return;
  if (beside >= 0) while (run.otherEnd === run.otherStart) slideUp(run);
  else if (readable) {
    const best = bestSplit(run.source, Math.max(highest, run.end - size - 1, run.end - FURTHEST), run.end, size);
    while (run.end > best) slideUp(run);
  }
}

function slideUp(run: Run): boolean {
  const { source, changed, others } = run;
  if (run.start === 0 || !isSameLine(source, run.start - 1, source, run.end - 1)) return false;
  changed[--run.start] = 1;
  changed[--run.end] = 0;
  while (run.start > 0 && changed[run.start - 1] === 1) run.start--;
  run.otherEnd = run.otherStart - 1;
  run.otherStart = run.otherEnd;
  while (run.otherStart > 0 && others[run.otherStart - 1] === 1) run.otherStart--;
  return true;
}

function slideDown(run: Run): boolean {
  const { source, changed } = run;
  if (run.end >= source.length || !isSameLine(source, run.start, source, run.end)) return false;
  changed[run.start++] = 0;
  changed[run.end++] = 1;
  while (changed[run.end] === 1) run.end++;
  otherOn(run);
  return true;
}

function otherOn(run: Run): void {
  run.otherStart = ++run.otherEnd;
  while (run.others[run.otherEnd] === 1) run.otherEnd++;
}

const FURTHEST = 100;

function bestSplit(source: Source, from: number, to: number, size: number): number {
  let best = from;
  let bestIndent = 0;
  let bestPenalty = 0;
  for (let end = from; end <= to; end++) {
    const below = score(source, end);
    const above = score(source, end - size);
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

function score(source: Source, line: number): { indent: number; penalty: number } {
  const own = line < source.length ? measureIndent(source, line) : -1;
  const above = nearest(source, line - 1, -1);
  const below = nearest(source, line + 1, 1);
  const blanksBelow = own < 0 ? 1 + below.blanks : 0;
  const blanks = above.blanks + blanksBelow;
  const indent = own >= 0 ? own : below.indent;
  let penalty = 6 * blanksBelow - 30 * blanks;
  if (above.indent < 0 && above.blanks === 0) penalty += 1; // the text starts here
  if (line >= source.length) penalty += 21; // the text ends here
  if (indent >= 0 && above.indent >= 0) {
    if (indent > above.indent) penalty += blanks > 0 ? 10 : -4;
    else if (indent < above.indent) {
      if (below.indent > indent) penalty += blanks > 0 ? 17 : 24;
      else penalty += blanks > 0 ? 17 : 23;
    }
  }
  return { indent, penalty };
}

function nearest(source: Source, from: number, step: 1 | -1): { indent: number; blanks: number } {
  let blanks = 0;
  for (let i = from; i >= 0 && i < source.length; i += step) {
    const indent = measureIndent(source, i);
    if (indent >= 0) return { indent, blanks };
    if (++blanks === 20) return { indent: 0, blanks };
  }
  return { indent: -1, blanks };
}

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
