import { describe, expect, test } from "vitest";
import { tags } from "../../src/lint/tags.js";
import { owned, titles } from "../../src/lint/titles.js";
import { subject, told } from "../rules.js";

// The rules of tags and of titles, each alone.

const schema = (file: string, properties: object, more: object = {}) => ({
  $id: `/contract/${file}`,
  title: file.replace(".json", ""),
  type: "object",
  properties,
  ...more,
});
describe("A tag", () => {
  const tagged = (tag: object, one: object, properties: object, more: object = {}) => {
    const own = { "said.json": schema("said.json", properties, more) };
    const only = {
      messages: { "said/it": { schema: "said.json", ...one } },
      channels: { line: { client: ["said/it"], server: [] } },
      tag,
    };
    return told(tags(subject(only, { schemas: own, identified: { schemas: own } })));
  };
  const [event, property, shape] = [{ in: "event" }, { in: "property", property: "kind" }, { in: "shape" }];
  const kind = (value: unknown) => ({ kind: { const: value } });
  const required = { required: ["kind"] };
  const free = (advice: string) =>
    `said.json#/properties/type is not the tag, but in memory \`type\` is the message's name: ${advice}, such as said_it_type`;

  test.each<[tag: object, message: object, properties: object, more: object, findings: string[]]>([
    [event, {}, { text: true }, {}, []],
    [event, {}, { type: true }, {}, [free("give the property a name of its own")]],
    [
      event,
      { shape: {} },
      {},
      {},
      [
        `#/messages/said~1it/shape is only for contracts whose tag is the shape, and this contract's tag is the event; write "tag": { "in": "shape" }, or remove every shape`,
      ],
    ],
    [property, {}, kind("said/it"), required, []],
    [
      property,
      {},
      kind("said"),
      required,
      ['said.json#/properties/kind needs the property kind with { "const": "said/it" }: the tag of said/it'],
    ],
    [property, {}, {}, {}, ['said.json# needs the property kind with { "const": "said/it" }: the tag of said/it']],
    [property, {}, kind("said/it"), {}, ["said.json#/required does not list kind, the tag of said/it"]],
    [{ ...property, event: true }, {}, kind("said/it"), {}, []],
    [{ in: "property", property: "type" }, {}, { type: { const: "said/it" } }, { required: ["type"] }, []],
    [shape, { shape: { const: { kind: 1 } } }, kind(1), required, []],
    [
      shape,
      { shape: { const: { kind: 1 } } },
      kind("1"),
      required,
      ['said.json#/properties/kind needs the property kind with { "const": 1 }: the tag of said/it'],
    ],
    [shape, { shape: { const: { type: "x" } } }, { type: { const: "x" } }, { required: ["type"] }, []],
    [
      shape,
      { shape: {} },
      { type: true },
      {},
      [free(`if it is a constant, put it in the message's "shape"; if not, give the property a name of its own`)],
    ],
    [
      shape,
      { shape: { const: { kind: 1 } } },
      kind(1),
      { ...required, examples: [{ kind: 1 }, { kind: 2 }, 7, [1], null] },
      [1, 2, 3, 4].map(
        (at) =>
          `said.json#/examples/${at} matches no message of the client, not even said/it; see contract.json#/messages/said~1it/shape`,
      ),
    ],
  ])("%j of %j with %j and %j", (tag, message, properties, more, findings) => {
    expect(tagged(tag, message, properties, more)).toEqual(findings);
  });

  test("by shape is that of the first message that fits, of the same side", () => {
    const own = {
      "a.json": schema("a.json", {}, { examples: [{ x: 1 }] }),
      "b.json": schema("b.json", {}, { examples: [{ x: 1, y: 1 }, { y: 1 }] }),
    };
    const shapes = (a: object, b: object, sides: object) => ({
      tag: shape,
      messages: { a: { schema: "a.json", shape: a }, b: { schema: "b.json", shape: b } },
      channels: { line: { client: [], server: [], ...sides } },
    });
    const found = (contract: object) => told(tags(subject(contract, { schemas: own, identified: { schemas: own } })));
    const [needsX, needsY] = [{ required: ["x"] }, { required: ["y"] }];
    expect(found(shapes(needsX, needsY, { server: ["a", "b"] }))).toEqual([
      "b.json#/examples/0 is read as a, which also matches and comes first; matching messages of the server: a, b",
    ]);
    expect(found(shapes(needsX, needsY, { server: ["a"], client: ["b"] }))).toEqual([]);
    expect(found(shapes({ required: ["x"], forbidden: ["y"] }, needsY, { server: ["a", "b"] }))).toEqual([]);
  });
});

