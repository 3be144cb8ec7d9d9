import type { Contract, Reading, Tag } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { namePlainly, readPlainly, readsOf } from "../src/reads.js";

// What a reading rule makes of a body, and by what a message is known.

const list = () => [{ a: "x" }, { a: "y" }, "text", null, { b: "z" }];

describe("A reading rule", () => {
  test.each<[what: string, rule: Partial<Reading>, body: unknown, read: unknown]>([
    ["renames", { rename: { "/TEXT": "text" } }, { TEXT: "a", b: 1 }, { b: 1, text: "a" }],
    ["keeps what has the new name already", { rename: { "/TEXT": "text" } }, { TEXT: "a", text: "b" }, { text: "b" }],
    ["renames nothing that is not there", { rename: { "/TEXT": "text" } }, { b: 1 }, { b: 1 }],
    ["renames deep", { rename: { "/a/b~1c": "d" } }, { a: { "b/c": 1 } }, { a: { d: 1 } }],
    ["renames what has signs in its name", { rename: { "/a~0b~1~01": "d" } }, { "a~b/~1": 1 }, { d: 1 }],
    [
      "renames in each item",
      { rename: { "/list/*/a": "c" } },
      { list: list() },
      {
        list: [{ c: "x" }, { c: "y" }, "text", null, { b: "z" }],
      },
    ],
    ["takes a star as a name in an object", { remove: ["/a/*"] }, { a: { "*": 1, b: 2 } }, { a: { b: 2 } }],
    ["removes", { remove: ["/a", "/b/c", "/none"] }, { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3 } }],
    ["removes nothing of a prototype", { remove: ["/constructor"] }, { a: 1 }, { a: 1 }],
    [
      "replaces values",
      {
        values: {
          "/a": [
            ["x", "y"],
            [1, 2],
          ],
        },
      },
      { a: 1 },
      { a: 2 },
    ],
    [
      "replaces by the first that is given",
      {
        values: {
          "/a": [
            ["x", "y"],
            ["x", "z"],
          ],
        },
      },
      { a: "x" },
      { a: "y" },
    ],
    ["removes a value without another", { values: { "/a": [["x"]] } }, { a: "x", b: 1 }, { b: 1 }],
    ["leaves other values", { values: { "/a": [["x"], [null, 1]] } }, { a: "z" }, { a: "z" }],
    [
      "replaces a value by null, and null",
      { values: { "/a": [["x", null]], "/b": [[null, "y"]] } },
      { a: "x", b: null },
      {
        a: null,
        b: "y",
      },
    ],
    [
      "replaces in each item",
      { values: { "/list/*": [["text", "t"]] } },
      { list: ["text", "b"] },
      { list: ["t", "b"] },
    ],
    [
      "writes in capitals",
      { upper: ["/a", "/b", "/c/d"] },
      { a: "äx", b: 1, c: { d: "y" } },
      { a: "ÄX", b: 1, c: { d: "Y" } },
    ],
    ["wraps a text in a list", { wrap: { "/a": "array" } }, { a: "x" }, { a: ["x"] }],
    [
      "wraps nothing else",
      { wrap: { "/a": "array", "/b": { property: "p" } } },
      { a: ["x"], b: 1 },
      { a: ["x"], b: 1 },
    ],
    ["wraps a text in an object", { wrap: { "/a": { property: "p" } } }, { a: "x" }, { a: { p: "x" } }],
    [
      "wraps each item with its place",
      { wrap: { "/list/*": { property: "p", position: "n" } } },
      { list: ["x", "y"] },
      {
        list: [
          { n: 1, p: "x" },
          { n: 2, p: "y" },
        ],
      },
    ],
    ["gives a default", { default: { "/a": 1, "/b/c": [2] } }, { b: {} }, { b: { c: [2] }, a: 1 }],
    ["leaves what is there", { default: { "/a": 1 } }, { a: null }, { a: null }],
    [
      "gives no default in what is not there, or no object",
      { default: { "/a/b": 1, "/c/d": 1, "/e/f": 1 } },
      { c: "x", e: [] },
      {
        c: "x",
        e: [],
      },
    ],
    [
      "gives a default in each item",
      { default: { "/list/*/c": 0 } },
      { list: [{}, { c: 1 }, "x"] },
      {
        list: [{ c: 0 }, { c: 1 }, "x"],
      },
    ],
    ["gives no default to a list", { default: { "/a": 1 } }, [1], [1]],
    ["unwraps", { unwrap: "/data" }, { data: { a: 1 }, b: 2 }, { a: 1 }],
    ["unwraps deep", { unwrap: "/data/0/x" }, { data: [{ x: { a: 1 } }] }, { a: 1 }],
    ["unwraps no list of a message", { unwrap: "/data" }, { data: [1] }, { data: [1] }],
    ["unwraps the list of an operation", { unwrap: "/data", operation: "list" }, { data: [1] }, [1]],
    ["unwraps nothing that is not there", { unwrap: "/data" }, { a: 1 }, { a: 1 }],
    ["unwraps nothing of a prototype", { unwrap: "/constructor" }, { a: 1 }, { a: 1 }],
    ["unwraps no text", { unwrap: "/data", operation: "list" }, { data: "x" }, { data: "x" }],
    [
      "is for what has each of some values",
      { where: { "/k": "a", "/n": 1 }, remove: ["/x"] },
      { k: "a", n: 1, x: 0 },
      {
        k: "a",
        n: 1,
      },
    ],
    [
      "is not for another value",
      { where: { "/k": "a", "/n": 1 }, remove: ["/x"] },
      { k: "a", n: 2, x: 0 },
      {
        k: "a",
        n: 2,
        x: 0,
      },
    ],
    [
      "is not for what has no such value",
      { where: { "/k/l": "a" }, remove: ["/x"] },
      { k: null, x: 0 },
      { k: null, x: 0 },
    ],
    ["leaves what is no object", { rename: { "/a": "b" }, remove: ["/c"] }, "text", "text"],
    ["leaves null", { remove: ["/c"], unwrap: "/d" }, null, null],
    [
      "does all that it says, in its order",
      { rename: { "/A": "a" }, upper: ["/a"], values: { "/a": [["x", "y"]] }, wrap: { "/a": "array" } },
      { A: "x" },
      {
        a: ["Y"],
      },
    ],
  ])("%s", (_, rule, body, read) => {
    expect(readPlainly(structuredClone(body), { of: "server", ...rule } as Reading)).toEqual(read);
  });

  test("gives each body a value of its own", () => {
    const [value, other] = [{ a: 1 }, [1]];
    const rule = { of: "server", default: { "/a": value }, values: { "/b": [["x", other]] } } as unknown as Reading;
    const read = readPlainly({ b: "x" }, rule) as { a: object; b: object };
    expect(read).toEqual({ a: { a: 1 }, b: [1] });
    expect([read.a === value, read.b === other]).toEqual([false, false]);
  });
});

