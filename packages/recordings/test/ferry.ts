import { assemble } from "@parlance/language/load";
import type { ContractDocument } from "@parlance/wire";

// A contract that nobody ships, with what a suite is made of: each kind of answer, stream, channel, exchange and keyword.

const string = { type: "string" };
const schema = (title: string, more: object, ...examples: object[]) =>
  JSON.stringify({ title, description: title, ...more, examples });
const object = (title: string, properties: Record<string, object>, required: string[], ...examples: object[]) =>
  schema(title, { type: "object", required, properties }, ...examples);
const message = (kind: string, properties: Record<string, object>, ...examples: object[]) =>
  object(
    `${kind[0]!.toUpperCase()}${kind.slice(1)}Message`,
    { kind: { const: kind }, ...properties },
    ["kind", ...Object.keys(properties)],
    ...examples.map((one) => ({ kind, ...one })),
  );
const lines = (...values: object[]) => values.map((line) => `${JSON.stringify(line)}\n`).join("");
const event = (kind: string, rest: object) => ({
  from: "server",
  wire: `event: ${kind}\ndata: ${JSON.stringify({ kind, ...rest })}\n\n`,
  message: { type: kind, ...rest },
});
const frame = (from: string, kind: string, rest: object) => ({
  from,
  wire: JSON.stringify({ kind, ...rest }),
  message: { type: kind, ...rest },
});

const STREAMED = ["moved", "waiting", "gone", "broken"];
const SPOKEN = ["hello", "welcome", "ask", "told", "busy", "where", "there", "mayBoard", "boards"];
const faults = {
  400: { description: "The request breaks its schema." },
  404: { description: "There is no such pier." },
};

const contract = {
  $schema: "../contract.schema.json",
  format: 1,
  name: "ferry",
  title: "Ferry",
  url: "http://localhost:1",
  auth: { bearer: "required" },
  tag: { in: "property", property: "kind", event: true },
  session: "pier",
  messages: Object.fromEntries(
    [...STREAMED, ...SPOKEN].map((kind) => [
      kind,
      {
        schema: `messages/${kind}.json`,
        ...((kind === "broken" || kind === "busy") && { fault: { text: ["/error"] } }),
      },
    ]),
  ),
  operations: {
    book: {
      method: "POST",
      path: "/piers/{pier}/bookings",
      summary: "Book a place.",
      parameters: {
        pier: { in: "path", type: "string", examples: ["north"] },
        note: { in: "query", type: "string" },
        deck: { in: "query", type: "string", enum: ["upper", "lower"], required: true },
        bicycle: { in: "query", type: "boolean" },
        people: { in: "query", type: "integer" },
      },
      body: "messages/booking.json",
      answer: { status: 201, json: "messages/ticket.json" },
      faults,
    },
    notice: {
      method: "GET",
      path: "/notice",
      summary: "Read the notice.",
      answer: { status: 200, text: "text/plain", examples: ["No service.", "Delays."] },
    },
    leave: {
      method: "DELETE",
      path: "/piers/{pier}",
      summary: "Leave a pier.",
      parameters: { pier: { in: "path", type: "string", minLength: 3 } },
      answer: { status: 204 },
      faults: { 404: faults[404] },
    },
    watch: {
      method: "GET",
      path: "/piers/{pier}/ferry",
      summary: "Watch a ferry.",
      parameters: { pier: { in: "path", type: "string" } },
      answer: {
        status: 200,
        stream: { messages: ["moved", "waiting", "gone", "broken"], end: ["gone", "broken"], fault: "broken" },
      },
    },
    tides: {
      method: "GET",
      path: "/tides",
      summary: "Watch the tides, for ever.",
      answer: { status: 200, stream: { messages: ["moved", "waiting"] } },
    },
    shouts: {
      method: "GET",
      path: "/shouts",
      summary: "Hear what is shouted, until somebody may be gone.",
      answer: { status: 200, stream: { messages: ["waiting", "gone"], mayEnd: ["gone"] } },
    },
  },
  channels: {
    deck: {
      path: "/decks/{deck}",
      summary: "Talk to the deck.",
      parameters: { deck: { in: "path", type: "string" } },
      client: ["hello", "ask", "boards"],
      server: ["welcome", "told", "busy", "mayBoard", "broken"],
      open: { client: "hello", server: "welcome" },
      fault: "broken",
    },
    bridge: {
      path: "/bridge",
      summary: "Talk to the bridge.",
      client: ["where"],
      server: ["there", "moved", "broken"],
      fault: "broken",
    },
  },
  faults: { 401: { description: "The token is missing." }, 503: { description: "There is no ferry." } },
  exchanges: [
    { ask: "ask", by: "client", busy: "busy", answers: [{ message: "told" }] },
    { ask: "where", by: "client", key: "id", answers: [{ message: "there", key: "of" }] },
    { ask: "mayBoard", by: "server", key: "id", answers: [{ message: "boards" }] },
  ],
  fault: {
    schema: "messages/fault.json",
    text: ["/error"],
    code: ["/code"],
    codes: { FULL: { status: 409, description: "No place is left." }, STORM: { description: "Nothing sails." } },
  },
};

