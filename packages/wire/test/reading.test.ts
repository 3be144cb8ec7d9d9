import type { Json, Reading } from "@parlance/contract";
import { reader } from "@parlance/wire";
import { expect, test } from "vitest";

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
])("%s", (_, rule, written, read) => {
  const body = structuredClone(written);
  expect(reader([{ of: "server", description: "", ...rule } as Reading], () => true)!(body)).toEqual(read);
});

test("a default is a value of its own each time", () => {
  const read = reader([{ of: "server", default: { "/a": [] } }], () => true)!;
  expect((read({}) as { a: Json }).a).not.toBe((read({}) as { a: Json }).a);
});
