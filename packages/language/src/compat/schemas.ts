import type { Json, Schema, SchemaObject } from "@parlance/wire";
import { KEYWORDS, keywordsOf } from "../keywords.js";
import { accepts, type Verdict } from "./accepts.js";
import { type Change, match, say, type Writers } from "./change.js";
import { followed, type Members, membersOf, type Place, type Versions } from "./place.js";
import { equal, identity, sameSchema } from "./space.js";

/** The effect of a change on the values of a schema. */
interface Effect {
  /** Whether the new schema accepts what the old one allows to be sent. */
  readonly forth: Verdict;
  /** Whether the old schema accepts what the new one allows to be sent. */
  readonly back: Verdict;
}

interface Comparison {
  readonly versions: Versions;
  readonly writers: Writers;
  /** Pairs that were compared, with the effect of each. */
  readonly seen: Set<string>;
}

const YES: Verdict = { is: "yes" };
const none: Effect = { forth: YES, back: YES };

/** Lists what changed between two versions of a schema that `writers` write: each place that differs, and whether values break there. */
export function* schemaChanges(versions: Versions, old: Place, now: Place, writers: Writers): Generator<Change> {
  if (writers.size > 0) yield* compare({ versions, writers, seen: new Set() }, old, now);
}

/** `around` is the effect on the whole that the schema is part of: without one, no part breaks. */
function* compare(comparison: Comparison, old: Place, now: Place, around?: Effect): Generator<Change> {
  const { versions, seen } = comparison;
  const [a, b] = [followed(versions, old), followed(versions, now)];
  if (equal(a.schema, b.schema)) return;
  const own = effectOf(comparison, a.schema, b.schema);
  const effect = within(own, around);
  const pair = [identity(a.schema), identity(b.schema), effect.forth.is, effect.back.is].join();
  if (seen.has(pair)) return;
  seen.add(pair);
  yield* unchecked(a, b);
  const found = [...inside(comparison, a, b, effect)];
  yield* found;
  // Compares the whole where no part explains the change.
  const broken = verdictOn(comparison, own, effect, false);
  const explained = found.some(
    (one) => one.breaks.includes("client") || (one.unclear && !broken.breaks.includes("client")),
  );
  if ((broken.breaks.includes("client") || broken.unclear) && !explained)
    yield { ...broken, ...at(b), what: "the schema has changed" };
}

function* inside(comparison: Comparison, a: Place, b: Place, effect: Effect): Generator<Change> {
  const { versions } = comparison;
  const [one, other] = [membersOf(versions, a), membersOf(versions, b)];
  if (one && other) {
    yield* properties(comparison, one, other, effect);
    const all = Object.fromEntries([...one.members.keys(), ...other.members.keys()].map((name) => [name, true]));
    const of = ({ rest }: Members) => ({ ...rest, ...(Object.keys(all).length > 0 && { properties: all }) });
    yield* keywords(comparison, { ...a, schema: of(one) }, { ...b, schema: of(other) }, effect);
  } else if (typeof a.schema === "object" && typeof b.schema === "object") yield* keywords(comparison, a, b, effect);
  else if (a.schema !== b.schema) yield* differs(comparison, a, b, effect, ["the schema has changed"], "", true);
}

