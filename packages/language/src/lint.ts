import { Ajv2020, type Options } from "ajv/dist/2020.js";
import type { Finding } from "./finding.js";
import { type ContractFolder, parse } from "./folder.js";
import { FORMATS } from "./formats.js";
import { binary } from "./lint/binary.js";
import { conversations } from "./lint/conversations.js";
import { descriptions } from "./lint/descriptions.js";
import { examples, patterns } from "./lint/examples.js";
import { exchanges } from "./lint/exchanges.js";
import { faults } from "./lint/faults.js";
import { form } from "./lint/form.js";
import { headers } from "./lint/headers.js";
import { inherited } from "./lint/inherited.js";
import { formats, secrets } from "./lint/keywords.js";
import { kinds } from "./lint/kinds.js";
import { methods } from "./lint/methods.js";
import { names } from "./lint/names.js";
import { prefixes } from "./lint/prefixes.js";
import { rejoins } from "./lint/rejoin.js";
import { routes } from "./lint/routes.js";
import { idOf, type Rule, type Subject } from "./lint/subject.js";
import { tags } from "./lint/tags.js";
import { owned, titles } from "./lint/titles.js";
import { tolerance } from "./lint/tolerance.js";
import { vocabulary } from "./lint/vocabulary.js";
import { expandMethods } from "./methods.js";
import { withoutProse } from "./prose.js";
import { declaredFormats, type Source } from "./source.js";

export type { Finding } from "./finding.js";
export { slowPatterns } from "./lint/examples.js";
export { contractSchema } from "./lint/form.js";

const rules: readonly Rule[] = [
  names,
  inherited,
  titles,
  owned,
  kinds,
  routes,
  headers,
  binary,
  tags,
  prefixes,
  rejoins,
  exchanges,
  methods,
  conversations,
  secrets,
  tolerance,
];

/**
 * Every problem of a contract, by file and place; none for a sound one. One broken file does not hide the
 * problems of others: all that can be read is checked. `read` of `@parlance/language/load` reads the folder. Without `patterns`,
 * slow regular expressions are not looked for, which saves a second. Without `examples`, they are not checked against their
 * schemas, which saves most of the rest. With `descriptions`, a property or a
 * parameter without one is a warning.
 */
export async function lint(
  folder: ContractFolder,
  { patterns: weighed = true, descriptions: described = false, examples: judged = true } = {},
): Promise<Finding[]> {
  const { source, schemas: files, transcripts, findings: broken } = parse(folder);
  const findings = [...broken];
  const { findings: formal, sound } = source ? form(source) : { findings: [], sound: false };
  findings.push(...formal);

  const plain: Source = sound ? source! : { ...nothing, name: folder.name };
  const { source: written, schemas } = expandMethods({ source: plain, schemas: files });
  const contract = withoutProse(written, (file) => file);
  const identified = Object.entries(schemas).map(([file, schema]) => [file, { ...schema, $id: idOf(file) }]);
  const ajv = vocabularyAjv({ validateSchema: false, code: { optimize: false } });
  if (sound) findings.push(...formats(written));
  for (const [name, pattern] of declared(written)) ajv.addFormat(name, pattern);
  const unreadable = new Set(broken.map(({ file }) => file));
  const compiled = vocabulary({ schemas, unreadable }, ajv, judge, judged);
  const subject: Subject = {
    name: folder.name,
    source: written,
    contract,
    schemas,
    unreadable,
    broken: compiled.broken,
    identified: { schemas: Object.fromEntries(identified) },
    transcripts,
  };
  // A parameter with an unknown keyword does not compile, which is reported already.
  const told = (at: string) => formal.some(({ pointer }) => pointer.startsWith(`${at}/`));
  const shown = (judged ? [...examples(subject, ajv)] : []).filter(
    ({ file, pointer }) => file !== "contract.json" || !told(pointer),
  );
  findings.push(...compiled.findings, ...shown);
  if (weighed) findings.push(...(await patterns(subject)));
  if (sound) for (const rule of rules) findings.push(...rule(subject));
  if (sound && judged) findings.push(...unwritable(subject, ajv, findings));
  if (described) findings.push(...descriptions(subject));
  return findings.sort(byPlace);
}

/** Faults that no server can write, except those with a place that is reported already. */
const unwritable = (subject: Subject, ajv: Ajv2020, known: readonly Finding[]) =>
  [...faults(subject, ajv)].filter(
    ({ pointer }) => !known.some((one) => one.file === "contract.json" && one.pointer.startsWith(`${pointer}/`)),
  );

const vocabularyAjv = (options: Options = {}) => {
  const ajv = new Ajv2020({
    strict: true,
    // Real schemas leave types out; our own rule finds a keyword beside the wrong type.
    strictTypes: false,
    strictTuples: false,
    allowMatchingProperties: true,
    // "then": { "required": […] } names properties declared outside of it.
    strictRequired: false,
    allowUnionTypes: true,
    allErrors: true,
    // An object has no "constructor" unless it is written.
    ownProperties: true,
    ...options,
  });
  for (const [name, format] of FORMATS) ajv.addFormat(name, format);
  return ajv;
};

/** The formats that a contract declares; their problems are reported elsewhere. */
function declared(source: Source): ReadonlyMap<string, RegExp | true> {
  try {
    return declaredFormats(source);
  } catch {
    return declaredFormats({});
  }
}

/** Checks that schemas are JSON Schema. One for all contracts, because setting it up takes most of the time. */
const judge = vocabularyAjv();

/** Replaces a contract.json that cannot be read, so that its schemas are still checked. */
const nothing = { messages: {}, operations: {}, channels: {}, fault: { schema: "", text: [] } };

const byPlace = (a: Finding, b: Finding) =>
  compare(a.file, b.file) || compare(a.pointer, b.pointer) || compare(a.message, b.message);
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
