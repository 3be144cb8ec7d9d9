import type { Change } from "../sides.js";
import { learnIndenting } from "./indentation.js";
import { looseLine, plainTabs, plainTypography } from "./normal.js";
import { writesInString } from "./quoted.js";
import { type LineStyle, type Pair, readEnds, writeEnd } from "./style.js";
import type { Target } from "./target.js";

const FANCIES = /[\u2010-\u2015\u2018-\u201f\u2026\u2212\u00a0\u2000-\u200a\u202f\u205f]/g;

/**
 * What the pairs have in common is a rule; pairs that contradict each other give no style. A new line that the rule does
 * not cover cannot be written: guessing its indentation or its quotes would be as wrong as guessing its place.
 */
export function learnStyle(pairs: readonly Pair[], changes: readonly Change[], target: Target): LineStyle | null {
  const { text } = target;
  const ends = readEnds(pairs);
  const { repairs, padded } = ends;
  const escaped = pairs.some(
    ({ patch, text }) => patch.includes("\\t") && !text.includes("\\t") && text.trimEnd().includes("\t"),
  );
  if (escaped) repairs.add("escapes");
  const read = pairs.map((pair) => ({
    ...pair,
    patch: (escaped ? plainTabs(pair.patch) : pair.patch).trimEnd(),
    text: pair.text.trimEnd(),
  }));
  /** What one of two lines alike has more of, quotes of both kinds as one: they say nothing of dashes. */
  const excess = (one: string, other: string) =>
    looseLine(one) === looseLine(other)
      ? (one.match(FANCIES) ?? []).filter((each) => one.split(each).length > other.split(each).length).map(bend)
      : [];
  const bent = new Set(read.flatMap(({ patch, text }) => excess(patch, text)));
  const fancyPatch = bent.size > 0;
  const fancyText = read.some(({ patch, text }) => excess(text, patch).length > 0);
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
  const indenting = learnIndenting(indents, inserts, () => stepOf(target));
  if (indenting === null || (indenting.changed && writesInString(pairs, changes))) return null;
  const inner = plain.filter(({ patch, text }) => patch.trim() !== text.trim());
  if (inner.some(({ patch, text, deleted }) => deleted && !(patch + text).trim().includes("\t"))) return null;
  if (indents.some(({ patch, text }) => patch !== text) || inner.length > 0) repairs.add("indentation");
  const doubtfulTabs = inner.length > 0 || indenting.spaced || (indenting.changed && /\S *\t/.test(text));
  const unquote = (all: string, one: string | undefined, inner: string, two: string, other: string) =>
    text.includes(one ?? two) || !bent.has("'") ? all : one ? `'${inner}'` : `"${other}"`;
  const write = (line: string, at: number): string | null => {
    let body = writeEnd(line, ends);
    if (body.trim() === "") return indenting.changed || padded ? "" : body;
    if (escaped) body = body.replace(/^(?:\s|\\t)+/, plainTabs);
    if (escaped && body.includes("\\t")) return null;
    if (fancyPatch) {
      // A pair is known by its first: the text may have the second as an apostrophe.
      body = body.replace(/(\u2018)([^\u2018\u2019]*)\u2019|(\u201c)([^\u201c\u201d]*)\u201d/g, unquote);
      let sure = true;
      body = body.replace(FANCIES, (each) => {
        const isBent = bent.has(bend(each));
        if (isBent === text.includes(each)) sure = false;
        return isBent ? plainTypography(each) : each;
      });
      if (!sure) return null;
    }
    if (fancyText && /['"-]|\.\.\./.test(body)) return null;
    if (doubtfulTabs && /\S(?: {2,}|\t)\S/.test(body)) return null;
    const bare = body.trimStart();
    const indentation = indenting.write(head(body), at, bare);
    return indentation === null ? null : indentation + bare;
  };
  return { repairs: [...repairs], write };
}

/** The keyboard form of a character, with one quote for both kinds. */
function bend(fancy: string): string {
  return plainTypography(fancy).replace('"', "'");
}

/** The white space that a line begins with. */
function head(line: string): string {
  return line.slice(0, line.length - line.trimStart().length);
}

/** By how many characters the lines of a text are mostly further indented than those before them; 0 if none is. */
function stepOf(target: Target): number {
  if (target.step !== undefined) return target.step;
  const counts = new Map<number, number>([[0, 0]]);
  let last = Infinity;
  for (const line of target.lines) {
    const { length } = head(line);
    if (length === line.length) continue;
    if (length > last) counts.set(length - last, (counts.get(length - last) ?? 0) + 1);
    last = length;
  }
  target.step = [...counts].reduce((most, each) => (each[1] > most[1] ? each : most))[0];
  return target.step;
}
