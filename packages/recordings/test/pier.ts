import { assemble } from "@parlance/language/load";
import type { ContractDocument } from "@parlance/wire";

// A contract with what `ferry` has not: requests that a call or a part answers, keys for all of them, and every refusal declared.

const string = { type: "string" };
const message = (kind: string, properties: Record<string, object>, ...examples: object[]) =>
  JSON.stringify({
    title: `${kind[0]!.toUpperCase()}${kind.slice(1)}Message`,
    description: kind,
    type: "object",
    required: ["kind", ...Object.keys(properties)],
    properties: { kind: { const: kind }, ...properties },
    examples: examples.map((one) => ({ kind, ...one })),
  });
const body = (title: string, name: string, ...values: string[]) =>
  JSON.stringify({
    title,
    description: title,
    type: "object",
    required: [name],
    properties: { [name]: string },
    examples: values.map((value) => ({ [name]: value })),
  });

const lines = (...values: object[]) => values.map((line) => `${JSON.stringify(line)}\n`).join("");
const frame = (from: string, kind: string, rest: object) => ({
  from,
  wire: JSON.stringify({ kind, ...rest }),
  message: { type: kind, ...rest },
});
const call = (name: string, input: object, method: string, target: string, body?: string) => ({
  from: "client",
  call: name,
  input,
  request: { method, target, ...(body !== undefined && { body }) },
});
const radio = call("radio", { band: "low" }, "GET", "/radio/low");

const KINDS = ["spotted", "mayDock", "where", "there", "question", "reply", "broken"];
const contract = {
  $schema: "../contract.schema.json",
  format: 1,
  name: "pier",
  title: "Pier",
  url: "http://localhost:1",
  tag: { in: "property", property: "kind" },
  session: "ship",
  messages: Object.fromEntries(
    KINDS.map((kind) => [
      kind,
      { schema: `messages/${kind}.json`, ...(kind === "broken" && { fault: { text: ["/error"] } }) },
    ]),
  ),
  operations: {
    watch: {
      method: "GET",
      path: "/ships/{ship}/watch",
      summary: "Watch a ship.",
      parameters: { ship: { in: "path", type: "string", examples: ["daphne"] } },
      answer: {
        status: 200,
        stream: { messages: ["spotted", "mayDock", "broken"], closedBy: "sail", fault: "broken" },
      },
    },
    dock: {
      method: "POST",
      path: "/ships/{ship}/dock",
      summary: "Dock a ship.",
      parameters: { ship: { in: "path", type: "string" } },
      body: "messages/docking.json",
      answer: { status: 204 },
    },
    sail: {
      method: "DELETE",
      path: "/ships/{ship}",
      summary: "Leave the pier.",
      parameters: { ship: { in: "path", type: "string" } },
      answer: { status: 204 },
    },
  },
  channels: {
    radio: {
      path: "/radio/{band}",
      summary: "Talk to the pier.",
      parameters: { band: { in: "path", type: "string", enum: ["high", "low"] } },
      client: ["where", "reply"],
      server: ["there", "question", "broken"],
      fault: "broken",
    },
  },
  faults: Object.fromEntries(
    [400, 403, 404, 405, 413, 415, 426].map((status) => [status, { description: "Refused." }]),
  ),
  exchanges: [
    { ask: "where", by: "client", key: "id", answers: [{ message: "there", key: "of" }] },
    { ask: "question", by: "server", key: "id", answers: [{ message: "reply", partial: { part: ["half"] } }] },
    { ask: "mayDock", by: "server", key: "id", answers: [{ operation: "dock", key: "berth" }] },
  ],
  fault: { schema: "messages/fault.json", text: ["/error"] },
};

const files: Readonly<Record<string, string>> = {
  "contract.json": JSON.stringify(contract),
  "messages/docking.json": body("DockingBody", "berth", "b1"),
  "messages/fault.json": body("FaultBody", "error", "no"),
  "messages/spotted.json": message("spotted", { far: { type: "integer" } }, { far: 3 }),
  "messages/mayDock.json": message("mayDock", { id: string }, { id: "b1" }, { id: "b2" }),
  "messages/where.json": message("where", { id: string }, { id: "w1" }),
  "messages/there.json": message("there", { of: string }, { of: "w0" }),
  "messages/question.json": message("question", { id: string }, { id: "q1" }),
  "messages/reply.json": message(
    "reply",
    { id: string, part: string },
    { id: "q1", part: "half" },
    { id: "q1", part: "all" },
  ),
  "transcripts/night.jsonl": lines(
    { note: "Channels that their client closes, leaves and loses, and a call while one is open." },
    radio,
    frame("client", "where", { id: "w1" }),
    frame("server", "there", { of: "w1" }),
    { from: "client", end: "close" },
    radio,
    frame("server", "question", { id: "q1" }),
    call("dock", { ship: "daphne", berth: "b1" }, "POST", "/ships/daphne/dock", '{"berth":"b1"}'),
    { from: "server", status: 204, body: "" },
    frame("client", "reply", { id: "q1", part: "all" }),
    { from: "client", end: "cut" },
    radio,
    frame("server", "question", { id: "q2" }),
    { from: "server", end: "cut" },
    call("sail", { ship: "daphne" }, "DELETE", "/ships/daphne"),
    { from: "server", status: 409, type: "application/json", body: '{"error":"not yet"}' },
  ),
  "messages/broken.json": message("broken", { error: string }, { error: "No light." }),
};

export const pier: ContractDocument = assemble({ name: "pier", files });
