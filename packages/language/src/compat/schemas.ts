import type { ContractDocument, Schema, SchemaObject } from "@parlance/wire";
import { escapeStep, parsePointer, valueAt } from "@parlance/wire/internal/pointer";
import { KEYWORDS, keywordsOf } from "../keywords.js";
import { members } from "../schema.js";
import {
  type Change,
  either,
  match,
  ofBound,
  ofNarrow,
  ofRemove,
  ofWiden,
  safe,
  same,
  say,
  type Verdict,
  type Writers,
} from "./change.js";

/** One version of a schema, with its file and pointer. */
export interface Version {
  readonly document: ContractDocument;
  readonly schema: Schema;
  readonly file: string;
  readonly pointer: string;
}

/** Bounds that allow less the higher they are (floors) or the lower (ceilings). */
const floors = keywordsOf(({ compat }) => compat === "floor");
const ceilings = keywordsOf(({ compat }) => compat === "ceiling");
/** Compared as a whole: added, removed or changed. So is a keyword that the table does not have, so that none is missed. */
const isCondition = (keyword: string) =>
  !keyword.startsWith("x-") && (KEYWORDS[keyword]?.compat ?? "whole") === "whole";

/** What changed between two versions of a schema that `writers` write. */
export function* schemaChanges(old: Version, now: Version, writers: Writers, seen: string[] = []): Generator<Change> {
  const before = open(old);
  const after = open(now);
  const pair = `${before.file}#${before.pointer} ${after.file}#${after.pointer}`;
  if (seen.includes(pair)) return;
  const trail = [...seen, pair];
  if (typeof before.schema === "boolean" || typeof after.schema === "boolean") {
    if (before.schema !== after.schema) yield replaced(after, "", writers, "the schema has changed");
    return;
  }
  const [one, other] = [membersOf(before), membersOf(after)];
  const [a, b] = [one.rest, other.rest];
  yield* values(a, b, after, writers);

  const { kept, gone, added } = match(Object.keys(one.properties), Object.keys(other.properties));
  const at = (version: Version, name: string): Version => ({
    ...version,
    schema: (version === before ? one : other).properties[name]!,
    pointer: `${version.pointer}/properties/${escapeStep(name)}`,
  });
  for (const name of gone) {
    const removed = closed(b) ? either(ofRemove(writers), ofNarrow(writers)) : ofRemove(writers);
    yield change(removed, at(before, name), "", `the property ${name} was removed`);
  }
  for (const name of added) {
    const needed = other.required.includes(name);
    const open = closed(a) ? ofWiden(writers) : safe("readers ignore unknown properties");
    const what = `the property ${name} was added${needed ? " and is required" : ""}`;
    yield change(needed ? either(ofNarrow(writers), open) : open, at(after, name), "", what);
  }
  for (const name of kept) {
    const [was, is] = [one.required.includes(name), other.required.includes(name)];
    if (!was && is) yield change(ofNarrow(writers), at(after, name), "", `the property ${name} is now required`);
    if (was && !is)
      yield change(inTypes(ofWiden(writers)), at(after, name), "", `the property ${name} is now optional`);
    yield* schemaChanges(at(before, name), at(after, name), writers, trail);
  }
  if (a.items !== undefined && b.items !== undefined)
    yield* schemaChanges(inner(before, "items", a.items), inner(after, "items", b.items), writers, trail);
  else if (!same(a.items, b.items)) yield weighed(after, "items", a.items, b.items, writers);
  for (const keyword of ["anyOf", "oneOf"]) yield* branches(before, after, keyword, writers, trail, [a, b]);
}

/** What changed between the schemas of two titles. */
export function titledChanges(old: ContractDocument, now: ContractDocument, a: string, b: string, writers: Writers) {
  const version = (document: ContractDocument, title: string): Version => {
    const { $id, ...schema } = document.schemas[title]!;
    return { document, schema, file: document.files[title]!, pointer: "" };
  };
  return schemaChanges(version(old, a), version(now, b), writers);
}

function* values(a: SchemaObject, b: SchemaObject, now: Version, writers: Writers): Generator<Change> {
  const types = ({ type }: SchemaObject) => (type === undefined ? undefined : ([type].flat() as string[]));
  yield* sets(types(a), types(b), now, "type", writers);
  const allowed = (schema: SchemaObject) =>
    "const" in schema
      ? [JSON.stringify(schema.const)]
      : (schema.enum as unknown[] | undefined)?.map((value) => JSON.stringify(value));
  yield* sets(allowed(a), allowed(b), now, "enum" in b || !("const" in b) ? "enum" : "const", writers);
  for (const keyword of [...floors, ...ceilings]) {
    const [was, is] = [a[keyword], b[keyword]] as (number | undefined)[];
    if (was === is) continue;
    const tighter = is !== undefined && (was === undefined || (floors.includes(keyword) ? is > was : is < was));
    const what = `${keyword} was ${was ?? "not given"} and is ${is ?? "not given"}`;
    yield change(tighter ? ofBound(writers) : ofWiden(writers), now, `/${keyword}`, what);
  }
  if (!same(a.default, b.default))
    yield change(
      safe("both sides still read it, but leaving it out now means another value"),
      now,
      "default" in b ? "/default" : "",
      `the default was ${say(a.default)} and is ${say(b.default)}`,
    );
  for (const keyword of Object.keys({ ...a, ...b }).filter(isCondition))
    if (!same(a[keyword], b[keyword])) yield weighed(now, keyword, a[keyword], b[keyword], writers);
}

