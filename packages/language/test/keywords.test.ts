import type { SchemaObject } from "@parlance/wire";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { ignored, keywords, malformed } from "../src/lint/keywords.js";
import { titles } from "../src/lint/titles.js";
import { subject, told } from "./rules.js";

describe("A keyword", () => {
  const ajv = new Ajv2020();
  const formats = new Set(["date", "uri"]);
  const of = (schema: object) => told(keywords("a.json", schema as SchemaObject, ajv, formats));

  test.each([
    ["$id", "leave it out: a schema is named by its file"],
    ["$dynamicRef", 'write "$ref"'],
    ["$dynamicAnchor", 'leave it out and refer by "$ref"'],
    ["$recursiveRef", 'write "$ref"'],
    ["$recursiveAnchor", 'leave it out and refer by "$ref"'],
    ["$vocabulary", "leave it out"],
    ["id", "leave it out: a schema is named by its file"],
    ["dependencies", 'write "dependentRequired" or "dependentSchemas"'],
    ["additionalItems", 'write "items", after "prefixItems"'],
    ["nullable", 'add "null" to "type"'],
    ["example", 'write "examples": […]'],
    ["tsType", "leave it out: types are written from the schema"],
  ])("%s is not used: %s", (word, instead) => {
    expect(of({ [word]: "x" })).toEqual([`a.json#/${word} "${word}" is not used in a contract: ${instead}`]);
    expect(of({ not: { [word]: "x" } })).toHaveLength(1);
  });

  const applies: Record<string, [words: string, other: string]> = {
    string: ["minLength maxLength pattern contentEncoding contentMediaType", "number"],
    number: ["minimum maximum exclusiveMinimum exclusiveMaximum multipleOf", "string"],
    array: [
      "items prefixItems minItems maxItems uniqueItems contains minContains maxContains unevaluatedItems",
      "object",
    ],
    object: [
      "properties required additionalProperties patternProperties propertyNames minProperties maxProperties dependentRequired dependentSchemas unevaluatedProperties",
      "array",
    ],
  };
  test.each(
    Object.entries(applies).flatMap(([type, [words, other]]) =>
      words.split(" ").map((word) => [word, type, other] as const),
    ),
  )("%s is about a %s, not about a %s", (word, type, other) => {
    const value = word === "pattern" ? "x" : {};
    const beside = { [word]: value, ...(/^m..Contains$/.test(word) && { contains: {} }) };
    for (const right of [type, [type, "null"], [other, type]]) expect(of({ type: right, ...beside })).toEqual([]);
    expect(of(beside)).toEqual([]);
    expect(of({ type: other, [word]: value })).toEqual([
      `a.json#/${word} applies to values of type ${type}, but "type" is ${other}`,
    ]);
    expect(of({ type: [other, "null"], [word]: value })).toEqual([
      `a.json#/${word} applies to values of type ${type}, but "type" is ${other} or null`,
    ]);
    if (type === "number") expect(of({ type: "integer", [word]: 1 })).toEqual([]);
  });

  test.each<[schema: object, findings: string[]]>([
    [{ "x-own": 1, discriminator: {}, $comment: "c" }, []],
    [{ $schema: "https://json-schema.org/draft/2020-12/schema" }, []],
    [{ $schema: "https://json-schema.org/draft/2020-12/schema#" }, []],
    [
      { $schema: "http://json-schema.org/draft/2020-12/schema" },
      ['/$schema is not supported; write "https://json-schema.org/draft/2020-12/schema"'],
    ],
    [
      { not: { $schema: "https://json-schema.org/draft/2020-12/schema" } },
      ["/not/$schema is allowed at the top of a file only; remove it"],
    ],
    [{ maxLenght: 1 }, ['/maxLenght "maxLenght" is not a keyword of JSON Schema 2020-12; did you mean "maxLength"?']],
    [
      { entirelyOwn: 1 },
      ['/entirelyOwn "entirelyOwn" is not a keyword of JSON Schema 2020-12; a name of your own begins with "x-"'],
    ],
    [{ format: "date" }, []],
    [{ format: 7 }, []],
    [{ format: "dat" }, ['/format "dat" is not a format; did you mean "date"?']],
    [{ enum: [] }, ["/enum is empty, so no value is valid; list the values, or write false for the schema"]],
    [{ enum: [1] }, []],
    [{ pattern: "^a$" }, []],
    [{ pattern: 7 }, []],
    [{ pattern: "\\-" }, ["/pattern is not a valid regular expression: Invalid escape"]],
    [
      { patternProperties: { "a/b": true, "(/": true } },
      ["/patternProperties/(~1 is not a valid regular expression: Unterminated group"],
    ],
    [{ patternProperties: 7 }, []],
    [
      { required: ["a", "b"], properties: { a: true } },
      ['/required "b" is required but is not in "properties"; did you mean "a"?'],
    ],
    [{ required: ["toString"], properties: {} }, ['/required "toString" is required but is not in "properties"']],
    [{ required: ["b"] }, []],
    [{ required: ["b"], properties: {}, allOf: [] }, []],
    [{ required: ["b"], properties: {}, $ref: "#" }, []],
    [
      { toString: 1 },
      ['/toString "toString" is not a keyword of JSON Schema 2020-12; a name of your own begins with "x-"'],
    ],
  ])("of %j", (schema, findings) => {
    expect(of(schema)).toEqual(findings.map((one) => `a.json#${one}`));
  });

  test("for people and other tools has no meaning", () => {
    const words = ["x-a", "x-", "discriminator", "$comment", "$schema", "xa", "type", "comment", "schema"];
    expect(words.filter(ignored)).toEqual(["x-a", "x-", "discriminator", "$comment", "$schema"]);
  });

  test.each<[root: object, errors: [at: string, message: string][], findings: string[]]>([
    [{ items: [1] }, [["/items", "must be object,boolean"]], ['/items is a list; a tuple is written as "prefixItems"']],
    [
      { properties: { a: "x" } },
      [["/properties/a", "must be object,boolean"]],
      ["/properties/a is not a schema: an object, true or false"],
    ],
    [
      { type: "strin" },
      [["/type", "must be equal"]],
      [
        '/type "strin" is not a type; there are null, boolean, object, array, number, string, integer; did you mean "string"?',
      ],
    ],
    [
      { type: ["moon"] },
      [["/type/0", "must be equal"]],
      ['/type/0 "moon" is not a type; there are null, boolean, object, array, number, string, integer'],
    ],
    [
      { properties: { type: "x" } },
      [["/properties/type", "must be object,boolean"]],
      ["/properties/type is not a schema: an object, true or false"],
    ],
    [{ type: 7 }, [["/type", "must be string"]], ["/type must be string (JSON Schema 2020-12)"]],
    [{ minLength: "1" }, [["/minLength", "must be integer"]], ["/minLength must be integer (JSON Schema 2020-12)"]],
    // One finding a place, and none for what holds it.
    [
      { a: { b: 1 } },
      [
        ["/a/b", "first"],
        ["/a/b", "again"],
        ["/a", "above"],
        ["/ab", "beside"],
        ["", "all"],
      ],
      ["/a/b first (JSON Schema 2020-12)", "/ab beside (JSON Schema 2020-12)"],
    ],
  ])("of %j has another form: %j", (root, errors, findings) => {
    const all = errors.map(([instancePath, message]) => ({ instancePath, message, params: {} }));
    expect(told(malformed(all, root as SchemaObject, "a.json"))).toEqual(findings.map((one) => `a.json#${one}`));
  });
});

test.each(
  (
    "await break case catch class const continue debugger default delete do else enum export extends false finally for function " +
    "if implements import in instanceof interface let new null package private protected public return static super switch this " +
    "throw true try typeof var void while with yield checks"
  ).split(" "),
)("the contract %s would have the name of a word", (name) => {
  const of = (name: string) => told(titles(subject({ name }, { source: { name } })));
  expect(of(name)).toEqual([
    `#/name "${name}" is a word of the language, and names a constant; add a word, such as ${name}-agent`,
  ]);
  expect(of(`${name}s`)).toEqual([]);
});
