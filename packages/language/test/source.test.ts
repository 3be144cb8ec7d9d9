import { describe, expect, test } from "vitest";
import { secretsOf } from "../src/source.js";

describe("What is marked as a secret", () => {
  const secret = { type: "string", "x-secret": true };
  const schema = (title: string, properties: object, more: object = {}) =>
    ({ $id: `/p/messages/${title}.json`, title, properties, ...more }) as never;

  test("is known by name, of parameters and of properties, each once and in order", () => {
    const calls = (name: string, mark: unknown) => ({
      one: { parameters: { [name]: { "x-secret": mark } } },
      other: {},
    });
    const { names, schemas } = secretsOf({ operations: calls("z", true), channels: calls("b", true) }, [
      schema("a", {
        token: secret,
        text: { type: "string" },
        no: { "x-secret": "yes" },
        deep: { properties: { key: secret } },
      }),
      schema("b", { token: secret, far: { $ref: "c.json#/$defs/key" }, self: { $ref: "#" } }),
      schema("c", { odd: true }, { $defs: { key: { $ref: "#/$defs/inner" }, inner: secret } }),
    ]);
    expect(names).toEqual(["b", "far", "key", "token", "z"]);
    expect(schemas.size).toBe(1);
    expect(secretsOf({ operations: calls("a", "yes") }, []).names).toEqual([]);
    expect(secretsOf({}, []).names).toEqual([]);
  });

  test.each([
    "items",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contentSchema",
    "if",
    "then",
    "else",
  ])("counts for the property whose %s it is", (word) => {
    const of = (inner: object) =>
      secretsOf({}, [schema("a", { p: JSON.parse(`{"${word}":${JSON.stringify(inner)}}`) })]).names;
    expect([of(secret), of({ type: "string" }), of({ items: secret })]).toEqual([["p"], [], ["p"]]);
  });

  test.each(["allOf", "anyOf", "oneOf", "prefixItems", "patternProperties", "dependentSchemas"])(
    "counts for the property with it in %s",
    (word) => {
      const of = (...inner: object[]) => secretsOf({}, [schema("a", { p: { [word]: inner } })]).names;
      expect([of({}, secret), of(secret, {}), of({}), of()]).toEqual([["p"], ["p"], [], []]);
    },
  );

  test.each(["items", "additionalProperties", "$ref"])(
    "is found at the end of 5,000 schemas, and in a ring, by %s",
    (word) => {
      const length = 5000;
      const next = (at: number) => ({ $ref: `#/$defs/d${at % length}` });
      const through = (at: number) => (word === "$ref" ? next(at) : { [word]: next(at) });
      for (const isRing of [true, false]) {
        const definitions = Array.from({ length }, (_, at) => [
          `d${at}`,
          at < length - 1 || isRing ? through(at + 1) : secret,
        ]);
        const $defs = {
          ...Object.fromEntries(definitions),
          ...(isRing && { d7: { ...through(8), "x-secret": true } }),
        };
        const { names, schemas } = secretsOf({}, [schema("a", { p: next(0), q: { type: "string" } }, { $defs })]);
        expect([names, schemas.size]).toEqual([["p"], 1]);
      }
    },
  );

  test("does not count for a property whose own property it is, nor in a value", () => {
    const { names } = secretsOf({}, [
      schema("a", { p: { properties: { q: secret } }, not: { not: secret }, v: { const: secret, examples: [secret] } }),
    ]);
    expect(names).toEqual(["q"]);
  });
});
