import type { Target } from "./target.js";

/** How a comment begins in files of these names: alone on its line, or behind code. */
const COMMENTS: readonly (readonly [path: RegExp, mark: RegExp])[] = [
  [
    /\.(?:[cm]?[jt]sx?|c|h|cc|hh|cpp|hpp|cs|java|kts?|go|rs|swift|scala|dart|php|s[ac]ss|less|proto|zig)$/i,
    /^(?:\/\*\*?|\*|(?:.*\s)?\/\/[/!]?) (?=\p{L})/u,
  ],
  [
    /\.(?:pyi?|rb|sh|bash|zsh|ya?ml|toml|p[lm]|r|exs?|tf|cfg|conf)$|(?:^|\/)(?:Make|Docker)file$/i,
    /^(?:.*\s)?#+ (?=\p{L})/u,
  ],
];
/** Words and the signs of a sentence: what a tool reads in a comment has others. */
const SENTENCE = /^(?:[`"'(]*\p{L}+[`"').,;]*(?: |$)){4,}$/u;
/** Characters of a line: a longer one is generated, not typed. */
const LONGEST = 1_000;

/** Lines above that are looked at for the beginning of a comment. */
const REACH = 100;

/** Whether two lines of a file have a comment with one sentence in slightly other words, and the same code before it. */
export function isReworded(patch: string, text: string, row: number, { path, lines }: Target): boolean {
  if (Math.max(patch.length, text.length) > LONGEST) return false;
  const kind = COMMENTS.findIndex(([file]) => file.test(path));
  const [code, there] = [patch, text].map((line) => COMMENTS[kind]?.[1].exec(line)?.[0] ?? "");
  // An uneven number of quotes: the mark stands in a string.
  if (code !== there || (code!.match(/["'`]/g)?.length ?? 0) % 2 === 1) return false;
  const [said, right] = [patch, text].map((line) => line.slice(code!.length));
  if (!SENTENCE.test(said!) || !SENTENCE.test(right!)) return false;
  const [words, known] = [said, right].map((line) => new Set(line!.toLowerCase().match(/\p{L}+/gu)));
  const same = [...words!].filter((word) => known!.has(word)).length;
  return 2 * same > Math.max(words!.size, known!.size) && (code !== "" || (kind === 0 && isInBlock(row, lines)));
}

/** Whether a line without a mark of its own is inside of a comment, which a line above begins with. */
function isInBlock(row: number, lines: readonly string[]): boolean {
  for (let i = row - 1; i >= 0 && i >= row - REACH; i--) {
    if (lines[i]!.includes("*/")) return false;
    if (lines[i]!.trimStart().startsWith("/*")) return true;
  }
  return false;
}
