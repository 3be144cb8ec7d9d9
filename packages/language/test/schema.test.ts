import { assemble } from "@parlance/language/load";
import type { ContractDocument, SchemaObject, Tag } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { serverExamples } from "../src/examples.js";
import {
  commonFaults,
  generatedNames,
  headersSchema,
  inputSchema,
  locate,
  members,
  memorySchema,
  namesType,
  pascal,
  tagProperties,
  typeName,
} from "../src/schema.js";
import { pets } from "./pets.js";

describe("A name", () => {
  test.each([
    ["list_files", "ListFiles"],
    ["getSession", "GetSession"],
    ["a", "A"],
    ["agent.state", "AgentState"],
    ["v1.2-beta", "V1_2Beta"],
    ["3d", "3d"],
    ["a--b..c", "ABC"],
    ["1.2.3", "1_2_3"],
  ])("%s is the type %s", (name, type) => expect(pascal(name)).toBe(type));

  test("of a contract's types is its `type`, or made of its name", () => {
    const named = (type: unknown) => typeName({ contract: { name: "my-pets" }, source: { type } } as never);
    expect([named("MyPets"), named(undefined), named(7)]).toEqual(["MyPets", "MyPets", "MyPets"]);
    expect(named("PETS")).toBe("PETS");
  });

  test("of each generated thing has its purpose", () => {
    const of = (set: object, unset: string[] = []) => [...generatedNames(assemble(pets({ set, unset } as never)))];
    const plain = [
      ["TalkInput", "the input of operation talk"],
      ["TalkMessage", "the messages of stream talk"],
      ["TalkAsks", "the asks of stream talk"],
      ["TellInput", "the input of operation tell"],
      ["LineInput", "the input of channel line"],
      ["LineClientMessage", "the client's messages of channel line"],
      ["LineClientAsks", "the client's asks of channel line"],
      ["LineServerMessage", "the server's messages of channel line"],
      ["LineServerAsks", "the server's asks of channel line"],
    ];
    const own = [
      ["Pets", "the client's interface"],
      ["PetsHandlers", "the handlers' interface"],
    ];
    const session = ["PetsSession", "a session as a handler holds it"];
    const codes = ["PetsErrorCode", "the error codes"];
    expect(of({})).toEqual([...plain, session, codes, ...own]);
    expect(of({}, ["#/session"])).toEqual([...plain, codes, ...own]);
    expect(of({}, ["#/fault/codes"])).toEqual([...plain, session, ...own]);
    const headers = of({ "#/operations/tell/answer/headers": { ETag: { type: "string" } } });
    expect(headers).toContainEqual(["TellHeaders", "the headers that tell answers"]);
  });
});

const root = (more: object): SchemaObject => ({ $id: "/p/messages/a.json", title: "A", ...more });
const document = (...schemas: SchemaObject[]) => ({
  schemas: Object.fromEntries(schemas.map((schema) => [schema.title!, schema])),
});
const b = {
  $id: "/p/messages/b.json",
  title: "B",
  type: "object",
  required: ["b"],
  properties: { b: { type: "string" }, both: { const: "b" } },
  $defs: {
    deep: { properties: { d: { $ref: "#/$defs/text" } } },
    text: { type: "string" },
    "a/~b %": { maxLength: 1 },
  },
  minProperties: 1,
};