describe("A title", () => {
  const titled = (schemas: object, contract: object = {}, source: object = {}) =>
    told(titles(subject(contract, { schemas, source: { name: "p", ...source } })));

  test.each<[schemas: object, findings: string[]]>([
    [{ "messages/a.json": { title: "A" } }, []],
    [
      { "messages/list_files.json": {} },
      ['messages/list_files.json# needs a "title", the name of its type, such as "ListFiles"'],
    ],
    [{ "messages/9.json": {} }, ['messages/9.json# needs a "title", the name of its type, such as "Message"']],
    [
      { "a.json": { title: "list files" } },
      ['a.json#/title "list files" is not PascalCase, and it names a type; write "ListFiles"'],
    ],
    [{ "a.json": { title: "1st" } }, ['a.json#/title "1st" is not PascalCase, and it names a type; write "St"']],
    [
      { "a.json": { title: "A" }, "b.json": { title: "A" } },
      ['b.json#/title "A" is already the name of a.json; choose another title'],
    ],
    [
      { "a.json": { title: "A", items: { title: "A", enum: [1] } } },
      [
        'a.json#/items/title "A" is already the name of a.json; this type gets another name or none, so choose another title',
      ],
    ],
    [
      {
        "a.json": { title: "A", items: { title: "B", enum: [1] } },
        "b.json": { title: "C", not: { title: "B", enum: [1] } },
      },
      [],
    ],
    [
      {
        "a.json": { title: "A", items: { title: "B", enum: [1] } },
        "b.json": { title: "C", not: { title: "B", enum: [2] } },
      },
      [
        'b.json#/not/title "B" is already the name of a.json; this type gets another name or none, so choose another title',
      ],
    ],
    [
      { "a.json": { title: "A", items: { title: "B", enum: [1] } }, "b.json": { title: "B" } },
      [
        'a.json#/items/title "B" is already the name of b.json; this type gets another name or none, so choose another title',
      ],
    ],
    [{ "a.json": { title: "A", items: { title: "A" } } }, []],
    [{ "a.json": { title: "A", items: { title: "the a", enum: [1] } } }, []],
    [
      { "a.json": { title: "P" } },
      ['a.json#/title "P" is already the name of the client\'s interface; choose another title'],
    ],
    [{ "a.json": { title: 7 } }, []],
  ])("of %j", (schemas, findings) => expect(titled(schemas)).toEqual(findings));

  test("of what is generated is not that of another", () => {
    const operations = { talk: { answer: {} }, Talk: { answer: {} } };
    expect(titled({}, { operations })).toEqual([
      "# the input of operation Talk and the input of operation talk would both be named TalkInput; rename one of them",
    ]);
  });

  const own = (schemas: object, tag: object, more: object = {}) =>
    told(owned(subject({ tag, messages: { said: { schema: "messages/said.json", ...more } } }, { schemas })));
  const refers = {
    "messages/a.json": { items: { $ref: "said.json" } },
    "messages/b.json": { $ref: "said.json#/$defs/x" },
    "messages/c.json": { $ref: 7 },
  };
  const told_ =
    "messages/a.json#/items/$ref refers to the message said, which has another type in memory, without its tag; move the shared part to a schema of its own";

  test("is of one message, and no part of another schema where it differs in memory", () => {
    expect(own(refers, { in: "event" })).toEqual([told_]);
    expect(own(refers, { in: "property", property: "kind" })).toEqual([told_]);
    expect(own(refers, { in: "property", property: "type" })).toEqual([]);
    expect(own(refers, { in: "shape" }, { shape: { const: { type: "said" } } })).toEqual([]);
    expect(own(refers, { in: "shape" }, { shape: { const: { type: "other" } } })).toEqual([told_]);
    expect(own(refers, { in: "shape" }, { shape: { const: { type: "said", more: 1 } } })).toEqual([told_]);
    const twice = { said: { schema: "a.json" }, "x/y": { schema: "a.json" } };
    expect(told(owned(subject({ tag: { in: "event" }, messages: twice })))).toEqual([
      "#/messages/x~1y/schema is also the schema of said, and each message needs a type of its own; copy the file",
    ]);
  });
});
