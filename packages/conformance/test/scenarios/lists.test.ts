import { expect, test } from "vitest";
import { Random } from "../../../recordings/src/mock/random.js";
import type { Case } from "../../src/case.js";
import { KEYWORDS } from "../../src/mutant.js";
import { anyOf, atLeast, matcher, ordered, parseList } from "../../src/select.js";
import { Trace } from "../../src/trace.js";

// How cases are listed, chosen, ordered and traced.

test.each<[string, ReturnType<typeof parseList>]>([
  ["", []],
  ["\n  \n", []],
  ["a/b", [{ pattern: "a/b" }]],
  ["  a/b  # why # and more ", [{ pattern: "a/b", reason: "why # and more" }]],
  ["# a comment\na\n#b", [{ pattern: "a" }]],
  ["a #\nb\t#why", [{ pattern: "a" }, { pattern: "b", reason: "why" }]],
  ["a#b", [{ pattern: "a#b" }]],
])("the list %j has %j", (text, entries) => {
  expect(parseList(text)).toEqual(entries);
});

test.each<[string, string, boolean]>([
  ["a/b", "a/b", true],
  ["a/b", "a/b/c", false],
  ["b", "a/b", false],
  ["a/*", "a/b", true],
  ["a/*", "a/", true],
  ["a/*", "a/b/c", false],
  ["a/**", "a/b/c", true],
  ["**/c", "a/b/c", true],
  ["a/*/c", "a/b/c", true],
  ["a/b*", "a/bcd", true],
  ["a.b", "a.b", true],
  ["a.b", "axb", false],
  ["(a|b)+?{}[]^$\\", "(a|b)+?{}[]^$\\", true],
])("the pattern %s fits %s: %s", (pattern, id, fits) => {
  expect(matcher(pattern)(id)).toBe(fits);
  expect(anyOf(["other", pattern])(id)).toBe(fits);
  expect(anyOf([])(id)).toBe(false);
});

test("a level has those above it", () => {
  const levels = ["must", "should", "may"] as const;
  const taken = (level: (typeof levels)[number]) => levels.filter((one) => atLeast(level)({ level: one } as Case));
  expect(levels.map(taken)).toEqual([["must"], ["must", "should"], ["must", "should", "may"]]);
});

test("a seed gives an order of its own, the same on every machine, and none keeps the order", () => {
  const items = ["a", "b", "c", "d", "e", "f", "g", "h"];
  expect(ordered(items, undefined)).toEqual(items);
  expect(ordered(items, undefined)).not.toBe(items);
  expect([0, 1, 2, 13].map((seed) => ordered(items, seed).join(""))).toMatchInlineSnapshot(`
    [
      "ehdfgbac",
      "cbghedaf",
      "eahdgbcf",
      "bgdhface",
    ]
  `);
  expect(items.join("")).toBe("abcdefgh");
});

test("a seed of a mock gives the same numbers on every machine, within their bounds", () => {
  const numbers = (seed: number) => {
    const random = new Random(seed);
    return Array.from({ length: 8 }, () => random.below(10)).join(" ");
  };
  expect([0, 1, 2].map(numbers)).toMatchInlineSnapshot(`
    [
      "3 7 3 8 7 2 0 4",
      "0 3 3 5 8 1 1 0",
      "6 0 5 5 0 0 3 0",
    ]
  `);
  const random = new Random(1);
  expect(random.draw(5)).toBe(5);
  expect(random.draw(undefined)).toBeUndefined();
  expect(new Set(Array.from({ length: 100 }, () => random.draw([2, 4])))).toEqual(new Set([2, 3, 4]));
});

test("the keywords that a case may break are listed", () => {
  expect(KEYWORDS.join(" ")).toBe(
    "type required enum const minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum " +
      "multipleOf minItems maxItems uniqueItems additionalProperties propertyNames minProperties maxProperties " +
      "dependentRequired not anyOf oneOf contains",
  );
});

test("a trace has the bytes of one case with their times, without tokens", () => {
  let now = 0;
  const trace = new Trace(() => now, "X-My.Key");
  now = 100.04;
  trace.begin();
  const c = trace.connection();
  now = 112.34;
  trace.note(
    c,
    "suite",
    "GET / HTTP/1.1\r\nauthorization: Bearer a\r\nCookie:\tb=c; d\r\nx-api-key:e\r\nX-My.Key: f\r\nA: b\r\n\r\n",
  );
  trace.note(trace.connection(), "peer", "XxMyxKey: kept");
  expect(trace.lines).toEqual([
    {
      t: 12.3,
      c: 1,
      from: "suite",
      bytes: "GET / HTTP/1.1\r\nauthorization: …\r\nCookie:\t…\r\nx-api-key:…\r\nX-My.Key: …\r\nA: b\r\n\r\n",
    },
    { t: 12.3, c: 2, from: "peer", bytes: "XxMyxKey: kept" },
  ]);
  trace.begin();
  expect(trace.lines).toEqual([]);
  expect(trace.connection()).toBe(1);
});

test("a trace keeps 64 KiB of a case, and says how long a text was that it cut", () => {
  const trace = new Trace(() => 0);
  trace.begin();
  trace.note(1, "suite", "x".repeat(65_535));
  trace.note(1, "suite", "yyy");
  trace.note(1, "suite", "zzz");
  expect(trace.lines.map(({ bytes }) => bytes.slice(-20))).toEqual(["x".repeat(20), "y… (3 in all)"]);
  trace.begin();
  trace.note(1, "suite", "x".repeat(65_536));
  trace.note(1, "suite", "y");
  expect(trace.lines.map(({ bytes }) => bytes.length)).toEqual([65_536]);
});
