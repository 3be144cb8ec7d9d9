import type { Verdict } from "./context.js";

export interface Indenting {
  /** New lines are not written unchanged. */
  readonly changed: boolean;
  /** Null for an indentation that no pair explains. */
  readonly write: (own: string) => string | null;
  /** Did the patch write spaces for tabs? */
  readonly spaced: boolean;
}

/** The white space that an old line begins with in the patch, and in the text's line which it matched. */
export interface IndentPair {
  readonly patch: string;
  readonly text: string;
  readonly deleted: boolean;
  /** Index of the old line, and what follows its white space. */
  readonly at: number;
  readonly body: string;
}

/** A new line's white space, what follows it, and how many old lines stand before the change it is part of. */
export interface NewIndent {
  readonly own: string;
  readonly body: string;
  readonly at: number;
}

const WIDTHS = [4, 2, 8, 3];
/** The end of a line behind which a deeper one may stand. */
const OPENS = /[:{([=,>]$/;
const SAME: Indenting = { changed: false, write: (own) => own, spaced: false };

/** One rule for all lines, or none: the same; markers lost; a constant piece more or less; tabs for spaces or spaces for tabs. */
export function learnIndenting(pairs: readonly IndentPair[], inserts: readonly NewIndent[], step: () => number) {
  if (pairs.every(({ patch, text }) => patch === text)) return SAME;
  const lost = loseMarkers(pairs, inserts);
  if (lost !== "no") return lost === "yes" ? SAME : null;
  if (isTrimmed(pairs)) return keepButFirst(pairs[0]!, inserts);
  return isShifted(pairs) ? shift(pairs, inserts, step) : changeTabs(pairs);
}

function isShifted(pairs: readonly IndentPair[]): boolean {
  const [more, less] = pieces(pairs);
  return pairs.every(({ patch, text, body }) => less + text === more + patch || (patch === text && !hasWord(body)));
}

function pieces(pairs: readonly IndentPair[]): [more: string, less: string] {
  const { patch, text } = pairs.find(({ body, patch, text }) => patch !== text && hasWord(body)) ?? pairs[0]!;
  return [
    text.slice(0, Math.max(0, text.length - patch.length)),
    patch.slice(0, Math.max(0, patch.length - text.length)),
  ];
}

function hasWord(body: string): boolean {
  return /[\p{L}\p{N}]/u.test(body);
}

function shift(pairs: readonly IndentPair[], inserts: readonly NewIndent[], step: () => number): Indenting | null {
  const [more, less] = pieces(pairs);
  const moved = pairs.filter(({ patch, text }) => patch !== text);
  const stayed = new Set(pairs.flatMap(({ patch, text }) => (patch === text ? patch : [])));
  const isOwn = inserts.some((insert, i) => inserts[i - 1]?.at !== insert.at && hasOwn(moved, insert));
  const isBracket = inserts.some(({ own, body }) => stayed.has(own) && !hasWord(body));
  if (isOwn || isBracket || mayBeTrimmed(pairs, inserts) || mayBeScaled(pairs, inserts, step)) return null;
  const write = (own: string) => (own.startsWith(less) ? more + own.slice(less.length) : null);
  return { changed: true, write, spaced: false };
}

function loseMarkers(pairs: readonly IndentPair[], inserts: readonly NewIndent[]): Verdict {
  const isLost = ({ patch, text }: IndentPair) => text === ` ${patch}`;
  const isKept = ({ patch, text, deleted }: IndentPair) => patch === text && (deleted || text[0] !== " ");
  if (!pairs.every((pair) => isKept(pair) || (!pair.deleted && isLost(pair)))) return "no";
  // A dedent would have moved these as well; what stands at the left cannot be moved.
  if (pairs.some((pair) => isKept(pair) && pair.text[0] === " ")) return "yes";
  const moved = pairs.filter((pair) => !isKept(pair));
  const columns = new Set(moved.map(({ text }) => text.length));
  const own = inserts.map(({ own }) => own.length).filter((column) => column > 0 || moved.length === pairs.length);
  if (own.length === 0) return "yes";
  const least = Math.min(...own);
  if (own.some((column) => columns.has(column) !== columns.has(column + 1))) {
    const isDedent = own.some((column) => !columns.has(column) && columns.has(column + 1));
    return isDedent ? "no" : columns.has(least) ? "yes" : "unclear";
  }
  const parities = new Set([...columns].map((column) => column % 2));
  const [parity] = parities;
  if (parities.size > 1) return "unclear";
  if (own.every((column) => column % 2 === parity)) return "yes";
  return own.every((column) => column % 2 !== parity) ? "no" : "unclear";
}

function isTrimmed([first, ...others]: readonly IndentPair[]): boolean {
  return first!.patch === "" && others.length > 0 && others.every(({ patch, text }) => patch === text);
}

function keepButFirst({ text, at: first }: IndentPair, inserts: readonly NewIndent[]): Indenting | null {
  const [head] = inserts;
  const isBare = head?.own === "" && head.at <= first;
  if (inserts.some((insert) => insert.own === "" && !(isBare && insert === head))) return null;
  return isBare ? { changed: false, write: (own) => own || text, spaced: false } : SAME;
}

function mayBeTrimmed([only, ...others]: readonly IndentPair[], inserts: readonly NewIndent[]): boolean {
  const { patch, text, deleted, body, at } = only!;
  const rest = inserts.slice(deleted ? 1 : 0);
  if (others.length > 0 || patch !== "" || rest.length === 0 || (!deleted && rest[0]!.at <= at)) return false;
  const isInner = rest[0]!.own === text && OPENS.test(deleted ? inserts[0]!.body : body);
  return !isInner && rest.some(({ own }) => own.startsWith(text));
}

function hasOwn(pairs: readonly IndentPair[], { own, at }: NewIndent): boolean {
  const beside = nextTo(pairs, at);
  return beside !== undefined && own === beside.text && !(beside.at < at && OPENS.test(beside.body));
}

function nextTo(pairs: readonly IndentPair[], at: number): IndentPair | undefined {
  const behind = pairs.find((pair) => pair.at >= at);
  if (behind?.at === at && behind.deleted) return behind;
  return pairs.findLast((pair) => pair.at < at) ?? behind;
}

function changeTabs(pairs: readonly IndentPair[]): Indenting | null {
  for (const width of WIDTHS) {
    const spaces = " ".repeat(width);
    const expand = (own: string) => own.replaceAll("\t", spaces);
    const collapse = (own: string) => own.replaceAll(spaces, "\t");
    if (pairs.every(({ patch, text }) => expand(text) === patch && collapse(patch) === text)) {
      // Spaces that make no whole tab may stand before or behind one: only the pairs can tell.
      const known = new Map(pairs.map(({ patch, text }) => [patch, text]));
      const write = (own: string) =>
        known.get(own) ?? (/^\t+$/.test(own) ? own : own.length % width === 0 ? collapse(own) : null);
      return { changed: true, write, spaced: true };
    }
    if (pairs.every(({ patch, text }) => expand(patch) === text && !text.includes("\t")))
      return { changed: true, write: expand, spaced: false };
  }
  return null;
}

/** Whether old lines of one depth, and new ones of another, have levels that may be of another width than those of the text. */
function mayBeScaled(pairs: readonly IndentPair[], inserts: readonly NewIndent[], step: () => number): boolean {
  const { length } = pairs[0]!.patch;
  const steps = inserts.map(({ own }) => Math.abs(own.length - length)).filter((each) => each > 0);
  if (steps.length === 0 || pairs.some(({ patch }) => patch.length !== length)) return false;
  return step() > 0 && Math.min(...steps) !== step();
}
