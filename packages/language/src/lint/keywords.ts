import type { SchemaObject } from "@parlance/wire";
import { escapeStep, parsePointer, valueAt } from "@parlance/wire/internal/pointer";
import { isObject } from "@parlance/wire/json";
import type { Ajv2020 } from "ajv/dist/2020.js";
import type { Finding } from "../finding.js";
import { isStandard } from "../formats.js";
import { KEYWORDS } from "../keywords.js";
import { didYouMean } from "../nearest.js";
import { type Source, secretsOf } from "../source.js";
import { subschemas } from "../walk.js";
import { inContract, type Subject } from "./subject.js";

/** Keywords not allowed in a contract, with what to write instead. */
export const INSTEAD: Readonly<Record<string, string>> = {
  $id: "leave it out: a schema is named by its file",
  $dynamicRef: 'write "$ref"',
  $dynamicAnchor: 'leave it out and refer by "$ref"',
  $recursiveRef: 'write "$ref"',
  $recursiveAnchor: 'leave it out and refer by "$ref"',
  $vocabulary: "leave it out",
  id: "leave it out: a schema is named by its file",
  dependencies: 'write "dependentRequired" or "dependentSchemas"',
  additionalItems: 'write "items", after "prefixItems"',
  nullable: 'add "null" to "type"',
  example: 'write "examples": […]',
  tsType: "leave it out: types are written from the schema",
};

/** Keywords that mean something only beside one of others. */
const PARTNERS: ReadonlyMap<string, readonly string[]> = new Map([
  ["if", ["then", "else"]],
  ["then", ["if"]],
  ["else", ["if"]],
  ["minContains", ["contains"]],
  ["maxContains", ["contains"]],
]);

const types = ["null", "boolean", "object", "array", "number", "string", "integer"];

/** Keywords for people and for other tools: kept, and without a meaning here. */
export const ignored = (keyword: string) =>
  keyword.startsWith("x-") || keyword === "discriminator" || keyword === "$comment" || keyword === "$schema";

/** Checks that every keyword of a file is in the vocabulary, in its place and meaningful there. */
export function* keywords(
  file: string,
  root: SchemaObject,
  ajv: Ajv2020,
  formats: ReadonlySet<string>,
): Generator<Finding> {
  for (const { schema, pointer } of subschemas(root)) {
    const declared = schema.type === undefined ? undefined : ([schema.type].flat() as string[]);
    for (const [name, value] of Object.entries(schema)) {
      const at = (rule: string, message: string, place = ""): Finding => ({
        rule,
        file,
        pointer: `${pointer}/${escapeStep(name)}${place}`,
        message,
      });
      const wanted = KEYWORDS[name]?.about;
      if (name === "$schema") yield* dialect(value, pointer, at);
      else if (ignored(name)) continue;
      else if (Object.hasOwn(INSTEAD, name))
        yield at("keyword", `"${name}" is not used in a contract: ${INSTEAD[name]}`);
      else if (!Object.hasOwn(ajv.RULES.keywords, name))
        yield at(
          "keyword",
          `"${name}" is not a keyword of JSON Schema 2020-12${didYouMean(name, Object.keys(ajv.RULES.keywords)) || '; a name of your own begins with "x-"'}`,
        );
      else if (
        declared &&
        wanted &&
        !declared.some((one) => one === wanted || (one === "integer" && wanted === "number"))
      )
        yield at("keyword", `applies to values of type ${wanted}, but "type" is ${declared.join(" or ")}`);
      else if (name === "format" && typeof value === "string" && !formats.has(value))
        yield at("keyword", unknownFormat(value, formats));
      else if (name === "enum" && Array.isArray(value) && value.length === 0)
        yield at("keyword", "is empty, so no value is valid; list the values, or write false for the schema");
      else if (PARTNERS.get(name)?.some((one) => one in schema) === false)
        yield at(
          "keyword",
          `has no effect without ${PARTNERS.get(name)!
            .map((one) => `"${one}"`)
            .join(" or ")} beside it`,
        );
      else if (name === "pattern" && typeof value === "string") yield* pattern(value, at);
      else if (name === "patternProperties" && isObject(value))
        for (const one of Object.keys(value))
          yield* pattern(one, (rule, message) => at(rule, message, `/${escapeStep(one)}`));
      else if (name === "required" && isObject(schema.properties) && !("allOf" in schema || "$ref" in schema))
        for (const one of [value].flat())
          if (!Object.hasOwn(schema.properties, String(one)))
            yield at(
              "keyword",
              `"${one}" is required but is not in "properties"${didYouMean(String(one), Object.keys(schema.properties))}`,
            );
    }
  }
}

