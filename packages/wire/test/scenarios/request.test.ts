import { type AnyContract, type Parameter, Violation } from "@parlance/wire";
import { bind } from "@parlance/wire/bind";
import { bindAnswer, bindHeaders, coerce, inputName, unbindAnswer, unbindHeaders } from "@parlance/wire/header";
import { parsePointer, setAt, valueAt } from "@parlance/wire/internal/pointer";
import { parseJson } from "@parlance/wire/json";
import {
  formatCursor,
  formatGap,
  formatResumable,
  formatTicket,
  parseCursor,
  parseGap,
  parseResumable,
  parseTicket,
} from "@parlance/wire/resume";
import { isKey, newKey } from "@parlance/wire/resume-key";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const seed = 20261122;
const origin = { protocol: "p", side: "server", subject: "s" } as const;

function refused(text: string): Violation | undefined {
  try {
    parseJson(text, origin);
  } catch (error) {
    expect(error).toBeInstanceOf(Violation);
    return error as Violation;
  }
  return undefined;
}

describe("A JSON body", () => {
  test.each([
    ["lists", (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`],
    ["objects", (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`],
  ])("may have 64 %s in each other, and no more", (_, nested) => {
    expect(refused(nested(64))).toBeUndefined();
    expect(refused(nested(65))).toMatchObject({
      code: "too_deep",
      protocol: "p",
      side: "server",
      subject: "s",
      flaws: [],
    });
  });

  test("that is not JSON is quoted, up to 200 characters", () => {
    const [short, long] = ["x".repeat(200), "x".repeat(201)];
    expect(refused(short)).toMatchObject({ code: "malformed_json", message: expect.stringContaining(`"${short}"`) });
    expect(refused(long)).toMatchObject({ message: expect.stringContaining(`"${short}…"`), details: { body: long } });
  });

  test.each([
    ["1e400", ""],
    ["[0, -1e999]", "/1"],
    ['{"a":[1,{"b~/c":1e400}]}', "/a/1/b~0~1c"],
  ])("with a number that no double holds is refused with its place: %s", (text, at) => {
    const flaws = [{ at, keyword: "type", params: { type: "number" } }];
    expect(refused(text)).toMatchObject({ code: "malformed_json", flaws });
  });

  test.each([
    ['{"__proto__":1}', "/__proto__", "__proto__"],
    ['[{"a":{"__proto__":null}}]', "/0/a/__proto__", "__proto__"],
    ['{"constructor":{"prototype":1}}', "/constructor", "constructor"],
  ])("with a key that reaches a prototype is refused with its place: %s", (text, at, propertyName) => {
    const flaws = [{ at, keyword: "propertyNames", params: { propertyName } }];
    expect(refused(text)).toMatchObject({ code: "forbidden_key", flaws });
  });

  test.each([
    '{"constructor":1}',
    '{"constructor":{"a":1}}',
    '{"constructor":[]}',
    '{"prototype":{}}',
    "null",
    '"a"',
    "1",
  ])("that only looks like one is read: %s", (text) => expect(parseJson(text, origin)).toEqual(JSON.parse(text)));
});

/** A contract of one operation and one channel. */
const contractOf = (parameters: Readonly<Record<string, Parameter>>, more: object = {}) =>
  ({
    name: "p",
    operations: { call: { method: "PUT", path: "/a/{id}/{at}", parameters, answer: { status: 204 }, ...more } },
    channels: { line: { path: "/line/{id}", parameters, client: [], server: [] } },
  }) as unknown as AnyContract;
const path = { in: "path", type: "string" } as const;
const query = { in: "query", type: "string" } as const;

describe("A request", () => {
  const contract = contractOf({ id: path, at: path, q: query, r: query }, { body: "Body", when: { kind: "x" } });

  test("has each part of its input in its place, and its constants", () => {
    expect(bind(contract, "call", { id: "a/ü", at: 1, q: "b&c", r: undefined, text: "t", none: undefined })).toEqual({
      method: "PUT",
      target: "/a/a%2F%C3%BC/1?q=b%26c",
      body: { text: "t", kind: "x" },
    });
    expect(bind(contractOf({ id: path, at: path }), "call", { id: "1", at: "2", text: "t" })).toEqual({
      method: "PUT",
      target: "/a/1/2",
    });
    expect(bind(contract, "line", { id: "1", q: "2" })).toEqual({ method: "GET", target: "/line/1?q=2" });
  });

  test.each([undefined, "", ".", "..", "a\ud800"])("cannot have %j in its path", (id) => {
    expect(() => bind(contract, "call", { id, at: "1" })).toThrow(/p\.call: id is part of the URL and may not be/);
  });

  test("cannot have half a character in its query, and may have what only a path refuses", () => {
    expect(() => bind(contract, "call", { id: "1", at: "1", q: "\ud800" })).toThrow(/q is part of the URL/);
    expect(bind(contract, "call", { id: "...", at: "1", q: "..", r: "" }).target).toBe("/a/.../1?q=..&r=");
  });
});

const header = { in: "header", type: "string" } as const;
const cookie = { in: "cookie", type: "string" } as const;
const carried = { "X-One": header, two: cookie, "th-ree": cookie, q: query };
const headersOf = (headers: Readonly<Record<string, string>>) => new Headers(headers);

describe("Headers and cookies", () => {
  const contract = contractOf(carried);
  const bound = (input: object, own = {}) => bindHeaders(contract, "call", input as never, own);

  test("are written beside the caller's, with all cookies in one header", () => {
    expect(bound({ q: "1" }, { A: "b" })).toEqual({ A: "b" });
    expect(bound({ "X-One": 1 }, { A: "b" })).toEqual({ A: "b", "X-One": "1" });
    expect(bound({ two: "2", "th-ree": true }, { cookie: "own=1", COOKIE: "more=2" })).toEqual({
      Cookie: "own=1; more=2; two=2; th-ree=true",
    });
  });

  test.each([" a", "a ", "é", "a\nb", "\x7f"])("of %j are no value of a header, and one of a cookie", (value) => {
    expect(() => bound({ "X-One": value })).toThrow(/p\.call: X-One is sent in a header and may not be/);
    expect(unbindHeaders(carried, headersOf(bound({ two: value })))).toEqual({ two: value });
  });

  test("have no half of a character", () => {
    expect(() => bound({ two: "\ud800" })).toThrow(/p\.call: two is sent in a cookie and may not be/);
  });

  test(`are read as they were written, with seed ${seed}`, () => {
    const text = fc.string({ unit: "grapheme-ascii" }).map((value) => value.trim());
    const any = fc.string({ unit: "binary" }).filter((value) => !/\p{Surrogate}/u.test(value));
    fc.assert(
      fc.property(text, any, any, (one, two, three) => {
        const input = { "X-One": one, two, "th-ree": three };
        expect(unbindHeaders(carried, headersOf(bound(input)))).toEqual(input);
      }),
      { seed },
    );
  });

  test.each([
    ['two="a b"', { two: "a b" }],
    ["two = a ; th-ree=b=c", { two: "a", "th-ree": "b=c" }],
    ["two=first; two=second", { two: "first" }],
    ["two", {}],
    ['two="', { two: '"' }],
    ["two=%zz", { two: "%zz" }],
    ["two=%C3%BC", { two: "ü" }],
    ["", {}],
  ])("are read from the cookies %j as %j", (Cookie, expected) => {
    expect(unbindHeaders(carried, headersOf({ Cookie }))).toEqual(expected);
  });

  test("of an answer are texts of what is there, and are read with their types", () => {
    expect(bindAnswer("an answer", { "X-A": 1, "X-B": undefined, "X-C": "c" })).toEqual({ "X-A": "1", "X-C": "c" });
    expect(() => bindAnswer("an answer", { "X-A": " a" })).toThrow(/an answer: X-A is sent in a header/);
    const declared = { "X-A": { type: "integer" }, "X-B": { type: "boolean" }, "X-C": { type: "string" } } as const;
    expect(unbindAnswer(declared, headersOf({ "X-A": "1", "X-C": "2" }))).toEqual({ "X-A": 1, "X-C": "2" });
  });

  const texts: [text: string, boolean: unknown, number: unknown][] = [
    ["true", true, "true"],
    ["false", false, "false"],
    ["TRUE", "TRUE", "TRUE"],
    ["-1.5", "-1.5", -1.5],
    ["07", "07", 7],
    ["1e3", "1e3", "1e3"],
    ["1.", "1.", "1."],
    ["", "", ""],
    ["9".repeat(400), "9".repeat(400), "9".repeat(400)],
  ];
  test.each(texts)("of the text %j are that, or a boolean or number where one is declared", (text, boolean, number) => {
    expect(coerce(text, { type: "string" })).toBe(text);
    expect(coerce(text, { type: "boolean" })).toBe(boolean);
    expect([coerce(text, { type: "number" }), coerce(text, { type: "integer" })]).toEqual([number, number]);
  });

  test("have schemas named after their operation", () => {
    expect([inputName("listAll"), inputName("a", "Headers")]).toEqual(["ListAllInput", "AHeaders"]);
  });
});

test("the value at a JSON Pointer is the one that was set there, and nothing is read from a prototype", () => {
  const body = {};
  setAt(body, "/a~1b/~0/c", 1);
  setAt(body, "/a~1b/~0/d", [2]);
  expect(body).toEqual({ "a/b": { "~": { c: 1, d: [2] } } });
  expect(valueAt(body, parsePointer("/a~1b/~0/d/0"))).toBe(2);
  for (const missing of ["/constructor", "/a~1b/x/y", "/a~1b/~0/c/d"])
    expect(valueAt(body, parsePointer(missing))).toBeUndefined();
  expect(parsePointer("/~01")).toEqual(["~1"]);
  setAt(body, "/a~1b", 3);
  setAt(body, "/a~1b/c", 4);
  expect(body).toEqual({ "a/b": { c: 4 } });
});

describe("What a resumed conversation sends", () => {
  test("is read as it was written", () => {
    const state = { epoch: "a-B_9", grace: 30, beat: 2.5 };
    expect(parseResumable(formatResumable(state))).toEqual(state);
    for (const gap of [{ after: 0 }, { after: 3, first: 9 }]) expect(parseGap(formatGap(gap))).toEqual(gap);
    const cursor = { epoch: "e-1", seq: 999_999_999_999_999 };
    expect(parseCursor(formatCursor(cursor))).toEqual(cursor);
    const ticket = "0123456789abcdef".repeat(2);
    expect(parseTicket(["chat", formatTicket(ticket)])).toBe(ticket);
  });

  test("is nothing where it has another form", () => {
    const states = [
      "e",
      "e; grace=1",
      "e; grace=; beat=1",
      "é; grace=1; beat=1",
      " e; grace=1; beat=1",
      "e; grace=1; beat=1 ",
    ];
    for (const state of [null, "", ...states]) expect([state, parseResumable(state)]).toEqual([state, undefined]);
    for (const gap of [null, "", "gap", "gap; after=x", "gap; after=1; first=", "gap; after=1 "])
      expect([gap, parseGap(gap)]).toEqual([gap, undefined]);
    for (const id of [null, "", "e", "e.", ".1", "e.1.2", "e.-1", `e.1${"0".repeat(15)}`])
      expect([id, parseCursor(id)]).toEqual([id, undefined]);
    for (const length of [31, 65]) expect(parseTicket([formatTicket("a".repeat(length))])).toBeUndefined();
    expect(parseTicket([formatTicket("G".repeat(32)), "x.parlance.a"])).toBeUndefined();
  });

  test("has a key of its own each time, of 32 hexadecimal digits", () => {
    const keys = Array.from({ length: 50 }, newKey);
    expect(new Set(keys).size).toBe(50);
    expect(keys.every(isKey)).toBe(true);
    for (const key of [null, "", "a".repeat(31), "a".repeat(33), "A".repeat(32)]) expect(isKey(key)).toBe(false);
  });
});
