import type { SchemaObject } from "@parlance/wire";
import { Ajv2020 } from "ajv/dist/2020.js";
import standalone from "ajv/dist/standalone/index.js";
import { subschemas } from "../walk.js";
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
      const text = JSON.stringify(keywords);
      const name = names.get(text) ?? `compiled${names.size}`;
      names.set(text, name);
      return name;
    },
    print() {
      // Most contracts have none.
      if (names.size === 0) return "";
      const ajv = instance(schemas, formats);
      for (const [text, name] of names) ajv.addSchema({ ...JSON.parse(text), $id: `/${name}` });
      const ids = Object.fromEntries([...names.values()].map((name) => [name, `/${name}`]));
      return withoutSchemaPaths(write(ajv, ids)).replace(/export const (?=compiled\d+ = validate\d+;)/g, "const ");
    },
  };
}

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
  for (const schema of schemas) ajv.addSchema(rules(schema));
  return ajv;
}

/** An error's place in the schema is not part of `CheckError`, and repeats what keyword and instance path say. */
const withoutSchemaPaths = (source: string) => source.replace(/schemaPath:"(?:[^"\\]|\\.)*",/g, "");
