/** Converts the indentation of a patch to that of the text. */
export interface Indenting {
  /** New lines are not written unchanged. */
  readonly changed: boolean;
  /** Null for an indentation that no pair explains. `at` counts the old lines before the new one, whose text is `body`. */
  readonly write: (own: string, at: number, body: string) => string | null;
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
const SAME: Indenting = { changed: false, write: (own) => own, spaced: false };

/**
 * One rule for all lines, or none: the same; markers lost; a constant piece more or less, if the new lines lack it as the
 * old ones do; tabs for spaces or spaces for tabs; where the text mixes those, what the nearest line alike has; and levels of
 * another width.
 */
export function learnIndenting(
  pairs: readonly IndentPair[],
  inserts: readonly NewIndent[],
  step: () => number,
): Indenting | null {
  if (pairs.every(({ patch, text }) => patch === text)) return SAME;
  const lost = loseMarkers(pairs, inserts);
  if (lost !== null) return lost ? SAME : null;
  if (isTrimmed(pairs)) return keepButFirst(pairs[0]!, inserts);
  const { patch, text } = pairs[0]!;
  const more = text.slice(0, Math.max(0, text.length - patch.length));
  const less = patch.slice(0, Math.max(0, patch.length - text.length));
  if (pairs.every(({ patch, text }) => less + text === more + patch)) {
    const moved = areMoved(pairs, inserts);
    if (moved === false) return SAME;
    if (moved === null || mayBeTrimmed(pairs, inserts) || mayBeScaled(pairs, inserts, step)) return null;
    const write = (own: string) => (own.startsWith(less) ? more + own.slice(less.length) : null);
    return { changed: true, write, spaced: false };
  }
  return areStripped(pairs, inserts) ? SAME : (changeTabs(pairs) ?? changeDepths(pairs, inserts));
}

/**
 * Whether context lines lost the one column of their marker: each that begins with a blank in the text has one less in the
 * patch, the others and the deleted lines are the same. The new lines are right then. Null where it is something else,
 * false where it may be either.
 */
function loseMarkers(pairs: readonly IndentPair[], inserts: readonly NewIndent[]): boolean | null {
  const isLost = ({ patch, text }: IndentPair) => text === ` ${patch}`;
  const isKept = ({ patch, text, deleted }: IndentPair) => patch === text && (deleted || text[0] !== " ");
  if (!pairs.every((pair) => isKept(pair) || (!pair.deleted && isLost(pair)))) return null;
  // A dedent would have moved these as well; what stands at the left cannot be moved.
  if (pairs.some((pair) => isKept(pair) && pair.text[0] === " ")) return true;
  const moved = pairs.filter((pair) => !isKept(pair));
  const columns = new Set(moved.map(({ text }) => text.length));
  const own = inserts.map(({ own }) => own.length).filter((column) => column > 0 || moved.length === pairs.length);
  if (own.length === 0) return true;
  const least = Math.min(...own);
  if (own.some((column) => columns.has(column) !== columns.has(column + 1))) {
    const isDedent = own.some((column) => !columns.has(column) && columns.has(column + 1));
    return isDedent ? null : columns.has(least);
  }
  const parities = new Set([...columns].map((column) => column % 2));
  const [parity] = parities;
  if (parities.size > 1) return false;
  if (own.every((column) => column % 2 === parity)) return true;
  return own.every((column) => column % 2 !== parity) ? null : false;
}

/** Whether the first line alone lacks all its white space, as in a text that was copied from its first letter on. */
function isTrimmed([first, ...others]: readonly IndentPair[]): boolean {
  return first!.patch === "" && others.length > 0 && others.every(({ patch, text }) => patch === text);
}

/** New lines that are right but for the first, which may lack its white space as the first old line does. */
function keepButFirst({ text, at: first }: IndentPair, inserts: readonly NewIndent[]): Indenting | null {
  const [head] = inserts;
  const isBare = head?.own === "" && head.at <= first;
  if (inserts.some((insert) => insert.own === "" && !(isBare && insert === head))) return null;
  return isBare ? { changed: false, write: (own) => own || text, spaced: false } : SAME;
}

/** Whether the only old line may have been trimmed, and not dedented, since the new ones behind the first are no further out than it is. */
function mayBeTrimmed([only, ...others]: readonly IndentPair[], inserts: readonly NewIndent[]): boolean {
  const { patch, text, deleted, body, at } = only!;
  const rest = inserts.slice(deleted ? 1 : 0);
  if (others.length > 0 || patch !== "" || rest.length === 0 || (!deleted && rest[0]!.at <= at)) return false;
  // Behind a line that opens a block stands a deeper one.
  const isInner = rest[0]!.own === text && OPENS.test(deleted ? inserts[0]!.body : body);
  return !isInner && rest.every(({ own }) => own.startsWith(text));
}

/**
 * Whether the new lines are as far from the text's indentation as the old ones are. They may have it already, where the
 * old ones alone were moved. Null where it can be either.
 */
function areMoved(pairs: readonly IndentPair[], inserts: readonly NewIndent[]): boolean | null {
  const { own, given } = countVotes(pairs, inserts);
  if (given === 0) return true;
  const deleted = pairs.filter((pair) => pair.deleted);
  // Context is the same on both sides of the patch, so both have its indentation: new lines that do not are in doubt.
  if (own > 0 || deleted.length < pairs.length) return null;
  const [first] = pairs.map(({ text }) => text).sort((a, b) => a.length - b.length);
  if (!inserts.every((insert) => insert.own.startsWith(first!))) return null;
  // Where nothing but the indentation changes, it may be what is to change.
  return deleted.map(({ body }) => body).join("\n") === inserts.map(({ body }) => body).join("\n") ? null : false;
}

/** How many changes begin as far in as the patch has the old line there, and how many as the text has it. */
function countVotes(pairs: readonly IndentPair[], inserts: readonly NewIndent[]): { own: number; given: number } {
  let own = 0;
  let given = 0;
  for (const [i, insert] of inserts.entries()) {
    if (inserts[i - 1]?.at === insert.at) continue;
    const beside = nextTo(pairs, insert.at);
    if (beside === undefined || beside.patch === beside.text) continue;
    if (insert.own === beside.patch) own++;
    // Behind a line that opens a block a deeper one says nothing.
    else if (insert.own === beside.text && !(beside.at < insert.at && OPENS.test(beside.body))) given++;
  }
  return { own, given };
}

const OPENS = /(?:[:{([=,>]|\b(?:then|do|begin|else))$/;

/** The deleted line that a change begins with, else the line before it, else the one behind. */
function nextTo(pairs: readonly IndentPair[], at: number): IndentPair | undefined {
  const behind = pairs.find((pair) => pair.at >= at);
  if (behind?.at === at && behind.deleted) return behind;
  return pairs.findLast((pair) => pair.at < at) ?? behind;
}

/** Context without any of its white space, from lines of several depths: the new lines have theirs if they stand as their neighbours do. */
function areStripped(pairs: readonly IndentPair[], inserts: readonly NewIndent[]): boolean {
  const context = pairs.filter((pair) => !pair.deleted);
  const depths = new Set(context.map(({ text }) => text));
  const isBare = context.every(({ patch }) => patch === "") && depths.size > 1 && !depths.has("");
  if (!isBare || pairs.some((pair) => pair.deleted && pair.patch !== pair.text)) return false;
  return inserts.every(({ own, at }, i) => {
    if (inserts[i - 1]?.at === at) return own !== "";
    const before = pairs.findLast((pair) => pair.at < at);
    const behind = pairs.find((pair) => pair.at >= at);
    const isOpened = before !== undefined && OPENS.test(before.body);
    return (
      (own === before?.text && !isOpened) || (own === behind?.text && (before === undefined || own === before.text))
    );
  });
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
  for (const width of WIDTHS) {
    const expand = (own: string) => own.replaceAll("\t", " ".repeat(width));
    if (pairs.every(({ patch, text }) => expand(patch) === expand(text)))
      return { changed: true, write: (own, at) => nearestAlike(pairs, own, at), spaced: true };
  }
  return null;
}

/** What the line that is replaced, else the nearest old line with this indentation, has in the text; null where there is none, or two that differ. */
function nearestAlike(pairs: readonly IndentPair[], own: string, at: number): string | null {
  const alike = pairs.filter(({ patch }) => patch === own);
  const replaced = alike.find((pair) => pair.at === at && pair.deleted);
  if (replaced) return replaced.text;
  const distance = (pair: IndentPair) => (pair.at < at ? at - 1 - pair.at : pair.at - at);
  const least = Math.min(...alike.map(distance));
  const texts = new Set(alike.filter((pair) => distance(pair) === least).map(({ text }) => text));
  return texts.size === 1 ? [...texts][0]! : null;
}

/** Whether old lines of one depth, and new ones of another, have levels that may be of another width than those of the text. */
function mayBeScaled(pairs: readonly IndentPair[], inserts: readonly NewIndent[], step: () => number): boolean {
  const { length } = pairs[0]!.patch;
  const steps = inserts.map(({ own }) => Math.abs(own.length - length)).filter((each) => each > 0);
  if (steps.length === 0 || pairs.some(({ patch }) => patch.length !== length)) return false;
  return step() > 0 && Math.min(...steps) !== step();
}

/**
 * Spaces for each depth of the patch where it has levels of another width than the text: each depth has one in the text, and no
 * two of them change places. Items of a list (`- a`) have depths of their own, since YAML lets them stand as far in as their
 * key. A new line has a depth that an old one has, or one in the ratio that all of them share. Null where a change begins at a
 * depth that may be the text's own.
 */
function changeDepths(pairs: readonly IndentPair[], inserts: readonly NewIndent[]): Indenting | null {
  const keyOf = (own: string, body: string) => (body.startsWith("- ") ? `${own}-` : own);
  const known = new Map(pairs.map(({ patch, text, body }) => [keyOf(patch, body), text]));
  // One column less may be a marker that was lost.
  const isDoubtful = ({ patch, text, body }: IndentPair) =>
    /[^ ]/.test(patch + text) || known.get(keyOf(patch, body)) !== text || text.length === patch.length + 1;
  if (known.get("") || pairs.some(isDoubtful)) return null;
  const depths = [...known].sort(([a], [b]) => a.length - b.length);
  const isOrdered = ["", "-"].every((end) =>
    depths
      .filter(([own]) => own.endsWith("-") === (end === "-"))
      .every(([, text], i, all) => i === 0 || text.length > all[i - 1]![1].length),
  );
  const isMeant = inserts.every((insert, i) => {
    const beside = nextTo(pairs, insert.at)!;
    const isItem = insert.body.startsWith("- ") && known.has(keyOf(insert.own, insert.body));
    if (isItem || inserts[i - 1]?.at === insert.at) return true;
    const isOpened = beside.at < insert.at && OPENS.test(beside.body);
    return isOpened ? insert.own.length > beside.patch.length : insert.own === beside.patch;
  });
  if (!isOrdered || !isMeant) return null;
  const wide = pairs.filter(({ patch, text }) => patch + text !== "").sort((a, b) => a.patch.length - b.patch.length);
  const [{ length }, width] = [wide[0]!.patch, wide[0]!.text.length];
  const isScaled =
    wide.some(({ patch }) => patch.length !== length) &&
    wide.every(({ patch, text }) => patch.length * width === text.length * length);
  const scale = (own: string) =>
    isScaled && own.length % length === 0 ? " ".repeat((own.length * width) / length) : null;
  return { changed: true, write: (own, _, body) => known.get(keyOf(own, body)) ?? scale(own), spaced: false };
}
