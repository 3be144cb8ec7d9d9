import type { AnyContract } from "@parlance/wire";
import { expect, test } from "vitest";
import { isPath, notPath, partsOf, urlAt } from "../../src/target.js";
import { remember } from "../../src/verify/bounded.js";
import type { Open } from "../../src/verify/finding.js";
import { checkRefusal, checkRefusedStatus } from "../../src/verify/headers.js";
import { checkOrder, isSentinel, missingEnd } from "../../src/verify/order.js";
import { isRedactedParameter, withoutRedacted } from "../../src/verify/redacted.js";

// What a verifier asks of single values, function by function.

test("a refusal may have the statuses of any server, those of the contract, of its codes and of the operation", () => {
  const operations = { one: { faults: { 460: {} } }, two: { faults: { 461: {} } } };
  const contract = { operations, fault: { codes: { A: { status: 462 }, B: {} } } };
  const talk = { contract, faults: [463] } as never;
  const said: string[] = [];
  for (let status = 400; status < 600; status++)
    checkRefusedStatus(talk, { status } as Open, ["one", "none"], (_, message) => said.push(message));
  const found = new Set(said.map((message) => Number(message.slice(-3))));
  const fine = Array.from({ length: 200 }, (_, at) => at + 400).filter((status) => !found.has(status));
  expect(fine).toEqual([
    ...[400, 401, 403, 404, 405, 406, 408, 409, 410, 411, 413, 414, 415, 417, 421, 422, 426, 429, 431],
    ...[460, 462, 463, 500, 501, 502, 503, 504, 505],
  ]);
  expect(said[0]).toBe("one or none: the contract has no fault with 402");
});

test.each<[body: unknown, reads: boolean]>([
  [{ error: "no" }, false],
  [{ "a/b": { "c~d": "no" } }, true],
  [{ "a/b": { "c~d": 7 } }, false],
  [{ list: ["x", "no"] }, true],
  [{ list: ["x"] }, false],
  [{ list: "no" }, false],
  ["no", false],
  [null, false],
])("a refusal %j whose text is at another place that the contract reads is fine: %s", (body, reads) => {
  const fault = { schema: "Fault", text: ["/error", "/a~1b/c~0d", "/list/1"] };
  const refuses = Object.assign(() => false, { errors: [{ instancePath: "", keyword: "type", params: {} }] });
  const contract = { name: "a", operations: {}, fault, checks: { Fault: refuses } };
  const check = () => checkRefusal(contract as never, { status: 400 } as Open, ["one"], JSON.stringify(body), () => {});
  if (reads) expect(check).not.toThrow();
  else expect(check).toThrow("the body of the 400 of one");
});

test.each<[string, string | undefined, boolean]>([
  ["/a", undefined, false],
  ["/a", '{"a":"__redacted_1__"}', true],
  ["/a", '{"a":"x __redacted_1__"}', true],
  ["/b", '{"a":"__redacted_1__","b":1}', false],
  ["/b", '{"a":"__redacted_1__"}', false],
  ["", '"__redacted_1__"', true],
  ["/a/1", '{"a":[1,"__redacted_1__"]}', true],
  ["/a/b/c", '{"a":1,"x":"__redacted_1__"}', false],
  ["/a~1b/c~0d", '{"a/b":{"c~d":"__redacted_1__"}}', true],
  ["/a", '{"a":"redacted"}', false],
  ["/a", "__redacted_1__", false],
])("whether the value at %j of %j was redacted is %s", (at, text, is) =>
  expect(withoutRedacted([{ at, keyword: "type", params: {} }], text)).toHaveLength(is ? 0 : 1),
);

test.each(["oneOf", "anyOf", "if", "not", "contains", "type"])(
  "what a value with a placeholder misses of several schemas is no flaw: %s",
  (keyword) => {
    const flaw = (at: string, by = "type") => ({ at, keyword: by, params: {} });
    const kept = withoutRedacted(
      [flaw("/a", keyword), flaw("/a/b"), flaw("/a/c"), flaw("/ab"), flaw("", "required")],
      '{"a":{"b":"__redacted_1__","c":1},"ab":1}',
    );
    const places = keyword === "type" ? ["/a", "/a/c", "/ab", ""] : ["/ab", ""];
    expect(kept.map(({ at }) => at)).toEqual(places);
  },
);

test("a parameter was redacted where its own place has a placeholder", () => {
  const P = "__redacted_1__";
  const parameters = {
    room: { in: "path" },
    size: { in: "query" },
    "X-Key": { in: "header" },
    "a/b": { in: "cookie" },
  };
  const contract = {
    operations: { one: { parameters } },
    channels: { two: { parameters: { size: { in: "query" } } } },
  };
  const talk = {
    contract,
    namesAt: (method: string) => (method === "GET" ? ["one"] : method === "PUT" ? ["two"] : undefined),
  };
  const is = (at: string, target: string, headers: [string, string][] = [], method = "GET") =>
    isRedactedParameter({ at } as never, { method, target, headers }, talk as never);
  expect(is("/room", `/${P}/a`)).toBe(true);
  expect(is("/room", `/a?size=${P}`)).toBe(false);
  expect(is("/size", `/a?size=1&size=${P}`)).toBe(true);
  expect(is("/size", `/${P}?sizes=${P}`)).toBe(false);
  expect(is("/size", `/a?size=${P}`, [], "PUT")).toBe(true);
  expect(is("/size", `/a?size=${P}`, [], "POST")).toBe(false);
  expect(is("/X-Key", "/a", [["x-key", P]])).toBe(true);
  expect(is("/X-Key", "/a", [["x-other", P]])).toBe(false);
  expect(is("/a~1b", "/a", [["Cookie", `c=d; a/b=${P}`]])).toBe(true);
  expect(is("/a~1b", "/a", [["Cookie", `c=${P}; a/b=1`]])).toBe(false);
  expect(is("/a~1b", "/a", [["X-Cookie", `a/b=${P}`]])).toBe(false);
  expect(is("/toString", `/${P}`)).toBe(false);
  expect(is("", `/${P}`)).toBe(false);
});

