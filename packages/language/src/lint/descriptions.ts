import type { Schema, SchemaObject } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { locate } from "../schema.js";
import { subschemas } from "../walk.js";
import { idOf, inContract, parameters, type Subject } from "./subject.js";

/**
 * Properties and parameters without a description: their hover in an editor is empty. A constant needs none. Schemas that were imported have
 * none, because their prose is their authors'; their methods say what they are for.
 */
export function* descriptions(subject: Subject): Generator<Finding> {
  const warning = (finding: Omit<Finding, "rule" | "severity">): Finding => ({
    ...finding,
    rule: "description",
    severity: "warning",
  });
  const schemas = subject.source.imported === undefined ? Object.entries(subject.schemas) : [];
  for (const [file, root] of schemas) {
    if (subject.broken.has(file)) continue;
    if (root.description === undefined)
      yield warning({ file, pointer: "", message: 'has no "description": say what it is in a sentence' });
    const conditions: string[] = [];
    for (const { schema, pointer } of subschemas(root)) {
      conditions.push(...conditional.filter((word) => word in schema).map((word) => `${pointer}/${word}`));
      if (conditions.some((place) => pointer === place || pointer.startsWith(`${place}/`))) continue;
      for (const [name, child] of Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {}))
        if (!described(child, file, subject))
          yield warning({
            file,
            pointer: `${pointer}/properties/${escapeStep(name)}`,
            message: `${name} has no "description": say what it is in a sentence`,
          });
    }
  }
  for (const { schema, pointer } of parameters(subject.source))
    if (schema.description === undefined)
      yield warning({
        ...inContract("description", pointer, ""),
        message: `${pointer.split("/").at(-1)} has no "description": say what it is in a sentence`,
      });
}

/** Schemas in these keywords constrain properties that are described beside them. */
const conditional = ["if", "then", "else", "not", "dependentSchemas"];

function described(schema: Schema, file: string, { identified }: Subject): boolean {
  if (typeof schema === "boolean" || schema.description !== undefined || "const" in schema) return true;
  const refs = [schema, ...((schema.allOf as SchemaObject[] | undefined) ?? [])].flatMap(({ $ref }) => $ref ?? []);
  return refs.some((ref) => {
    const found = locate(identified, idOf(file), String(ref))?.schema;
    return typeof found === "object" && found.description !== undefined;
  });
}
