import { Conversations, type Entry, type Header } from "@parlance/recordings";
import { expect, test } from "vitest";
import { mayHoldEdits, streamedText, textsOfEntry } from "../../src/node/edit-texts.js";
import { Log, type LogLimits, searchRows, textOf } from "../../src/node/log.js";
import { LogView } from "../../src/page/store.js";
import type { FeedLine, Row } from "../../src/row.js";
import { contract } from "../harbour.js";

// What the timeline has of a conversation, entry by entry: in the inspector, and on the page.

const header: Header = { recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] };
const talk = new Conversations(contract, await contract.accepts());
const base = { t: 0, c: 1 };
const client = { ...base, from: "client" } as const;
const server = { ...base, from: "server" } as const;
const json = [["Content-Type", "application/json"]] as const;
const stream = [["Content-Type", "text/event-stream"]] as const;
const frame = (from: "client" | "server", message: object, more = {}): Entry =>
  ({ ...base, from, kind: "frame", text: JSON.stringify(message), c: 2, ...more }) as Entry;

const entries: readonly Entry[] = [
  { ...client, kind: "request", method: "POST", target: "/say/otter?ticket=1", headers: json },
  { ...client, kind: "body", text: '{"text":"hello"}' },
  { ...server, t: 5, kind: "response", status: 200, headers: stream },
  { ...server, t: 6, kind: "comment", text: ": beat\n\n" },
  { ...server, t: 7, kind: "event", text: '{"kind":"word","text":"moored"}' },
  { ...server, t: 8, kind: "event", text: '{"kind":"word","text":7}' },
  { ...server, t: 9, kind: "event", text: '{"kind":"later"}' },
  { ...server, t: 9, kind: "event", text: '{"kind":"word","text":"```edit\\nfile: a"}' },
  { ...server, t: 10, kind: "event", text: '{"kind":"over"}' },
  { ...server, t: 11, kind: "end" },
  { ...client, c: 2, kind: "request", method: "GET", target: "/radio/otter", headers: [], socket: true },
  { ...server, c: 2, kind: "response", status: 101, headers: [] },
  frame("server", { kind: "mayEnter", berth: 4 }),
  frame("server", { kind: "mayEnter", berth: 5 }),
  { ...server, c: 2, kind: "ping" },
  frame("client", { kind: "yes", of: 5, allowed: true }),
  frame("client", { kind: "yes", of: 4, allowed: false }),
  { ...server, c: 2, kind: "frame", base64: "AAEC" },
  { ...server, c: 2, kind: "frame", size: 12 },
  { ...client, c: 2, kind: "close", code: 1000, reason: "" },
  { ...client, c: 3, kind: "request", method: "GET", target: "/none", headers: [["Last-Event-ID", "1"]] },
  { ...server, c: 3, kind: "error", text: "lost" },
];

const refusal: readonly Entry[] = [
  { ...client, kind: "request", method: "POST", target: "/say/otter", headers: json },
  { ...client, kind: "body", text: '{"text":"hello"}' },
  { ...server, kind: "response", status: 404, headers: json },
  { ...server, kind: "body", text: '{"problem":"no such ship"}' },
  { ...server, kind: "end" },
];

function logOf(limits?: LogLimits, all = entries): Log {
  const log = new Log("one", "One", talk, limits);
  log.begin(header);
  for (const entry of all) log.add(entry);
  return log;
}
const rowsOf = (log: Log) =>
  Array.from({ length: log.last }, (_, at) => log.row(at + 1)).filter((row) => row !== undefined);

test("a row has of its entry what the page shows", async () => {
  const rows = rowsOf(logOf()).map((row) => `${JSON.stringify(row)}\n`);
  await expect(rows.join("")).toMatchFileSnapshot("../listed/rows.txt");
});

test("a refusal's status is on its answer and the body of it", () => {
  expect(rowsOf(logOf({}, refusal)).map(({ status }) => status)).toEqual([undefined, undefined, 404, 404, undefined]);
});

test("a log numbers its entries, and drops the oldest beyond its limits", () => {
  for (const [limits, dropped] of [
    [{ entries: 22 }, 0],
    [{ entries: 21 }, 1],
    [{ entries: 1 }, 21],
    [{ size: 1 }, 21],
    [{ size: 450 }, 20],
    [{}, 0],
  ] as const) {
    const log = logOf(limits);
    expect({ last: log.last, dropped: log.dropped, limits }).toEqual({ last: 22, dropped, limits });
    expect(log.row(dropped)).toBeUndefined();
    expect(log.row(dropped + 1)).toMatchObject({ n: dropped + 1 });
    expect(log.entry(dropped + 1)).toBe(entries[dropped]);
    expect([...log.entries()]).toHaveLength(22 - dropped);
  }
});

