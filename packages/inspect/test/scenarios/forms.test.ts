import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { checkOf } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { addRow, type Call } from "../../src/page/calls.js";
import { changed, corrupted, places, without } from "../../src/page/corrupt.js";
import { everything, matcher } from "../../src/page/filter.js";
import { visible, visibleLine } from "../../src/page/inert.js";
import type { Row } from "../../src/row.js";
import { initial, sentenceAt } from "../../src/schema.js";

const names = [
  "acp",
  "agentsmithy",
  "agentsmithy-1.13",
  "based",
  "coven",
  "emacs-agent",
  "fold-gateway",
  "loco",
  "loco-app",
];

describe.each(names)("the forms of %s", (name) => {
  test("begin with a value that the contract accepts, and each schema has a sentence", async () => {
    const document = await load(`schemas/${name}`);
    const contract = contractValue(document);
    const { checks } = await contract.accepts();
    const { schemas } = document;
    const carried = new Set(Object.values(contract.channels).flatMap(({ client }) => client));
    for (const message of carried) {
      const title = contract.messages[message]!.schema;
      const value = initial(schemas, schemas[title], schemas[title]);
      expect([message, checkOf(contract, checks, title)(value)]).toEqual([message, true]);
    }
    for (const title of Object.keys(schemas))
      expect([title, sentenceAt(schemas, title, "")]).toEqual([title, expect.any(String)]);
  });

  test("corrupt one place and no other", async () => {
    const { schemas } = await load(`schemas/${name}`);
    for (const schema of Object.values(schemas)) {
      const value = initial(schemas, schema, schema);
      for (const place of places(value)) {
        let old: unknown;
        changed(value, place, (found) => {
          old = found;
          return found;
        });
        expect(changed(corrupted(value, place), place, () => old)).toEqual(value);
        if (!/\/\d+$/.test(place)) expect(changed(without(value, place), place, () => old)).toEqual(value);
      }
    }
  });
});

test("no control character of a peer is shown as itself", () => {
  const all = Array.from({ length: 0x2100 }, (_, code) => String.fromCharCode(code)).join("");
  expect(visibleLine(all)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u);
  expect(visible("a\tb\nc")).toBe("a\tb\nc");
});

const row = (n: number, t: number, kind: string, more: Partial<Row> = {}): Row => ({
  n,
  t,
  c: 1,
  from: "server",
  kind,
  text: kind,
  size: 1,
  ...more,
});

test("a call's figures are those of its rows: latency, first message, gap, heartbeats, end", () => {
  const calls = new Map<number, Call>();
  const rows = [
    row(1, 0, "request", { from: "client", text: "POST /say" }),
    row(2, 20, "response", { status: 200, call: "say" }),
    row(3, 50, "event", { type: "word" }),
    row(4, 3050, "comment"),
    row(5, 3060, "event", { type: "word", flaws: [{ rule: "schema", message: "wrong" }] }),
    row(6, 3070, "error"),
  ];
  const gaps = rows.map((one) => addRow(calls, one));
  expect(gaps).toEqual([undefined, undefined, undefined, 3000, undefined, undefined]);
  expect(calls.get(1)).toMatchObject({
    name: "say",
    status: 200,
    latency: 20,
    first: 50,
    messages: 2,
    beats: 1,
    gap: 3000,
    flaws: 1,
    state: "cut",
  });
});

test("the marks of a long call are spread over all its time, and bounded", () => {
  const calls = new Map<number, Call>();
  addRow(calls, row(1, 0, "request", { from: "client" }));
  for (let at = 1; at <= 10_000; at++) addRow(calls, row(at + 1, at, "event"));
  const { marks } = calls.get(1)!;
  expect(marks.length).toBeLessThanOrEqual(256);
  const steps = marks.slice(1).map((t, at) => t - marks[at]!);
  expect(new Set(steps).size).toBe(1);
});

test.each([
  [{ type: "WORD" }, [3]],
  [{ text: "hel" }, [2]],
  [{ connection: 2 }, [4]],
  [{ flawed: true }, [4, 5, 7, 8]],
  [{ beats: false }, [2, 3, 4, 5, 6, 7, 8]],
  [{}, [1, 2, 3, 4, 5, 6, 7, 8]],
])("the filter %j lets pass the rows %j", (filter, passing) => {
  const rows = [
    row(1, 0, "ping"),
    row(2, 0, "event", { text: "Hello" }),
    row(3, 0, "event", { type: "word" }),
    row(4, 0, "frame", { c: 2, unknown: true }),
    row(5, 0, "event", { flaws: [] }),
    row(6, 0, "response", { status: 399 }),
    row(7, 0, "response", { status: 400 }),
    row(8, 0, "body", { status: 503 }),
  ];
  const fits = matcher({ ...everything, ...filter });
  expect(rows.filter(fits).map(({ n }) => n)).toEqual(passing);
});
