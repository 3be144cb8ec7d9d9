import { withoutReturn } from "../lines.js";
import type { Change } from "../sides.js";
import { learnIndenting } from "./indentation.js";
import { plainTabs, plainTypography } from "./normal.js";
import { type LineStyle, type Pair, readEnds, writeEnd } from "./style.js";

const FANCY = /[\u2010-\u2015\u2018-\u201f\u2026\u2212\u00a0\u2000-\u200a\u202f\u205f]/;

/**
 * What the pairs have in common is a rule; pairs that contradict each other give no style. A new line that the rule does
 * not cover cannot be written: guessing its indentation or its quotes would be as wrong as guessing its place.
 */
export function learnStyle(pairs: readonly Pair[], changes: readonly Change[], text: string): LineStyle | null {
  const ends = readEnds(pairs);
  const { repairs, padded } = ends;
  const bare = pairs.map((pair) => ({ ...pair, patch: withoutReturn(pair.patch), text: withoutReturn(pair.text) }));
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
    let body = writeEnd(line, ends);
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
