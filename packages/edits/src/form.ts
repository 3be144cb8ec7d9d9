import { type Indenting, learnIndenting } from "./indentation.js";
import type { Rung } from "./ladder.js";
import { plainTabs, plainTypography, withoutReturn } from "./normal.js";

/** How a hunk's new lines are written at a place, learned from its old lines and those they matched. */
export interface Form {
  readonly repairs: readonly Rung[];
  /** The body of an inserted line as the place writes it; null where nothing shows how that would be. */
  readonly write: (line: string) => string | null;
  /** Columns that a tab counted for in the patch, where it wrote spaces for tabs. */
  readonly tab: number | null;
}

export interface Pair {
  readonly patch: string;
  readonly text: string;
}

export const exactForm: Form = { repairs: [], write: (line) => line, tab: null };

const FANCY = /[\u2010-\u2015\u2018-\u201f\u2026\u2212\u00a0\u2000-\u200a\u202f\u205f]/;

/**
 * What the pairs have in common is a rule; pairs that contradict each other give no form. A new line that the rule does
 * not cover cannot be written: guessing its indentation or its quotes would be as wrong as guessing its place.
 */
export function learnForm(pairs: readonly Pair[], text: string): Form | null {
  const repairs = new Set<Rung>();
  const bare = pairs.map(({ patch, text }) => {
    const pair = { patch: withoutReturn(patch), text: withoutReturn(text) };
    if (patch.length - pair.patch.length !== text.length - pair.text.length) repairs.add("line-endings");
    return pair;
  });
  const padded = bare.some(({ patch, text }) => patch.trimEnd() !== patch && text.trimEnd() === text && text !== "");
  if (bare.some(({ patch, text }) => patch !== text && ends(patch) !== ends(text))) repairs.add("trailing-space");
  const trimmed = bare.map(({ patch, text }) => ({ patch: patch.trimEnd(), text: text.trimEnd() }));
  const escaped = trimmed.some(
    ({ patch, text }) => patch.includes("\\t") && !text.includes("\\t") && text.includes("\t"),
  );
  const plain = trimmed.map((pair) => (escaped ? { ...pair, patch: plainTabs(pair.patch) } : pair));
  if (escaped) repairs.add("escapes");
  const fancyPatch = plain.some(
    ({ patch, text }) => FANCY.test(patch) && plainTypography(patch).trim() === text.trim(),
  );
  const fancyText = plain.some(({ patch, text }) => FANCY.test(text) && plainTypography(text).trim() === patch.trim());
  if (fancyPatch || fancyText) repairs.add("typography");
  const settled = plain.map(({ patch, text }) => ({ patch: plainTypography(patch), text: plainTypography(text) }));
  const indenting = learnIndenting(settled);
  if (indenting === null) return null;
  const inner = settled.filter(({ patch, text }) => patch.trim() !== text.trim());
  if (inner.some(({ patch, text }) => !(patch + text).trim().includes("\t"))) return null;
  const innerTabs = inner.length > 0;
  if (indenting.changed || innerTabs) repairs.add("indentation");
  const textIsPlain = !fancyPatch || !FANCY.test(text);
  const doubtfulTabs = innerTabs || indenting.tab !== null || (indenting.changed && /\S *\t/.test(text));
  return {
    repairs: [...repairs],
    tab: indenting.tab,
    write: (line) => {
      let body = withoutReturn(line);
      if (padded) body = body.trimEnd();
      if (body.trim() === "") return indenting.changed || padded ? "" : body;
      if (escaped) body = plainTabs(leading(body)) + body.slice(leading(body).length);
      if (escaped && body.includes("\\t")) return null;
      if (fancyPatch && FANCY.test(body)) {
        if (!textIsPlain) return null;
        body = plainTypography(body);
      }
      if (fancyText && /['"-]|\.\.\./.test(body)) return null;
      if (doubtfulTabs && /\S(?: {2,}|\t)\S/.test(body)) return null;
      return indent(body, indenting);
    },
  };
}

function indent(body: string, { write }: Indenting): string | null {
  const own = body.length - body.trimStart().length;
  const indentation = write(body.slice(0, own));
  return indentation === null ? null : indentation + body.slice(own);
}

/** The white space, real or written as backslash and t, that a line begins with. */
function leading(line: string): string {
  return /^(?:\s|\\t)*/.exec(line)![0];
}

function ends(line: string): string {
  return line.slice(line.trimEnd().length);
}
