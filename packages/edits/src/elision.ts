/** A marker that begins a comment, and the text behind it. A dash is one of SQL, a semicolon of Lisp, a per cent sign of TeX. */
const COMMENT = /^\s*(?:\/\/|#|--|;|%|\/\*|\{\/\*|<!--)\s*(.*)/;
const DOTS = /^[[(]?(?:\.{3}|…)/;
/** Dots and nothing else, or some words between dots: `...rest` is code. */
const BARE_DOTS = /^\s*(?:(?:\.{3,}|…)(?:\s?[\p{L}(].*(?:\.{3}|…))?|\[\.{3}\]|\(\.{3}\))\s*$/u;
/** Characters of the longest elision: a longer line is written for its own sake. */
const MAX_ELISION_LENGTH = 120;
/** Files in which dots alone are code: stubs of Python, C, Lua, R and YAML. A body in Python may be left out as well. */
const DOTTED_LANGUAGE = /\.(?:pyi|pxd|c|h|cc|cpp|cxx|hh|hpp|hxx|mm?|lua|r|ya?ml)$/i;

/** A comment that begins with dots (`// ... existing code ...`), or dots that are alone or have words between them. */
export function isElision(line: string): boolean {
  if (line.length > MAX_ELISION_LENGTH || !hasDots(line)) return false;
  const comment = COMMENT.exec(line)?.[1];
  return comment === undefined ? BARE_DOTS.test(line) : DOTS.test(comment);
}

/** A quick check: few lines have dots. */
export function hasDots(text: string): boolean {
  return text.includes("...") || text.includes("…");
}

/** The first added line that stands for deleted ones. An old line of the kind shows that the file has such lines; dots alone can be text or code. */
export function findElision(changes: readonly string[], path: string): string | null {
  const added = changes.filter((line) => line[0] === "+" && hasDots(line) && isElision(line.slice(1)));
  const deleted = added.length === 0 ? [] : changes.filter((line) => line[0] === "-");
  if (deleted.length === 0) return null;
  const isOneLine = () => deleted.filter((line) => !changes.includes(`+${line.slice(1)}`)).length < 2;
  const mayBeText = isProse(path) || (DOTTED_LANGUAGE.test(path) && isOneLine());
  const found = added.find((line) => !mayBeText || /\p{L}{3}/u.test(line));
  return found === undefined || changes.some((line) => line[0] !== "+" && isElision(line.slice(1))) ? null : found;
}

/** Whether a file is text more than code, by its name: it may have headings underlined with `=`, and dots as examples. */
export function isProse(path: string): boolean {
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  return !name.includes(".") || /\.(?:md|mdx|markdown|rst|txt|adoc|org|pod|rdoc)$/i.test(name);
}
