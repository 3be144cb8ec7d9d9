import { escapeStep } from "@parlance/wire/internal/pointer";
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import metaSchema from "../../../../schemas/contract.schema.json" with { type: "json" };
import type { Finding } from "../finding.js";
import { didYouMean, nearest } from "../nearest.js";
import type { Source } from "../source.js";
import { inContract, list } from "./subject.js";

/** The JSON Schema of contract.json: for editors, and for the `$schema` of a contract. */
export const contractSchema: Readonly<Record<string, unknown>> = metaSchema;

/** Errors in values only, after which other rules can still read the contract. The exception is an invalid tag. */
const harmless = new Set(["additionalProperties", "enum", "const", "pattern", "propertyNames", "minimum", "maximum"]);

const validate = new Ajv2020({
  allErrors: true,
  verbose: true,
  strictRequired: false,
  validateSchema: false,
}).compile(metaSchema);

/** Checks the form of contract.json; `sound` if other rules can read it. One finding for one mistake. */
export function form(source: Source): { findings: Finding[]; sound: boolean } {
  if (validate(source)) return { findings: [], sound: true };
  const errors = (validate.errors ?? []).filter(tells);
  const findings = errors
    .filter((error) => !isMisspelt(error, errors))
    .map((error) => inContract("form", ...words(error)));
  return {
    findings,
    sound: errors.every(({ keyword, instancePath }) => harmless.has(keyword) && instancePath !== "/tag/in"),
  };
}

/** An alternative's own errors, and those of a condition around others, repeat what is reported once. */
const tells = ({ keyword, schemaPath }: ErrorObject) =>
  keyword !== "if" && keyword !== "propertyNames" && !schemaPath.includes("/oneOf/");

/** A required property that is present under a misspelt name. The error about that name is enough. */
function isMisspelt({ keyword, instancePath, params }: ErrorObject, errors: readonly ErrorObject[]): boolean {
  if (keyword !== "required") return false;
  return errors.some(
    (other) =>
      other.keyword === "additionalProperties" &&
      other.instancePath === instancePath &&
      nearest(other.params.additionalProperty, wordsOf(other)) === params.missingProperty,
  );
}

const wordsOf = ({ parentSchema }: ErrorObject) => Object.keys((parentSchema?.properties as object | undefined) ?? {});

/** The place of the mistake, the mistake, and the correction. */
function words(error: ErrorObject): [pointer: string, message: string] {
  const { instancePath, keyword, params, data, parentSchema, propertyName } = error;
  const meaning = parentSchema?.description === undefined ? "" : `: ${parentSchema.description}`;
  const shown = JSON.stringify(data);
  if (propertyName !== undefined)
    return [`${instancePath}/${escapeStep(propertyName)}`, `the name "${propertyName}" is not valid${meaning}`];
  switch (keyword) {
    case "additionalProperties": {
      const word: string = params.additionalProperty;
      const near = didYouMean(word, wordsOf(error));
      return [
        `${instancePath}/${escapeStep(word)}`,
        `"${word}" is not a keyword here${near || `; the keywords are ${list(wordsOf(error))}`}`,
      ];
    }
    case "required":
      return [instancePath, `needs "${params.missingProperty}"${describe(error, params.missingProperty)}`];
    case "enum":
      return [
        instancePath,
        `${shown} must be one of ${list(params.allowedValues)}${didYouMean(String(data), params.allowedValues.map(String))}`,
      ];
    case "const":
      return [instancePath, `is ${shown}, and can only be ${JSON.stringify(params.allowedValue)}`];
    case "type":
      return [
        instancePath,
        `is ${data === null ? "null" : Array.isArray(data) ? "array" : typeof data}, and must be ${params.type}${meaning}`,
      ];
    case "dependentRequired":
      return [`${instancePath}/${params.property}`, `needs "${params.missingProperty}" beside it`];
    case "false schema":
      return [instancePath, misplaced(error.schemaPath)];
    case "oneOf":
      return [instancePath, `is not valid${meaning}`];
    case "uniqueItems":
      return [
        `${instancePath}/${Math.max(params.i, params.j)}`,
        `${JSON.stringify((data as unknown[])[params.i])} is listed twice`,
      ];
    default:
      return [instancePath, meaning ? `${shown} is not valid${meaning}` : `${shown} ${error.message}`];
  }
}

/** A keyword that is a keyword elsewhere. */
function misplaced(schemaPath: string): string {
  if (schemaPath.startsWith("#/then/"))
    return "is only allowed where there are no methods, which loading expands to it";
  return schemaPath.startsWith("#/else/")
    ? "is only allowed where there are methods"
    : 'is only allowed where "in" is "property"';
}

type Described = Readonly<Record<string, { readonly description?: string } | false>> | undefined;

function describe({ parentSchema, schemaPath }: ErrorObject, name: string): string {
  // A condition around all of a contract describes nothing again.
  const described = /^#\/(then|else)\/required/.test(schemaPath) ? metaSchema : parentSchema;
  const { description } = (described?.properties as Described)?.[name] || {};
  return description === undefined ? "" : `: ${description}`;
}
