// Secrets in a column of a table: Markdown, what a database prints, CSV.

import { mayBeSecret } from "./looks.js";
import type { KindOf } from "./names.js";
import type { Span } from "./span.js";

/** The most rows that are read. */
const MOST = 1000;

interface Cell extends Span {
  readonly text: string;
}

/** Adds the values below a head that names a secret. Returns where the table begins that the end of the text may go on with, or its length. */
export function columnsIn(text: string, kindOf: KindOf, found: Span[]): number {
  if (!/[|,\t]/.test(text)) return text.length;
  let columns: readonly boolean[] = [];
  let by = "";
  let rows = 0;
  let headAt = 0;
  let at = 0;
  let isRecord = false;
  for (const line of text.split("\n")) {
    const from = at;
    at += line.length + 1;
    // psql's \\x has a name and a value in each line.
    isRecord = /^-\[ RECORD/.test(line) || (isRecord && line.includes(" | "));
    if (isRecord) {
      namedIn(cellsOf(line, "|", from), kindOf, found);
      continue;
    }
    const isLast = at > text.length;
    if (columns.length > 0 && rows++ < MOST && line.length < LONG) {
      const cells = cellsOf(line, by, from);
      const isRow = cells.length === columns.length;
      for (const [column, cell] of isRow ? cells.entries() : [])
        if (columns[column] && isValue(cell.text)) found.push(cell);
      if (isLast) return headAt;
      if (isRow || RULE.test(line)) continue;
    }
    columns = [];
    if (/^\s*\|/.test(line)) namedIn(cellsOf(line, "|", from), kindOf, found);
    // A head is of names alone, so that a sentence is none.
    if (line.length > LONG || !HEAD.test(line)) continue;
    by = ["|", "\t", ","].find((one) => line.includes(one)) ?? "";
    if (by === "") continue;
    if (isLast) return by === "," && line.includes(" ") ? text.length : from;
    const head = cellsOf(line, by, from).map(({ text: name }) => name.length > 0 && name.length <= 40 && kindOf(name));
    if (head.length < 2 || head.includes(false) || !head.includes("secret")) continue;
    columns = head.map((kind) => kind === "secret");
    headAt = from;
    rows = 0;
  }
  return text.length;
}

/** Adds the value of a row that has its name first. */
function namedIn([name, value, ...more]: readonly Cell[], kindOf: KindOf, found: Span[]): void {
  if (!name || !value || more.length > 1 || !/^[\w .-]{1,40}$/.test(name.text) || kindOf(name.text) !== "secret")
    return;
  if (!/^[a-z]*$/i.test(value.text) && !/\s/.test(value.text) && isValue(value.text)) found.push(value);
}

const INSERT = /\bINSERT\s+INTO\s+[^\s()]{1,100}\s{0,3}\(([^()]{1,500})\)\s{0,9}VALUES\s{0,9}(?=\()/gi;
const TUPLE = /\s{0,9},?\s{0,9}\(((?:'[^'\n]{0,500}'|"[^"\n]{0,500}"|[^()'"\n]){1,2000})\)/y;
const ITEM = /\s*(?:'([^'\n]*)'|"([^"\n]*)"|([^,'"]*))\s*(?:,|$)/y;

/** Adds the values of SQL: INSERT INTO users (name, password) VALUES ('me', '…'). */
export function insertedIn(text: string, kindOf: KindOf, found: Span[]): void {
  for (const { index, 0: match, 1: names = "" } of text.matchAll(INSERT)) {
    const kinds = names.split(",").map((name) => kindOf(name.trim().replace(/["'`[\]]/g, "")));
    if (!kinds.includes("secret")) continue;
    TUPLE.lastIndex = index + match.length;
    for (let tuple = TUPLE.exec(text); tuple; tuple = TUPLE.exec(text)) {
      const [all, list = ""] = tuple;
      const from = tuple.index + all.length - 1 - list.length;
      ITEM.lastIndex = 0;
      for (const kind of kinds) {
        const item = ITEM.exec(list);
        if (!item) break;
        const value = item[1] ?? item[2] ?? "";
        const at = from + item.index + item[0].indexOf(value);
        if (kind === "secret" && mayBeSecret(value)) found.push({ from: at, to: at + value.length });
      }
    }
  }
}

/** The longest line that is one of a table. */
const LONG = 2000;
/** The line below a head. */
const RULE = /^[\s|+:-]+$/;
const HEAD = /^[\w .*|,\t"'-]+\r?$/;

const isValue = (text: string) => text.length > 2 && !/^[\s:+-]*$/.test(text) && mayBeSecret(text);

/** The cells of a line, without the bars and quotes around them. */
function cellsOf(line: string, by: string, from: number): Cell[] {
  let at = from;
  const cells = line.split(by).map((part) => {
    const start = at + /^[\s"']*/.exec(part)![0].length;
    at += part.length + 1;
    const text = part.replace(/^[\s"']+|[\s"']+$/g, "");
    return { from: start, to: start + text.length, text };
  });
  const isBar = by === "|";
  if (isBar && cells[0]?.text === "") cells.shift();
  if (isBar && cells.at(-1)?.text === "") cells.pop();
  return cells;
}
