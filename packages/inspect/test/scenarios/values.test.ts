import type { SchemaObject } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { addRow, type Call, milliseconds } from "../../src/page/calls.js";
import { changed, corrupted, places, without } from "../../src/page/corrupt.js";
import type { Row } from "../../src/row.js";
import {
  blank,
  branchesOf,
  branchOf,
  choicesOf,
  initial,
  nameOf,
  resolve,
  sentenceAt,
  typesOf,
} from "../../src/schema.js";

// What a form begins with, by a schema, and what the page makes of values.

const schemas: Readonly<Record<string, SchemaObject>> = {
  Ship: {
    $id: "/harbour/messages/ship.json",
    description: "A ship.",
    type: "object",
    required: ["name", "size"],
    properties: {
      name: { type: "string", description: "Its name." },
      size: { $ref: "#/$defs/size" },
      home: { $ref: "port.json" },
      crew: {
        type: "array",
        description: "Its people.",
        items: { type: "object", properties: { "a/b~c": { description: "Odd." } } },
      },
      plain: { type: "object", properties: { deep: { description: "Deep." } } },
    },
    $defs: { size: { type: "integer", description: "Its size.", default: 3 }, "a/b": { const: 1 } },
  },
  Port: {
    $id: "/harbour/messages/port.json",
    type: "object",
    required: ["quay"],
    properties: { quay: { $ref: "#/$defs/quay" } },
    $defs: { quay: { enum: ["north", "south"], description: "A quay." } },
  },
};
const ship = schemas.Ship!;

test.each<[string, SchemaObject, SchemaObject]>([
  ["itself", { type: "string" }, { type: "string" }],
  ["a reference in its file", { $ref: "#/$defs/size" }, { type: "integer", description: "Its size.", default: 3 }],
  [
    "what stands beside a reference",
    { $ref: "#/$defs/size", default: 4 },
    { type: "integer", description: "Its size.", default: 4 },
  ],
  ["a reference with signs", { $ref: "#/$defs/a~1b" }, { const: 1 }],
  ["a reference to nothing", { $ref: "#/$defs/none", title: "A" }, { title: "A" }],
  ["a reference to no file", { $ref: "none.json" }, {}],
  [
    "all of several",
    {
      allOf: [{ required: ["a"], properties: { a: { type: "string" } } }, { required: ["b"] }],
      required: ["c"],
      properties: { c: {} },
    },
    { required: ["b", "a", "c"].sort(), properties: { a: { type: "string" }, c: {} } },
  ],
])("a schema is resolved to %s", (_, schema, expected) => {
  const { required, ...rest } = resolve(schemas, schema, ship);
  const sorted = { ...rest, ...(required !== undefined && { required: [...(required as string[])].sort() }) };
  expect(sorted).toEqual(expected);
});

test("a reference to another file, by its name or whole, is followed there", () => {
  for (const $ref of ["port.json", "../messages/port.json", "/harbour/messages/port.json"])
    expect(resolve(schemas, { $ref }, ship)).toMatchObject({ required: ["quay"] });
  expect(resolve(schemas, { $ref: "port.json#/$defs/quay" }, ship)).toMatchObject({ enum: ["north", "south"] });
  expect(resolve(schemas, true)).toEqual({});
  const loop: SchemaObject = { $id: "loop.json", $ref: "loop.json" };
  expect(resolve({ loop }, loop, loop)).toEqual({ $id: "loop.json" });
});

test.each<[unknown, SchemaObject]>([
  [5, { type: "integer", default: 5 }],
  [false, { type: "boolean", default: false }],
  ["e", { type: "string", examples: ["e", "f"] }],
  ["", { type: "string", examples: [] }],
  ["c", { const: "c" }],
  ["x", { enum: ["x", "y"] }],
  ["one", { oneOf: [{ const: "one" }, { const: "two" }] }],
  [0, { anyOf: [{ type: "integer" }, { type: "string" }] }],
  ["", { type: "string" }],
  [0, { type: "number" }],
  [false, { type: "boolean" }],
  [[], { type: "array" }],
  [[], { items: { type: "string" } }],
  [null, { type: "null" }],
  [null, {}],
  ["", { type: ["string", "null"] }],
  [{}, { type: "object" }],
  [{ a: "" }, { required: ["a"], properties: { a: { type: "string" }, b: { type: "string" } } }],
  [{ a: null }, { type: "object", required: ["a"] }],
])("a form begins with %j for %j", (value, schema) => {
  expect(initial(schemas, schema, ship)).toEqual(value);
});

test.each<[unknown, SchemaObject]>([
  ["", { type: "string", default: "d", examples: ["e"] }],
  ["", { type: "integer", default: 5 }],
  [false, { type: "boolean", default: true }],
  ["c", { const: "c", examples: ["e"] }],
  ["x", { enum: ["x", "y"], default: "y" }],
  [{ id: "" }, { type: "object", required: ["id"], properties: { id: { type: "string" } }, examples: [{ id: "e" }] }],
])("an answer begins with %j for %j: an example is of another conversation", (value, schema) => {
  expect(blank(schemas, schema, ship)).toEqual(value);
});

test("a form begins with what the schemas behind references say, and a circle ends", () => {
  expect(initial(schemas, ship, ship)).toEqual({ name: "", size: 3 });
  expect(initial(schemas, { $ref: "port.json" }, ship)).toEqual({ quay: "north" });
  const circle: SchemaObject = { type: "object", required: ["next"], properties: { next: { $ref: "#" } } };
  let depth = 0;
  for (let at = initial({}, circle, circle) as { next?: object }; at.next; at = at.next as typeof at) depth++;
  expect(depth).toBe(9);
});