/** The contract's folder, by file. */
export const ferryFiles: Readonly<Record<string, string>> = {
  "contract.json": JSON.stringify(contract),
  "messages/booking.json": object(
    "BookingBody",
    { name: { ...string, minLength: 1 }, seats: { type: "integer", minimum: 1 } },
    ["name"],
    { name: "Ann", seats: 2 },
    { name: "Bo" },
  ),
  "messages/ticket.json": schema(
    "Ticket",
    {
      type: "object",
      required: ["number", "places"],
      properties: {
        number: { ...string, pattern: "^F[0-9]+$" },
        name: { ...string, minLength: 2, maxLength: 8 },
        price: { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 100, multipleOf: 0.5 },
        age: { type: "integer", minimum: 0, maximum: 150 },
        places: { type: "array", items: { $ref: "#/$defs/place" }, minItems: 1, maxItems: 2, uniqueItems: true },
        meals: { type: "array", items: string, contains: { const: "tea" } },
        until: { ...string, format: "date-time" },
        class: { enum: ["first", "second"] },
        line: { const: "red" },
        pet: { anyOf: [{ ...string, maxLength: 3 }, { type: "integer" }] },
        way: { oneOf: [{ type: "boolean" }, { type: "null" }] },
        colour: { allOf: [{ ...string, minLength: 1 }] },
        more: {
          type: "object",
          properties: { "a/b": string, "c~d": { type: "integer" } },
          propertyNames: { maxLength: 12 },
          minProperties: 1,
          maxProperties: 2,
          dependentRequired: { "a/b": ["c~d"] },
        },
        strict: { type: "object", properties: { one: string }, additionalProperties: false },
        port: { $ref: "port.json" },
      },
      $defs: { place: { type: "object", required: ["row"], properties: { row: { type: "integer", minimum: 1 } } } },
    },
    {
      number: "F12",
      name: "Ann",
      price: 4.5,
      age: 30,
      places: [{ row: 1 }, { row: 2 }],
      meals: ["tea", "cake"],
      until: "2030-01-01T00:00:00Z",
      class: "first",
      line: "red",
      pet: "dog",
      way: true,
      colour: "blue",
      more: { "a/b": "x", "c~d": 1 },
      strict: { one: "x" },
      port: { name: "Lee" },
    },
    { number: "F1", places: [{ row: 3 }] },
  ),
  "messages/port.json": object("Port", { name: string, up: { $ref: "#" } }, ["name"], { name: "Lee" }),
  "messages/moved.json": message("moved", { to: string }, { to: "a" }, { to: "bb" }),
  "messages/waiting.json": message("waiting", { minutes: { type: "integer", minimum: 0 } }, { minutes: 3 }),
  "messages/gone.json": message("gone", {}, {}),
  "messages/broken.json": message("broken", { error: string }, { error: "No steam." }),
  "messages/hello.json": message("hello", { name: string }, { name: "Ann" }, { name: "Bo" }),
  "messages/welcome.json": message("welcome", { crew: { type: "integer" } }, { crew: 5 }),
  "messages/ask.json": message("ask", { text: string }, { text: "When?" }),
  "messages/told.json": message("told", { text: string }, { text: "Soon." }),
  "messages/busy.json": message("busy", { error: string }, { error: "One at a time." }),
  "messages/where.json": message("where", { id: string }, { id: "w1" }),
  "messages/there.json": message("there", { of: string }, { of: "w0" }),
  "messages/mayBoard.json": message("mayBoard", { id: string }, { id: "b1" }),
  "messages/boards.json": message("boards", { id: string, yes: { type: "boolean" } }, { id: "b1", yes: true }),
  "messages/fault.json": object("FaultBody", { error: string, code: string }, ["error"], { error: "no" }),
  "transcripts/day.jsonl": lines(
    { note: "A booking, a ferry that is watched, and what is refused." },
    {
      from: "client",
      call: "book",
      input: { pier: "north", deck: "upper", name: "Ann" },
      request: { method: "POST", target: "/piers/north/bookings?deck=upper", body: '{"name":"Ann"}' },
    },
    {
      from: "server",
      status: 201,
      type: "application/json",
      body: '{"number":"F7","places":[{"row":1}]}',
      answer: { number: "F7", places: [{ row: 1 }] },
    },
    { from: "client", call: "leave", input: { pier: "west" }, request: { method: "DELETE", target: "/piers/west" } },
    { from: "server", status: 404, type: "application/json", body: '{"error":"no such pier"}' },
    { from: "client", call: "notice", input: {}, request: { method: "GET", target: "/notice" } },
    { from: "server", status: 200, type: "text/plain", body: "Delays.", answer: "Delays." },
    { from: "client", call: "leave", input: { pier: "north" }, request: { method: "DELETE", target: "/piers/north" } },
    { from: "server", status: 204, body: "" },
    {
      from: "client",
      call: "watch",
      input: { pier: "north" },
      request: { method: "GET", target: "/piers/north/ferry" },
    },
    event("moved", { to: "a" }),
    { from: "server", wire: 'event: sunk\ndata: {"kind":"sunk"}\n\n', unknown: true },
    { from: "client", call: "notice", input: {}, request: { method: "GET", target: "/notice" } },
    { from: "server", status: 200, type: "text/plain", body: "No service.", answer: "No service." },
    event("gone", {}),
    { from: "server", end: "done" },
  ),
  "transcripts/storm.jsonl": lines(
    { note: "A stream that is cut, one that its client leaves, and a deck." },
    {
      from: "client",
      call: "watch",
      input: { pier: "north" },
      request: { method: "GET", target: "/piers/north/ferry" },
    },
    event("waiting", { minutes: 1 }),
    { from: "server", end: "cut" },
    { from: "client", call: "tides", input: {}, request: { method: "GET", target: "/tides" } },
    event("waiting", { minutes: 2 }),
    { from: "client", end: "close" },
    { from: "client", call: "deck", input: { deck: "upper" }, request: { method: "GET", target: "/decks/upper" } },
    frame("client", "hello", { name: "Ann" }),
    frame("server", "welcome", { crew: 5 }),
    frame("client", "ask", { text: "When?" }),
    frame("client", "ask", { text: "Now?" }),
    frame("server", "busy", { error: "One at a time." }),
    frame("server", "told", { text: "Soon." }),
    { from: "client", wire: '{"kind":"jumps"}', unknown: true },
    frame("server", "broken", { error: "Nobody jumps." }),
    { from: "server", end: "close" },
  ),
};

export const ferry: ContractDocument = assemble({ name: "ferry", files: ferryFiles });