function* properties(comparison: Comparison, one: Members, other: Members, effect: Effect): Generator<Change> {
  const { kept, gone, added } = match(one.members.keys(), other.members.keys());
  const alone = (name: string, schemas?: true) =>
    effectOf(comparison, only(one, name, schemas), only(other, name, schemas));
  for (const name of gone) {
    const own = alone(name);
    const verdict = verdictOn(comparison, own, within(own, effect), true);
    const breaks = [...new Set([...verdict.breaks, "source" as const])];
    const why = verdict.breaks.includes("client")
      ? verdict.why
      : "programs name it; on the wire its readers do without it";
    yield { ...verdict, breaks, why, ...at(one.members.get(name)!), what: `the property ${name} was removed` };
  }
  for (const name of added) {
    const own = alone(name);
    const needed = other.required.has(name);
    const verdict = verdictOn(comparison, own, within(own, effect), needed);
    const why = verdict.breaks.length > 0 || verdict.unclear ? verdict.why : "readers ignore unknown properties";
    const what = `the property ${name} was added${needed ? " and is required" : ""}`;
    yield { ...verdict, why, ...at(other.members.get(name)!), what };
  }
  for (const name of kept) {
    const now = other.members.get(name)!;
    if (one.required.has(name) !== other.required.has(name)) {
      const own = alone(name, true);
      const what = `the property ${name} is now ${other.required.has(name) ? "required" : "optional"}`;
      yield { ...verdictOn(comparison, own, within(own, effect), true), ...at(now), what };
    }
    const was = one.members.get(name)!;
    const isSame = sameSchema(comparison.versions.space, was.schema, now.schema);
    yield* compare(comparison, was, now, isSame ? none : within(alone(name), effect));
  }
}

/** An object's schema for one property. */
function only({ members, required, rest }: Members, name: string, instead?: true): Schema {
  const others = Object.entries((rest.patternProperties ?? {}) as Record<string, Schema>);
  const pattern = others.find(([expression]) => new RegExp(expression, "u").test(name))?.[1];
  const schema = members.get(name)?.schema ?? pattern ?? rest.additionalProperties ?? rest.unevaluatedProperties;
  return {
    type: "object",
    properties: schema === undefined ? {} : { [name]: instead ?? schema },
    required: required.has(name) ? [name] : [],
  };
}

/** Compares the keywords of two schemas: those with schemas inside by part, the rest together. */
function* keywords(comparison: Comparison, a: Place, b: Place, effect: Effect): Generator<Change> {
  const [was, is] = [a.schema, b.schema] as [SchemaObject, SchemaObject];
  const parted: string[] = [];
  const step = (place: Place, schema: Schema, path: string): Place => ({
    ...place,
    schema,
    pointer: `${place.pointer}/${path}`,
  });
  if (was.items !== undefined && is.items !== undefined) {
    parted.push("items");
    yield* compare(comparison, step(a, was.items as Schema, "items"), step(b, is.items as Schema, "items"), effect);
  }
  for (const word of ["anyOf", "oneOf"] as const)
    if (was[word] && is[word]) {
      parted.push(word);
      yield* alternatives(comparison, a, b, word, effect);
    }
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].filter(
    (name) => KEYWORDS[name]?.checked && !parted.includes(name),
  );
  const { space } = comparison.versions;
  const changed = names.filter(
    (name) =>
      name in was !== name in is || !sameSchema(space, { [name]: was[name] } as Schema, { [name]: is[name] } as Schema),
  );
  if (changed.length === 0) return;
  const without = ({ anyOf, oneOf, items, ...schema }: SchemaObject) => ({
    ...schema,
    ...(anyOf !== undefined && !parted.includes("anyOf") && { anyOf }),
    ...(oneOf !== undefined && !parted.includes("oneOf") && { oneOf }),
    ...(items !== undefined && (!parted.includes("items") ? { items } : { items: true })),
  });
  const pointer = changed.length === 1 && changed[0]! in is ? `/${changed[0]}` : "";
  const typed = changed.some((name) => KEYWORDS[name]!.types === "type" && name !== "additionalProperties");
  const [x, y] = [a, b].map((place) => ({ ...place, schema: without(place.schema as SchemaObject) })) as [Place, Place];
  yield* differs(comparison, x, y, effect, told(was, is, changed), pointer, typed);
}

function* differs(
  comparison: Comparison,
  a: Place,
  b: Place,
  effect: Effect,
  what: readonly string[],
  step: string,
  typed: boolean,
): Generator<Change> {
  const own = effectOf(comparison, a.schema, b.schema);
  if (own.forth.is === "yes" && own.back.is === "yes") return;
  const { file, pointer } = at(b);
  yield {
    ...verdictOn(comparison, own, within(own, effect), typed),
    file,
    pointer: pointer + step,
    what: what.join("; "),
  };
}