describe("a schema", () => {
  test("has types, branches and choices", () => {
    expect(
      [{ type: "a" }, { type: ["a", "b"] }, { properties: {} }, { items: {} }, {}].map((one) => typesOf(one)),
    ).toEqual([["a"], ["a", "b"], ["object"], ["array"], []]);
    expect([{ oneOf: [{}] }, { anyOf: [{}, {}] }, {}].map((one) => branchesOf(one as SchemaObject).length)).toEqual([
      1, 2, 0,
    ]);
    expect([{ const: 1 }, { enum: [1, 2] }, {}].map((one) => choicesOf(one as SchemaObject))).toEqual([
      [1],
      [1, 2],
      undefined,
    ]);
    expect([null, [], 1, 1.5, "", true, {}].map(nameOf)).toEqual([
      "null",
      "array",
      "integer",
      "number",
      "string",
      "boolean",
      "object",
    ]);
  });

  test.each<[unknown, number]>([
    ["text", 0],
    ["chosen", 5],
    [1, 1],
    [1.5, 1],
    [{ kind: "a" }, 2],
    [{ kind: "b" }, 3],
    [{ kind: "b", more: 1 }, 3],
    [{ free: 1 }, 4],
    [[1], 6],
    [true, 7],
    [{ kind: "c" }, 0],
    [null, 0],
  ])("%j is of the branch %i of a union", (value, branch) => {
    const branches: SchemaObject[] = [
      { type: "string", enum: ["text"] },
      { type: "number" },
      { type: "object", properties: { kind: { const: "a" } } },
      { properties: { kind: { const: "b" }, more: {} } },
      { type: "object", required: ["free"] },
      { const: "chosen" },
      { type: "array" },
      { type: ["boolean", "string"] },
    ];
    expect(branchOf(schemas, branches, value)).toBe(branch);
  });

  test.each([
    ["", "A ship."],
    ["/name", "Its name."],
    ["/size", "Its size."],
    ["/home/quay", "A quay."],
    ["/home", "A ship."],
    ["/crew", "Its people."],
    ["/crew/0", "Its people."],
    ["/crew/0/a~1b~0c", "Odd."],
    ["/crew/x", "Its people."],
    ["/plain/deep", "Deep."],
    ["/none/deep", "A ship."],
  ])("has about %j the sentence %j", (pointer, sentence) => {
    expect(sentenceAt(schemas, "Ship", pointer)).toBe(sentence);
  });
});

test("a value is changed at one place", () => {
  const value = { a: [1, { "b/c~d": "x" }], e: null };
  expect(places(value)).toEqual(["/a", "/a/0", "/a/1", "/a/1/b~1c~0d", "/e"]);
  expect(places("text")).toEqual([]);
  expect(corrupted(value, "/a/1/b~1c~0d")).toEqual({ a: [1, { "b/c~d": 42 }], e: null });
  expect(corrupted(value, "/a/0")).toEqual({ a: ["corrupted", { "b/c~d": "x" }], e: null });
  expect(without(value, "/a/0")).toEqual({ a: [{ "b/c~d": "x" }], e: null });
  expect(without(value, "/e")).toEqual({ a: value.a });
  expect(changed(value, "", () => 1)).toBe(1);
  expect(changed("text", "/a", () => 1)).toBe("text");
});

test.each([
  [0, "0.0 ms"],
  [9.94, "9.9 ms"],
  [10, "10 ms"],
  [999, "999 ms"],
  [1000, "1.0 s"],
  [59_900, "59.9 s"],
  [60_000, "1.0 min"],
])("%i milliseconds read %s", (value, text) => {
  expect(milliseconds(value)).toBe(text);
});

const row = (kind: string, t: number, more: Partial<Row> = {}): Row => ({
  n: t,
  t,
  c: 1,
  from: "server",
  kind,
  text: kind,
  size: 1,
  ...more,
});
test.each<[string, Row[], Partial<Call>]>([
  [
    "an answer with a body",
    [row("response", 20, { status: 201 }), row("body", 30), row("body", 40)],
    { latency: 20, first: 30, status: 201, messages: 0 },
  ],
  ["the client's body", [row("body", 5, { from: "client" })], { last: 5, messages: 0 }],
  [
    "frames of both",
    [row("frame", 5, { from: "client" }), row("frame", 9), row("frame", 12)],
    { first: 9, messages: 3, marks: [5, 9, 12] },
  ],
  ["beats", [row("ping", 1), row("pong", 2), row("comment", 3)], { beats: 3, messages: 0 }],
  ["an end", [row("end", 1)], { state: "done" }],
  ["a close", [row("close", 1)], { state: "done" }],
  ["a loss", [row("error", 1)], { state: "cut" }],
  ["a loss after its end", [row("end", 1), row("error", 2)], { state: "done" }],
  ["a fault, which is no sign of life", [row("fault", 5000), row("event", 6000)], { gap: 6000, last: 6000 }],
  ["a name and a session", [row("event", 1, { call: "say", session: "s" })], { name: "say", session: "s" }],
])("a call is that of %s", (_, rows, expected) => {
  const calls = new Map<number, Call>();
  addRow(calls, row("request", 0, { from: "client", text: "GET /", socket: true, resumes: true }));
  const gaps: (number | undefined)[] = [];
  addRow(calls, { ...row("request", 0), c: 2 });
  for (const one of rows) gaps.push(addRow(calls, one));
  expect(calls.get(1)).toMatchObject({ c: 1, n: 0, socket: true, resumes: true, start: 0, ...expected });
  expect(calls.get(2)).toMatchObject({ socket: false, resumes: false, state: "open", last: 0 });
});

test("a silence of a second is a gap, and a shorter one is none", () => {
  const calls = new Map<number, Call>();
  expect([0, 999, 1999].map((t) => addRow(calls, row("ping", t)))).toEqual([undefined, undefined, 1000]);
});
