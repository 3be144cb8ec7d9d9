import { expect, test } from "vitest";
import type { Entry } from "../../src/recording.js";
import { Gate } from "../../src/replay/gate.js";
import { connectionsIn, uncompared, unsendable } from "../../src/replay/loaded.js";

// The entries that a replay waits for, and those that it can send again.

const entry = (from: "client" | "server", kind: string, more: object = {}) =>
  ({ t: 0, c: 1, from, kind, ...more }) as unknown as Entry;
const request = () => entry("client", "request", { method: "GET", target: "/", headers: [] });
const frame = (from: "client" | "server") => entry(from, "frame", { text: "" });

test("the server's messages wait for the client's requests and frames that were recorded before them", () => {
  const entries = [request(), frame("server"), frame("client"), entry("client", "body"), request(), frame("server")];
  const gate = new Gate(entries);
  expect(gate.pending(0, 0)).toBeUndefined();
  expect(gate.pending(0, 1)).toBe(entries[0]);
  expect(gate.pending(1, 2)).toBeUndefined();
  expect(gate.pending(1, 3)).toBe(entries[2]);
  expect(gate.pending(3, 5)).toBe(entries[4]);
  expect(gate.pending(5, 9)).toBeUndefined();
  gate.pass(entries[0]!);
  expect(gate.pending(0, 2)).toBeUndefined();
  expect(gate.pending(0, 6)).toBe(entries[2]);
  gate.pass(entries[4]!);
  expect(gate.pending(0, 6)).toBe(entries[2]);
  gate.pass(entries[2]!);
  expect(gate.pending(0, 6)).toBeUndefined();
});

test("a wait ends with the last action between its two positions, and others go on", async () => {
  const entries = Array.from({ length: 6 }, request);
  const gate = new Gate(entries);
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
    gate.pass(entries[at]!);
    await turn();
    expect(done).toEqual(names);
  }
  gate.pass(frame("client"));
  for (const one of entries.slice(3)) gate.pass(one);
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

test("a take has its request's body, text or bytes, and all else as steps", () => {
  const body = entry("client", "body", { text: "hello" });
  const bytes = entry("client", "body", { base64: "AAEC", c: 2 });
  const answer = entry("server", "body", { text: "hi" });
  const entries = [entry("server", "end"), request(), body, { ...request(), c: 2 }, bytes, answer, frame("client")];
  const takes = connectionsIn(entries);
  expect(takes.map(({ at, body, base64, steps }) => ({ at, body, base64, steps }))).toEqual([
    {
      at: 1,
      body: "hello",
      base64: undefined,
      steps: [
        { entry: answer, at: 5 },
        { entry: entries[6], at: 6 },
      ],
    },
    { at: 3, body: expect.any(String), base64: "AAEC", steps: [] },
  ]);
});

test("the server's messages without a text are counted, and binary bodies are not", () => {
  const size = { text: undefined, size: 0 };
  const entries = [
    entry("server", "event", size),
    entry("server", "body", { size: 3 }),
    entry("server", "frame", { base64: "" }),
    entry("server", "body", { base64: "" }),
    entry("server", "frame", { text: "" }),
    entry("client", "frame", { base64: "" }),
    entry("client", "body", { size: 3 }),
  ];
  expect(uncompared({ entries } as never)).toBe(3);
});
