import type { Schema, SchemaObject } from "@parlance/wire";
import { Ajv2020 } from "ajv/dist/2020.js";
import { keywordsOf } from "../keywords.js";
import { TOLERANCE, waysOf } from "../tolerance.js";
import { mapSchema } from "../walk.js";

/** Keywords that a check does not need: prose, and the type of a value for the compiler. */
const annotations = new Set(keywordsOf(({ checked, compat }) => !checked && compat !== "loaded"));
const annotates = (keyword: string) =>
  // By `discriminator` a union is dispatched, and by the other a reader is tolerant.
  keyword !== "discriminator" && keyword !== TOLERANCE && (annotations.has(keyword) || keyword.startsWith("x-"));

/** Rules by schema, because both sides of a contract need the same ones. */
const made = new WeakMap<SchemaObject, Schema>();

/** Reduces a schema, with the same verdict on every value. */
export function rules<S extends Schema>(schema: S): S {
  if (typeof schema !== "object") return schema;
  const known = made.get(schema) ?? makeRules(schema);
  made.set(schema, known);
  return known as S;
}

function makeRules(schema: SchemaObject): Schema {
  return mapSchema(schema, (one) =>
    withoutKnownValues(
      Object.fromEntries(
        Object.entries(one).filter(
          ([keyword]) => !annotates(keyword) || (keyword === "default" && waysOf(one).length > 0),
        ),
      ),
    ),
  );
}

/** The rules as text, equal for schemas that differ only in order. */
export function canonical(schema: SchemaObject): string {
  const { $id, required, ...rest } = rules(schema);
  const entries = Object.entries({ ...rest, ...((required as string[])?.length && { required }) });
  return JSON.stringify(Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1))));
}

const ajv = new Ajv2020({ strict: false });

/** `anyOf` of known values and a schema that allows them all, such as any string, equals that schema. */
function withoutKnownValues({ anyOf, ...rest }: SchemaObject): SchemaObject {
  if (anyOf === undefined) return rest;
  const branches = anyOf as Schema[];
  // The values of a format or a reference are not known here.
  const forms = branches.filter(
    (branch) => known(branch) === undefined && !/"(?:\$ref|format)":/.test(JSON.stringify(branch)),
  );
  const accepted = (value: unknown) => forms.some((form) => ajv.validate(form as Schema & object, value) === true);
  const left = branches.filter((branch) => known(branch)?.every(accepted) !== true);
  const [only] = left;
  if (left.length !== 1 || typeof only !== "object" || Object.keys(only).some((keyword) => keyword in rest))
    return { ...rest, anyOf: left };
  return { ...rest, ...only };
}

/** The values of a schema that lists them. */
function known(schema: Schema): readonly unknown[] | undefined {
  if (typeof schema === "boolean") return undefined;
  return (schema.enum as unknown[] | undefined) ?? ("const" in schema ? [schema.const] : undefined);
}