test("a log is a recording again, whole or of one connection", async () => {
  const log = logOf();
  const lines = [...log.lines()];
  expect(JSON.parse(lines[0]!)).toEqual(header);
  expect(lines.slice(1, -1).map((line) => JSON.parse(line))).toEqual(entries);
  expect(JSON.parse(lines.at(-1)!)).toEqual({ end: { lines: 23, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } });
  expect([...log.entries(3)]).toEqual(entries.slice(-2));
  expect([...new Log("two", "Two", talk).lines()]).toHaveLength(1);
});

test("a log takes a recorder's lines, its faults are rows without an entry, and its listeners hear of each", () => {
  const log = new Log("one", "One", talk);
  let heard = 0;
  const stop = log.listen(() => heard++);
  log.write(JSON.stringify(header));
  expect(log.header).toEqual(header);
  log.write(JSON.stringify(entries[0]));
  log.fault(1, "cut");
  expect(heard).toBe(2);
  expect(log.row(2)).toMatchObject({ n: 2, c: 1, from: "server", kind: "fault", text: "cut", size: 3 });
  expect(log.entry(2)).toBeUndefined();
  expect([...log.entries()]).toHaveLength(1);
  expect(log.ending).toBeUndefined();
  log.end({ state: "complete", lines: 2 });
  expect({ heard, ending: log.ending }).toEqual({ heard: 3, ending: "complete" });
  stop();
  log.end({ state: "cut", reason: "no end", lines: 2 });
  expect({ heard, ending: log.ending }).toEqual({ heard: 3, ending: "cut: no end" });
});

test.each<[Entry, string]>([
  [{ ...client, kind: "request", method: "PUT", target: "/a?b", headers: [] }, "PUT /a?b"],
  [{ ...server, kind: "response", status: 204, headers: [] }, "204"],
  [{ ...server, kind: "response", status: 200, headers: json }, "200 application/json"],
  [{ ...server, kind: "close", code: 1000, reason: "" }, "1000"],
  [{ ...server, kind: "close", code: 1001, reason: "bye" }, "1001 bye"],
  [{ ...server, kind: "error", text: "lost" }, "lost"],
  [{ ...server, kind: "body", text: "" }, ""],
  [{ ...server, kind: "frame", base64: "AA==" }, "base64 AA=="],
  [{ ...server, kind: "body", size: 3, encoding: "br" }, "3 bytes, encoded: br"],
  [{ ...server, kind: "comment", text: ":" }, ":"],
  [{ ...server, kind: "ping" }, ""],
])("%j reads %j", (entry, text) => {
  expect(textOf(entry)).toBe(text);
});

test("a long text is cut in its row, and found behind the cut", async () => {
  const long = (words: string): Entry => ({ ...server, kind: "body", text: `${"x".repeat(2000)}${words}` });
  const log = logOf({}, [long(""), long("Needle"), { ...server, kind: "body", text: "needle" }, long("a needle")]);
  expect(log.row(1)).toMatchObject({ size: 2000, text: "x".repeat(2000) });
  expect(log.row(2)).toMatchObject({ size: 2006, text: "x".repeat(2000) });
  expect(await searchRows(log, "NEEDLE", 1)).toEqual({ rows: [2, 4], last: 4 });
  expect(await searchRows(log, "needle", 3)).toEqual({ rows: [4], last: 4 });
  expect(await searchRows(log, "x".repeat(2000), 1)).toEqual({ rows: [2, 4], last: 4 });
});

test.each([
  ["@@ -1 +1 @@", true],
  ["text\n@@ -1", true],
  ["a @@ b", false],
  ["<<<<<<< SEARCH", true],
  ["<<<< SEARCH", false],
  ["*** Begin Patch", true],
  ["```edit", true],
  ["--- a/b", true],
  ["----", false],
  ['{"old_str":1}', true],
])("%j may hold edits: %s", (text, may) => {
  expect(mayHoldEdits(text)).toBe(may);
});

test("the texts of a message that may hold edits have the path of the file beside them", () => {
  const diff = "--- a\n+++ b";
  const texts = (value: unknown) => textsOfEntry({ ...server, kind: "event", text: JSON.stringify(value) });
  expect(texts({ path: "a.ts", diff, other: "text" })).toEqual([{ text: diff, path: "a.ts" }]);
  for (const name of ["file", "filename", "fileName", "file_path", "filePath", "base_path", "file_name"])
    expect(texts({ [name]: "a.ts", diff })).toEqual([{ text: diff, path: "a.ts" }]);
  for (const name of ["paths", "profile", "a_file"]) expect(texts({ [name]: "a.ts", diff })).toEqual([{ text: diff }]);
  expect(texts({ path: "a.ts", list: [{ diff }, { path: "b.ts", diff }, { path: 1, diff }] })).toEqual([
    { text: diff, path: "a.ts" },
    { text: diff, path: "b.ts" },
    { text: diff, path: "a.ts" },
  ]);
  expect(textsOfEntry({ ...server, kind: "event", text: diff })).toEqual([{ text: diff }]);
  expect(textsOfEntry({ ...server, kind: "frame", base64: "AA==" })).toEqual([]);
  expect(textsOfEntry({ ...server, kind: "ping" })).toEqual([]);
});

