import { describe, expect, test } from "vitest";
import { causesOf, formatCause } from "../../src/report/causes.js";
import type { Result } from "../../src/result.js";

const result = (id: string, more: Partial<Result>): Result => ({
  id,
  side: "server",
  level: "must",
  title: "it does",
  at: "contract.json#/a",
  kill: "alter",
  outcome: "failed",
  ms: 1,
  ...more,
});

const same: readonly [string, Partial<Result>, Partial<Result>][] = [
  [
    "statuses",
    { expected: "400 for a refuses b with 400", came: "200 x" },
    { expected: "400 for c refuses d with 400", came: "200 y" },
  ],
  [
    "inputs",
    { expected: "400 for an input that breaks type at a#/x", came: "200" },
    { expected: "400 for an input that breaks enum at b", came: "200" },
  ],
  [
    "places in JSON",
    { expected: 'the messages [{"a":1}]', came: '[{"a":2}]' },
    { expected: 'the messages [{"a":"x"},{"b":1}]', came: '[{"a":"y"},{"b":1}]' },
  ],
  [
    "waits",
    { expected: "an answer", came: "nothing within 50 ms" },
    { expected: "an answer", came: "nothing within 5000 ms" },
  ],
];

const different: readonly [string, Partial<Result>, Partial<Result>][] = [
  ["levels", { expected: "a", came: "b" }, { expected: "a", came: "b", level: "should" }],
  ["statuses that came", { expected: "400 for a", came: "200 x" }, { expected: "400 for a", came: "500 x" }],
  [
    "statuses that were expected",
    { expected: "400 for a refuses b", came: "200 x" },
    { expected: "403 for a refuses c", came: "200 x" },
  ],
  [
    "places in JSON",
    { expected: '{"a":1,"b":1}', came: '{"a":2,"b":1}' },
    { expected: '{"a":1,"b":1}', came: '{"a":1}' },
  ],
];

describe("the causes of failures", () => {
  test.each(same)("are one for equal %s", (_, one, other) => {
    expect(causesOf([result("a", one), result("b", other)])).toMatchObject([{ count: 2 }]);
  });

  test.each(different)("are two for different %s", (_, one, other) => {
    expect(causesOf([result("a", one), result("b", other)])).toMatchObject([{ count: 1 }, { count: 1 }]);
  });

  test("have the must first, then those of most cases, and leave out what did not fail", () => {
    const causes = causesOf([
      result("a", { level: "should", expected: "x", came: "y" }),
      result("b", { expected: "one", came: "y" }),
      result("c", { expected: "two", came: "y" }),
      result("d", { expected: "two", came: "y" }),
      result("e", { outcome: "known", expected: "x", came: "y" }),
      result("f", { outcome: "passed" }),
    ]);
    expect(causes.map(({ level, count, shortest }) => `${level} ${count} ${shortest.id}`)).toEqual([
      "must 2 c",
      "must 1 b",
      "should 1 a",
    ]);
  });

  test("show the shortest case by its bytes, its place and its command", () => {
    const trace = (bytes: string) => [{ t: 0, c: 1, from: "suite", bytes }] as const;
    const flaw = { expected: "400 for a refuses b", came: "200 {}" };
    const [cause] = causesOf([
      result("server/long", { ...flaw, trace: trace("x".repeat(100)) }),
      result("server/short/\u001b", { ...flaw, trace: trace("x"), rerun: "parlance conform x --only 'server/short'" }),
    ]);
    expect(formatCause(cause!)).toBe(
      "FAIL 2 cases: expected 400 for a refuses b, but came 200 {}\n     such as server/short/\\u001b (contract.json#/a)\n" +
        "     again: parlance conform x --only 'server/short'\n",
    );
    expect(formatCause(causesOf([result("a", { ...flaw, level: "should" })])[0]!)).toMatch(
      /^WARN 1 case: .*\n {5}a \(/,
    );
  });
});
