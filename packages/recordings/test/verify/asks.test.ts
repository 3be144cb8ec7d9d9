import { contractValue } from "@parlance/language/value";
import { acp } from "@parlance/protocols/acp";
import { coven } from "@parlance/protocols/coven";
import type { AnyContract } from "@parlance/wire";
import { expect, test } from "vitest";
import { Conversations } from "../../src/conversation.js";
import type { Entry } from "../../src/recording.js";
import { type Note, Verifier } from "../../src/verify.js";
import { pier } from "../pier.js";

// The requests of both sides that a recording leaves open.

const contract = contractValue(pier);
const line = (c: number, from: "client" | "server", more: object) => ({ t: 0, c, from, ...more }) as Entry;
const frame = (c: number, from: "client" | "server", kind: string, rest: object) =>
  line(c, from, { kind: "frame", text: JSON.stringify({ kind, ...rest }) });
const radio = (c: number) => [
  line(c, "client", { kind: "request", method: "GET", target: "/radio/high", headers: [], socket: true }),
  line(c, "server", { kind: "response", status: 101, headers: [] }),
];
const watch = (c: number, ship: string, ...ids: string[]) => [
  line(c, "client", { kind: "request", method: "GET", target: `/ships/${ship}/watch`, headers: [] }),
  line(c, "server", { kind: "response", status: 200, headers: [["Content-Type", "text/event-stream"]] }),
  ...ids.map((id) => line(c, "server", { kind: "event", text: JSON.stringify({ kind: "mayDock", id }) })),
];
const docks = (c: number, ship: string, berth: string) => [
  line(c, "client", {
    kind: "request",
    method: "POST",
    target: `/ships/${ship}/dock`,
    headers: [["Content-Type", "application/json"]],
  }),
  line(c, "client", { kind: "body", text: JSON.stringify({ berth }) }),
  line(c, "server", { kind: "response", status: 204, headers: [] }),
  line(c, "server", { kind: "end" }),
];

async function verified(...lines: Entry[]) {
  return verifiedBy(contract, ...lines);
}

async function verifiedBy(contract: AnyContract, ...lines: Entry[]) {
  const found: string[] = [];
  const notes: Note[] = [];
  const verifier = new Verifier(
    new Conversations(contract, await contract.accepts()),
    ({ rule, message }) => found.push(`${rule}: ${message}`),
    (note) => notes.push(note),
  );
  for (const [at, entry] of lines.entries()) verifier.entry(entry, at + 2);
  const asks = verifier.asks().map(({ by, waiting }) => `${by} ${JSON.stringify(waiting.message)}`);
  return { asks, found, notes, totals: verifier.totals };
}

test("the open requests of each side are those that no answer has settled, by their keys", async () => {
  const where = (id: string) => frame(1, "client", "where", { id });
  const question = (id: string) => frame(1, "server", "question", { id });
  const { asks, found } = await verified(
    ...radio(1),
    where("w1"),
    where("w2"),
    frame(1, "server", "there", { of: "w1" }),
    question("q1"),
    question("q2"),
    frame(1, "client", "reply", { id: "q2", part: "all" }),
    frame(1, "client", "reply", { id: "q1", part: "half" }),
  );
  expect(asks).toEqual(['server {"type":"question","id":"q1"}', 'client {"type":"where","id":"w2"}']);
  expect(found).toEqual([]);
});

test("an answer to nothing is found, with the key that it has", async () => {
  const { found } = await verified(
    ...radio(1),
    frame(1, "server", "there", { of: "w1" }),
    frame(1, "client", "reply", { id: "q1", part: "all" }),
  );
  expect(found).toEqual([
    expect.stringMatching(/^exchange: there answers nothing that is open: where with /),
    'exchange: reply answers nothing that is open: question with id "q1"',
  ]);
});

test("an operation answers what a stream of the same session has asked, and no other", async () => {
  const open = watch(1, "daphne", "b1", "b2");
  expect((await verified(...open)).asks).toHaveLength(2);
  expect((await verified(...open, ...docks(2, "daphne", "b1"))).asks).toEqual(['server {"type":"mayDock","id":"b2"}']);
  expect((await verified(...open, ...docks(2, "elena", "b1"))).asks).toHaveLength(2);
  expect((await verified(...open, ...docks(2, "daphne", "b3"))).asks).toHaveLength(2);
});

// A contract without sessions.
const post = (c: number, target: string, body: object, headers: readonly (readonly string[])[] = []) => [
  line(c, "client", {
    kind: "request",
    method: "POST",
    target,
    headers: [["Content-Type", "application/json"], ...headers],
  }),
  line(c, "client", { kind: "body", text: JSON.stringify(body) }),
];
const tool = { name: "write_file", input_json: "{}", request_id: "r" };
const stream = (c: number, id: string, headers: readonly (readonly string[])[] = []) => [
  ...post(c, "/api/agents/a/send", { message: "hi" }, headers),
  line(c, "server", { kind: "response", status: 200, headers: [["Content-Type", "text/event-stream"]] }),
  line(c, "server", { kind: "event", event: "tool_approval", text: JSON.stringify({ ...tool, id }) }),
];
const decided = (c: number, status: number, tool_id: string) => [
  ...post(c, "/api/tools/approve", { agent_id: "a", tool_id, approved: true }),
  line(c, "server", { kind: "response", status, headers: [] }),
];
const openIn = async (...lines: Entry[]) => {
  const { asks } = await verifiedBy(coven as unknown as AnyContract, ...lines);
  return asks.map((ask) => JSON.parse(ask.slice("server ".length)).id);
};

