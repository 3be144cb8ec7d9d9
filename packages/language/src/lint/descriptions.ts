import type { Schema, SchemaObject } from "@parlance/wire";
import { escapeStep, parsePointer } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { locate } from "../schema.js";
import { subschemas } from "../walk.js";
import { idOf, parameters, type Subject } from "./subject.js";

/**
 * Properties and parameters without a description: their hover in an editor is empty. A file has one warning for all of its own. A constant needs
 * none. Schemas that were imported have none, because their prose is their authors'; their methods say what they are for.
 */
export function* descriptions(subject: Subject): Generator<Finding> {
  const schemas = subject.source.imported === undefined ? Object.entries(subject.schemas) : [];
  for (const [file, root] of schemas) {
    if (subject.broken.has(file)) continue;
    if (root.description === undefined) yield warning(file, "", 'has no "description": say what it is in a sentence');
    yield* together(file, [...bare(file, root, subject)]);
  }
  const places = [...parameters(subject.source)].flatMap(({ schema, pointer }) =>
    schema.description === undefined ? pointer : [],
  );
  yield* together("contract.json", places);
}

const warning = (file: string, pointer: string, message: string): Finding => ({
  rule: "description",
  severity: "warning",
  file,
  pointer,
  message,
});

/** One warning about all places of a file, at the first. */
function* together(file: string, pointers: readonly string[]): Generator<Finding> {
  const [first] = pointers;
  if (first === undefined) return;
  const named = [...new Set(pointers.map((pointer) => parsePointer(pointer).at(-1)!))];
  const names = named.length > 6 ? [...named.slice(0, 5), `${named.length - 5} others`] : named;
  const listed = names.length === 1 ? names[0]! : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  const message =
    pointers.length === 1
      ? `${listed} has no "description": say what it is in a sentence`
      : `${listed} have no "description": say what each is in a sentence`;
  yield warning(file, first, message);
}

/** The pointers of a file's properties without a description. */
function* bare(file: string, root: SchemaObject, subject: Subject): Generator<string> {
  const conditions: string[] = [];
  for (const { schema, pointer } of subschemas(root)) {
    conditions.push(...conditional.filter((word) => word in schema).map((word) => `${pointer}/${word}`));
    if (conditions.some((place) => pointer === place || pointer.startsWith(`${place}/`))) continue;
    for (const [name, child] of Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {}))
      if (!described(child, file, subject)) yield `${pointer}/properties/${escapeStep(name)}`;
  }
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
