import type { Contract, Json, Reader, Reading } from "@parlance/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import * as reading from "../../src/generate/reading.js";
import { reads } from "../../src/generate/reads.js";
import { readPlainly } from "../../src/reads.js";

/** The reader that is generated for these rules. */
function readerOf(...rules: readonly Partial<Reading>[]): Reader {
  const contract = { tag: { in: "event" }, reading: rules.map((rule) => ({ of: "server", ...rule })) };
  const { message, operations } = new Function(
    "reading",
    `return ${reads(contract as unknown as Contract, "server", [])}`,
  )(reading);
  return message ?? operations.talk;
}

test.each<[what: string, rule: Partial<Reading>, written: Json, read: Json]>([
  ["what is missing gets its default", { default: { "/a": [] } }, { b: 1 }, { b: 1, a: [] }],
  ["what is there keeps its value, null too", { default: { "/a": [] } }, { a: null }, { a: null }],
  [
    "in every element of a list",
    { default: { "/l/*/a": 1 } },
    { l: [{}, { a: 2 }, 3] },
    { l: [{ a: 1 }, { a: 2 }, 3] },
  ],
  ["a default needs what leads to it", { default: { "/a/b": 1 } }, { c: 1 }, { c: 1 }],
  ["a list gets no properties", { default: { "/a/b": 1 } }, { a: [] }, { a: [] }],
  ["a value without a documented one is left out", { values: { "/a": [[null]] } }, { a: null, b: null }, { b: null }],
  ["a renamed value is there", { rename: { "/id": "a" }, default: { "/a": 1 } }, { id: 2 }, { a: 2 }],
  ["a message is no list", { unwrap: "/a" }, { a: [1] }, { a: [1] }],
  ["an answer may be one", { unwrap: "/a", operation: "talk" }, { a: [1] }, [1]],
])("%s", (_, rule, written, read) => {
  expect(readerOf(rule)(structuredClone(written))).toEqual(read);
});

test("a default is a value of its own each time", () => {
  const read = readerOf({ default: { "/a": [] } });
  expect((read({}) as { a: Json }).a).not.toBe((read({}) as { a: Json }).a);
});

const seed = Number(process.env.SEED ?? 2026);
const key = fc.constantFrom("a", "b", "two words", "x/y", "~", "*", "constructor", "0", "");
const pointer = fc
  .array(key, { minLength: 1, maxLength: 3 })
  .map((path) => path.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`).join(""));
const { value } = fc.letrec<{ value: Json; body: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    { arbitrary: fc.constantFrom<Json>("a", "", 0, true, null), weight: 3 },
    tie("body"),
    fc.array(tie("value"), { maxLength: 3 }) as fc.Arbitrary<Json>,
  ),
  body: fc.dictionary(key, tie("value"), { maxKeys: 4 }) as fc.Arbitrary<Json>,
}));
const places = <T>(change: fc.Arbitrary<T>) => fc.dictionary(pointer, change, { minKeys: 1, maxKeys: 2 });
const wrap = fc.oneof(
  fc.constant("array" as const),
  fc.record({ property: key, position: key }, { requiredKeys: ["property"] }),
);
const rule: fc.Arbitrary<Partial<Reading>> = fc.record(
  {
    operation: fc.constant("talk"),
    where: places(value),
    rename: places(key),
    remove: fc.array(pointer, { maxLength: 2 }),
    values: places(fc.array(fc.oneof(fc.tuple(value), fc.tuple(value, value)), { maxLength: 3 })),
    upper: fc.array(pointer, { maxLength: 2 }),
    wrap: places(wrap),
    default: places(value),
    unwrap: pointer,
  },
  { requiredKeys: [] },
);

test(`generated code reads every body as its rules do, one after the other, with seed ${seed}`, () => {
  fc.assert(
    fc.property(fc.array(rule, { minLength: 1, maxLength: 3 }), fc.array(value, { minLength: 5 }), (drawn, bodies) => {
      const operation = drawn[0]!.operation;
      const rules = drawn.map((one) => ({ ...one, operation, of: "server" as const }));
      const read = readerOf(...rules);
      for (const one of bodies)
        expect(read(structuredClone(one))).toEqual(rules.reduce<unknown>(readPlainly, structuredClone(one)));
    }),
    { seed, numRuns: process.env.PARLANCE_LONG ? 5000 : 500 },
  );
});
