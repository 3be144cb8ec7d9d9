import type { Change } from "../sides.js";
import type { Pair } from "./style.js";

/** A line of the new text; `own` if it is to be written. */
interface NewLine {
  readonly body: string;
  readonly own: boolean;
}

/** What begins a text over several lines: quotes in threes, a backtick, a quote, or a here document's word. */
const OPEN = /"""|'''|`|"|<<[-~]?\s?(?:(["'])(\w+)\1|([A-Z_]{2,})\b)/g;

/**
 * Whether a line to be written is inside of a string that goes over several lines: to indent it anew would change the string.
 * Not inside of a comment of Python, which is a string on lines of its own, if all is indented as far as its quotes are.
 */
export function writesInString(pairs: readonly Pair[], changes: readonly Change[]): boolean {
  let close: string | RegExp | null = null;
  let docs: string | null = null;
  for (const { body, own } of newLines(pairs, changes)) {
    let at = 0;
    if (close !== null) {
      const isDocs = docs !== null && (body.trim() === "" || body.startsWith(docs));
      if (own && !isDocs && body.trim() !== "") return true;
      const end: number = typeof close === "string" ? body.indexOf(close) : body.search(close);
      if (end < 0) continue;
      at = typeof close === "string" ? end + close.length : body.length;
      close = null;
    }
    const plain = body.replace(/\\.|'["`]'/g, "  ");
    OPEN.lastIndex = at;
    for (let open = OPEN.exec(plain); open !== null && close === null; open = OPEN.exec(plain)) {
      const [mark, , quoted, word] = open;
      const heredoc: string | undefined = quoted ?? word;
      const end = heredoc ? -1 : plain.indexOf(mark, OPEN.lastIndex);
      if (end >= 0) OPEN.lastIndex = end + mark.length;
      else close = heredoc ? new RegExp(`^\\s*${heredoc}\\b`) : mark;
    }
    docs = /^(\s*)[rbuf]*(?:"""|''')/i.exec(body)?.[1] ?? null;
  }
  return false;
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
