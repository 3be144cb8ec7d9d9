import type { Ajv2020 } from "ajv/dist/2020.js";
import type { Finding } from "../finding.js";
import { escapePointer, isObject } from "../folder.js";
import type { SchemaObject } from "../model.js";
import { subschemas } from "../walk.js";
import { idOf, type Subject } from "./subject.js";

type Schemas = Pick<Subject, "schemas">;

/** Words that a contract does without: identities are given by the loader, and the rest has no counterpart in a type. */
const without = new Set(
  (
    "$id $schema $anchor $dynamicRef $dynamicAnchor $vocabulary $recursiveRef $recursiveAnchor definitions dependencies " +
    "unevaluatedProperties unevaluatedItems"
  ).split(" "),
);

/**
 * Whether every schema is written in the vocabulary, refers to something, and compiles. Those that do are left in `ajv`;
 * `broken` names the files that are not: what they hold cannot be judged.
 */
export function vocabulary(
  subject: Schemas,
  ajv: Ajv2020,
  judge: Ajv2020,
): { findings: Finding[]; broken: ReadonlySet<string> } {
  const findings: Finding[] = [];
  for (const [file, schema] of Object.entries(subject.schemas)) {
    const own = [...keywords(file, schema, ajv), ...references(file, schema, subject)];
    if (own.length === 0 && !judge.validateSchema(schema))
      for (const { instancePath, message } of judge.errors ?? [])
        own.push({ rule: "keyword", file, pointer: instancePath, message: `${message} (JSON Schema 2020-12)` });
    findings.push(...own);
  }
  const broken = users(new Set(findings.map(({ file }) => file)), subject);
  const whole = Object.keys(subject.schemas).filter((file) => !broken.has(file));
  for (const file of whole) ajv.addSchema({ ...subject.schemas[file], $id: idOf(file) });
  for (const file of whole) {
    try {
      ajv.getSchema(idOf(file));
    } catch (error) {
      broken.add(file);
      findings.push({ rule: "keyword", file, pointer: "", message: (error as Error).message });
    }
  }
  return { findings, broken };
}

function* keywords(file: string, root: SchemaObject, ajv: Ajv2020): Generator<Finding> {
  for (const { schema, pointer } of subschemas(root)) {
    const names = Object.keys(schema);
    for (const name of names) {
      const finding = (rule: string, message: string): Finding => ({
        rule,
        file,
        pointer: `${pointer}/${escapePointer(name)}`,
        message,
      });
      if (without.has(name)) yield finding("keyword", `"${name}" is not used in a contract's schemas; leave it out`);
      else if (!Object.hasOwn(ajv.RULES.keywords, name))
        yield finding("keyword", `"${name}" is not a keyword of JSON Schema 2020-12`);
      if (name === "additionalProperties" && schema[name] === false)
        yield finding("open", "closes the object; schemas stay open, so that a new field breaks nobody");
      if (name === "prefixItems" && !names.includes("tsType"))
        yield finding("keyword", 'needs "tsType" beside it: the tuple as TypeScript, such as "[string, number]"');
      if (name === "required" && isObject(schema.properties) && !names.includes("allOf"))
        for (const one of [schema.required].flat())
          if (!Object.hasOwn(schema.properties, String(one)))
            yield finding("keyword", `"${one}" is required and is no property`);
      if (name === "$ref" && names.length > 1)
        yield finding("ref", 'stands beside other words; write { "description": …, "allOf": [{ "$ref": … }] }');
    }
  }
}

function* references(file: string, root: SchemaObject, { schemas }: Schemas): Generator<Finding> {
  for (const { schema, pointer } of subschemas(root)) {
    const { $ref } = schema;
    if (typeof $ref !== "string") continue;
    const [path, fragment = ""] = $ref.split("#") as [string, string?];
    const target = path === "" ? root : schemas[`messages/${path}`];
    const at = { rule: "ref", file, pointer: `${pointer}/$ref` };
    if (!target) yield { ...at, message: `refers to ${$ref}, and there is no messages/${path}` };
    else if (![...subschemas(target)].some((one) => one.pointer === fragment))
      yield { ...at, message: `refers to ${$ref}, and ${path || file} has no schema at ${fragment}` };
  }
}

/** The files given, and all that refer to them. */
function users(files: ReadonlySet<string>, { schemas }: Schemas): Set<string> {
  const reached = new Set(files);
  const refers = Object.entries(schemas).map(([file, schema]) => {
    const refs = [...subschemas(schema)].flatMap(({ schema: { $ref } }) => (typeof $ref === "string" ? $ref : []));
    return { file, targets: refs.map((ref) => `messages/${ref.split("#")[0]}`) };
  });
  for (let before = -1; before < reached.size; ) {
    before = reached.size;
    for (const { file, targets } of refers) if (targets.some((target) => reached.has(target))) reached.add(file);
  }
  return reached;
}
