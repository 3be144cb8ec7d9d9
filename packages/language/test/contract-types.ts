import { contractSchema } from "@parlance/language/lint";
import type { Json, Schema, SchemaObject } from "@parlance/wire";

/** The interfaces of wire, by their place in contract.schema.json. */
const NAMES: Readonly<Record<string, string>> = {
  "": "Contract",
  "/properties/auth": "Auth",
  "/properties/tag": "Tag",
  "/properties/rpc": "Rpc",
  "/properties/errors/additionalProperties": "RpcCode",
  "/properties/messages/additionalProperties": "Message",
  "/properties/messages/additionalProperties/properties/shape": "Shape",
  "/properties/profiles/additionalProperties": "Profile",
  "/properties/fault": "Fault",
  "/properties/fault/properties/codes/additionalProperties": "FaultCode",
  "/properties/retry": "Retry",
  "/$defs/side": "Side",
  "/$defs/file": "SchemaName",
  "/$defs/pointer": "Pointer",
  "/$defs/answerHeaders/additionalProperties": "AnswerHeader",
  "/$defs/parameters/additionalProperties": "Parameter",
  "/$defs/faultPlaces": "FaultPlaces",
  "/$defs/faults/additionalProperties": "OperationFault",
  "/$defs/text": "TextPlaces",
  "/$defs/stream": "Stream",
  "/$defs/rejoin": "Rejoin",
  "/$defs/operation": "Operation",
  "/$defs/operation/properties/method": "Method",
  "/$defs/operation/properties/answer": "Answer",
  "/$defs/channel": "Channel",
  "/$defs/rpcMethod": "RpcMethod",
  "/$defs/channel/properties/carriers/items": "Carrier",
  "/$defs/exchange": "Exchange",
  "/$defs/exchange/properties/answers/items": "Reply",
  "/$defs/exchange/properties/answers/items/properties/whole/items": "Whole",
  "/$defs/reading": "Reading",
};

/** Written by hand: they also describe values outside of a contract. */
const BY_HAND = ["SchemaName", "Pointer"];

/** Keywords of `contract.json` that a loaded contract leaves to its source, by the name of their interface. */
const PROSE: Readonly<Record<string, readonly string[]>> = {
  "*": ["description", "summary", "examples"],
  Contract: ["$schema", "type", "title", "version", "imported", "formats", "faults"],
  Parameter: ["enum", "default", "pattern", "format", "minLength", "x-secret"],
};

/** Properties that loading derives. Code for what a contract does not use is not loaded. */
const DERIVED: Readonly<Record<string, Readonly<Record<string, SchemaObject>>>> = {
  Contract: {
    headers: { description: "Whether any parameter or the API key is in a header or cookie. Derived.", const: true },
    secrets: {
      description:
        "Names of properties and parameters whose values are secrets, which recordings leave out. Derived from `x-secret`.",
      type: "array",
      items: { type: "string" },
    },
  },
  Operation: {
    absent: {
      description: "Names of `when` that a request may leave out and still mean this operation. Derived.",
      type: "array",
      items: { type: "string" },
    },
    transfer: {
      description:
        "Whether the request or answer has bytes, or the answer has headers, may have no body or is a stream of lines or one that is joined again. Derived.",
      const: true,
    },
  },
};

/** Properties that a loaded contract has though its source may leave them out: methods expand to them. */
const EXPANDED: Readonly<Record<string, readonly string[]>> = {
  Contract: ["tag", "messages", "operations", "fault"],
  Channel: ["client", "server"],
};

const root = contractSchema as SchemaObject;
const nameOf = new Map(Object.entries(NAMES).map(([pointer, name]) => [schemaAt(pointer), name]));

function schemaAt(pointer: string): SchemaObject {
  const steps = pointer.split("/").slice(1);
  return steps.reduce((at: SchemaObject, step) => at[step] as SchemaObject, root);
}

/** The module of wire with the types of a contract, before it is formatted. */
export function contractTypes(): string {
  const declarations = [...nameOf].filter(([, name]) => !BY_HAND.includes(name)).map(declaration);
  return `// Generated from schemas/contract.schema.json by packages/language/test/scenarios/contract-types.test.ts. Do not edit: change the schema, and
// run \`npx vitest run packages/language/test/scenarios/contract-types.test.ts -u\`.
import type { Json, Pointer, SchemaName } from "./schema.js";

${declarations.join("\n")}`;
}

