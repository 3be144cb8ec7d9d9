/** How the indentation of a patch becomes that of the text. */
export interface Indenting {
  readonly changed: boolean;
  /** Null for an indentation that no pair explains. */
  readonly write: (own: string) => string | null;
  /** Did the patch write spaces for tabs? */
  readonly spaced: boolean;
}

/** The white space that a line of the patch begins with, and that of the text's line which it matched. */
export type Indents = readonly (readonly [patch: string, text: string])[];

/** One rule for all lines, or none: the same, a constant piece more, a constant piece less, tabs for spaces or spaces for tabs. */
export function learnIndenting(indents: Indents): Indenting | null {
  if (indents.every(([patch, text]) => patch === text)) return { changed: false, write: (own) => own, spaced: false };
  const [patch, text] = indents[0]!;
  const more = text.slice(0, Math.max(0, text.length - patch.length));
  const less = patch.slice(0, Math.max(0, patch.length - text.length));
  if (indents.every(([patch, text]) => less + text === more + patch)) {
    const write = (own: string) => (own.startsWith(less) ? more + own.slice(less.length) : null);
    return { changed: true, write, spaced: false };
  }
  for (const width of [4, 2, 8, 3]) {
    const spaces = " ".repeat(width);
    const expand = (own: string) => own.replaceAll("\t", spaces);
    const collapse = (own: string) => own.replaceAll(spaces, "\t");
    if (indents.every(([patch, text]) => expand(text) === patch && collapse(patch) === text)) {
      // Spaces that make no whole tab may stand before or behind one: only the pairs can tell.
      const known = new Map(indents);
      const write = (own: string) => known.get(own) ?? (own.length % width === 0 ? collapse(own) : null);
      return { changed: true, write, spaced: true };
    }
    if (indents.every(([patch, text]) => expand(patch) === text && !text.includes("\t")))
      return { changed: true, write: expand, spaced: false };
  }
  return null;
}
