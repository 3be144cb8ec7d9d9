import type { Json, Message, SchemaObject } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { tagSchema } from "../prefix.js";
import { tagProperties } from "../schema.js";
import { examplesOf, inContract, list, membersOf, type Subject, said } from "./subject.js";

/** Every frame identifies its message, and `type` stays free for the name in memory. */
export function* tags(subject: Subject): Generator<Finding> {
  const { contract, schemas } = subject;
  for (const [name, message] of Object.entries(contract.messages)) {
    const file = message.schema;
    const schema = schemas[file];
    const at = `/messages/${escapeStep(name)}`;
    const shaped = Object.keys(contract.messages).find((one) => contract.messages[one]!.shape);
    if (name === shaped && contract.tag.in !== "shape")
      yield inContract(
        "tag",
        `${at}/shape`,
        `is only for contracts whose tag is the shape, and this contract's tag is the ${contract.tag.in}; write "tag": { "in": "shape" }, or remove every shape`,
      );
    const inner = membersOf(subject, file);
    if (!schema || !inner) continue;
    const { properties, required } = inner;
    if ("type" in properties && !tagProperties(contract.tag, message).includes("type"))
      yield {
        rule: "type",
        file,
        pointer: placeOfProperty(schema, "type"),
        message:
          "is not the tag, but in memory `type` is the message's name: " +
          (contract.tag.in === "shape"
            ? 'if it is a constant, put it in the message\'s "shape"; if not, give the property a name of its own'
            : "give the property a name of its own") +
          `, such as ${name.replace(/[^A-Za-z0-9]/g, "_")}_type`,
      };
    for (const [property, rules] of constants(subject, name, message)) {
      const said = properties[property] as SchemaObject | undefined;
      if (!said || Object.entries(rules).some(([word, rule]) => JSON.stringify(said[word]) !== JSON.stringify(rule)))
        yield {
          rule: "tag",
          file,
          pointer: said ? placeOfProperty(schema, property) : "",
          message: `needs the property ${property} with ${shown(rules)}: the tag of ${name}`,
        };
      else if (!required.includes(property) && !(contract.tag.in === "property" && contract.tag.event))
        yield { rule: "tag", file, pointer: "/required", message: `does not list ${property}, the tag of ${name}` };
    }
  }
  if (contract.tag.in === "shape") yield* shapes(subject);
  for (const [name, { answer }] of Object.entries(contract.operations)) {
    const { lines, sentinel } = answer.stream ?? {};
    const at = `/operations/${name}/answer/stream`;
    if (lines === undefined) continue;
    if (contract.tag.in === "event")
      yield inContract(
        "tag",
        `${at}/lines`,
        'has no event names; write "tag": { "in": "property", "property": "type" }',
      );
    if (sentinel !== undefined)
      yield inContract("tag", `${at}/sentinel`, 'is data of an event, and lines are JSON; write "end" with a message');
  }
}

/** What the schema of a message says of the properties that name it. */
function constants({ contract }: Subject, name: string, { shape }: Message): [string, SchemaObject][] {
  if (contract.tag.in === "property") return [[contract.tag.property, tagSchema(contract, name)]];
  if (contract.tag.in === "event") return [];
  return Object.entries(shape?.const ?? {}).map(([property, value]) => [property, { const: value }]);
}

const shown = (rules: SchemaObject) =>
  `{ ${Object.entries(rules)
    .map(([word, rule]) => `"${word}": ${JSON.stringify(rule)}`)
    .join(", ")} }`;

const placeOfProperty = ({ properties = {} }: SchemaObject, name: string) =>
  Object.hasOwn(properties as object, name) ? `/properties/${escapeStep(name)}` : "";

/** An example has to match its own message first, among those of its direction in contract order. */
function* shapes(subject: Subject): Generator<Finding> {
  const { contract } = subject;
  for (const side of ["client", "server"] as const) {
    const names = said(subject, side);
    for (const name of names)
      for (const [index, example] of examplesOf(subject, contract.messages[name]!.schema).entries()) {
        const fitting = names.filter((one) => fits(contract.messages[one]!, example));
        // Another rule reports two messages of one schema.
        if (fitting[0] === name || contract.messages[fitting[0] ?? ""]?.schema === contract.messages[name]!.schema)
          continue;
        yield {
          rule: "shape",
          file: contract.messages[name]!.schema,
          pointer: `/examples/${index}`,
          message:
            fitting.length === 0
              ? `matches no message of the ${side}, not even ${name}; see contract.json#/messages/${escapeStep(name)}/shape`
              : `is read as ${fitting[0]}, which also matches and comes first; matching messages of the ${side}: ${list(fitting)}`,
        };
      }
  }
}

function fits({ shape = {} }: Message, body: Json): boolean {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return false;
  const own = body as Readonly<Record<string, Json>>;
  return (
    Object.entries(shape.const ?? {}).every(([key, value]) => JSON.stringify(own[key]) === JSON.stringify(value)) &&
    (shape.required ?? []).every((key) => Object.hasOwn(own, key)) &&
    !(shape.forbidden ?? []).some((key) => Object.hasOwn(own, key))
  );
}
