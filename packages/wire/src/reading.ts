import type { Json, Reading } from "@parlance/contract";
import { isObject, type JsonObject } from "./json.js";
import { get, parts } from "./pointer.js";

/** Reads a body, and returns it in the documented form. The body may be changed in place. */
export type Reader = (body: unknown) => unknown;

/** The rules of a contract as one function; undefined where there is none to run. */
export function reader(rules: readonly Reading[] | undefined, applies: (rule: Reading) => boolean): Reader | undefined {
  const chosen = (rules ?? []).filter(applies);
  if (chosen.length === 0) return undefined;
  return (body) => chosen.reduce(read, body);
}

function read(body: unknown, rule: Reading): unknown {
  for (const [pointer, value] of Object.entries(rule.where ?? {})) if (get(body, pointer) !== value) return body;
  for (const [pointer, name] of Object.entries(rule.rename ?? {}))
    visit(body, pointer, (at, key) => rename(at, key, name));
  for (const pointer of rule.remove ?? []) visit(body, pointer, (at, key) => delete at[key]);
  for (const [pointer, pairs] of Object.entries(rule.values ?? {}))
    visit(body, pointer, (at, key) => {
      const pair = pairs.find(([said]) => said === at[key]);
      if (pair) at[key] = structuredClone(pair[1]);
    });
  for (const pointer of rule.upper ?? [])
    visit(body, pointer, (at, key) => {
      if (typeof at[key] === "string") at[key] = at[key].toUpperCase();
    });
  for (const [pointer, how] of Object.entries(rule.wrap ?? {}))
    visit(body, pointer, (at, key) => {
      if (typeof at[key] !== "string") return;
      if (how === "array") at[key] = [at[key]];
      else at[key] = { ...(how.position && { [how.position]: Number(key) + 1 }), [how.property]: at[key] };
    });
  if (rule.unwrap) {
    const inner = get(body, rule.unwrap);
    // Only an answer may be a list.
    if (isObject(inner) || (rule.operation !== undefined && Array.isArray(inner))) return inner;
  }
  return body;
}

function rename(at: JsonObject, key: string, name: string): void {
  if (!Object.hasOwn(at, name)) at[name] = at[key];
  delete at[key];
}

/** Calls `change` with every place that the pointer leads to, as the object or array that holds it and its key there. */
function visit(body: unknown, pointer: string, change: (at: JsonObject, key: string) => void): void {
  const path = parts(pointer);
  const last = path.pop()!;
  let places: unknown[] = [body];
  for (const part of path) places = places.flatMap((place) => below(place, part));
  for (const place of places) {
    if (typeof place !== "object" || place === null) continue;
    const keys = last === "*" && Array.isArray(place) ? Object.keys(place) : [last];
    for (const key of keys) if (Object.hasOwn(place, key)) change(place as JsonObject, key);
  }
}

function below(place: unknown, part: string): unknown[] {
  if (Array.isArray(place) && part === "*") return place;
  return isObject(place) && Object.hasOwn(place, part) ? [place[part]] : [];
}

/** Whether every field has the value that is asked for. */
export function matches(body: Readonly<Record<string, unknown>>, values: Readonly<Record<string, Json>>): boolean {
  return Object.entries(values).every(([key, value]) => body[key] === value);
}