type At = (rule: string, message: string) => Finding;

function* dialect(value: unknown, pointer: string, at: At): Generator<Finding> {
  if (pointer !== "") yield at("keyword", "is allowed at the top of a file only; remove it");
  else if (!/^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test(String(value)))
    yield at("keyword", 'is not supported; write "https://json-schema.org/draft/2020-12/schema"');
}

function* pattern(text: string, at: At): Generator<Finding> {
  try {
    new RegExp(text, "u");
  } catch (error) {
    yield at("keyword", `is not a valid regular expression: ${(error as Error).message.replace(/^.*: /, "")}`);
  }
}

export const unknownFormat = (name: string, formats: Iterable<string>) =>
  `"${name}" is not a format${didYouMean(name, formats) || `; declare it in contract.json: "formats": { "${name}": { "description": "…" } }`}`;

/** The meta-schema's errors about a value, in words: one finding a place. */
export function* malformed(
  errors: readonly { instancePath: string; message?: string; params: unknown }[],
  root: SchemaObject,
  file: string,
): Generator<Finding> {
  const told = new Set<string>();
  for (const { instancePath, message } of errors) {
    if (told.has(instancePath) || [...told].some((one) => one.startsWith(`${instancePath}/`))) continue;
    told.add(instancePath);
    const value = valueAt(root, parsePointer(instancePath));
    const keyword = instancePath.split("/").at(-1);
    const text =
      Array.isArray(value) && keyword === "items"
        ? 'is a list; a tuple is written as "prefixItems"'
        : message === "must be object,boolean"
          ? "is not a schema: an object, true or false"
          : (keyword === "type" || /\/type\/\d+$/.test(instancePath)) && typeof value === "string"
            ? `"${value}" is not a type; there are ${types.join(", ")}${didYouMean(value, types)}`
            : `${message} (JSON Schema 2020-12)`;
    yield { rule: "keyword", file, pointer: instancePath, message: text };
  }
}

/** The formats that a contract declares: new names, and patterns that are regular expressions. */
export function* formats(source: Source): Generator<Finding> {
  for (const [name, { pattern }] of Object.entries<Source>(source.formats ?? {})) {
    const at = `/formats/${escapeStep(name)}`;
    if (isStandard(name))
      yield inContract("format", at, `"${name}" is a format of JSON Schema; give yours another name`);
    if (typeof pattern !== "string") continue;
    try {
      new RegExp(pattern, "u");
    } catch (error) {
      const reason = (error as Error).message.replace(/^.*: /, "");
      yield inContract("format", `${at}/pattern`, `is not a valid regular expression: ${reason}`);
    }
  }
}

/** Each mark of a secret is one that a recording goes by. */
export function* secrets({ source, identified }: Subject): Generator<Finding> {
  const known = secretsOf(source, Object.values(identified.schemas)).schemas;
  for (const [file, root] of Object.entries(identified.schemas))
    for (const { schema, pointer } of subschemas(root)) {
      const mark = schema["x-secret"];
      if (mark === undefined || known.has(schema)) continue;
      const message =
        mark === true
          ? "is on a value without a name, and recordings know a secret by the name of its property; mark a property that holds it"
          : `is ${JSON.stringify(mark)}; write true, or leave it out`;
      yield { rule: "secret", file, pointer: `${pointer}/x-secret`, message };
    }
}