function declaration([schema, name]: readonly [SchemaObject, string]): string {
  const isInterface = schema.properties !== undefined && !isUnion(schema);
  const text = own(schema, name);
  return `${comment(schema)}export ${isInterface ? `interface ${name} ${text}` : `type ${name} = ${text};`}\n`;
}

/** The type of a schema where it is used: its name where it has one. */
function typeOf(schema: Schema): string {
  if (typeof schema === "boolean") return "Json";
  const target = schema.$ref === undefined ? schema : schemaAt(String(schema.$ref).slice(1));
  return nameOf.get(target) ?? own(target);
}

function own(schema: SchemaObject, name = ""): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return (schema.enum as Json[]).map((one) => JSON.stringify(one)).join(" | ");
  if (schema.oneOf && !schema.properties) return (schema.oneOf as Schema[]).map(typeOf).join(" | ");
  if (isUnion(schema)) return cases(schema);
  if (schema.properties) return members(schema, name);
  if (schema.type === "array") return list(schema);
  if (schema.type === "object")
    return `Readonly<Record<${typeOfKeys(schema)}, ${typeOf((schema.additionalProperties ?? true) as Schema)}>>`;
  return schema.type === "integer" ? "number" : ((schema.type as string | undefined) ?? "Json");
}

/** Whether a schema's condition is about a constant, so that its type is a union. */
const isUnion = ({ if: condition }: SchemaObject) => (condition as SchemaObject | undefined)?.properties !== undefined;

const typeOfKeys = ({ propertyNames }: SchemaObject) =>
  propertyNames !== undefined && typeOf(propertyNames as Schema) === "Pointer" ? "Pointer" : "string";

function list({ items = true, minItems, maxItems }: SchemaObject): string {
  if (maxItems !== undefined) {
    const places = Array.from({ length: maxItems as number }, (_, at) => (at < ((minItems as number) ?? 0) ? "" : "?"));
    return `readonly [${places.map((mark) => typeOf(items as Schema) + mark).join(", ")}]`;
  }
  const type = typeOf(items as Schema);
  return `readonly ${/ /.test(type) ? `(${type})` : type}[]`;
}

function members(schema: SchemaObject, name: string): string {
  const required = [...((schema.required as string[] | undefined) ?? []), ...(EXPANDED[name] ?? [])];
  const lines = Object.entries(kept(schema, name)).map(
    ([keyword, one]) => `${comment(one)}readonly ${keyword}${required.includes(keyword) ? "" : "?"}: ${typeOf(one)};\n`,
  );
  return `{\n${lines.join("")}}`;
}

/** The properties of an object of a loaded contract. */
function kept(schema: SchemaObject, name = ""): Record<string, Schema> {
  const prose = [...PROSE["*"]!, ...(PROSE[name] ?? [])];
  const all = { ...(schema.properties as Record<string, Schema>), ...DERIVED[name] };
  return Object.fromEntries(Object.entries(all).filter(([keyword, one]) => one !== false && !prose.includes(keyword)));
}

/** The places of a loaded contract that its type does not have. */
export function strays(value: unknown, schema: Schema = root, place = ""): string[] {
  if (typeof value !== "object" || value === null || typeof schema === "boolean") return [];
  const named = schema.$ref === undefined ? schema : schemaAt(String(schema.$ref).slice(1));
  const properties = named.properties ? kept(named, nameOf.get(named)) : undefined;
  return Object.entries(value).flatMap(([key, child]) => {
    const at = `${place}/${key}`;
    if (properties) return key in properties ? strays(child, properties[key], at) : [at];
    return strays(child, (named.additionalProperties ?? named.items ?? true) as Schema, at);
  });
}

/** A union for an object with `if`: one member where the condition's constant holds, and one for each other value. */
function cases({ if: condition, then, else: otherwise, ...schema }: SchemaObject): string {
  const [[keyword, { const: chosen }]] = Object.entries((condition as SchemaObject).properties as object) as [
    [string, SchemaObject],
  ];
  const all = schema.properties as Record<string, SchemaObject>;
  return (all[keyword]!.enum as string[])
    .map((value) => {
      const more = (value === chosen ? then : otherwise) as SchemaObject;
      const properties = { ...all, ...(more.properties as object), [keyword]: { const: value } };
      const required = [...(schema.required as string[]), ...((more.required as string[] | undefined) ?? [])];
      return `| ${members({ properties, required }, "")}`;
    })
    .join("\n");
}

function comment(schema: Schema): string {
  const { description, $ref } = schema as SchemaObject;
  const text = description ?? ($ref === undefined ? undefined : schemaAt(String($ref).slice(1)).description);
  return text === undefined ? "" : `/** ${text} */\n`;
}