describe("The members of a schema", () => {
  test("are its own, those of its references and of its parts, the outer before the inner", () => {
    const a = root({
      description: "An A.",
      examples: [1],
      type: "object",
      allOf: [
        { $ref: "b.json" },
        { required: ["c", "a"], properties: { c: true, both: { const: "c" } }, minProperties: 2 },
      ],
      required: ["a"],
      properties: { a: true, both: { const: "a" } },
    });
    const { properties, required, rest } = members(document(a, b), a);
    expect(properties).toEqual({ b: { type: "string" }, both: { const: "a" }, c: true, a: true });
    expect([...required].sort()).toEqual(["a", "b", "c"]);
    expect(rest).toMatchObject({ type: "object", minProperties: 2, allOf: [{ minProperties: 1 }] });
    for (const word of ["$id", "title", "description", "examples", "properties", "required", "$ref"])
      expect(rest).not.toHaveProperty([word]);
  });

  test("keep a keyword that two parts have apart, so that both of it count", () => {
    const needs = (name: string) => ({ if: { required: [name] }, else: false });
    const one = { ...needs("a"), maxProperties: 9, type: "object", $defs: { x: true } };
    const other = { ...needs("b"), oneOf: [{ required: ["c"] }], type: "object", $defs: { y: true } };
    const { rest } = members(document(), { allOf: [one, other, { not: { required: ["d"] } }], minProperties: 1 });
    expect(rest).toEqual({
      minProperties: 1,
      maxProperties: 9,
      type: "object",
      $defs: { y: true },
      not: { required: ["d"] },
      oneOf: [{ required: ["c"] }],
      ...needs("b"),
      allOf: [needs("a")],
    });
    const thrice = members(document(), { allOf: [{ pattern: "a" }, { pattern: "b" }], pattern: "c" }).rest;
    expect(thrice).toEqual({ pattern: "c", allOf: [{ pattern: "a" }, { pattern: "b" }] });
  });

  test("are found at the root of a reference, of one inside, and of one in the same file", () => {
    const refer = ($ref: string, more: object = {}) => {
      const a = root({ $ref, ...more });
      return members(document(a, b), a).properties;
    };
    expect(Object.keys(refer("b.json"))).toEqual(["b", "both"]);
    // What is local there names its file here.
    expect(refer("b.json#/$defs/deep")).toEqual({ d: { $ref: "b.json#/$defs/text" } });
    expect(refer("#/$defs/own", { $defs: { own: { properties: { o: { $ref: "#/$defs/x" } } } } })).toEqual({
      o: { $ref: "#/$defs/x" },
    });
    for (const none of ["c.json", "b.json#/$defs/none", "#/none", "b.json#/type"]) expect(refer(none)).toEqual({});
  });

  test("are there once, where a schema includes itself", () => {
    const a = root({ properties: { a: true }, allOf: [{ $ref: "a.json" }, { $ref: "b.json" }] });
    const again = { ...b, allOf: [{ $ref: "a.json" }] };
    expect(Object.keys(members(document(a, again), a).properties).sort()).toEqual(["a", "b", "both"]);
    expect(members(document(), { type: "string" })).toEqual({ properties: {}, required: [], rest: { type: "string" } });
  });
});

describe("A reference", () => {
  test.each([
    ["b.json", { title: "B", pointer: "", schema: b }],
    ["#/properties/a", { title: "A", pointer: "/properties/a", schema: true }],
    ["b.json#/$defs/text", { title: "B", pointer: "/$defs/text", schema: { type: "string" } }],
    ["b.json#/$defs/a~1~0b%20%25", { title: "B", pointer: "/$defs/a~1~0b%20%25", schema: { maxLength: 1 } }],
    ["../messages/b.json#/$defs/text", { title: "B", pointer: "/$defs/text", schema: { type: "string" } }],
    ["c.json", undefined],
    ["b.json#/title", undefined],
    ["b.json#/minProperties", undefined],
    ["b.json#/constructor", undefined],
    ["b.json#/title/length", undefined],
  ])("to %s is located", (ref, found) => {
    const a = root({ properties: { a: true } });
    expect(locate(document(a, b), a.$id as string, ref)).toEqual(found);
  });
});

test.each([
  [{ title: "Mood", enum: ["glad"] }, true],
  [{ title: "Mood", properties: {} }, true],
  [{ title: "Mood", anyOf: [] }, true],
  [{ title: "Mood", oneOf: [] }, true],
  [{ title: "Mood", type: "string" }, false],
  [{ title: "The mood", enum: [] }, false],
  [{ title: "mood", enum: [] }, false],
  [{ title: "Mood1", enum: [] }, true],
  [{ enum: [] }, false],
])("the title of %j names a type: %s", (schema, names) => expect(namesType(schema as never)).toBe(names));

describe("The schema of an input", () => {
  const of = (name: string, set: object = {}, unset: string[] = []) =>
    inputSchema(assemble(pets({ set, unset } as never)), name);

  test("requires the parameters that are in the path or say so, and the body's properties", () => {
    const required = of("talk", {
      "#/operations/talk/parameters/loud/required": true,
      "#/operations/talk/parameters/X-Own": { in: "header", type: "string", required: false },
    });
    expect(required.required).toEqual(["pet_id", "loud", "words"]);
    expect(required.properties).toHaveProperty("X-Own", { type: "string" });
    expect(required.properties).toHaveProperty("loud", { type: "boolean" });
  });

  test("has the body's examples only where the body is all there is, without the constants", () => {
    expect(of("tell").examples).toBeUndefined();
    const alone = of("tell", { "#/operations/tell/path": "/tell" }, ["#/operations/tell/parameters"]);
    expect(alone.examples).toEqual([{ word: "sit" }]);
    expect(alone).toMatchObject({
      title: "TellInput",
      required: ["word"],
      description: "Talk to a pet, for one answer.",
    });
  });

  test("of what has no body, no summary or no such name", () => {
    const line = of("line", {}, ["#/channels/line/summary"]);
    expect(line).toEqual({
      $id: "/pets/messages/LineInput",
      title: "LineInput",
      type: "object",
      properties: { pet_id: { type: "string" } },
      required: ["pet_id"],
    });
    expect(() => of("sing")).toThrow(new RangeError("pets has no operation or channel sing"));
  });

  test("keeps what is beside the properties, with its references", () => {
    const more = of("tell", {
      "tell#/dependentRequired": { word: ["stream"] },
      "tell#/$defs": { own: { type: "string" } },
      "tell#/properties/own": { $ref: "#/$defs/own" },
    });
    expect(more).toMatchObject({
      dependentRequired: { word: ["stream"] },
      properties: { own: { $ref: "tell.json#/$defs/own" }, word: { $ref: "word.json" } },
    });
  });
});

