import { areDots, areWordyDots } from "./dots.js";

/** The text of a comment alone on its line, in any language's syntax, or behind the body that does nothing in Python. */
const COMMENT = /^\s*(?:pass\s+(?=#))?(?:\/\/+|#+|--|;+|%|\/\*+|\{\/\*|<!--)(.*?)(?:\*+\/\}?|-->|--)?$/;
/** The only words of a comment that stands for lines: one of any other is about the code. */
const WORDS =
  /^(?:(?:the|all|any|of|this|your|my|our|is|are|stays?|remains?|remaining|remainder|here|above|below|in|from|and|goes|to|it|they|left|leave|kept|keep|exactly|else|everything|nothing|as|before|no|not|further|more|changes?|changed|need(?:ed)?|for|brevity|clarity|continues?|unchanged|unmodified|untouched|omitted|elided|snip|snipped|truncated|hidden|shown|same|existing|previous|original|rest|others?|code|files?|functions?|methods?|class|classes|components?|implementations?|body|module|script|logic|contents?|lines|jsx|markup|html|imports?|definitions?|template|stuff) )+$/;
/** Says that something stays, whatever it is. */
const STAYS =
  /\b(?:unchanged|unmodified|untouched|omitted|elided|snip(?:ped)?|truncated|the same|same as|(?:no|nothing|not)(?: \w+)? change[sd]?|as (?:is|before|they are)|not shown|for brevity|code continues?)\b/;
/** Names lines that are not written; a heading names no such part, or says which (`// other users`). */
const OTHERS = /\b(?:existing|previous|original|rest|remain(?:ing|der)|other)\b/;
const PART =
  /\b(?:code|file|functions?|methods?|class(?:es)?|components?|implementations?|body|module|script|logic|contents?|lines|jsx|markup|html|imports|definitions|keep|leave|stays?|remains?)\b|^(?:the )?rest (?:here )?$/;
/** Languages in which dots may be the last argument, and those in which they may be a body. */
const VARIADIC = /\.(?:c|h|cc|cpp|cxx|hh|hpp|hxx|m|mm|r|lua)$/i;
const PYTHON = /\.(?:py|pyx)$/i;
/** A line of Python that does nothing, or is a signature. */
const NOTHING = /^-\s*(?:pass|\.{3}|raise NotImplementedError\b.*|>>>.*)$/;
const STUB = /\.(?:pyi|pxd)$/i;

/** Whether a line only stands for omitted lines: `...`, `// ...`, `(...)`, `// rest of the function unchanged`. */
export function isElision(line: string): boolean {
  // A quick check: most lines begin with none of these.
  if (line.length > 120 || !/^\s*(?:[/#\-;%{<(.[…]|pass\s)/.test(line)) return false;
  if (areDots(line) || line.trim() === "(...)") return true;
  const said = COMMENT.exec(line.trimEnd())?.[1];
  if (said === undefined) return false;
  const bare = said.replace(/^[\s[(.…-]+|[\s\]).…-]+$/g, "").toLowerCase();
  if (bare === "") return /\.{3}|…/.test(said);
  const words = `${bare.replace(/[ ,;:()]+/g, " ")} `;
  return WORDS.test(words) && (STAYS.test(words) || (OTHERS.test(words) && PART.test(words)));
}

/**
 * The first added line that stands for lines which would be lost; null where there is none. Where old lines have such a line as
 * well it may be one of the file, and it is none where nothing is deleted, nor where dots are code of the file's language.
 */
export function findElision(changes: readonly string[], path: string): string | null {
  if (!changes.some((line) => line[0] === "-")) return null;
  const found = changes.findIndex(
    (line, i) =>
      line[0] === "+" &&
      isElision(line.slice(1)) &&
      (areWordyDots(line.slice(1)) || !(isProse(path) || mayBeCode(changes, i, path))),
  );
  return found < 0 || changes.some((line) => line[0] !== "+" && isElision(line.slice(1))) ? null : changes[found]!;
}

/** Whether a file is text more than code, by its name: it may have headings underlined with `=`, and dots as examples. */
export function isProse(path: string): boolean {
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  return !name.includes(".") || /\.(?:md|mdx|markdown|rst|txt|adoc|org|pod|rdoc)$/i.test(name);
}

/** Whether dots alone may be code here: a body in Python, the last argument in C, the end of a document in YAML. */
function mayBeCode(changes: readonly string[], at: number, path: string): boolean {
  const line = changes[at]!.slice(1);
  if (line.trim() !== "...") return false;
  if (STUB.test(path)) return true;
  if (/\.ya?ml$/i.test(path)) return line.startsWith("...");
  const isNew = (each: string) => each[0] !== "-" && each.slice(1).trim() !== "";
  const before = changes.slice(0, at).findLast(isNew)?.slice(1).trim();
  const behind = changes
    .slice(at + 1)
    .find(isNew)
    ?.slice(1);
  if (VARIADIC.test(path)) return /[,(]$/.test(before ?? "") && /^\s*[)\]]/.test(behind ?? "");
  if (!PYTHON.test(path)) return false;
  // In place of a line that does nothing; in place of others they may stand for these.
  let from = at;
  let to = at;
  while (/^[-+]/.test(changes[from - 1] ?? "")) from--;
  while (/^[-+]/.test(changes[to + 1] ?? "")) to++;
  const indent = line.search(/\S/);
  const isBody = (each: string) => each[0] === "-" && each.slice(1).search(/\S/) >= indent && !NOTHING.test(each);
  return !changes.slice(from, to + 1).some(isBody) && /(?::|"""|''')$|^(?:>>>|\.\.\.)/.test(before ?? ":");
}
