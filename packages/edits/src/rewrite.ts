import type { Match, Rung } from "./ladder.js";
import type { Sides } from "./sides.js";
import type { Splice } from "./splice.js";
import type { Target } from "./target.js";

/** What placing a hunk writes: its splices and what had to be bent for them. */
export interface Rewriting {
  readonly splices: readonly Splice[];
  readonly repairs: ReadonlySet<Rung>;
}

/** Deletes what was matched and writes what is new; the text's context lines are never written. Null: a new line has no form. */
export function rewrite(sides: Sides, { row, rows, form, rung }: Match, target: Target): Rewriting | null {
  const repairs = new Set<Rung>(form.repairs);
  const splices: Splice[] = [];
  for (const change of sides.changes) {
    const lines = change.insert.map(form.write);
    if (lines.includes(null)) return null;
    const deleted = rows.slice(change.from, change.to).filter((at) => at >= 0);
    const before = rows.slice(0, change.from).findLast((at) => at >= 0);
    const first =
      deleted[0] ?? (before === undefined ? (rows.slice(change.to).find((at) => at >= 0) ?? row) : before + 1);
    const from = target.starts[first]!;
    const to = target.starts[deleted.length > 0 ? deleted.at(-1)! + 1 : first]!;
    if (from < to || lines.length > 0) {
      splices.push({
        from,
        to,
        insert: writeLines(lines as string[], from, to, sides, target, rung === "exact", repairs),
      });
    }
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
): string {
  const { text, newlineAtEnd } = target;
  const { oldNoNewline, newNoNewline } = sides.hunk;
  const ending = exact ? "\n" : lineEnding(text, from);
  const body = lines.join(ending);
  if (text === "") return newNoNewline ? body : body + ending;
  if (to < text.length) return lines.length > 0 ? body + ending : "";
  // The patch's word on the final line feed counts where it knew the text's; else the text's own stays.
  const known = newlineAtEnd !== (oldNoNewline === true);
  if (!known) repairs.add("final-newline");
  const newline = known ? !newNoNewline : newlineAtEnd;
  const end = lines.length > 0 && newline ? ending : "";
  // Behind a last line without line feed the feed comes first.
  return from === to && !newlineAtEnd ? ending + body + end : body + end;
}

/** The ending of the line at an offset, or of the one before it. */
function lineEnding(text: string, offset: number): string {
  const feed = text.indexOf("\n", offset);
  const end = feed === -1 ? text.lastIndexOf("\n") : feed;
  return end > 0 && text[end - 1] === "\r" ? "\r\n" : "\n";
}
