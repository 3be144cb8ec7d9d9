import type {
  ChannelContract,
  ContractDocument,
  Json,
  Message,
  Operation,
  Schema,
  SchemaObject,
  Tag,
} from "@parlance/wire";
import { parseFragment, valueAt } from "@parlance/wire/internal/pointer";
import { prefixOf, tagSchema } from "./prefix.js";
import { mapSchema } from "./walk.js";

/** `list_files` -> `ListFiles`, `getSession` -> `GetSession`. */
export const pascal = (name: string) =>
  name.replace(/(?<=\d)\.(?=\d)|(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, first?: string) => first?.toUpperCase() ?? "_");

/** What the names of a contract's own types begin with: its `type`, or its name. */
export const typeName = ({ contract, source }: Pick<ContractDocument, "contract" | "source">) =>
  typeof source.type === "string" ? source.type : pascal(contract.name);

/** The names in a contract's generated file that come from no title, and the purpose of each. */
export function* generatedNames(
  document: Pick<ContractDocument, "contract" | "source">,
): Generator<[name: string, what: string]> {
  const { contract } = document;
  const type = typeName(document);
  for (const [name, { answer }] of Object.entries(contract.operations)) {
    yield [`${pascal(name)}Input`, `the input of operation ${name}`];
    if (answer.headers !== undefined) yield [`${pascal(name)}Headers`, `the headers that ${name} answers`];
    if (answer.stream === undefined) continue;
    yield [`${pascal(name)}Message`, `the messages of stream ${name}`];
    yield [`${pascal(name)}Asks`, `the asks of stream ${name}`];
  }
  for (const name of Object.keys(contract.channels)) {
    yield [`${pascal(name)}Input`, `the input of channel ${name}`];
    if (contract.methods !== undefined) continue;
    for (const side of ["client", "server"]) {
      yield [`${pascal(name)}${pascal(side)}Message`, `the ${side}'s messages of channel ${name}`];
      yield [`${pascal(name)}${pascal(side)}Asks`, `the ${side}'s asks of channel ${name}`];
    }
  }
  if (contract.methods !== undefined) {
    yield [`${type}Channel`, "the client's side of a channel"];
    for (const side of ["Client", "Server"]) {
      yield [`${type}${side}Requests`, `the ${side.toLowerCase()}'s requests`];
      yield [`${type}${side}Notifications`, `the ${side.toLowerCase()}'s notifications`];
      yield [`${type}${side}Handlers`, `the ${side.toLowerCase()}'s handlers`];
      yield [`${type}${side}Call`, `the second argument of the ${side.toLowerCase()}'s handlers`];
    }
  }
  if (contract.session !== undefined) yield [`${type}Session`, "a session as a handler holds it"];
  if (contract.fault.codes !== undefined) yield [`${type}ErrorCode`, "the error codes"];
  yield [type, "the client's interface"];
  yield [`${type}Handlers`, "the handlers' interface"];
}

/** What an object schema says about its own properties, through `$ref` and `allOf`. */
export interface Members {
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
  /** The keywords beside them: `type`, `anyOf`, `dependentRequired`, `$defs`, … */
  readonly rest: SchemaObject;
}

/** Flattens `$ref` and `allOf` at the root of an object schema. A `$ref` that does not resolve counts as empty; lint reports it. */
export function members(
  document: Pick<ContractDocument, "schemas">,
  schema: SchemaObject,
  trail: readonly string[] = [],
): Members {
  const { $id, title, description, examples, properties, required, allOf, $ref, ...rest } = schema;
  const parts = [...((allOf as SchemaObject[] | undefined) ?? [])];
  if (typeof $ref === "string") parts.unshift({ $ref });
  const own: Members = {
    properties: (properties as Record<string, Schema> | undefined) ?? {},
    required: (required as string[] | undefined) ?? [],
    rest,
  };
  return parts.reduceRight<Members>((sum, part) => {
    const ref = typeof part.$ref === "string" ? part.$ref : undefined;
    // A schema that includes itself adds nothing the second time.
    if (ref !== undefined && trail.includes(ref)) return sum;
    const target = ref === undefined ? part : resolve(document, schema, ref);
    const inner = members(document, { $id: schema.$id, ...target }, ref === undefined ? trail : [...trail, ref]);
    return {
      properties: { ...inner.properties, ...sum.properties },
      required: [...new Set([...inner.required, ...sum.required])],
      rest: both(inner.rest, sum.rest),
    };
  }, own);
}

/** Keywords that a schema has once: of two types, or of two places for definitions, the outer one counts. */
const single = new Set(["$defs", "definitions", "$schema", "$comment", "deprecated", "type", "additionalProperties"]);
const conditional = ["if", "then", "else"];