/** Lists the changes by keyword. */
function told(was: SchemaObject, is: SchemaObject, changed: readonly string[]): string[] {
  // The keywords of a schema that is compared by parts are left out.
  if (changed.length > 1 && changed.some((name) => ["$ref", "allOf", "anyOf", "oneOf"].includes(name)))
    return ["the schema has changed"];
  const said: string[] = [];
  const values = (schema: SchemaObject) =>
    (schema.enum as Json[] | undefined) ?? ("const" in schema ? [schema.const as Json] : undefined);
  const types = ({ type }: SchemaObject) => (type === undefined ? undefined : ([type].flat() as string[]));
  const list = (noun: string, before: readonly string[] | undefined, after: readonly string[] | undefined) => {
    if (!before || !after) {
      said.push(
        after
          ? `the ${noun} may now only be ${after.join(", ")}`
          : `the ${noun} may now be other than ${before?.join(", ")}`,
      );
      return;
    }
    // An integer is a number.
    const covers = (set: readonly string[], one: string) =>
      set.includes(one) || (noun === "type" && one === "integer" && set.includes("number"));
    const gone = before.filter((one) => !covers(after, one));
    const added = after.filter((one) => !covers(before, one));
    if (added.length > 0) said.push(`the ${noun} may now be ${added.join(", ")}`);
    if (gone.length > 0) said.push(`the ${noun} may no longer be ${gone.join(", ")}`);
  };
  for (const name of changed) {
    if (name === "type") list("type", types(was), types(is));
    else if (name === "const" && changed.includes("enum")) continue;
    else if (name === "const" || name === "enum") list("value", values(was)?.map(text), values(is)?.map(text));
    else if ([was[name], is[name]].some((value) => typeof value === "number"))
      said.push(`${name} was ${say(was[name])} and is ${say(is[name])}`);
    else said.push(name in was ? (name in is ? `${name} has changed` : `${name} was removed`) : `${name} was added`);
  }
  return said;
}

const text = (value: Json) => JSON.stringify(value);

/** Compares alternatives in any order: equal ones first, then those of one name. */
function* alternatives(
  comparison: Comparison,
  a: Place,
  b: Place,
  word: "anyOf" | "oneOf",
  effect: Effect,
): Generator<Change> {
  const { versions } = comparison;
  const places = (place: Place) =>
    ((place.schema as SchemaObject)[word] as Schema[]).map(
      (schema, index): Place => ({ ...place, schema, pointer: `${place.pointer}/${word}/${index}` }),
    );
  const [before, after] = [places(a), places(b)];
  const pairs: [Place, Place][] = [];
  const take = (fits: (one: Place, other: Place) => boolean) => {
    for (const one of [...before]) {
      const other = after.find((place) => fits(one, place));
      if (!other) continue;
      pairs.push([one, other]);
      before.splice(before.indexOf(one), 1);
      after.splice(after.indexOf(other), 1);
    }
  };
  const named = (place: Place) => nameOf(versions, place);
  take((one, other) => sameSchema(versions.space, one.schema, other.schema));
  take((one, other) => named(one) === named(other));
  const whole = (place: Place): Schema => ({ [word]: (place.schema as SchemaObject)[word] });
  for (const one of before) {
    const own: Effect = { ...none, forth: accepts(versions.space, whole(b), one.schema) };
    const what = `the alternative ${named(one)} was removed`;
    if (own.forth.is !== "yes") yield { ...verdictOn(comparison, own, within(own, effect), true), ...at(one), what };
  }
  for (const other of after) {
    const own: Effect = { ...none, back: accepts(versions.space, whole(a), other.schema) };
    const what = `the alternative ${named(other)} was added`;
    if (own.back.is !== "yes") yield { ...verdictOn(comparison, own, within(own, effect), true), ...at(other), what };
  }
  for (const [one, other] of pairs) yield* compare(comparison, one, other, effect);
}