/** Compares two sets of allowed values; no set allows everything. An integer is a number. */
function* sets(
  before: string[] | undefined,
  after: string[] | undefined,
  now: Version,
  keyword: string,
  writers: Writers,
): Generator<Change> {
  const covers = (set: string[] | undefined, value: string) =>
    set === undefined || set.includes(value) || (keyword === "type" && value === "integer" && set.includes("number"));
  const gone =
    before === undefined
      ? after && [`anything but ${after.join(", ")}`]
      : before.filter((value) => !covers(after, value));
  const added =
    after === undefined
      ? before && [`anything but ${before.join(", ")}`]
      : after.filter((value) => !covers(before, value));
  const noun = keyword === "type" ? "type" : "value";
  const wider = keyword === "type" ? inTypes(ofWiden(writers)) : ofWiden(writers);
  if (added?.length) yield change(wider, now, `/${keyword}`, `the ${noun} may now be ${added.join(", ")}`);
  if (gone?.length)
    yield change(ofNarrow(writers), now, `/${keyword}`, `the ${noun} may no longer be ${gone.join(", ")}`);
}

/** Compares alternatives, matched by reference or title, else by position. */
function* branches(
  old: Version,
  now: Version,
  keyword: string,
  writers: Writers,
  trail: string[],
  [a, b]: readonly [SchemaObject, SchemaObject],
): Generator<Change> {
  const [before, after] = [a[keyword], b[keyword]] as (Schema[] | undefined)[];
  if (!before || !after) {
    if (before || after) yield weighed(now, keyword, before, after, writers);
    return;
  }
  const name = (schema: Schema, index: number) =>
    String((typeof schema === "object" && (schema.$ref ?? schema.title ?? schema.const)) || index);
  const [ones, others] = [
    new Map(before.map((s, i) => [name(s, i), i])),
    new Map(after.map((s, i) => [name(s, i), i])),
  ];
  const { kept, gone, added } = match(ones.keys(), others.keys());
  for (const one of gone)
    yield change(ofNarrow(writers), old, `/${keyword}/${ones.get(one)}`, `the alternative ${one} was removed`);
  for (const one of added)
    yield change(ofWiden(writers), now, `/${keyword}/${others.get(one)}`, `the alternative ${one} was added`);
  for (const one of kept) {
    const [i, j] = [ones.get(one)!, others.get(one)!];
    yield* schemaChanges(
      inner(old, `${keyword}/${i}`, before[i]!),
      inner(now, `${keyword}/${j}`, after[j]!),
      writers,
      trail,
    );
  }
}

function weighed(now: Version, keyword: string, was: unknown, is: unknown, writers: Writers): Change {
  if (was === undefined) return change(ofBound(writers), now, `/${keyword}`, `${keyword} was added`);
  if (is === undefined) return change(ofWiden(writers), now, "", `${keyword} was removed`);
  return change(either(ofWiden(writers), ofBound(writers)), now, `/${keyword}`, `${keyword} has changed`);
}

const replaced = (now: Version, place: string, writers: Writers, what: string) =>
  change(either(ofWiden(writers), ofNarrow(writers)), now, place, what);

/** Whether a reader refuses properties that the schema does not name. */
const closed = (schema: SchemaObject) =>
  schema.additionalProperties === false || schema.unevaluatedProperties === false;

/** Adds `source` to a breaking verdict: programs have more cases to handle. */
const inTypes = (verdict: Verdict): Verdict =>
  verdict.breaks.length === 0 ? verdict : { ...verdict, breaks: [...verdict.breaks, "source"] };

const change = (verdict: Verdict, { file, pointer }: Version, place: string, what: string): Change => ({
  ...verdict,
  what,
  file,
  pointer: pointer + place,
});

const inner = (version: Version, place: string, schema: unknown): Version => ({
  ...version,
  schema: schema as Schema,
  pointer: `${version.pointer}/${place}`,
});

const membersOf = ({ document, schema, file }: Version) =>
  members(document, { ...(schema as SchemaObject), $id: `/${document.contract.name}/${file}` });

/** Follows a reference, alone or with prose beside it, to its schema. */
function open(version: Version): Version {
  const { schema, document } = version;
  if (typeof schema === "boolean") return version;
  const { title, description, examples, allOf, ...rest } = schema;
  const only = Object.keys(rest).length === 0 && (allOf as SchemaObject[] | undefined)?.length === 1;
  const ref = only ? (allOf as SchemaObject[])[0]!.$ref : schema.$ref;
  if (typeof ref !== "string") return version;
  const [path, fragment = ""] = ref.split("#") as [string, string?];
  const file = path === "" ? version.file : `messages/${path}`;
  const root = Object.entries(document.files).find(([, one]) => one === file)?.[0];
  const found = valueAt(document.schemas[root ?? ""], parsePointer(fragment));
  if (found === undefined) return version;
  return open({ document, schema: found as Schema, file, pointer: fragment });
}