/** The keywords of two schemas together. Where both have a keyword, the inner one's stays apart in `allOf`, so that it still counts. */
function both(inner: SchemaObject, outer: SchemaObject): SchemaObject {
  const isTwice = (keyword: string) =>
    conditional.includes(keyword) ? "if" in inner && "if" in outer : !single.has(keyword) && keyword in outer;
  const twice = Object.entries(inner).filter(([keyword]) => isTwice(keyword) && keyword !== "allOf");
  const apart = [...(twice.length > 0 ? [Object.fromEntries(twice)] : []), ...partsOf(inner), ...partsOf(outer)];
  const rest = Object.entries(inner).filter((one) => !twice.includes(one));
  return { ...Object.fromEntries(rest), ...outer, ...(apart.length > 0 && { allOf: apart }) };
}

const partsOf = ({ allOf = [] }: SchemaObject) => allOf as Schema[];

/** The target of a `$ref`: the title of a file's schema, the place in it, and the schema there. */
export interface Located {
  readonly title: string;
  readonly pointer: string;
  readonly schema: Schema;
}

/** The schema that a `$ref` in the schema with the id `base` means; undefined where there is none. */
export function locate({ schemas }: Pick<ContractDocument, "schemas">, base: string, ref: string): Located | undefined {
  const [file, pointer = ""] = ref.split("#") as [string, string?];
  const id = file === "" ? base : new URL(file, `parlance:${base}`).pathname;
  const title = titlesOf(schemas).get(id);
  const schema = title === undefined ? undefined : at(schemas[title]!, pointer);
  return schema === undefined ? undefined : { title: title!, pointer, schema };
}

const titles = new WeakMap<object, ReadonlyMap<unknown, string>>();

/** The titles of schemas by `$id`, kept because every reference needs them. */
function titlesOf(schemas: ContractDocument["schemas"]): ReadonlyMap<unknown, string> {
  let byId = titles.get(schemas);
  if (byId === undefined) {
    // The first of two schemas with one `$id` counts.
    byId = new Map(
      Object.entries(schemas)
        .map(([title, { $id }]) => [$id, title] as const)
        .reverse(),
    );
    titles.set(schemas, byId);
  }
  return byId;
}

/** A schema as text, equal for two that mean the same: a reference in it names what it leads to. */
export function textOf(document: Pick<ContractDocument, "schemas">, base: string, schema: Schema): string {
  const absolute = mapSchema(schema, (one) => {
    const found = typeof one.$ref === "string" ? locate(document, base, one.$ref) : undefined;
    return found === undefined ? one : { ...one, $ref: `${found.title}#${found.pointer}` };
  });
  return JSON.stringify(absolute);
}

/** The value at a JSON Pointer in URI fragment form (RFC 6901, section 6). */
function at(root: SchemaObject, fragment: string): Schema | undefined {
  const found = valueAt(root, parseFragment(fragment));
  return typeof found === "boolean" || (typeof found === "object" && found !== null) ? (found as Schema) : undefined;
}

/** Whether an inner schema's title names a type: one of an object or of alternatives does, that of anything else is prose. */
export function namesType({ title, ...schema }: SchemaObject): boolean {
  if (typeof title !== "string" || !/^[A-Z][A-Za-z0-9]*$/.test(title)) return false;
  return ["properties", "enum", "anyOf", "oneOf"].some((keyword) => keyword in schema);
}

/** The schema that a `$ref` at `from` means; its own local references are made to say their file, so that they still hold elsewhere. */
function resolve(document: Pick<ContractDocument, "schemas">, from: SchemaObject, ref: string): SchemaObject {
  const here = String(from.$id);
  const [file, fragment = ""] = ref.split("#") as [string, string?];
  const found = locate(document, here, ref)?.schema ?? (file === "" ? at(from, fragment) : undefined);
  if (typeof found !== "object") return {};
  const { $id, ...schema } = found;
  return file === "" ? schema : inFile(schema, file);
}

/** A schema as another file of messages/ may hold it: local references name their file, and so its `$defs` stay there. */
function inFile(schema: SchemaObject, file: string): SchemaObject {
  const { $defs, definitions, ...own } = schema;
  return mapSchema(own, (one) => ({
    ...one,
    ...(typeof one.$ref === "string" && { $ref: inPlace(one.$ref, file) }),
  })) as SchemaObject;
}

