import type { Rung } from "../result.js";
import type { Change } from "../sides.js";
import { learnIndenting } from "./indentation.js";
import { plainTabs, plainTypography, withoutReturn } from "./normal.js";

/** How a hunk's new lines are written at a place, learned from its old lines and those they matched. */
export interface LineStyle {
  readonly repairs: readonly Rung[];
  /**
   * The body of an inserted line as the place writes it; null where nothing shows how that would be. `at` counts the old
   * lines before the change it is part of.
   */
  readonly write: (line: string, at: number) => string | null;
}

/** An old line, the text's line that it matched, whether it is deleted, and its index. */
export interface Pair {
  readonly patch: string;
  readonly text: string;
  readonly deleted: boolean;
  readonly at: number;
}

export const exactStyle: LineStyle = { repairs: [], write: (line) => line };

const FANCY = /[\u2010-\u2015\u2018-\u201f\u2026\u2212\u00a0\u2000-\u200a\u202f\u205f]/;

/**
 * What the pairs have in common is a rule; pairs that contradict each other give no style. A new line that the rule does
 * not cover cannot be written: guessing its indentation or its quotes would be as wrong as guessing its place.
 */
export function learnStyle(pairs: readonly Pair[], changes: readonly Change[], text: string): LineStyle | null {
  const repairs = new Set<Rung>();
  const bare = pairs.map((pair) => ({ ...pair, patch: withoutReturn(pair.patch), text: withoutReturn(pair.text) }));
  if (pairs.some(({ patch, text }) => patch.endsWith("\r") !== text.endsWith("\r"))) repairs.add("line-endings");
  if (bare.some(({ patch, text }) => patch !== text && tail(patch) !== tail(text))) repairs.add("trailing-space");
  const padded = bare.some(({ patch, text }) => tail(patch) !== "" && tail(text) === "" && text !== "");
  const escaped = bare.some(
    ({ patch, text }) => patch.includes("\\t") && !text.includes("\\t") && text.trimEnd().includes("\t"),
  );
  if (escaped) repairs.add("escapes");
  const read = bare.map((pair) => ({
    ...pair,
    patch: (escaped ? plainTabs(pair.patch) : pair.patch).trimEnd(),
    text: pair.text.trimEnd(),
  }));
  const isFancy = (one: string, other: string) => FANCY.test(one) && plainTypography(one).trim() === other.trim();
  const fancyPatch = read.some(({ patch, text }) => isFancy(patch, text));
  const fancyText = read.some(({ patch, text }) => isFancy(text, patch));
  if (fancyPatch || fancyText) repairs.add("typography");
  const plain = read.map((pair) => ({
    ...pair,
    patch: plainTypography(pair.patch),
    text: plainTypography(pair.text),
  }));
  const solid = plain.filter(({ patch, text }) => patch.trim() !== "" && text.trim() !== "");
  const indents = solid.map((pair) => ({
    ...pair,
    patch: head(pair.patch),
    text: head(pair.text),
    body: pair.patch.trim(),
  }));
  const inserts = changes.flatMap(({ from, insert }) =>
    insert
      .filter((line) => line.trim() !== "")
      .map((line) => (escaped ? line.replace(/^(?:\s|\\t)+/, plainTabs) : line))
      .map((line) => ({ own: head(line), body: line.trim(), at: from })),
  );
  const indenting = learnIndenting(indents, inserts);
  if (indenting === null) return null;
  const inner = plain.filter(({ patch, text }) => patch.trim() !== text.trim());
  if (inner.some(({ patch, text }) => !(patch + text).trim().includes("\t"))) return null;
  if (indents.some(({ patch, text }) => patch !== text) || inner.length > 0) repairs.add("indentation");
  const doubtfulTabs = inner.length > 0 || indenting.spaced || (indenting.changed && /\S *\t/.test(text));
  const write = (line: string, at: number): string | null => {
    let body = withoutReturn(line);
    if (padded) body = body.trimEnd();
    if (body.trim() === "") return indenting.changed || padded ? "" : body;
    if (escaped) body = body.replace(/^(?:\s|\\t)+/, plainTabs);
    if (escaped && body.includes("\\t")) return null;
    if (fancyPatch && FANCY.test(body)) {
      if (FANCY.test(text)) return null;
      body = plainTypography(body);
    }
    if (fancyText && /['"-]|\.\.\./.test(body)) return null;
    if (doubtfulTabs && /\S(?: {2,}|\t)\S/.test(body)) return null;
    const indentation = indenting.write(head(body), at);
    return indentation === null ? null : indentation + body.trimStart();
  };
  return { repairs: [...repairs], write };
}

/** The white space that a line begins with. */
function head(line: string): string {
  return line.slice(0, line.length - line.trimStart().length);
}

/** The white space that it ends with. */
function tail(line: string): string {
  return line.slice(line.trimEnd().length);
}