test("ten thousand entries are remembered, and the oldest goes first", () => {
  const map = new Map<number, string>();
  for (let n = 0; n < 10_000; n++) expect(remember(map, n, `${n}`)).toBeUndefined();
  expect(remember(map, 0, "again")).toBeUndefined();
  expect(remember(map, -1, "new")).toBe("1");
  expect([map.size, map.has(1), map.get(0)]).toEqual([10_000, false, "again"]);
});

const streams = {
  plain: { messages: ["a", "b", "c"], end: ["b"], mayEnd: ["c"] },
  marked: { messages: ["a"], sentinel: "[DONE]" },
  closed: { messages: ["a"], end: ["a"], closedBy: "stop" },
  endless: { messages: ["a"] },
};
const contract = {
  operations: {
    ...Object.fromEntries(Object.entries(streams).map(([name, stream]) => [name, { answer: { stream } }])),
    json: { answer: { json: "A" } },
  },
  channels: { deck: { open: { client: "hello", server: "welcome" }, fault: "broken" } },
} as unknown as AnyContract;
const EVENTS = [["Content-Type", "text/event-stream; charset=utf-8"]] as const;
const opened = (name: string, more: Partial<Open> = {}): Open =>
  ({ asked: { name }, status: 200, answer: EVENTS, sent: { client: 1, server: 1 }, rejoined: false, ...more }) as Open;

test.each<[string, Open, string | undefined]>([
  ["that has ends", opened("plain"), "plain stopped without b or c"],
  ["that ended", opened("plain", { ended: "message" }), undefined],
  ["that may have ended", opened("plain", { ended: "perhaps" }), undefined],
  ["that was refused", opened("plain", { status: 400 }), undefined],
  ["with the last status of a success", opened("plain", { status: 399 }), "plain stopped without b or c"],
  ["that is no stream of events", opened("plain", { answer: [["Content-Type", "text/html"]] }), undefined],
  ["with a sentinel", opened("marked"), "marked stopped without [DONE]"],
  ["that another call closes", opened("closed"), undefined],
  ["without an end", opened("endless"), undefined],
  ["of an answer", opened("json"), undefined],
  ["of nothing known", { ...opened("plain"), asked: undefined }, undefined],
])("the missing end of a stream %s", (_, open, missing) => expect(missingEnd(contract, open)).toBe(missing));

test("a sentinel ends a stream that has it", () => {
  const open = opened("marked");
  expect(isSentinel(contract, open, "[DONE] ")).toBe(false);
  expect(open.ended).toBeUndefined();
  expect(isSentinel(contract, open, "[DONE]")).toBe(true);
  expect([open.ended, open.last]).toEqual(["message", "[DONE]"]);
  expect(isSentinel(contract, opened("plain"), "[DONE]")).toBe(false);
});

test("an end message ends a stream, and one that may end it does until another comes", () => {
  const open = opened("plain");
  const come = (type: string) => {
    checkOrder(contract, open, "server", { type } as never, () => {});
    return [open.last, open.ended];
  };
  expect(["a", "c", "a", "c", "b", "a"].map(come)).toEqual([
    ["a", undefined],
    ["c", "perhaps"],
    ["a", undefined],
    ["c", "perhaps"],
    ["b", "message"],
    ["a", "message"],
  ]);
});

test.each<["client" | "server", string, Partial<Open>, string[]]>([
  ["client", "hello", {}, []],
  ["server", "welcome", {}, []],
  ["client", "ask", {}, ["deck is opened by hello, not by ask"]],
  ["server", "told", {}, ["deck is opened by welcome, not by told"]],
  ["server", "broken", {}, []],
  ["server", "told", { rejoined: true }, []],
  ["server", "told", { sent: { client: 1, server: 2 } }, []],
  ["client", "ask", { sent: { client: 1, server: 2 } }, ["deck is opened by hello, not by ask"]],
])("a channel's %s that begins with %s, %j: %j", (from, type, more, found) => {
  const said: string[] = [];
  checkOrder(contract, opened("deck", more), from, { type } as never, (_, message) => said.push(message));
  expect(said).toEqual(found);
});

test.each<[string, boolean]>([
  ["/", true],
  ["/a?b=c", true],
  ["//a", false],
  ["/\\a", false],
  ["a", false],
  ["", false],
  ["/a b", false],
  ["/a#b", false],
  ["/a\u0000", false],
  ["http://a/", false],
])("whether %j is a path is %s", (target, is) => {
  expect(isPath(target)).toBe(is);
  expect(partsOf(target)?.href).toBe(is ? `http://recording${target}` : undefined);
  if (is) expect(urlAt("http://a:1/base//", target).href).toBe(`http://a:1/base${target}`);
  else expect(() => urlAt("http://a", target)).toThrow(notPath(target));
});

test("a target that is no path is shown up to a hundred characters", () => {
  expect(notPath("x".repeat(101))).toBe(`the target "${"x".repeat(100)}" is not a path that begins with one /`);
});
