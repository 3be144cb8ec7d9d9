import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Conversations, type Entry } from "@parlance/recordings";
import { expect, onTestFinished, test } from "vitest";
import { Log, type LogLimits } from "../../src/node/log.js";
import { streamRows } from "../../src/node/row-stream.js";
import { contract } from "../harbour.js";

// The feed of a log, line by line.

const talk = new Conversations(contract, await contract.accepts());
const ping: Entry = { t: 0, c: 1, from: "server", kind: "ping" };

function logOf(count: number, limits?: LogLimits): Log {
  const log = new Log("one", "One", talk, limits);
  log.begin({ recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] });
  for (let at = 0; at < count; at++) log.add(ping);
  return log;
}

/** The lines of a feed until there are as many as asked for, and the feed's end after its reader has left. */
async function feedOf(log: Log, from: number, count: number, meanwhile: (lines: number) => void = () => {}) {
  let over: Promise<void> | undefined;
  const server = createServer((_, response) => {
    over = streamRows(log, from, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const leave = new AbortController();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const response = await fetch(url, { signal: leave.signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const lines = () => text.split("\n").slice(0, -1);
  while (lines().length < count) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
    meanwhile(lines().length);
  }
  leave.abort();
  await over;
  const told = lines().map((line) => JSON.parse(line));
  return { headers: response.headers, lines: told.map(({ row, ...line }) => (row ? row.n : line)) };
}
const upTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

test("has every row from a number on, in as many parts as it takes", async () => {
  const { headers, lines } = await feedOf(logOf(1201), 1, 1201);
  expect(lines).toEqual(upTo(1, 1201));
  expect(headers.get("content-type")).toBe("application/x-ndjson");
  expect(headers.get("cache-control")).toBe("no-store");
  expect((await feedOf(logOf(5), 4, 2)).lines).toEqual([4, 5]);
  expect((await feedOf(logOf(2), -3, 2)).lines).toEqual([1, 2]);
});

test("says how many rows are no longer held, before the others", async () => {
  expect((await feedOf(logOf(10, { entries: 3 }), 1, 4)).lines).toEqual([{ dropped: 7 }, 8, 9, 10]);
  expect((await feedOf(logOf(10, { entries: 3 }), 9, 3)).lines).toEqual([{ dropped: 7 }, 9, 10]);
});

test("goes on with new rows, and tells the end of an opened file once", async () => {
  const log = logOf(1);
  let ended = false;
  const { lines } = await feedOf(log, 1, 4, (count) => {
    if (count === 1) log.add(ping);
    if (count === 2 && !ended) {
      ended = true;
      log.end({ state: "cut", reason: "no end line", lines: 3 });
    }
    if (count === 3) log.add(ping);
  });
  expect(lines).toEqual([1, 2, { ending: "cut: no end line" }, 3]);
});
