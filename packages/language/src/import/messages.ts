import type { SchemaObject } from "@parlance/wire";
import { isObject } from "@parlance/wire/json";
import { fileOf } from "../folder.js";
import type { Source } from "../source.js";
import { subschemas } from "../walk.js";
import { definitionOf, type Files, nameOf } from "./files.js";
import { alternatives, type Candidate, constantsOf, definitionsOf, tagOf, unreferenced } from "./unions.js";

/** The parts of contract.json about messages. */
export interface Spoken {
  readonly tag: Source;
  readonly messages: Record<string, { schema: string; shape?: { const: Source } }>;
  /** The name of the message that the schema at a pointer became. */
  readonly names: ReadonlyMap<string, string>;
}

/** Schemas as messages: by the property that tells them apart, by several constants, or by the name of an event. */
export function speak(files: Files, pointers: Iterable<string>): Spoken {
  const candidates = [...new Set(pointers)].map((pointer): Candidate => {
    const name = definitionOf(pointer) ?? (pointer === "" ? nameOf("", files.document) : "message");
    return { pointer, name, constants: constantsOf(files, pointer) };
  });
  const [best, isApart] = [tagOf(candidates), areApart(candidates)];
  const isWhole = best !== undefined && candidates.every(({ constants }) => typeof constants[best] === "string");
  const distinct = new Set(candidates.map(({ constants }) => constants[best ?? ""])).size === candidates.length;
  const property = isApart && !(isWhole && distinct) ? undefined : best;
  const isShape = property === undefined && isApart;
  const tag = property !== undefined ? { in: "property", property } : { in: isShape ? "shape" : "event" };
  const messages: Spoken["messages"] = {};
  const names = new Map<string, string>();
  for (const { pointer, name, constants } of candidates) {
    const constant = isShape && name === "message" ? Object.values(constants).join(" ") : name;
    const word = property === undefined ? words(constant) : constants[property];
    if (typeof word !== "string") {
      files.note(pointer, `has no constant for ${property}, by which the others are told apart, and is left out`);
      continue;
    }
    if (Object.hasOwn(messages, word)) {
      files.note(pointer, `would be another message ${word}, and is left out`);
      continue;
    }
    messages[word] = { schema: files.of(pointer, named(name, word)), ...(isShape && { shape: { const: constants } }) };
    names.set(pointer, word);
  }
  return { tag, messages, names };
}

/** Whether the constants of each are in no other. */
const areApart = (candidates: readonly Candidate[]): boolean =>
  candidates.length > 1 &&
  candidates.every(({ constants }, index) => {
    const own = Object.entries(constants);
    return (
      own.length > 0 &&
      candidates.every(
        (other, at) =>
          at === index || own.some(([name, value]) => name in other.constants && other.constants[name] !== value),
      )
    );
  });

/** The type name of a message: its definition's name, or one made of its tag. */
const named = (name: string, word: string) => (name === "message" ? `${word} message` : name);

/** `ToolCallUpdate` → `tool_call_update`. */
const words = (name: string) =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toLowerCase();

/** The messages of a schema: the alternatives of its union, the schema itself, or the definitions that nothing in it refers to. */
export function ofSchema(files: Files): Spoken {
  const { document } = files;
  const root = files.at("");
  const isUnion = Array.isArray(root.value.oneOf) || Array.isArray(root.value.anyOf);
  if (isUnion && !("properties" in root.value)) return speak(files, alternatives(files, ""));
  if (
    ["properties", "type", "allOf", "additionalProperties", "patternProperties"].some(
      (keyword) => keyword in root.value,
    )
  )
    return speak(files, [root.pointer]);
  const roots = [...unreferenced(files)].map(([pointer]) => pointer);
  const all = roots.length > 0 ? roots : definitionsOf(document).map(([pointer]) => pointer);
  return speak(
    files,
    all.flatMap((pointer) => [...alternatives(files, pointer)]).filter((pointer) => isObjects(files, pointer)),
  );
}

function isObjects(files: Files, pointer: string): boolean {
  const { value } = files.at(pointer);
  return value.type === "object" || isObject(value.properties) || Array.isArray(value.allOf);
}

/** Gives a message a schema of its own where others refer to it and would get another type, without its tag. */
export function separate(files: Files, { tag, messages }: Spoken): void {
  const referred = new Set(
    Object.entries(files.schemas).flatMap(([file, root]) =>
      subschemas(root).flatMap(({ schema }) =>
        typeof schema.$ref === "string" ? (fileOf(schema.$ref, file) ?? []) : [],
      ),
    ),
  );
  for (const [name, message] of Object.entries(messages)) {
    const isPlain = tag.in === "property" && tag.property === "type";
    if (isPlain || !referred.has(message.schema)) continue;
    const { title } = files.schemas[message.schema] as SchemaObject;
    message.schema = files.add(`${title ?? name} message`, { $ref: message.schema.slice("messages/".length) });
  }
}
