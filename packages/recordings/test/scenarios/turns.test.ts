import { expect, test } from "vitest";
import type { Entry } from "../../src/recording.js";
import { Gate } from "../../src/replay/gate.js";
import { loadRecording, unsendable } from "../../src/replay/loaded.js";

// The entries that a replay waits for, and those that it can send again.

const entry = (from: "client" | "server", kind: string, more: object = {}) =>
  ({ t: 0, c: 1, from, kind, ...more }) as unknown as Entry;
const request = () => entry("client", "request", { method: "GET", target: "/", headers: [] });
const frame = (from: "client" | "server") => entry(from, "frame", { text: "" });

test("the server's messages wait for the client's requests and frames that were recorded before them", () => {
  const gate = new Gate([0, 2, 4]);
  expect(gate.pending(0, 0)).toBeUndefined();
  expect(gate.pending(0, 1)).toBe(0);
  expect(gate.pending(1, 2)).toBeUndefined();
  expect(gate.pending(1, 3)).toBe(2);
  expect(gate.pending(3, 5)).toBe(4);
  expect(gate.pending(5, 9)).toBeUndefined();
  gate.pass(0);
  expect(gate.pending(0, 2)).toBeUndefined();
  expect(gate.pending(0, 6)).toBe(2);
  gate.pass(4);
  expect(gate.pending(0, 6)).toBe(2);
  gate.pass(2);
  expect(gate.pending(0, 6)).toBeUndefined();
});

test("a wait ends with the last action between its two positions, and others go on", async () => {
  const gate = new Gate([0, 1, 2, 3, 4, 5]);
  const done: string[] = [];
  const wait = (name: string, from: number, to: number) => gate.until(from, to).then(() => done.push(name));
  const waits = [wait("none", 6, 9), wait("first", 0, 1), wait("middle", 1, 3), wait("all", 0, 6)];
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  await turn();
  expect(done).toEqual(["none"]);
  for (const [at, names] of [
    [2, ["none"]],
    [1, ["none", "middle"]],
    [0, ["none", "middle", "first"]],
  ] as const) {
    gate.pass(at);
    await turn();
    expect(done).toEqual(names);
  }
  gate.pass(9);
  for (const at of [3, 4, 5]) gate.pass(at);
  await Promise.all(waits);
  expect(done).toEqual(["none", "middle", "first", "all"]);
});

test.each([
  [999, false],
  [1000, true],
  [1003, true],
  [1004, false],
  [1005, true],
  [1006, true],
  [1014, true],
  [1015, false],
  [2999, false],
  [3000, true],
  [4999, true],
  [5000, false],
])("a close with %i can be sent again: %s", (code, can) => {
  const said = unsendable(entry("server", "close", { code, reason: "" }));
  expect(said).toBe(can ? undefined : `a WebSocket is not closed with ${code}`);
});

test("a request whose target is no path cannot be sent again, and other entries can", () => {
  const to = (target: string) => unsendable(entry("client", "request", { target }));
  expect(to("/a?b")).toBeUndefined();
  expect(to("http://a.test/")).toEqual(expect.any(String));
  expect(unsendable(frame("server"))).toBeUndefined();
});

const header = { recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] };
const fileOf = (entries: readonly Entry[]) =>
  new TextEncoder().encode([header, ...entries].map((one) => `${JSON.stringify(one)}\n`).join(""));
const answered = (c: number, more: object = {}) =>
  entry("server", "response", { c, status: 200, headers: [], ...more });

test("a connection has its request's body, text or bytes, and what a replay must know of the rest", async () => {
  const typed = (type: string) => ({ ...request(), c: 2, headers: [["Content-Type", type]] }) as Entry;
  const entries = [
    entry("server", "end"),
    request(),
    entry("client", "body", { text: "hello" }),
    typed("text/plain; charset=latin1"),
    entry("client", "body", { base64: "5A==", c: 2 }),
    answered(1),
    answered(2, { status: 404 }),
    entry("server", "event", { c: 2, size: 7 }),
    frame("client"),
  ];
  const { connections, asks } = await loadRecording([fileOf(entries)]);
  expect(connections).toMatchObject([
    { place: { at: 1 }, last: 8, body: "hello", status: 200, isLong: false },
    { place: { at: 3 }, last: 7, body: "ä", base64: "5A==", status: 404, isLong: true },
  ]);
  expect(asks).toEqual([1, 3, 8]);
});

test("texts that were left out are counted for each side, and binary ones are not", async () => {
  const entries = [
    entry("server", "event", { size: 0 }),
    entry("server", "body", { size: 3 }),
    entry("server", "frame", { base64: "" }),
    entry("server", "body", { base64: "" }),
    entry("server", "frame", { text: "" }),
    entry("client", "frame", { base64: "" }),
    entry("client", "body", { size: 3 }),
  ];
  const { leftOut } = await loadRecording([fileOf(entries)]);
  expect([leftOut.server.count, leftOut.client.count]).toEqual([2, 1]);
});

test.each([1, 7, 64, 1e6])("is read again from any request, in chunks of %i bytes", async (size) => {
  const texts = ["ä", "日本語\n", "😀", ""];
  const entries = texts.flatMap((text, at) => [
    { ...request(), c: at + 1, t: at * 10 } as Entry,
    entry("server", "frame", { text, c: at + 1, t: at * 10 + 3 }),
  ]);
  const bytes = fileOf(entries);
  const reads: number[] = [];
  const recording = await loadRecording(async function* (start) {
    reads.push(start);
    for (let at = start; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  });
  const kept = await loadRecording([bytes]);
  for (const { place } of [...recording.connections].reverse()) {
    const [again, whole] = [[], []] as [unknown[], unknown[]];
    for await (const step of recording.steps(place)) again.push(step);
    for await (const step of kept.steps(place)) whole.push(step);
    // Nothing is known of what came before the first entry.
    expect(again).toEqual([{ ...(whole[0] as object), pause: 0 }, ...whole.slice(1)]);
    expect(again).toHaveLength(entries.length - place.at);
  }
  expect(new Set(reads).size).toBe(5);
});
