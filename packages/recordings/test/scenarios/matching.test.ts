import { describe, expect, test } from "vitest";
import { formatDifferences, Matcher, type MatchOptions } from "../../src/replay/match.js";

// When a live text is the recorded one, and what is reported where it is not.

const A = "11111111-1111-4111-8111-111111111111";
const B = "22222222-2222-4222-8222-222222222222";
const json = JSON.stringify;

/** Where a text differs from the recorded one. */
const texts: readonly [
  what: string,
  recorded: unknown,
  came: unknown,
  at: readonly string[],
  options?: MatchOptions,
][] = [
  ["equal values", { a: [1, "x", null] }, { a: [1, "x", null] }, []],
  ["keys in another order", { a: 1, b: 2 }, { b: 2, a: 1 }, []],
  ["another number", { a: { b: 1 } }, { a: { b: 2 } }, ["/a/b"]],
  ["another type", { a: "1" }, { a: 1 }, ["/a"]],
  ["one more property, and one less", { a: 1 }, { b: 1 }, ["/a", "/b"]],
  ["one element more", { a: [1] }, { a: [1, 2] }, ["/a"]],
  ["another element", { a: [1, 2] }, { a: [1, 3] }, ["/a/1"]],
  ["a list in place of an object", { a: [] }, { a: {} }, ["/a"]],
  ["another value of an ignored property", { a: 1, b: 2 }, { a: 2, b: 2 }, [], { ignore: ["a"] }],
  ["elements of an ignored property", { a: [1, 2] }, { a: [1, 3] }, [], { ignore: ["a"] }],
  ["another id", { id: "a" }, { id: "b" }, []],
  ["another id of a longer name", { session_id: "a", callId: "c" }, { session_id: "b", callId: "d" }, []],
  ["a name that only ends in the letters", { paid: "a", idle: "b" }, { paid: "x", idle: "y" }, ["/paid", "/idle"]],
  [
    "an id that is not the same where it is repeated",
    { id: "a", of: { id: "a" } },
    { id: "b", of: { id: "c" } },
    ["/of/id"],
  ],
  ["an id that is the same where it is repeated", { id: "a", of: { id: "a" } }, { id: "b", of: { id: "b" } }, []],
  ["an empty id", { id: "" }, { id: "b" }, ["/id"]],
  ["an id that is empty now", { id: "a" }, { id: "" }, ["/id"]],
  ["an id that is a number now", { id: "a" }, { id: 1 }, ["/id"]],
  ["ids in a list", { ids: 1, id: ["a", "b"] }, { ids: 1, id: ["c", "d"] }, []],
  ["a name that the options call an id", { key: "a" }, { key: "b" }, [], { ids: ["key"] }],
  ["the same without them", { key: "a" }, { key: "b" }, ["/key"]],
  ["UUIDs", { x: A }, { x: B }, []],
  ["UUIDs without hyphens", { x: A.replaceAll("-", "") }, { x: B.replaceAll("-", "") }, []],
  ["a UUID that is none now", { x: A }, { x: "b" }, ["/x"]],
  ["times", { at: "2026-01-01T00:00:00Z" }, { at: "2027-02-02T11:11" }, []],
  ["a time that is none now", { at: "2026-01-01T00:00:00Z" }, { at: "soon" }, ["/at"]],
  ["a day, which is no time", { at: "2026-01-01" }, { at: "2027-01-01" }, ["/at"]],
  ["a placeholder", { key: "__redacted_1__" }, { key: "secret" }, []],
  ["a placeholder for a number", { key: "__redacted_1__" }, { key: 5 }, []],
  ["a placeholder for nothing", { key: "__redacted_1__" }, {}, ["/key"]],
  ["a placeholder that is two values", ["__redacted_1__", "__redacted_1__"], ["a", "b"], ["/1"]],
  ["a placeholder that is one value twice", ["__redacted_1__", "__redacted_1__"], ["a", "a"], []],
  ["a placeholder within a text", { a: "key=__redacted_1__; b" }, { a: "key=x\ny; b" }, []],
  ["another text around a placeholder", { a: "key=__redacted_1__; b" }, { a: "key=x; c" }, ["/a"]],
  ["a text with characters of expressions", { a: "(.*)__redacted_1__" }, { a: "(.*)x" }, []],
  ["the same, which stand for themselves", { a: "(.*)__redacted_1__" }, { a: "any" }, ["/a"]],
  ["JSON in a text", { a: json({ id: "a", b: [1] }) }, { a: ` ${json({ b: [1], id: "z" })}`.trim() }, []],
  ["other JSON in a text", { a: json({ b: 1 }) }, { a: json({ b: 2 }) }, ["/a"]],
  ["text that only begins as JSON", { a: "[not" }, { a: "[nor" }, ["/a"]],
  ["JSON in place of a text that only begins as it", { a: "[not" }, { a: "[1]" }, ["/a"]],
  ["a text that only begins as JSON in place of it", { a: "[1]" }, { a: "[not" }, ["/a"]],
  ["an id that begins as JSON", { id: "[a" }, { id: "[b" }, []],
  ["plain text", "hello", "hello", []],
  ["other plain text", "hello", "bye", [""]],
  ["numbers as text", "1", " 1", []],
  ["nothing in place of a text", "hello", undefined, [""]],
  ["a text in place of nothing", undefined, "hello", [""]],
  ["a text with a given value", { a: "see /old/file" }, { a: "see /new/file" }, [], { values: { "/old": "/new" } }],
  ["the old one of a given value", { a: "/old" }, { a: "/old" }, ["/a"], { values: { "/old": "/new" } }],
];