/** Rewrites a reference for a file beside `messages/`. */
function inPlace(ref: string, file: string): string {
  if (ref.startsWith("#")) return file + ref;
  // Beside a file of another folder a relative reference means another file than here.
  return file.includes("/") ? new URL(ref, `parlance:/_/messages/${file}`).pathname.replace(/^\/_\//, "../") : ref;
}

/**
 * The flat input of an operation or a channel, as a caller gives it and a handler gets it: path parameters, query
 * parameters and the body's properties, without the constants of `when`. Its title is `<Operation>Input`; relative
 * references in it are those of a file in messages/.
 */
export function inputSchema(document: ContractDocument, name: string): SchemaObject {
  const { contract, source } = document;
  const owner = contract.operations[name] ?? contract.channels[name];
  if (!owner) throw new RangeError(`${contract.name} has no operation or channel ${name}`);
  const kind = Object.hasOwn(contract.operations, name) ? "operations" : "channels";
  const prose = (source[kind] as Record<string, { parameters?: Record<string, SchemaObject>; summary?: string }>)[
    name
  ]!;
  const { body, when = {} } = owner as Partial<Operation>;
  const bodySchema: SchemaObject = body === undefined ? {} : (document.schemas[body] ?? {});
  const inner = members(document, bodySchema);
  const file = body === undefined ? "" : document.files[body]!.slice("messages/".length);

  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  for (const [key, { in: place, required: needed, ...schema }] of Object.entries(prose.parameters ?? {})) {
    properties[key] = schema;
    if (place === "path" || needed) required.push(key);
  }
  Object.assign(properties, inFile({ properties: inner.properties }, file).properties);
  required.push(...inner.required);
  for (const key of Object.keys(when)) delete properties[key];
  const { examples } = bodySchema;
  return {
    $id: `/${contract.name}/messages/${pascal(name)}Input`,
    title: `${pascal(name)}Input`,
    ...(prose.summary !== undefined && { description: prose.summary }),
    type: "object",
    ...inFile(inner.rest, file),
    properties,
    required: required.filter((key) => !Object.hasOwn(when, key)),
    // An input's examples are the body's only where the body is all there is.
    ...(examples && !prose.parameters && { examples: examples.map((example) => omit(example, Object.keys(when))) }),
  };
}

/** The headers that an operation answers, as an object; undefined where it declares none. Its title is `<Operation>Headers`. */
export function headersSchema({ contract, source }: Pick<ContractDocument, "contract" | "source">, name: string) {
  if (contract.operations[name]?.answer.headers === undefined) return undefined;
  const { headers } = (source.operations as Record<string, { answer: { headers: Record<string, SchemaObject> } }>)[
    name
  ]!.answer;
  const properties = Object.entries(headers).map(([key, { required, ...schema }]) => [key, schema] as const);
  return {
    $id: `/${contract.name}/messages/${pascal(name)}Headers`,
    title: `${pascal(name)}Headers`,
    description: `Headers of the answer of ${name}.`,
    type: "object",
    properties: Object.fromEntries(properties) as Record<string, Schema>,
    required: Object.keys(headers).filter((key) => headers[key]!.required),
  } satisfies SchemaObject;
}

/**
 * A message as it is in memory: flat, with `type` = its name in the contract; the tag's own property and the constants of
 * its shape are gone. Title and relative references are those of the wire schema; examples are turned too.
 */
export function memorySchema(document: ContractDocument, name: string): SchemaObject {
  const message = document.contract.messages[name];
  const schema = message && document.schemas[message.schema];
  if (!schema) throw new RangeError(`${document.contract.name} has no message ${name}`);
  const dropped = tagProperties(document.contract.tag, message);
  const { properties, required, rest } = members(document, schema);
  const { $id, title, description, examples } = schema;
  const { contract } = document;
  const memory = {
    type: tagSchema(contract, name) as Schema,
    ...(omit(properties as never, dropped) as Record<string, Schema>),
  };
  return {
    $id,
    title,
    ...(description !== undefined && { description }),
    type: "object",
    ...rest,
    properties: memory,
    required: ["type", ...required.filter((key) => key !== "type" && !dropped.includes(key))],
    ...(examples && {
      examples: examples.map((example) => ({ type: named(example), ...(omit(example, dropped) as object) })),
    }),
  };

  function named(example: Json): string {
    const tag = contract.tag.in === "property" && valueAt(example, [contract.tag.property]);
    return prefixOf(contract, name) !== undefined && typeof tag === "string" ? tag : name;
  }
}

/** The properties of the wire form that say which message it is, and so are not fields of the message in memory. */
export function tagProperties(tag: Tag, message: Message): readonly string[] {
  if (tag.in === "property") return [tag.property];
  return tag.in === "shape" ? Object.keys(message.shape?.const ?? {}) : [];
}

function omit(value: Json, keys: readonly string[]): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

/** The HTTP statuses that any operation or handshake may be refused with, beside the operation's own. */
export function commonFaults({ source }: ContractDocument): number[] {
  return Object.keys((source.faults as object | undefined) ?? {}).map(Number);
}

/** Whether a call takes an input. A client decides by the same rule if its first argument is the input or the options. */
export function hasInput(call: Operation | ChannelContract): boolean {
  return call.parameters !== undefined || ("body" in call && call.body !== undefined);
}

/** The headers of all answers that declare some. */
export function answerHeaders(document: ContractDocument): SchemaObject[] {
  return Object.keys(document.contract.operations).flatMap((name) => headersSchema(document, name) ?? []);
}

/** The flat inputs of all operations and channels that take one. */
export function inputs(document: ContractDocument): SchemaObject[] {
  const { operations, channels } = document.contract;
  const calls = Object.entries({ ...operations, ...channels }).filter(([, call]) => hasInput(call));
  return calls.map(([name]) => inputSchema(document, name));
}