/** Names an alternative by its title, its constants, its type or its place. */
function nameOf(versions: Versions, place: Place): string {
  const { schema } = followed(versions, place);
  if (typeof schema === "boolean") return String(schema);
  if (typeof schema.title === "string") return schema.title;
  if ("const" in schema) return text(schema.const as Json);
  const tags = [...(membersOf(versions, place)?.members ?? [])].flatMap(([name, one]) => {
    const inner = followed(versions, one).schema;
    return typeof inner === "object" && "const" in inner ? [`${name} ${text(inner.const as Json)}`] : [];
  });
  const ref =
    typeof (place.schema as SchemaObject).$ref === "string"
      ? ((place.schema as SchemaObject).$ref as string)
      : undefined;
  return (
    tags.join() || ref?.split(/[/#:]/).at(-1) || [schema.type ?? []].flat().join() || place.pointer.split("/").at(-1)!
  );
}

/** Keywords that no validator checks, but that programs go by. */
function* unchecked(a: Place, b: Place): Generator<Change> {
  const [was, is] = [a, b].map(({ schema }) => (typeof schema === "object" ? schema : {})) as [
    SchemaObject,
    SchemaObject,
  ];
  const { file, pointer } = at(b);
  const place = (keyword: string) => ({ file, pointer: keyword in is ? `${pointer}/${keyword}` : pointer });
  if (!equal(was.default, is.default))
    yield {
      breaks: [],
      why: "both sides still read it, but leaving it out now means another value",
      ...place("default"),
      what: `the default was ${say(was.default)} and is ${say(is.default)}`,
    };
  for (const keyword of keywordsOf(({ compat }) => compat === "unclear"))
    if (!equal(was[keyword], is[keyword]))
      yield {
        breaks: [],
        unclear: true,
        why: "what the text contains is not checked",
        ...place(keyword),
        what: `${keyword} was ${say(was[keyword])} and is ${say(is[keyword])}`,
      };
}

const at = ({ file, pointer }: Place) => ({ file, pointer });

function effectOf({ versions: { space } }: Comparison, old: Schema, now: Schema): Effect {
  return sameSchema(space, old, now) ? none : { forth: accepts(space, now, old), back: accepts(space, old, now) };
}

/** The effect in a whole: where the whole accepts the same values, so does the part. */
function within(own: Effect, around: Effect = own): Effect {
  return {
    forth: around.forth.is === "yes" ? YES : own.forth,
    back: around.back.is === "yes" ? YES : own.back,
  };
}

/**
 * Whom a change breaks. A server adopts a contract before its clients do: so its clients send what the old schema allows, and it sends them
 * what the new one does. `typed` is whether the change shows in a generated type.
 */
function verdictOn(
  { writers }: Comparison,
  own: Effect,
  effect: Effect,
  typed: boolean,
): Omit<Change, "file" | "pointer" | "what"> {
  const narrower = own.forth.is !== "yes";
  const wider = own.back.is !== "yes";
  const source = typed && (narrower || (writers.has("server") && wider)) ? (["source"] as const) : [];
  const sides = [
    ...(writers.has("client") ? [{ verdict: effect.forth, why: "the server rejects what existing clients send" }] : []),
    ...(writers.has("server")
      ? [{ verdict: effect.back, why: "existing clients reject what the server may now send" }]
      : []),
  ];
  const broken = sides.filter(({ verdict }) => verdict.is === "no");
  if (broken.length > 0) {
    const { verdict } = broken[0]!;
    const example = verdict.is === "no" ? { example: verdict.example } : {};
    return { breaks: ["client", ...source], why: broken.map(({ why }) => why).join("; "), ...example };
  }
  if (sides.some(({ verdict }) => verdict.is === "unclear"))
    return {
      breaks: source,
      unclear: true,
      why: "it could not be decided whether existing clients and the server still accept each other",
    };
  const clients = "existing clients can read it";
  const why =
    narrower && source.length > 0 ? `${clients}, but server code must send it` : writers.has("server") ? clients : safe;
  return { breaks: source, why };
}

const safe = "servers adopt a contract first, so they read it before clients send it";
