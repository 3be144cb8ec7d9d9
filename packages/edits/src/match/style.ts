import { withoutReturn } from "../lines.js";
import type { Rung } from "../result.js";
import type { Change, Sides } from "../sides.js";
import { learnIndenting } from "./indentation.js";
import { looseLine, plainTypography, type Target } from "./target.js";

/** The style of a hunk's new lines at a place, learned from its old lines and their matches. */
export interface LineStyle {
  readonly repairs: readonly Rung[];
  /** The body of an inserted line in the style of the place; null if nothing shows that style. */
  readonly write: (line: string) => string | null;
}

/** An old line, the text's line that it matched, whether it is deleted, and its index. */
export interface Pair {
  readonly patch: string;
  readonly text: string;
  readonly deleted: boolean;
  readonly at: number;
}

export const exactStyle: LineStyle = { repairs: [], write: (line) => line };

/** The old lines that have a row, each with the line of the text there. */
export function pairUp(sides: Sides, rows: readonly number[], target: Target): Pair[] {
  return rows.flatMap((row, i) =>
    row < 0 ? [] : { patch: sides.old[i]!, text: target.lines[row]!, deleted: sides.deleted[i]!, at: i },
  );
}

/** Pairs that contradict each other give no style: guessing indentation or quotes would be as wrong as guessing a place. */
export function learnStyle(pairs: readonly Pair[], changes: readonly Change[], target: Target): LineStyle | null {
  const repairs = new Set<Rung>();
  // The patch has white space behind lines that have none in the text.
  let isPadded = false;
  for (const { patch, text } of pairs) {
    const [own, there] = [withoutReturn(patch), withoutReturn(text)];
    const [ownTail, tail] = [own, there].map((line) => line.slice(line.trimEnd().length));
    if (patch.endsWith("\r") !== text.endsWith("\r")) repairs.add("line-endings");
    if (ownTail !== tail) repairs.add("trailing-space");
    isPadded ||= ownTail !== "" && tail === "" && there !== "";
  }
  const read = pairs.map((pair) => ({ ...pair, patch: pair.patch.trimEnd(), text: pair.text.trimEnd() }));
  const typography = learnTypography(read, target.text);
  const spacing = learnSpacing(read, changes, target);
  if (spacing === null || (spacing.isChanged && writesInString(pairs, changes))) return null;
  if (typography.isUsed) repairs.add("typography");
  if (spacing.isUsed) repairs.add("indentation");
  const write = (line: string): string | null => {
    const body = isPadded ? withoutReturn(line).trimEnd() : withoutReturn(line);
    if (body.trim() === "") return spacing.isChanged || isPadded ? "" : body;
    const typed = typography.write(body);
    return typed === null ? null : spacing.write(typed);
  };
  return { repairs: [...repairs], write };
}

const FANCIES = /[\u2010-\u2015\u2018-\u201f\u2026\u2212\u00a0\u2000-\u200a\u202f\u205f]/g;

/** How typographic characters are written: those that the old lines have and the text has not become plain. */
function learnTypography(pairs: readonly Pair[], text: string) {
  // The keyboard form of a character, with one quote for both kinds: they say nothing of dashes.
  const bend = (fancy: string) => plainTypography(fancy).replace('"', "'");
  /** What one of two lines alike has more of. */
  const excess = (one: string, other: string) =>
    looseLine(one) === looseLine(other)
      ? (one.match(FANCIES) ?? []).filter((each) => one.split(each).length > other.split(each).length).map(bend)
      : [];
  const bent = new Set(pairs.flatMap(({ patch, text }) => excess(patch, text)));
  const isFancyText = pairs.some(({ patch, text }) => excess(text, patch).length > 0);
  const unquote = (all: string, one: string | undefined, inner: string, two: string, other: string) =>
    text.includes(one ?? two) || !bent.has("'") ? all : one ? `'${inner}'` : `"${other}"`;
  const write = (line: string): string | null => {
    let isSure = true;
    // A pair is known by its first: the text may have the second as an apostrophe.
    const quotes = /(\u2018)([^\u2018\u2019]*)\u2019|(\u201c)([^\u201c\u201d]*)\u201d/g;
    const plain = (bent.size > 0 ? line.replace(quotes, unquote) : line).replace(FANCIES, (each) => {
      const isBent = bent.has(bend(each));
      if (bent.size > 0 && isBent === text.includes(each)) isSure = false;
      return isBent ? plainTypography(each) : each;
    });
    return isSure && !(isFancyText && /['"-]|\.\.\./.test(plain)) ? plain : null;
  };
  return { isUsed: bent.size > 0 || isFancyText, write };
}

/** How white space is written in front of new lines. */
function learnSpacing(pairs: readonly Pair[], changes: readonly Change[], target: Target) {
  const plain = pairs.map(({ patch, text, ...pair }) => ({
    ...pair,
    patch: plainTypography(patch),
    text: plainTypography(text),
  }));
  const indents = plain.flatMap(({ patch, text, ...pair }) =>
    patch.trim() === "" || text.trim() === ""
      ? []
      : { ...pair, patch: head(patch), text: head(text), body: patch.trim() },
  );
  const inserts = changes.flatMap(({ from, insert }) =>
    insert.flatMap((line) => (line.trim() === "" ? [] : { own: head(line), body: line.trim(), at: from })),
  );
  const indenting = learnIndenting(indents, inserts, () => stepOf(target));
  const inner = plain.filter(({ patch, text }) => patch.trim() !== text.trim());
  const isOther = inner.some(({ patch, text, deleted }) => deleted && !(patch + text).trim().includes("\t"));
  if (indenting === null || isOther) return null;
  const { changed: isChanged, spaced } = indenting;
  // Columns inside of lines are in doubt.
  const isDoubtful = inner.length > 0 || spaced || (isChanged && /\S *\t/.test(target.text));
  const write = (line: string): string | null => {
    if (isDoubtful && /\S(?: {2,}|\t)\S/.test(line)) return null;
    const indentation = indenting.write(head(line));
    return indentation === null ? null : indentation + line.trimStart();
  };
  return { isUsed: inner.length > 0 || indents.some(({ patch, text }) => patch !== text), isChanged, write };
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

const QUOTES = /"""|'''|["`]/g;
const HERE = /<<[-~]?\s?(["']?)([A-Za-z_]\w+)\1/;

/** Whether a new line may be inside of a string or here document over several lines, which another indentation would change. */
export function writesInString(pairs: readonly Pair[], changes: readonly Change[]): boolean {
  let open = "";
  const passes = (line: string) => {
    if (open === "") open = HERE.exec(line)?.[2] ?? "";
    else if (/\w/.test(open) && line.trim() === open) open = "";
    for (const [mark] of line.replace(/\\./g, "  ").matchAll(QUOTES))
      if (open === "") open = mark;
      else if (open === mark) open = "";
  };
  let next = 0;
  for (const { patch, deleted, at } of [...pairs, { patch: "", deleted: true, at: Infinity }]) {
    for (; next < changes.length && changes[next]!.from <= at; next++)
      for (const line of changes[next]!.insert) {
        if (open !== "" && line.trim() !== "") return true;
        passes(line);
      }
    if (!deleted) passes(patch);
  }
  return false;
}