const textOf = (value: unknown) => (value === undefined || typeof value === "string" ? value : json(value));
test.each(texts)("%s", (_, recorded, came, at, options) => {
  const matcher = new Matcher(options);
  expect(matcher.text(textOf(recorded), textOf(came)).map((one) => one.at)).toEqual(at);
});

describe("ids", () => {
  test("are bound by a text that fits, and written into what is sent", () => {
    const matcher = new Matcher();
    expect(matcher.rewrite("session-1")).toBe("session-1");
    expect(matcher.text(json({ id: "session-1" }), json({ id: "session-2" }))).toEqual([]);
    expect(matcher.rewrite("to session-1.")).toBe("to session-2.");
    expect(matcher.text(json({ x: "session-1" }), json({ x: "session-1" }))).toEqual([
      { at: "/x", recorded: "session-1", came: "session-1" },
    ]);
  });

  test("are bound by no text that differs, but where all are taken", () => {
    const [recorded, came] = [json({ id: "one", a: 1 }), json({ id: "two", a: 2 })];
    for (const [lenient, written] of [
      [false, "one"],
      [true, "two"],
    ] as const) {
      const matcher = new Matcher({ lenient });
      expect(matcher.text(recorded, came)).toHaveLength(1);
      expect(matcher.rewrite("one")).toBe(written);
    }
  });

  test.each([
    ["the id under its own name", { id: "x1" }, { id: "x1" }, false],
    ["a short one under another name", { id: "x1" }, { other_id: "x1" }, true],
    ["a UUID under another name", { id: A }, { other_id: A }, false],
    ["an id of the contract under another of its names", { key: "x1" }, { ref: "x1" }, false],
    ["in a list within", { a: [{ id: "x1" }] }, { id: "x1" }, false],
  ])("that this side has sent come back as they are: %s may differ: %s", (_, sent, recorded, mayDiffer) => {
    const matcher = new Matcher({ ids: ["key", "ref"] });
    expect(matcher.send(json(sent))).toBe(json(sent));
    const [name] = Object.keys(recorded);
    expect(matcher.text(json(recorded), json({ [name!]: B })).length === 0).toBe(mayDiffer);
  });

  test("of values that are given are written in addresses too", () => {
    const matcher = new Matcher({ values: { "a b": "c/d" } });
    expect(matcher.rewrite("/x/a%20b?y=a b")).toBe("/x/c%2Fd?y=c/d");
    expect(matcher.placeholder("__redacted_1__", () => "made")).toBe("made");
    expect(matcher.placeholder("__redacted_1__", () => "again")).toBe("made");
  });
});

const request = { method: "POST", target: "/a/b?x=1&y=2", body: '{"id":"one"}' };
test.each<[string, Partial<typeof request>, readonly string[]]>([
  ["itself", {}, []],
  ["another method", { method: "PUT" }, ["method"]],
  ["another path", { target: "/a/c?x=1&y=2" }, ["path"]],
  ["a longer path", { target: "/a/b/c?x=1&y=2" }, ["path"]],
  ["a query in another order", { target: "/a/b?y=2&x=1" }, []],
  ["another query", { target: "/a/b?x=1&y=3" }, ["query/y/0"]],
  ["a query with one value more", { target: "/a/b?x=1&y=2&y=3" }, ["query/y"]],
  ["another body", { body: '{"id":"one","b":1}' }, ["/b"]],
  ["an absolute target", { target: "http://a.test" }, ["path", "query/x", "query/y"]],
])("a request is compared with %s", (_, more, at) => {
  expect(new Matcher().request(request, { ...request, ...more }, true).map((one) => one.at)).toEqual(at);
});

test("a request binds new ids where it may, and says the whole path", () => {
  const other = { ...request, body: '{"id":"two"}' };
  expect(new Matcher().request(request, other, false)).toEqual([{ at: "/id", recorded: "one", came: "two" }]);
  const matcher = new Matcher();
  expect(matcher.request(request, other, true)).toEqual([]);
  expect(matcher.request(request, other, false)).toEqual([]);
  const [path] = new Matcher().request(request, { ...request, target: "/a/c?x=1&y=2" }, true);
  expect(path).toEqual({ at: "path", recorded: "/a/b", came: "/a/c" });
});

test("differences are reported a line each, ten of them, and long values in part", () => {
  const one = (at: string, recorded: unknown, came: unknown) => ({ at, recorded, came });
  expect(formatDifferences([one("", "a", undefined), one("/b", { c: 1 }, "x".repeat(300))])).toEqual([
    'the whole: recorded "a", came nothing',
    `/b: recorded {"c":1}, came "${"x".repeat(199)}…`,
  ]);
  const many = Array.from({ length: 11 }, (_, at) => one(`/${at}`, 1, 2));
  expect(formatDifferences(many)).toHaveLength(11);
  expect(formatDifferences(many).at(-1)).toBe("and 1 more");
  expect(formatDifferences(many.slice(1))).toHaveLength(10);
  expect(formatDifferences(many, 2)).toEqual(["/0: recorded 1, came 2", "/1: recorded 1, came 2", "and 9 more"]);
});
