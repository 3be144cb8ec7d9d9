import type { Schema, SchemaObject } from "@parlance/wire";
import { Ajv2020 } from "ajv/dist/2020.js";
import standalone from "ajv/dist/standalone/index.js";
import { apart } from "../apart.js";
import { TOLERANCE } from "../tolerance.js";
import { mapSchema, subschemas } from "../walk.js";
import { rules } from "./rules.js";

// ajv's types know this module as CommonJS only.
const write = (standalone as unknown as { default: (ajv: Ajv2020, ids: Record<string, unknown>) => string }).default;

export interface Seldom {
  /** The name of the function for these keywords, in the text of `print`. */
  compile(keywords: SchemaObject): string;
  print(): string;
}

/** Compiles the keywords without an expression, by ajv. */
export function seldom(schemas: readonly SchemaObject[], formats: ReadonlyMap<string, RegExp | true>): Seldom {
  /** Names of functions by schema: equal schemas have one function. */
  const names = new Map<string, string>();
  return {
    compile(keywords) {
      const text = JSON.stringify(strict(keywords));
      const name = names.get(text) ?? `compiled${names.size}`;
      names.set(text, name);
      return name;
    },
    print() {
      // Most contracts have none.
      if (names.size === 0) return "";
      const own = [...names].map(([text, name]): SchemaObject => ({ ...JSON.parse(text), $id: `/${name}` }));
      const all = Object.fromEntries(
        [...schemas.map((one) => strict(rules(one))), ...own].map((schema) => [String(schema.$id), schema]),
      );
      const parts = apart(
        all,
        own.map(({ $id }) => String($id)),
      );
      const ajv = instance(
        parts.map(({ schema }) => schema),
        formats,
      );
      const ids = Object.fromEntries([...names.values()].map((name) => [name, `/${name}`]));
      return withoutSchemaPaths(write(ajv, ids)).replace(/export const (?=compiled\d+ = validate\d+;)/g, "const ");
    },
  };
}

/** A schema as it is only checked. */
const strict = <S extends Schema>(schema: S): S => mapSchema(schema, ({ [TOLERANCE]: _, ...one }) => one) as S;

const inherited = Object.getOwnPropertyNames(Object.prototype);

function instance(schemas: readonly SchemaObject[], formats: ReadonlyMap<string, RegExp | true>): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    // Lint has checked the schemas before; here each instance would compile the meta-schema again.
    validateSchema: false,
    // The keywords beside these are checked elsewhere.
    strictRequired: false,
    strictTypes: false,
    strictTuples: false,
    allowMatchingProperties: true,
    allowUnionTypes: true,
    // The runtime makes an error's text from keyword and params; texts would be half of the module.
    messages: false,
    inlineRefs: false,
    code: { source: true, esm: true, optimize: 2 },
  });
  const unevaluated = schemas.some((root) =>
    [...subschemas(root)].some(({ schema }) => "unevaluatedProperties" in schema || "unevaluatedItems" in schema),
  );
  // Tracking evaluated properties costs a tenth in size; $dynamicRef is not in the vocabulary.
  // So does looking for own properties only, which matters for names that every object inherits.
  const ownProperties = inherited.some((name) => JSON.stringify(schemas).includes(`"${name}"`));
  Object.assign(ajv.opts, { unevaluated, ownProperties, dynamicRef: false });
  ajv.addKeyword("discriminator");
  for (const [name, format] of formats) ajv.addFormat(name, format);
  for (const schema of schemas) ajv.addSchema(unevaluated ? withWholeThen(schema) : schema);
  // One by one: a schema compiles those that it refers to inside it, unless they are compiled already.
  for (const { $id } of schemas) ajv.getSchema(String($id));
  return ajv;
}

/**
 * A condition with an `else` loses in ajv what its `if` has evaluated, unless `then` evaluates something too. A `then` that repeats the `if`, which has
 * passed, changes no verdict.
 */
const withWholeThen = (schema: SchemaObject): SchemaObject =>
  mapSchema(schema, (one) => {
    if (!("if" in one && "else" in one)) return one;
    const whole = { allOf: [(one.then ?? true) as Schema, one.if as Schema] };
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    return { ...one, then: whole };
  }) as SchemaObject;

/** An error's place in the schema is not part of `CheckError`, and repeats what keyword and instance path say. */
const withoutSchemaPaths = (source: string) => source.replace(/schemaPath:"(?:[^"\\]|\\.)*",/g, "");
