import type { SchemaObject } from "@parlance/wire";
import type { Finding } from "../finding.js";
import { TOLERANCE, WAYS } from "../tolerance.js";
import { subschemas } from "../walk.js";
import type { Subject } from "./subject.js";

/** Keywords whose schemas a reader follows to the properties of a value. Those of others only check it. */
const FOLLOWED = new Set("properties items additionalProperties allOf anyOf oneOf $defs definitions".split(" "));
const NAMED = new Set("properties $defs definitions allOf anyOf oneOf".split(" "));
/** An object with one of these is checked as a whole. */
const WHOLE = ["patternProperties", "unevaluatedProperties", "unevaluatedItems"];

/** Each tolerance is on a property or a list that readers reach, and what it leaves fits the schema. */
export function* tolerance({ schemas }: Subject): Generator<Finding> {
  for (const [file, root] of Object.entries(schemas)) {
    const places = new Map(subschemas(root).map(({ schema, pointer }) => [pointer, schema]));
    for (const [pointer, schema] of places)
      if (TOLERANCE in schema)
        for (const message of faultsOf(schema, pointer, places))
          yield { rule: "tolerance", file, pointer: `${pointer}/${TOLERANCE}`, message };
  }
}

function* faultsOf(
  schema: SchemaObject,
  pointer: string,
  places: ReadonlyMap<string, SchemaObject>,
): Generator<string> {
  const ways = schema[TOLERANCE] as string[];
  if (!Array.isArray(ways) || ways.length === 0 || ways.some((way) => !WAYS.includes(way)))
    return yield `is ${JSON.stringify(ways)}; write a list of ${WAYS.map((way) => `"${way}"`).join(", ")}`;
  const steps = pointer.split("/").slice(1);
  const above = checkedBy(steps, places);
  if (above !== undefined) return yield `is below "${above}", where values are only checked; remove it`;
  const types = [schema.type].flat().filter((one) => one !== "null");
  if (ways.includes("skip")) yield* skipping(schema, types);
  if (ways.every((way) => way === "skip")) return;
  const owner = places.get(pointer.replace(/\/properties\/[^/]*$/, ""))!;
  if (steps.at(-2) !== "properties") return yield "is not on a property; move it to the property that has the value";
  if (owner.type !== "object") yield 'needs "type": "object" beside the "properties" that it is in';
  const name = steps.at(-1)!.replaceAll("~1", "/").replaceAll("~0", "~");
  const isRequired = ((owner.required ?? []) as string[]).includes(name);
  if (isRequired && !("default" in schema)) yield 'is on a required property, which needs a "default" to be read as';
}

/** What keeps a list from being read without its invalid items. */
function* skipping(schema: SchemaObject, types: readonly unknown[]): Generator<string> {
  const beside = ["prefixItems", ...WHOLE].find((keyword) => keyword in schema);
  if (types.join() !== "array") yield '"skip" is about items, so it needs "type": "array"';
  else if (beside === "prefixItems")
    yield '"skip" moves the items behind one that it leaves out, so it does nothing beside "prefixItems"; remove it';
  else if (beside !== undefined)
    yield `"skip" does nothing beside "${beside}", where values are only checked; remove it`;
  else if (schema.items === undefined || schema.items === true)
    yield '"skip" is about items that break their schema, so it needs "items"';
}

/** The keyword above a property that only checks values. */
function checkedBy(steps: readonly string[], places: ReadonlyMap<string, SchemaObject>): string | undefined {
  let at = "";
  for (let step = 0; step < steps.length; step++) {
    const keyword = steps[step]!;
    const whole = WHOLE.find((one) => one in places.get(at)!);
    if (whole !== undefined && !keyword.startsWith("$def") && keyword !== "definitions") return whole;
    if (!FOLLOWED.has(keyword)) return keyword;
    at += `/${keyword}`;
    if (NAMED.has(keyword)) at += `/${steps[++step]}`;
  }
  return undefined;
}