test("the schema of an answer's headers has their types, and requires what it says", () => {
  const headers = {
    ETag: { type: "string", required: true },
    "X-Count": { type: "integer", description: "How many." },
  };
  const document = assemble(pets({ set: { "#/operations/tell/answer/headers": headers } }));
  expect(headersSchema(document, "tell")).toEqual({
    $id: "/pets/messages/TellHeaders",
    title: "TellHeaders",
    description: "Headers of the answer of tell.",
    type: "object",
    properties: { ETag: { type: "string" }, "X-Count": { type: "integer", description: "How many." } },
    required: ["ETag"],
  });
  for (const none of ["talk", "line", "sing"]) expect(headersSchema(document, none)).toBeUndefined();
});

describe("The schema of a message in memory", () => {
  test("leaves out what tells it apart, also where that is its type", () => {
    const kinds = { kind: { const: "said" }, type: { const: "said" }, text: { type: "string" } };
    const typed = assemble(
      pets({
        set: {
          "#/tag": { in: "property", property: "type" },
          "said#/properties": kinds,
          "said#/required": ["type", "kind", "text"],
          "said#/examples": [{ type: "said", kind: "said", text: "woof" }, 7, null, [1]],
          "said#/minProperties": 2,
        },
        unset: ["said#/description"],
      }),
    );
    expect(memorySchema(typed, "said")).toEqual({
      $id: "/pets/messages/said.json",
      title: "SaidMessage",
      type: "object",
      minProperties: 2,
      properties: { type: { const: "said" }, kind: { const: "said" }, text: { type: "string" } },
      required: ["type", "kind", "text"],
      examples: [
        { type: "said", kind: "said", text: "woof" },
        { type: "said" },
        { type: "said" },
        { type: "said", 0: 1 },
      ],
    });
    expect(() => memorySchema(typed, "sung")).toThrow(new RangeError("pets has no message sung"));
  });

  test.each<[tag: Tag, properties: string[]]>([
    [{ in: "event" }, []],
    [{ in: "property", property: "kind" }, ["kind"]],
    [{ in: "shape" }, ["a", "b"]],
  ])("is found by %j through the properties %j", (tag, properties) => {
    expect(tagProperties(tag, { schema: "A", shape: { const: { a: 1, b: 2 }, required: ["c"] } })).toEqual(properties);
    if (tag.in === "shape") expect(tagProperties(tag, { schema: "A" })).toEqual([]);
  });
});

test("the statuses that any call may be refused with are numbers", () => {
  const of = (faults: unknown) => commonFaults({ source: { faults } } as unknown as ContractDocument);
  expect([of({ 401: {}, "503": {} }), of(undefined)]).toEqual([[401, 503], []]);
});

test("the examples of a server are the first of each form that is no empty list", () => {
  const forms = [
    { title: "List", examples: [[], [1], [2]] },
    { title: "Empty", examples: [[]] },
    { title: "Object", examples: [{}, { a: 1 }] },
    { title: "None", examples: [] },
    { title: "Nothing" },
  ] as unknown as SchemaObject[];
  const operations = {
    show: { answer: { examples: ["first", "second"], headers: { A: { type: "string" }, B: { type: "integer" } } } },
    hide: {
      answer: {
        examples: [],
        headers: { C: { type: "number" }, D: { type: "boolean" }, E: { type: "string", enum: ["e"] } },
      },
    },
    bare: { answer: {} },
    mute: {},
  };
  expect(serverExamples({ source: { operations } } as unknown as ContractDocument, forms)).toEqual({
    schemas: {
      List: [1],
      Empty: [],
      Object: {},
      ShowHeaders: { A: "example", B: 1 },
      HideHeaders: { C: 1, D: true, E: "e" },
    },
    texts: { show: "first" },
  });
});
