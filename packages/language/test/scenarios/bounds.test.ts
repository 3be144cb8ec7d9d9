import { type Change, compat } from "@parlance/language/compat";
import { assemble } from "@parlance/language/load";
import type { SchemaObject } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { pets } from "../pets.js";

// What a tighter and a wider bound breaks, by who writes the value. `said` is a server's message, `reply` a client's.

const of = (file: string, schema: object) => {
  const { type, ...place } = { type: file === "said" ? "text" : "yes", at: `${file}#/properties/` };
  return assemble(pets({ set: { [`${place.at}${type}`]: schema } }));
};
const told = ({ breaks, pointer, what }: Change) => [breaks.join("+"), pointer, what];
const changes = (file: string, old: SchemaObject, now: SchemaObject) => compat(of(file, old), of(file, now)).map(told);

const floors = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"];
const ceilings = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"];
const breaking = {
  // A client's value is read by a server that is newer; a server's by a client that is older.
  reply: { tighter: "client", wider: "" },
  said: { tighter: "", wider: "client" },
} as const;

describe.each(Object.entries(breaking))("Of a message that is %s", (file, { tighter, wider }) => {
  const at = `/properties/${file === "said" ? "text" : "yes"}`;

  test.each([...floors, ...ceilings])("%s breaks who is bound by it", (word) => {
    const [low, high] = floors.includes(word) ? [2, 3] : [3, 2];
    for (const [was, is, breaks] of [
      [low, high, tighter],
      [high, low, wider],
      [undefined, 2, tighter],
      [2, undefined, wider],
    ] as const) {
      const bound = (value: number | undefined) => (value === undefined ? {} : { [word]: value });
      const what = `${word} was ${was ?? "not given"} and is ${is ?? "not given"}`;
      expect(changes(file, bound(was), bound(is))).toEqual([[breaks, `${at}/${word}`, what]]);
      expect(changes(file, bound(was), bound(was))).toEqual([]);
    }
  });

  test.each<[word: string, one: unknown, other: unknown]>([
    ["pattern", "a", "b"],
    ["format", "date", "uri"],
    ["multipleOf", 2, 3],
    ["uniqueItems", true, false],
    ["contains", { const: 1 }, { const: 2 }],
    ["propertyNames", { minLength: 1 }, { minLength: 2 }],
    ["patternProperties", { a: true }, { b: true }],
    ["not", { const: 1 }, { const: 2 }],
    ["if", { const: 1 }, { const: 2 }],
    ["then", { const: 1 }, { const: 2 }],
    ["else", { const: 1 }, { const: 2 }],
    ["dependentRequired", { a: ["b"] }, { a: ["c"] }],
    ["dependentSchemas", { a: true }, { a: false }],
    ["prefixItems", [true], [false]],
    ["additionalProperties", { type: "string" }, { type: "integer" }],
    ["unevaluatedProperties", { type: "string" }, { type: "integer" }],
    ["unevaluatedItems", { type: "string" }, { type: "integer" }],
  ])("%s breaks who is bound by it, and both where it has changed", (word, one, other) => {
    const [with_, changed] = [{ [word]: one }, { [word]: other }];
    expect(changes(file, {}, with_)).toEqual([[tighter, `${at}/${word}`, `${word} was added`]]);
    expect(changes(file, with_, {})).toEqual([[wider, at, `${word} was removed`]]);
    expect(changes(file, with_, changed)).toEqual([["client", `${at}/${word}`, `${word} has changed`]]);
  });
});

test("words and their order are no change", () => {
  const one = {
    type: "object",
    required: ["a", "b"],
    properties: { a: { type: "string" }, b: { minimum: 1, maximum: 2 } },
  };
  const other = {
    properties: { b: { maximum: 2, minimum: 1, description: "B." }, a: { examples: ["a"], type: "string" } },
    required: ["b", "a"],
    title: "Prose",
    $comment: "c",
    type: "object",
  };
  expect(changes("reply", one as never, other as never)).toEqual([]);
});