test.each([
  [200, "t1", ["t2"]],
  [404, "t1", ["t1", "t2"]],
  [200, "t3", ["t1", "t2"]],
])(
  "without sessions, an operation answered with %i settles the ask of any stream that has its key %s",
  async (status, id, open) => {
    expect(await openIn(...stream(1, "t1"), ...stream(2, "t2"), ...decided(3, status, id))).toEqual(open);
  },
);

test.each([[[]], [[["Parlance-Resume", "0".repeat(32)]]]])(
  "a stream that has ended takes its requests with it, and a later one may have their keys (%j)",
  async (headers) => {
    const first = [
      ...stream(1, "t1", headers),
      line(1, "server", { kind: "event", event: "done", text: '{"full_response":""}' }),
      line(1, "server", { kind: "end" }),
    ];
    expect(await openIn(...first)).toEqual([]);
    expect(await openIn(...first, ...stream(2, "t1"), ...decided(3, 200, "t1"))).toEqual([]);
  },
);

test("a connection takes its own requests with it, and those of a session stay", async () => {
  const end = (c: number) => line(c, "server", { kind: "error", text: "lost" });
  const own = [...radio(1), frame(1, "client", "where", { id: "w1" })];
  expect((await verified(...own, end(1))).asks).toEqual([]);
  expect((await verified(...watch(1, "daphne", "b1"), end(1))).asks).toHaveLength(1);
  const close = line(1, "client", { kind: "close", code: 1000, reason: "" });
  expect((await verified(...own, close)).asks).toEqual([]);
});

test("of more than a thousand open requests the oldest is withdrawn", async () => {
  const many = Array.from({ length: 1001 }, (_, at) => frame(1, "client", "where", { id: `w${at}` }));
  const { asks, totals } = await verified(...radio(1), ...many);
  expect(asks).toHaveLength(1000);
  expect(asks[0]).toBe('client {"type":"where","id":"w1"}');
  expect(totals).toMatchObject({ connections: 1, messages: 1001, unknown: 0, unknownTypes: {} });
  expect((await verified(...radio(1), ...many.slice(1))).asks[0]).toBe('client {"type":"where","id":"w1"}');
});

test("calls and messages are noted with their line, session and name, unknown and broken ones too", async () => {
  const { notes, totals, found } = await verified(
    ...watch(1, "daphne", "b1"),
    line(1, "server", { kind: "event", text: '{"kind":"later"}' }),
    line(1, "server", { kind: "event", event: "named", text: '{"kind":7}' }),
    line(1, "server", { kind: "event", text: '{"kind":"spotted"}' }),
  );
  expect(totals).toMatchObject({ connections: 1, messages: 4, unknown: 2, unknownTypes: { later: 1, named: 1 } });
  expect(found).toEqual(["schema: server: pier: `far` is missing in the message spotted (from the server)"]);
  const call = { connection: 1, call: "watch", session: "daphne", input: { ship: "daphne" } };
  expect(notes).toEqual([
    { ...call, line: 3, type: undefined },
    { ...call, line: 4, type: "mayDock", message: { type: "mayDock", id: "b1" } },
    { ...call, line: 5, type: "later", unknown: true },
    { ...call, line: 6, type: "named", unknown: true },
    { ...call, line: 7, type: "spotted" },
  ]);
});

const editor = (c: number) => [
  line(c, "client", { kind: "request", method: "GET", target: "/acp", headers: [], socket: true }),
  line(c, "server", { kind: "response", status: 101, headers: [] }),
];
const rpc = (from: "client" | "server", rest: object) =>
  line(1, from, { kind: "frame", text: JSON.stringify({ jsonrpc: "2.0", ...rest }) });

const sides = [
  ["client", "server"],
  ["server", "client"],
] as const;
const EXTENSION = { id: 7, method: "_x/look", params: [1] };
const cases: readonly (readonly [what: string, asked: object[], answers: object[], found: number])[] = [
  ["a result", [EXTENSION], [{ id: 7, result: {} }], 0],
  ["an error", [EXTENSION], [{ id: 7, error: { code: -32601, message: "no" } }], 0],
  ["its notification, and no answer", [{ method: "_x/note", params: {} }], [], 0],
  [
    "a cancel, and the error of that",
    [EXTENSION, { method: "$/cancel_request", params: { requestId: 7 } }],
    [{ id: 7, error: { code: -32800, message: "cancelled" } }],
    0,
  ],
  [
    "the error of a method that nobody has",
    [{ ...EXTENSION, method: "fly" }],
    [{ id: 7, error: { code: -32601, message: "no" } }],
    0,
  ],
  [
    "a second result",
    [EXTENSION],
    [
      { id: 7, result: {} },
      { id: 7, result: {} },
    ],
    1,
  ],
  ["a result with another id", [EXTENSION], [{ id: "7", result: {} }], 1],
  ["a result after its notification", [{ method: "_x/note" }], [{ id: 7, result: {} }], 1],
];
test.each(sides.flatMap(([by, peer]) => cases.map(([what, ...rest]) => [by, what, peer, ...rest] as const)))(
  "an extension of the %s with %s is found only where it breaks JSON-RPC",
  async (by, _, peer, asked, answers, count) => {
    const lines = [...asked.map((one) => rpc(by, one)), ...answers.map((one) => rpc(peer, one))];
    const { found } = await verifiedBy(acp, ...editor(1), ...lines);
    expect(found.filter((one) => one.startsWith("exchange:"))).toHaveLength(count);
    expect(found).toHaveLength(count);
  },
);
