import type { Match, Rung } from "./ladder.js";
import type { Sides } from "./sides.js";
import type { Splice } from "./splice.js";
import type { Target } from "./target.js";

/** What placing a hunk writes: its splices and what had to be bent for them. */
export interface Rewriting {
  readonly splices: readonly Splice[];
  readonly repairs: ReadonlySet<Rung>;
}

/** Deletes what was matched, writes what is new; the text's context lines are never written. */
export function rewrite(sides: Sides, match: Match, target: Target): Rewriting {
  const repairs = new Set<Rung>();
  const splices: Splice[] = [];
  const { rows } = match;
  const exact = match.rung === "exact";
  let i = 0;
  while (i <= sides.old.length) {
    let end = i;
    const insert = [...(sides.inserted.get(i) ?? [])];
    while (end < sides.old.length && sides.deleted[end]) {
      end++;
      insert.push(...(sides.inserted.get(end) ?? []));
    }
    if (end > i || insert.length > 0) {
      const first = rows[i] ?? (i === 0 ? match.row : rows[i - 1]! + 1);
      const from = target.starts[first]!;
      const behind = end > i ? rows[end - 1]! + 1 : first;
      splices.push(writeLines(insert, from, target.starts[behind]!, sides, target, exact, repairs));
    }
    i = end + 1;
  }
  return { splices, repairs };
}

/** Lines as bytes: with the place's line ending, and with a line feed at the end of the text only where it belongs. */
function writeLines(
  lines: readonly string[],
  from: number,
  to: number,
  sides: Sides,
  target: Target,
  exact: boolean,
  repairs: Set<Rung>,
): Splice {
  const { text } = target;
  const atEnd = to === text.length;
  const ending = exact ? "\n" : lineEnding(text, from);
  let insert = "";
  for (const line of lines) insert += (exact || !line.endsWith("\r") ? line : line.slice(0, -1)) + ending;
  if (!atEnd || text === "")
    return { from, to, insert: text === "" && sides.hunk.newNoNewline ? insert.slice(0, -1) : insert };
  const newline = target.newlineAtEnd;
  const known = from === to ? newline : newline !== (sides.hunk.oldNoNewline === true);
  const wanted = known ? !sides.hunk.newNoNewline : newline;
  if (!known) repairs.add("final-newline");
  if (from < to) return { from, to, insert: wanted ? insert : insert.slice(0, -ending.length) };
  // Behind a last line without line feed the feed comes first.
  return {
    from,
    to,
    insert: newline ? (wanted ? insert : insert.slice(0, -ending.length)) : ending + insert.slice(0, -ending.length),
  };
}

/** The ending of the line at an offset, or of the one before it. */
function lineEnding(text: string, offset: number): string {
  const feed = text.indexOf("\n", offset);
  const end = feed === -1 ? text.lastIndexOf("\n") : feed;
  return end > 0 && text[end - 1] === "\r" ? "\r\n" : "\n";
}