test("the text of a stream is put together of its pieces, and of nothing else", () => {
  expect(streamedText(talk, "say", entries.slice(0, 10))).toBe("moored```edit\nfile: a");
  expect(streamedText(talk, "radio", entries)).toBe("");
  expect(streamedText(talk, "none", entries)).toBe("");
});

/** The page's view of the same rows. */
function viewOf(lines: readonly FeedLine[] = rowsOf(logOf()).map((row) => ({ row }))): LogView {
  const view = new LogView();
  view.take(lines);
  return view;
}

test("the page keeps what the feed says, and the asks that wait", () => {
  const rows = rowsOf(logOf());
  const view = viewOf(rows.slice(0, 14).map((row) => ({ row })));
  expect([...view.asks.keys()]).toEqual([13, 14]);
  view.take(rows.slice(14, 16).map((row) => ({ row })));
  expect([...view.asks.keys()]).toEqual([13]);
  view.take(rows.slice(19, 20).map((row) => ({ row })));
  expect([...view.asks.keys()]).toEqual([]);
  view.take([{ dropped: 5 }, { dropped: 3 }, { ending: "cut" }]);
  expect({ dropped: view.dropped, ending: view.ending }).toEqual({ dropped: 5, ending: "cut" });
  expect(view.call(1)).toMatchObject({ c: 1, name: "say", status: 200, state: "done" });
  expect([view.call(9), view.call(undefined)]).toEqual([undefined, undefined]);
});

test("an ask of a connection that is over waits no more, and one of another does", () => {
  const asking = (n: number, c: number): Row => ({
    n,
    c,
    t: n,
    from: "server",
    kind: "frame",
    text: "",
    size: 0,
    ask: { by: "server", ask: "mayEnter" },
  });
  for (const kind of ["end", "error", "close"]) {
    const view = viewOf([
      { row: asking(1, 1) },
      { row: asking(2, 2) },
      { row: { ...asking(3, 1), ask: { by: "client", ask: "x" } } },
    ]);
    expect([...view.asks.keys()]).toEqual([1, 2]);
    view.take([{ row: { n: 4, c: 1, t: 2000, from: "server", kind, text: "", size: 0 } }]);
    expect([...view.asks.keys()]).toEqual([2]);
    expect([...view.gaps]).toEqual([[4, 1997]]);
  }
});

test("a filter shows the rows that fit, and those of a long text once they have been found", () => {
  const view = viewOf();
  const shown = () => view.shown.map(({ n }) => n);
  expect(shown()).toHaveLength(22);
  view.set({ ...view.filter, connection: 3 });
  expect(shown()).toEqual([21, 22]);
  view.take([{ row: { n: 23, c: 3, t: 0, from: "server", kind: "body", text: "short", size: 2001 } }]);
  expect(shown()).toEqual([21, 22, 23]);
  expect(view.unsearched()).toBeUndefined();
  view.set({ ...view.filter, text: "needle" });
  expect(shown()).toEqual([]);
  expect(view.unsearched()).toEqual({ text: "needle", from: 1 });
  view.find("other", { rows: [23], last: 23 });
  expect(shown()).toEqual([]);
  view.find("needle", { rows: [23], last: 23 });
  expect(shown()).toEqual([23]);
  expect(view.unsearched()).toBeUndefined();
  view.set({ ...view.filter, connection: undefined });
  expect(shown()).toEqual([23]);
  view.set({ ...view.filter, text: "lost" });
  expect(shown()).toEqual([22]);
  expect(view.unsearched()).toEqual({ text: "lost", from: 1 });
  view.find("lost", { rows: [], last: 20 });
  expect(view.unsearched()).toEqual({ text: "lost", from: 21 });
});

test("the page holds so many rows, and drops a tenth of them when there are more", () => {
  const rows = (from: number, count: number) =>
    Array.from(
      { length: count },
      (_, at): FeedLine => ({
        row: { n: from + at, c: 1, t: 0, from: "server", kind: "ping", text: "", size: 0 },
      }),
    );
  const view = viewOf(rows(1, 250_000));
  expect({ rows: view.rows.length, dropped: view.dropped }).toEqual({ rows: 250_000, dropped: 0 });
  view.take(rows(250_001, 1));
  expect({ rows: view.rows.length, dropped: view.dropped }).toEqual({ rows: 225_000, dropped: 25_001 });
  expect(view.shown).toHaveLength(225_000);
});
