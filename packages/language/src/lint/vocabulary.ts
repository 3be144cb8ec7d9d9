import type { Schema, SchemaObject } from "@parlance/wire";
import type { Ajv2020 } from "ajv/dist/2020.js";
import { apart } from "../apart.js";
import type { Finding } from "../finding.js";
import { mapSchema } from "../walk.js";
import { ignored, keywords, malformed } from "./keywords.js";
import { identified, loops, references, uncounted, users } from "./references.js";
import type { Subject } from "./subject.js";

type Schemas = Pick<Subject, "schemas" | "unreadable">;

/**
 * Checks that every schema uses the vocabulary, has valid references, and compiles. Those that do are left in `ajv`;
 * `broken` names the other files: their content cannot be checked.
 */
export function vocabulary(
  subject: Schemas,
  ajv: Ajv2020,
  judge: Ajv2020,
  compiling: boolean,
): { findings: Finding[]; broken: ReadonlySet<string> } {
  const findings: Finding[] = [];
  const formats = new Set(Object.keys(ajv.formats));
  for (const [file, schema] of Object.entries(subject.schemas)) {
    // A value of the wrong form is reported alone: a finding about its keywords would report the same mistake twice.
    const formed = judge.validateSchema(significant(schema) as SchemaObject);
    const form = formed ? [] : [...malformed(judge.errors ?? [], schema, file)];
    const told = (pointer: string) =>
      form.some((one) => one.pointer === pointer || one.pointer.startsWith(`${pointer}/`));
    const own = [...keywords(file, schema, ajv, formats), ...references(file, subject)];
    findings.push(...form, ...own.filter(({ pointer }) => !told(pointer)));
  }
  if (findings.length === 0) findings.push(...loops(subject), ...uncounted(subject));
  const broken = users([...subject.unreadable, ...findings.map(({ file }) => file)], subject);
  if (!compiling) return { findings, broken };
  const whole = Object.keys(subject.schemas).filter((file) => !broken.has(file));
  const schemas = apart(
    identified(Object.fromEntries(whole.map((file) => [file, significant(subject.schemas[file]!) as SchemaObject]))),
  );
  for (const { schema } of schemas) ajv.addSchema(schema);
  for (const { name: file, schema } of schemas) {
    if (broken.has(file)) continue;
    try {
      ajv.getSchema(String(schema.$id));
    } catch (error) {
      broken.add(file);
      findings.push({ rule: "keyword", file, pointer: "", message: reasonOf(error) });
    }
  }
  return { findings, broken };
}

/** A validator is compiled inside the one that refers to it. A chain is compiled from its end, but a ring has none. */
const reasonOf = (error: unknown): string =>
  error instanceof RangeError
    ? "leads back to itself by references through some hundreds of other schemas, which is too long to be checked; refer to fewer schemas on the way"
    : (error as Error).message;

/** A schema without the keywords that have no meaning here. */
export const significant = (schema: Schema): Schema =>
  mapSchema(schema, (one) => Object.fromEntries(Object.entries(one).filter(([keyword]) => !ignored(keyword))));
