import { lint } from "@parlance/language/lint";
import { describe, expect, it } from "vitest";
import { pets } from "../pets.js";

const word = { type: "string" };
const marked = (schema: object, ...ways: unknown[]) => ({ ...schema, "x-tolerance": ways });
const holding = (property: object, more: object = {}) => ({ type: "object", properties: { a: property }, ...more });
const list = { type: "array", items: word };

describe("lint of x-tolerance", () => {
  it.each<[what: string, schema: object]>([
    ["an optional property", marked(word, "default", "null")],
    ["a property with a default", marked({ ...word, default: "a" }, "null")],
    ["a list", marked(list, "skip")],
    ["a list that may be null", marked({ ...list, type: ["array", "null"] }, "skip", "default")],
    ["a list in a list", { type: "array", items: marked(list, "skip") }],
    ["a property of an object", holding(marked(word, "default"))],
    ["a property of an alternative", { anyOf: [word, holding(marked(word, "default"))] }],
    ["a property of items", { type: "array", items: holding(marked(word, "default")) }],
    ["a property of a value in a map", { type: "object", additionalProperties: holding(marked(word, "default")) }],
    ["a required property with a default", holding(marked({ ...word, default: "a" }, "default"), { required: ["a"] })],
    ["a required list that skips", holding(marked(list, "skip"), { required: ["a"] })],
  ])("allows it on %s", async (_, schema) => {
    expect(await lint(pets({ set: { "said#/properties/more": schema } }))).toEqual([]);
  });

  const words = 'write a list of "default", "skip", "null"';
  const property = "is not on a property; move it to the property that has the value";
  const below = (keyword: string) => `is below "${keyword}", where values are only checked; remove it`;
  const tuple =
    '"skip" moves the items behind one that it leaves out, so it does nothing beside "prefixItems"; remove it';
  const beside = (keyword: string) =>
    `"skip" does nothing beside "${keyword}", where values are only checked; remove it`;
  it.each<[schema: object, at: string, message: string]>([
    [{ ...word, "x-tolerance": "default" }, "", `is "default"; ${words}`],
    [marked(word), "", `is []; ${words}`],
    [marked(word, "drop"), "", `is ["drop"]; ${words}`],
    [marked(word, "skip"), "", '"skip" is about items, so it needs "type": "array"'],
    [marked({ type: "array", prefixItems: [word] }, "skip"), "", tuple],
    [marked({ type: "array", prefixItems: [word], items: word }, "skip"), "", tuple],
    [marked({ ...list, type: ["null", "array"], prefixItems: [word] }, "skip"), "", tuple],
    [marked({ ...list, unevaluatedItems: false }, "skip"), "", beside("unevaluatedItems")],
    [marked({ type: "array" }, "skip"), "", '"skip" is about items that break their schema, so it needs "items"'],
    [
      marked({ type: "array", items: true }, "skip"),
      "",
      '"skip" is about items that break their schema, so it needs "items"',
    ],
    [{ type: "array", items: marked(word, "default") }, "/items", property],
    [{ allOf: [marked(word, "null")] }, "/allOf/0", property],
    [{ not: holding(marked(word, "default")) }, "/not/properties/a", below("not")],
    [{ type: "array", contains: marked(list, "skip") }, "/contains", below("contains")],
    [
      { type: "array", prefixItems: [holding(marked(word, "default"))] },
      "/prefixItems/0/properties/a",
      below("prefixItems"),
    ],
    [
      holding(marked(word, "default"), { patternProperties: { "^b": word } }),
      "/properties/a",
      below("patternProperties"),
    ],
    [
      holding(marked(word, "default"), { unevaluatedProperties: false }),
      "/properties/a",
      below("unevaluatedProperties"),
    ],
    [
      { properties: { a: marked(word, "default") } },
      "/properties/a",
      'needs "type": "object" beside the "properties" that it is in',
    ],
    [
      holding(marked(word, "null"), { required: ["a"] }),
      "/properties/a",
      'is on a required property, which needs a "default" to be read as',
    ],
  ])("refuses %j", async (schema, at, message) => {
    const findings = await lint(pets({ set: { "said#/properties/more": schema } }));
    expect(findings.map(({ rule, pointer, message }) => [rule, pointer, message])).toEqual([
      ["tolerance", `/properties/more${at}/x-tolerance`, message],
    ]);
  });

  it("refuses a default that breaks the schema", async () => {
    const findings = await lint(pets({ set: { "said#/properties/more": marked({ ...word, default: 1 }, "default") } }));
    expect(findings.map(({ rule }) => rule)).toEqual(["example"]);
  });
});
