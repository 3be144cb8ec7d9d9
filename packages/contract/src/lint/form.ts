import { Ajv2020 } from "ajv/dist/2020.js";
import metaSchema from "../../../../schemas/contract.schema.json" with { type: "json" };
import type { Finding } from "../finding.js";
import { escapePointer } from "../walk.js";
import type { Source } from "../prose.js";
import { inContract, list } from "./subject.js";

/** What a contract.json may say, as a JSON Schema: for editors, and for the `$schema` of a contract. */
export const contractSchema: Readonly<Record<string, unknown>> = metaSchema;

/** Faults of values, after which the contract still has the form that other rules read. */
const harmless = new Set(["additionalProperties", "enum", "const", "pattern", "propertyNames", "minimum", "maximum"]);

const validate = new Ajv2020({
  allErrors: true,
  strictTypes: false,
  strictRequired: false,
  validateSchema: false,
}).compile(metaSchema);

/** Whether contract.json has the form of a contract; `sound` when other rules can read it. */
export function form(source: Source): { findings: Finding[]; sound: boolean } {
  if (validate(source)) return { findings: [], sound: true };
  const errors = validate.errors ?? [];
  const findings = errors
    .filter(({ keyword }) => keyword !== "propertyNames" && keyword !== "oneOf")
    .map(({ instancePath, keyword, message, params, propertyName }) => {
      if (keyword === "additionalProperties") {
        const pointer = `${instancePath}/${escapePointer(params.additionalProperty)}`;
        return inContract("form", pointer, `"${params.additionalProperty}" is not a word of a contract here`);
      }
      if (propertyName !== undefined) {
        const pointer = `${instancePath}/${escapePointer(propertyName)}`;
        return inContract("form", pointer, `the name "${propertyName}" ${message}`);
      }
      const allowed = keyword === "enum" ? `: ${list(params.allowedValues)}` : "";
      return inContract("form", instancePath, `${message}${allowed}`);
    });
  return { findings, sound: errors.every(({ keyword }) => harmless.has(keyword)) };
}
