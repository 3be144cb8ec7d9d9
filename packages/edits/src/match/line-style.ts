import type { Rung } from "../result.js";
import { learnIndenting } from "./indentation.js";
import { plainTabs, plainTypography, withoutReturn } from "./normal.js";

/** How a hunk's new lines are written at a place, learned from its old lines and those they matched. */
export interface LineStyle {
  readonly repairs: readonly Rung[];
  /** The body of an inserted line as the place writes it; null where nothing shows how that would be. */
  readonly write: (line: string) => string | null;
}

export interface Pair {
  readonly patch: string;
  readonly text: string;
}

export const exactStyle: LineStyle = { repairs: [], write: (line) => line };

const FANCY = /[\u2010-\u2015\u2018-\u201f\u2026\u2212\u00a0\u2000-\u200a\u202f\u205f]/;

/**
 * What the pairs have in common is a rule; pairs that contradict each other give no style. A new line that the rule does
 * not cover cannot be written: guessing its indentation or its quotes would be as wrong as guessing its place.
 */
export function learnStyle(pairs: readonly Pair[], text: string): LineStyle | null {
  const repairs = new Set<Rung>();
  const bare = pairs.map(({ patch, text }) => ({ patch: withoutReturn(patch), text: withoutReturn(text) }));
  if (pairs.some(({ patch, text }) => patch.endsWith("\r") !== text.endsWith("\r"))) repairs.add("line-endings");
  if (bare.some(({ patch, text }) => patch !== text && tail(patch) !== tail(text))) repairs.add("trailing-space");
  const padded = bare.some(({ patch, text }) => tail(patch) !== "" && tail(text) === "" && text !== "");
  const escaped = bare.some(
    ({ patch, text }) => patch.includes("\\t") && !text.includes("\\t") && text.trimEnd().includes("\t"),
  );
  if (escaped) repairs.add("escapes");
  const read = bare.map(({ patch, text }) => ({
    patch: (escaped ? plainTabs(patch) : patch).trimEnd(),
    text: text.trimEnd(),
  }));
  const isFancy = (one: string, other: string) => FANCY.test(one) && plainTypography(one).trim() === other.trim();
  const fancyPatch = read.some(({ patch, text }) => isFancy(patch, text));
  const fancyText = read.some(({ patch, text }) => isFancy(text, patch));
  if (fancyPatch || fancyText) repairs.add("typography");
  const plain = read.map(({ patch, text }) => ({ patch: plainTypography(patch), text: plainTypography(text) }));
  const solid = plain.filter(({ patch, text }) => patch.trim() !== "" && text.trim() !== "");
  const indenting = learnIndenting(solid.map(({ patch, text }) => [head(patch), head(text)]));
  if (indenting === null) return null;
  const inner = plain.filter(({ patch, text }) => patch.trim() !== text.trim());
  if (inner.some(({ patch, text }) => !(patch + text).trim().includes("\t"))) return null;
  if (indenting.changed || inner.length > 0) repairs.add("indentation");
  const doubtfulTabs = inner.length > 0 || indenting.spaced || (indenting.changed && /\S *\t/.test(text));
  const write = (line: string): string | null => {
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
    const indentation = indenting.write(head(body));
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