const contract = {
  tag: { in: "shape" },
  messages: {
    said: { schema: "S", shape: { const: { kind: "said" }, required: ["text"] } },
    quiet: { schema: "Q", shape: { const: { kind: "said" }, forbidden: ["text"] } },
    any: { schema: "A" },
    both: { schema: "B", shape: { const: { kind: "both", n: 1 } } },
  },
  operations: { talk: { answer: { stream: { messages: ["said"] } } }, list: { answer: { json: "List" } } },
  channels: { line: { client: ["both", "any"], server: ["quiet"] } },
  reading: [
    { of: "server", remove: ["/a"] },
    { of: "server", remove: ["/b"] },
    { of: "client", remove: ["/c"] },
    { of: "server", operation: "list", unwrap: "/data" },
    { of: "server", operation: "list", default: { "/0": 1 }, remove: ["/1"] },
  ],
} as unknown as Contract;

describe("The name of a message", () => {
  const names = ["both", "said", "quiet", "any"];
  test.each([
    [{ kind: "said", text: "" }, "said"],
    [{ kind: "said" }, "quiet"],
    [{ kind: "said", text: undefined }, "said"],
    [{ kind: "both", n: 1 }, "both"],
    [{ kind: "both", n: 2 }, "any"],
    [{}, "any"],
  ])("of the shape %j is %s", (body, name) => {
    expect(namePlainly(contract, names, undefined, body)).toBe(name);
    expect(namePlainly(contract, names.slice(0, 3), "any", body)).toBe(name === "any" ? undefined : name);
  });

  test.each<[tag: Tag, event: string | undefined, body: object, name: string | undefined]>([
    [{ in: "event" }, "said", { kind: "any" }, "said"],
    [{ in: "event" }, undefined, {}, undefined],
    [{ in: "event" }, "sung", {}, undefined],
    [{ in: "property", property: "kind" }, "any", { kind: "said" }, "said"],
    [{ in: "property", property: "kind" }, "said", {}, undefined],
    [{ in: "property", property: "kind", event: true }, "said", {}, "said"],
    [{ in: "property", property: "kind", event: true }, "any", { kind: "said" }, "said"],
    [{ in: "property", property: "kind", event: true }, undefined, {}, undefined],
  ])("by %j, of the event %s with %j, is %s", (tag, event, body, name) => {
    expect(namePlainly({ ...contract, tag }, names, event, body as never)).toBe(name);
  });

  test("of an event without one is `message`", () => {
    const messages = { message: { schema: "M" } };
    expect(namePlainly({ ...contract, messages, tag: { in: "event" } } as never, ["message"], undefined, {})).toBe(
      "message",
    );
  });
});

describe("The readers of a side", () => {
  test("follow its rules in their order, those of a message and those of each operation", () => {
    const server = readsOf(contract, "server");
    expect(server.message!({ a: 1, b: 2, c: 3 })).toEqual({ c: 3 });
    expect(Object.keys(server.operations!)).toEqual(["list"]);
    expect(server.operations!.list!({ data: { "1": 2, b: 1 } })).toEqual({ "0": 1, b: 1 });
    const client = readsOf(contract, "client");
    expect([client.message!({ a: 1, c: 3 }), client.operations]).toEqual([{ a: 1 }, {}]);
    const none = readsOf({ ...contract, reading: undefined } as never, "server");
    expect([none.message, none.operations]).toEqual([undefined, {}]);
  });

  test("know the messages that it writes, by stream and by channel", () => {
    const [server, client] = [readsOf(contract, "server"), readsOf(contract, "client")];
    expect([server.name!({ kind: "said", text: "" }), server.name!({ kind: "said" }), server.name!({})]).toEqual([
      "said",
      "quiet",
      undefined,
    ]);
    expect([client.name!({ kind: "both", n: 1 }), client.name!({ kind: "said", text: "" })]).toEqual(["any", "any"]);
  });
});
