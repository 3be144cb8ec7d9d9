import type { FeedLine, Found, Row } from "../row.js";
import { addRow, type Call } from "./calls.js";
import { everything, type Filter, matcher } from "./filter.js";

/** The most rows that the page holds; the oldest are dropped first. */
const MAX_ROWS = 250_000;

/** The rows of one log, with what follows from them. */
export class LogView {
  rows: Row[] = [];
  readonly calls = new Map<number, Call>();
  /** Row number -> the silence before it, in milliseconds. */
  readonly gaps = new Map<number, number>();
  /** Asks of the server that wait, by row number. */
  readonly asks = new Map<number, Row>();
  /** Rows that came too early to be held. */
  dropped = 0;
  ending: string | undefined;
  error: string | undefined;
  filter: Filter = everything;
  /** The rows that pass the filter. */
  shown: Row[] = [];
  #seen = 0;
  /** The last row that holds only the beginning of its text. */
  #lastLong = 0;
  /** Of the filter's text: the long rows that hold it, and how far they have been searched. */
  #found = new Set<number>();
  #searched = 0;

  take(lines: readonly FeedLine[]): void {
    for (const line of lines) {
      if ("dropped" in line) this.dropped = Math.max(this.dropped, line.dropped);
      else if ("ending" in line) this.ending = line.ending;
      else this.#add(line.row);
    }
    if (this.rows.length > MAX_ROWS) {
      this.rows = this.rows.slice(-Math.floor(MAX_ROWS * 0.9));
      this.dropped = this.rows[0]!.n - 1;
      this.#restart();
    }
    this.#filter();
  }

  set(filter: Filter): void {
    if (filter.text !== this.filter.text) {
      this.#found = new Set();
      this.#searched = 0;
    }
    this.filter = filter;
    this.#restart();
    this.#filter();
  }

  /** The text that long rows are still to be searched for, and from which row on. */
  unsearched(): { readonly text: string; readonly from: number } | undefined {
    const { text } = this.filter;
    return text === "" || this.#searched >= this.#lastLong ? undefined : { text, from: this.#searched + 1 };
  }

  /** Takes the answer of a search for a text, unless another one is in the filter by now. */
  find(text: string, { rows, last }: Found): void {
    if (text !== this.filter.text) return;
    this.#searched = last;
    if (rows.length === 0) return;
    for (const n of rows) this.#found.add(n);
    this.#restart();
    this.#filter();
  }

  call(c: number | undefined): Call | undefined {
    return c === undefined ? undefined : this.calls.get(c);
  }

  #add(row: Row): void {
    this.rows.push(row);
    if (row.size > row.text.length) this.#lastLong = row.n;
    const gap = addRow(this.calls, row);
    if (gap !== undefined) this.gaps.set(row.n, gap);
    if (row.ask?.by === "server") this.asks.set(row.n, row);
    for (const n of row.settles ?? []) this.asks.delete(n);
    if (row.kind === "error" || row.kind === "close" || row.kind === "end")
      for (const [n, ask] of this.asks) if (ask.c === row.c) this.asks.delete(n);
  }

  #restart(): void {
    this.shown = [];
    this.#seen = 0;
  }

  #filter(): void {
    const fits = matcher(this.filter, this.#found);
    for (; this.#seen < this.rows.length; this.#seen++) {
      const row = this.rows[this.#seen]!;
      if (fits(row)) this.shown.push(row);
    }
  }
}
