import type { ContractDocument, Schema, SchemaObject } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";
import { KEYWORDS } from "../keywords.js";
import { headersSchema, inputSchema } from "../schema.js";
import { type Age, type Space, spaceOf, splitReference } from "./space.js";

/** Two versions of a contract, and the space of their schemas. */
export interface Versions extends Readonly<Record<Age, ContractDocument>> {
  readonly space: Space;
}

export const versionsOf = (old: ContractDocument, now: ContractDocument): Versions => ({
  old,
  now,
  space: spaceOf({ old, now }),
});

/** A version's schema, and where it is. */
export interface Place {
  readonly age: Age;
  readonly schema: Schema;
  readonly file: string;
  readonly pointer: string;
  /** Where a property is, if not in this file. */
  readonly placeOf?: (name: string) => Pick<Place, "file" | "pointer"> | undefined;
}

/** The schema of a title. */
export function titled(versions: Versions, age: Age, title: string): Place {
  const { schemas, files } = versions[age];
  const schema = versions.space.resolve(`${age}:${schemas[title]?.$id}`) ?? true;
  return { age, schema, file: files[title] ?? title, pointer: "" };
}

/** The flat input of a call: each property is in the body's file, or among the parameters. */
export function inputOf(
  versions: Versions,
  age: Age,
  name: string,
  renamed: ReadonlyMap<string, string> = new Map(),
): Place {
  const document = versions[age];
  const { operations, channels } = document.contract;
  const kind = Object.hasOwn(operations, name) ? "operations" : "channels";
  const call = kind === "operations" ? operations[name]! : channels[name]!;
  const { title, ...input } = versions.space.read(age, inputSchema(document, name));
  const key = (one: string) => renamed.get(one) ?? one;
  const properties = Object.entries(input.properties as Record<string, Schema>).map(([one, schema]) => [
    key(one),
    schema,
  ]);
  const body =
    "body" in call && call.body !== undefined ? membersOf(versions, titled(versions, age, call.body)) : undefined;
  return {
    age,
    schema: { ...input, properties: Object.fromEntries(properties), required: (input.required as string[]).map(key) },
    file: body?.file ?? "contract.json",
    pointer: "",
    placeOf(property) {
      const own = [...renamed].find(([, now]) => now === property)?.[0] ?? property;
      if (body?.members.has(property)) return body.members.get(property)!;
      return { file: "contract.json", pointer: `/${kind}/${name}/parameters/${escapeStep(own)}` };
    },
  };
}

/** The headers of an operation's answer; undefined where it declares none. */
export function headersOf(versions: Versions, age: Age, name: string): Place | undefined {
  const schema = headersSchema(versions[age], name);
  const at = `/operations/${name}/answer/headers`;
  return (
    schema && {
      age,
      schema: versions.space.read(age, schema),
      file: "contract.json",
      pointer: at,
      placeOf: (header) => ({ file: "contract.json", pointer: `${at}/${escapeStep(header)}` }),
    }
  );
}

/** An object's properties, through references and `allOf`, and the keywords beside them. */
export interface Members {
  readonly file: string;
  readonly members: ReadonlyMap<string, Place>;
  readonly required: ReadonlySet<string>;
  readonly rest: SchemaObject;
}

/** The members of an object; undefined for another schema, or where two parts differ in a keyword beside them. */
export function membersOf(versions: Versions, place: Place, depth = 0): Members | undefined {
  const { schema, file } = followed(versions, place);
  if (typeof schema === "boolean" || depth > 20) return undefined;
  const here = followed(versions, place);
  const {
    properties = {},
    required = [],
    allOf = [],
    $ref,
    title,
    default: _,
    $defs,
    definitions,
    ...rest
  } = schema as Loose;
  const members = new Map<string, Place>();
  for (const [name, one] of Object.entries(properties as Record<string, Schema>))
    members.set(name, {
      age: place.age,
      schema: one,
      ...(here.placeOf?.(name) ?? { file, pointer: `${here.pointer}/properties/${escapeStep(name)}` }),
    });
  const parts = [
    ...($ref === undefined ? [] : [{ ...here, schema: { $ref } }]),
    ...(allOf as Schema[]).map((one, index) => ({ ...here, schema: one, pointer: `${here.pointer}/allOf/${index}` })),
  ];
  let sum = rest as SchemaObject;
  const needed = new Set(required as string[]);
  for (const part of parts) {
    const inner = membersOf(versions, part, depth + 1);
    if (!inner) return undefined;
    for (const [name, one] of inner.members) {
      const own = members.get(name);
      members.set(name, own ? { ...own, schema: { allOf: [own.schema, one.schema] } } : one);
    }
    for (const name of inner.required) needed.add(name);
    if (
      Object.keys(inner.rest).some((key) => key in sum && JSON.stringify(inner.rest[key]) !== JSON.stringify(sum[key]))
    )
      return undefined;
    sum = { ...sum, ...inner.rest };
  }
  const isObject = properties === (schema as Loose).properties || parts.length > 0;
  return isObject && (depth > 0 || members.size > 0 || "properties" in schema)
    ? { file, members, required: needed, rest: sum }
    : undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: a schema's keywords have any form until ajv has checked them
type Loose = any;

/** Follows a reference alone, or an `allOf` of it alone, to its schema. */
export function followed(versions: Versions, place: Place): Place {
  let at = place;
  for (let hops = 0; hops < 100; hops++) {
    if (typeof at.schema === "boolean") return at;
    const checked = Object.keys(at.schema).filter((key) => KEYWORDS[key]?.checked);
    const { $ref, allOf } = at.schema as { $ref?: string; allOf?: Schema[] };
    if (checked.length !== 1 || at.schema.default !== undefined) return at;
    if (allOf?.length === 1) {
      at = { ...at, schema: allOf[0]!, pointer: `${at.pointer}/allOf/0` };
      continue;
    }
    const target = $ref === undefined ? undefined : versions.space.resolve($ref);
    if (target === undefined) return at;
    const { id, pointer } = splitReference($ref!);
    at = { age: at.age, schema: target, file: fileOf(versions[at.age], id), pointer };
  }
  return at;
}

function fileOf({ schemas, files }: ContractDocument, id: string): string {
  const title = Object.keys(schemas).find((one) => schemas[one]!.$id === id);
  return title === undefined ? id : files[title]!;
}
