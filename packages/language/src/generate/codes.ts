import type { ContractDocument, FaultPlaces, Schema, SchemaObject } from "@parlance/wire";
import { parsePointer } from "@parlance/wire/internal/pointer";
import { locate, typeName } from "../schema.js";

/**
 * The schemas of error codes, in refusals and error messages, that allow any text. Their type
 * lists the contract's codes, which an editor then offers; the schemas need not repeat them.
 */
export function codeSchemas(document: ContractDocument): ReadonlySet<Schema> {
  const { fault, messages } = document.contract;
  if (fault.codes === undefined) return new Set();
  const bodies: [title: string, places: FaultPlaces][] = [[fault.schema, fault]];
  for (const message of Object.values(messages)) if (message.fault) bodies.push([message.schema, message.fault]);
  const found = bodies.flatMap(([title, { code = [] }]) => {
    const body = document.schemas[title];
    return body ? code.flatMap((place) => at(document, String(body.$id), body, parsePointer(place))) : [];
  });
  return new Set(found.filter(isAnyText));
}

/** The type of such a schema. */
export const codeType = (document: ContractDocument) => [`${typeName(document)}ErrorCode`, "(string & {})"];

/** The schemas at a JSON Pointer of a value, through `$ref` and `allOf`. */
function at(
  document: ContractDocument,
  base: string,
  schema: Schema,
  steps: readonly string[],
  trail: readonly Schema[] = [],
): SchemaObject[] {
  const [step, ...rest] = steps;
  if (typeof schema === "boolean" || trail.includes(schema)) return [];
  if (step === undefined) return [schema];
  const { $ref, allOf, properties } = schema;
  const inner = (properties as Record<string, Schema> | undefined)?.[step];
  const target = typeof $ref === "string" ? locate(document, base, $ref) : undefined;
  const file = target && String(document.schemas[target.title]!.$id);
  const on = [...trail, schema];
  return [
    ...(inner === undefined ? [] : at(document, base, inner, rest)),
    ...(target ? at(document, file!, target.schema, steps, on) : []),
    ...((allOf as Schema[] | undefined) ?? []).flatMap((one) => at(document, base, one, steps, on)),
  ];
}

function isAnyText(schema: SchemaObject): boolean {
  return (
    schema.type === "string" &&
    !["const", "enum", "allOf", "anyOf", "oneOf", "$ref"].some((keyword) => keyword in schema)
  );
}
