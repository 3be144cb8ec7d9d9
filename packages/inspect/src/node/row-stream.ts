import type { ServerResponse } from "node:http";
import type { FeedLine } from "../row.js";
import type { Log } from "./log.js";

/** Rows that are written together. */
const BATCH = 500;

/**
 * Writes a log's rows from number `from` on, one JSON line each, until the reader leaves. A slow reader is waited for: nothing
 * is queued for it, and rows that the log has dropped meanwhile are counted.
 */
export async function streamRows(log: Log, from: number, response: ServerResponse): Promise<void> {
  let next = Math.max(from, 1);
  let counted = 0;
  let wake = () => {};
  let over = false;
  const stop = log.listen(() => wake());
  response.on("error", () => {});
  response.on("drain", () => wake());
  response.on("close", () => {
    over = true;
    wake();
  });
  response.writeHead(200, { "Content-Type": "application/x-ndjson", "Cache-Control": "no-store" });
  response.flushHeaders();
  let ended = false;
  while (!over) {
    const lines: FeedLine[] = [];
    if (log.dropped > counted) {
      counted = log.dropped;
      next = Math.max(next, counted + 1);
      lines.push({ dropped: counted });
    }
    for (let row = log.row(next); row && lines.length < BATCH; row = log.row(++next)) lines.push({ row });
    if (next > log.last && log.ending !== undefined && !ended) {
      ended = true;
      lines.push({ ending: log.ending });
    }
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    if (lines.length > 0) response.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    if (lines.length === 0 || response.writableNeedDrain) await woken;
    // A new row wakes it too, while the reader has not taken what was written.
    while (!over && response.writableNeedDrain)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
  stop();
}
