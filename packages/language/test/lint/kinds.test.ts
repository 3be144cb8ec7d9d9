import { lint } from "@parlance/language/lint";
import { describe, expect, it } from "vitest";
import { pets } from "../pets.js";

/** The message `over` with this schema instead of its own, whose tag is a property of an object. */
async function findings(schema: object) {
  const set = { "#/tag": { in: "event" }, "over#/x-own": true };
  const text = { "messages/over.json": JSON.stringify({ title: "OverMessage", ...schema, examples: [{}] }) };
  const folder = pets({ set, text });
  const contract = JSON.parse(folder.files["contract.json"]!);
  for (const message of Object.values(contract.messages) as { shape?: object }[]) delete message.shape;
  const files = { ...folder.files, "contract.json": JSON.stringify(contract) };
  const found = await lint({ ...folder, files }, { patterns: false });
  return found.filter(({ rule }) => rule === "kind").map(({ file, pointer, message }) => [file, pointer, message]);
}

const refused: [what: string, schema: object, kinds: string, pointer?: string][] = [
  ["an array", { type: "array", items: { type: "object" } }, "array", "/type"],
  ["a tuple", { type: "array", prefixItems: [{ type: "object" }, { type: "object" }] }, "array", "/type"],
  ["null", { type: "null" }, "null", "/type"],
  ["an object or null", { type: ["object", "null"] }, "null", "/type"],
  ["a text", { type: "string" }, "string", "/type"],
  ["an integer", { type: "integer" }, "number", "/type"],
  ["a constant", { const: "done" }, "string"],
  ["a list of values", { enum: [1, null, true] }, "number or boolean or null"],
  ["a reference to a text", { $ref: "word.json" }, "string"],
  ["a reference to its own definition", { $ref: "#/$defs/List", $defs: { List: { type: "array" } } }, "array"],
  ["a part of a whole", { allOf: [{ type: ["object", "array"] }, { minItems: 1 }] }, "array"],
  ["one of several", { anyOf: [{ type: "object" }, { type: "null" }] }, "null"],
  ["exactly one of several", { oneOf: [{ type: "object" }, { type: "array" }] }, "array"],
  ["a contradiction", { type: "object", allOf: [{ type: "array" }] }, "no value", "/type"],
];

const accepted: [what: string, schema: object][] = [
  ["an object", { type: "object" }],
  ["properties without a type", { properties: { a: { type: "string" } } }],
  ["several objects", { anyOf: [{ type: "object" }, { type: "object", minProperties: 1 }] }],
  ["an object, though a part of it could be null", { type: "object", anyOf: [{ type: ["object", "null"] }] }],
  ["a reference to itself below a property", { type: "object", properties: { next: { $ref: "#" } } }],
];

describe("a message", () => {
  it.each(refused)("is refused as %s", async (_, schema, kinds, pointer = "") => {
    const message = `describes ${kinds}, and a message is an object; put the value into a property`;
    expect(await findings(schema)).toEqual([["messages/over.json", pointer, message]]);
  });

  it.each(accepted)("may be %s", async (_, schema) => {
    expect(await findings(schema)).toEqual([]);
  });
});

it("refuses the body of a refusal that is a text", async () => {
  const text = { "messages/fault.json": '{"title":"FaultBody","type":"string","examples":["no"]}' };
  const found = await lint(pets({ text }), { patterns: false });
  expect(found.map(({ rule, file }) => `${rule} ${file}`)).toContain("kind messages/fault.json");
});
