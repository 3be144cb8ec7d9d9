/** How the indentation of a patch becomes that of the text; null for one that no pair explains. */
export interface Indenting {
  readonly changed: boolean;
  readonly write: (indentation: string) => string | null;
  /** Columns of a tab, where one side has tabs and the other spaces. */
  readonly tab: number | null;
}

interface Pair {
  readonly patch: string;
  readonly text: string;
}

/** One rule for all lines, or none: the same, a constant piece more, a constant piece less, tabs for spaces or spaces for tabs. */
export function learnIndenting(pairs: readonly Pair[]): Indenting | null {
  const indents: Pair[] = [];
  for (const { patch, text } of pairs) {
    if (patch.trim() !== "" && text.trim() !== "")
      indents.push({ patch: indentationOf(patch), text: indentationOf(text) });
  }
  if (indents.every(({ patch, text }) => patch === text)) return { changed: false, write: (own) => own, tab: null };
  return learnShift(indents) ?? learnTabs(indents);
}

function learnShift(indents: readonly Pair[]): Indenting | null {
  const { patch, text } = indents[0]!;
  if (text.endsWith(patch)) {
    const more = text.slice(0, text.length - patch.length);
    if (indents.every((pair) => pair.text === more + pair.patch)) {
      return { changed: true, write: (own) => more + own, tab: null };
    }
  }
  if (patch.endsWith(text)) {
    const less = patch.slice(0, patch.length - text.length);
    if (indents.every((pair) => pair.patch === less + pair.text)) {
      return { changed: true, write: (own) => (own.startsWith(less) ? own.slice(less.length) : null), tab: null };
    }
  }
  return null;
}

function learnTabs(indents: readonly Pair[]): Indenting | null {
  for (const tab of [4, 2, 8, 3]) {
    if (indents.every(({ patch, text }) => expandTabs(text, tab) === patch && collapseTabs(patch, tab) === text)) {
      // Spaces that make no whole tab may stand before or behind one: only the pairs can tell.
      const known = new Map(indents.map(({ patch, text }) => [patch, text]));
      const write = (own: string) => known.get(own) ?? (own.length % tab === 0 ? collapseTabs(own, tab) : null);
      return { changed: true, write, tab };
    }
    if (indents.every(({ patch, text }) => expandTabs(patch, tab) === text && !text.includes("\t"))) {
      return { changed: true, write: (own) => expandTabs(own, tab), tab: null };
    }
  }
  return null;
}

export function expandTabs(indentation: string, tab: number): string {
  return indentation.replaceAll("\t", " ".repeat(tab));
}

export function collapseTabs(indentation: string, tab: number): string {
  return indentation.replaceAll(" ".repeat(tab), "\t");
}

export function indentationOf(line: string): string {
  return line.slice(0, line.length - line.trimStart().length);
}
