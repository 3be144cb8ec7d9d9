import { setImmediate as turn } from "node:timers/promises";
import { type Found, MAX_ROW_TEXT } from "../row.js";
import { type Log, textOf } from "./log.js";

/** Characters that are searched before others get a turn. */
const PART = 1024 * 1024;
/** What a row takes that is not searched, in characters. */
const SKIPPED = 10;

/** The rows from a number on whose entry holds the words behind what the page has of it. Case does not matter. */
export async function searchRows(log: Log, words: string, from: number): Promise<Found> {
  const wanted = words.toLowerCase();
  const rows: number[] = [];
  const { last } = log;
  let searched = 0;
  for (let n = Math.max(from, log.dropped + 1); n <= last; n++) {
    const entry = (log.row(n)?.size ?? 0) > MAX_ROW_TEXT ? log.entry(n) : undefined;
    const text = entry ? textOf(entry) : "";
    if (entry && text.toLowerCase().includes(wanted)) rows.push(n);
    searched += text.length + SKIPPED;
    if (searched < PART) continue;
    searched = 0;
    await turn();
  }
  return { rows, last };
}
