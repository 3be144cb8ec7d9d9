import type { Change } from "../sides.js";
import type { Pair } from "./style.js";

/** A line of the new text; `own` if it is to be written. */
interface NewLine {
  readonly body: string;
  readonly own: boolean;
}

/**
 * What begins a text over several lines: quotes in threes, a backtick, a quote, a here document's word. Before them what
 * begins none: a fence of Markdown, a comment to the end of its line, and one over several lines.
 */
const OPEN =
  /`{3,}|(?:^|\s)(?:\/\/|#\s).*|^\s*(?:\*|--)\s.*|^\s*\{?(\/\*|<!--)|("""|'''|`|")|<<[-~]?\s?(?:(["'])(\w+)\3|([A-Z_]{2,})\b)/g;
const COMMENT_ENDS: Record<string, string> = { "/*": "*/", "<!--": "-->" };

/**
 * Whether a line to be written is inside of a string that goes over several lines: to indent it anew would change the string.
 * Not inside of a comment of Python, which is a string on lines of its own, if all is indented as far as its quotes are. A
 * quote alone on its line begins a string only if a line behind it has such a one as well.
 */
export function writesInString(pairs: readonly Pair[], changes: readonly Change[]): boolean {
  const lines = newLines(pairs, changes);
  const lastQuote = lines.findLastIndex(({ body }) => withoutEscapes(body).split('"').length % 2 === 0);
  let close: string | RegExp | null = firstEnd(lines);
  let isComment = close !== null;
  let docs: string | null = null;
  for (const [i, { body, own }] of lines.entries()) {
    const bare = withoutEscapes(body);
    let at = 0;
    if (close !== null) {
      const isDocs = docs !== null && body.startsWith(docs);
      if (own && !isComment && !isDocs && body.trim() !== "") return true;
      const end: number = typeof close === "string" ? bare.indexOf(close) : bare.search(close);
      if (end < 0) continue;
      at = typeof close === "string" ? end + close.length : body.length;
      close = null;
    }
    const plain = bare.replace(/'["`]'/g, "   ");
    OPEN.lastIndex = at;
    for (let open = OPEN.exec(plain); open !== null && close === null; open = OPEN.exec(plain)) {
      const [, comment, quote, , quoted, word] = open;
      const heredoc: string | undefined = quoted ?? word;
      const mark = comment ? COMMENT_ENDS[comment] : quote;
      if (!mark && !heredoc) continue;
      const end = mark ? plain.indexOf(mark, OPEN.lastIndex) : -1;
      if (end >= 0) OPEN.lastIndex = end + mark!.length;
      else if (mark !== '"' || i < lastQuote) close = mark ?? new RegExp(`^\\s*${heredoc}\\b`);
      isComment = comment !== undefined;
    }
    docs = /^(\s*)[rbuf]*(?:"""|''')/i.exec(body)?.[1] ?? null;
  }
  return false;
}

function withoutEscapes(body: string): string {
  return body.replace(/\\./g, "  ");
}

/** The end of a comment that begins above the first line, if there is one. */
function firstEnd(lines: readonly NewLine[]): string | null {
  const edge = lines.find(({ body }) => /^\s*(?:\/\*|\*+\/\s*$)/.test(body));
  return edge?.body.trim().startsWith("*") ? "*/" : null;
}

/** The lines of the new side: those that stay and those to be written. */
function newLines(pairs: readonly Pair[], changes: readonly Change[]): NewLine[] {
  const lines: NewLine[] = [];
  let next = 0;
  const insertUpTo = (at: number) => {
    for (; next < changes.length && changes[next]!.from <= at; next++)
      for (const body of changes[next]!.insert) lines.push({ body, own: true });
  };
  for (const { patch, deleted, at } of pairs) {
    insertUpTo(at);
    if (!deleted) lines.push({ body: patch, own: false });
  }
  insertUpTo(Number.POSITIVE_INFINITY);
  return lines;
}
