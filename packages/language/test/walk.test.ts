import { describe, expect, test } from "vitest";
import { fileOf, placeOf } from "../src/folder.js";
import { didYouMean, nearest } from "../src/nearest.js";
import { mapSchema, subschemas } from "../src/walk.js";

describe("What is nearest", () => {
  test.each([
    ["said", ["said", "over"], "said"],
    ["sadi", ["over", "said"], "said"],
    ["SAID", ["said"], "said"],
    ["ab", ["cd"], undefined],
    // One change in a short name, a third of a long one.
    ["abc", ["abx", "axx"], "abx"],
    ["abc", ["axx"], undefined],
    ["abcdef", ["abcdxx"], "abcdxx"],
    ["abcdef", ["abcxxx"], undefined],
    ["abcdefghi", ["abcdefxxx"], "abcdefxxx"],
    ["abcd", ["abcde", "abcd"], "abcd"],
    ["abcd", ["abc", "abcde"], "abc"],
    ["abcdef", ["bcdefg", "abcdeg"], "abcdeg"],
    ["a", ["", "b"], ""],
    ["abc", ["acb"], "acb"],
    ["abc", ["bca"], undefined],
    ["ca", ["abc"], undefined],
    ["", ["a"], "a"],
    ["a", [], undefined],
    ["abc", ["abcde"], undefined],
  ])("to %j of %j is %j", (name, names, found) => {
    expect(nearest(name, names)).toBe(found);
    expect(didYouMean(name, names)).toBe(found === undefined ? "" : `; did you mean "${found}"?`);
  });
});

describe("A place", () => {
  test.each([
    ["b.json", "messages/a.json", "messages/b.json"],
    ["", "messages/a.json", "messages/a.json"],
    ["./b.json", "messages/a.json", "messages/b.json"],
    ["../shared/b.json", "messages/a.json", "shared/b.json"],
    ["../../common/b.json", "messages/a.json", "../common/b.json"],
    ["../../../far.json", "messages/a.json", undefined],
    ["../../c/../../d.json", "messages/a.json", undefined],
    ["x/../b.json", "messages/a.json", "messages/b.json"],
    ["https://x/b.json", "messages/a.json", undefined],
    ["urn:b", "messages/a.json", undefined],
    ["C+-.9:b", "messages/a.json", undefined],
    ["9a:b", "a.json", "9a:b"],
  ])("that %j means in %s is %s", (path, from, file) => expect(fileOf(path, from)).toBe(file));

  test("of a text in a value is the first, with its keys escaped, and none where it is not there", () => {
    const value = { a: [{ "b/~c": "x" }, "y"], d: "x", "": "z" };
    expect(["x", "y", "z", "q"].map((text) => placeOf(value, text))).toEqual(["/a/0/b~1~0c", "/a/1", "/", ""]);
    for (const other of [null, "x", 7, undefined]) expect(placeOf(other, "x")).toBe("");
  });
});

describe("A walk of a schema", () => {
  const named = { a: { const: "named" }, "x/y": { const: "escaped" } };
  const whole = {
    items: { const: "items" },
    contains: { const: "contains" },
    additionalProperties: { const: "additional" },
    propertyNames: { const: "names" },
    not: { const: "not" },
    ...Object.fromEntries(["if", "then", "else"].map((key) => [key, { const: key }])),
    unevaluatedProperties: { const: "uneval" },
    unevaluatedItems: { const: "unevalItems" },
    contentSchema: { const: "content" },
    allOf: [{ const: "all" }, true],
    anyOf: [{ const: "any" }],
    oneOf: [{ const: "one" }],
    prefixItems: [{ const: "prefix" }],
    properties: named,
    patternProperties: named,
    $defs: named,
    definitions: named,
    dependentSchemas: named,
    // Values, which only look like schemas.
    const: { const: 1 },
    enum: [{ const: 1 }],
    examples: [{ const: 1 }],
    default: { const: 1 },
  };

  test("passes each schema in it once, itself first, with its place", () => {
    const places = subschemas(whole).map(({ pointer }) => pointer);
    const lists = ["allOf/0", "anyOf/0", "oneOf/0", "prefixItems/0"];
    const singles = Object.keys(whole).slice(0, 11);
    const keyed = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
    const expected = ["", ...singles, ...lists, ...keyed.flatMap((key) => [`${key}/a`, `${key}/x~1y`])];
    expect(places).toEqual(expected.map((place) => (place ? `/${place}` : "")));
    expect(subschemas(whole)).toBe(subschemas(whole));
    for (const none of [true, null, "a", undefined]) expect(subschemas(none as never)).toEqual([]);
    for (const broken of [{ properties: null }, { properties: 7 }, { items: [1] }, { allOf: "x" }, { not: null }])
      expect(subschemas(broken as never).map(({ pointer }) => pointer)).toEqual([""]);
  });

  test("changes each of them, the inner first, and no value", () => {
    const seen: unknown[] = [];
    const changed = mapSchema(whole as never, (schema) => {
      seen.push(schema.const);
      return { ...schema, seen: true };
    }) as Record<string, never>;
    expect(seen).toHaveLength(subschemas(whole).length);
    expect(seen.at(-1)).toEqual({ const: 1 });
    for (const key of Object.keys(whole).slice(0, 11)) expect(changed[key]).toMatchObject({ seen: true });
    for (const key of ["allOf", "anyOf", "oneOf", "prefixItems"])
      expect(changed[key]![0]).toMatchObject({ seen: true });
    expect(changed.allOf![1]).toBe(true);
    for (const key of ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"])
      expect(Object.values(changed[key]!).map((one) => (one as { seen: boolean }).seen)).toEqual([true, true]);
    for (const key of ["const", "enum", "examples", "default"]) expect(changed[key]).toBe(whole[key as "const"]);
    for (const same of [true, false, null, [1]]) expect(mapSchema(same as never, () => ({}))).toBe(same);
    const odd = { properties: null, allOf: { a: 1 }, $defs: 7 };
    expect(mapSchema(odd as never, (schema) => schema)).toEqual(odd);
  });
});
