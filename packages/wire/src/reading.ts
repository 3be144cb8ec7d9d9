import type { Json, Reading } from "@parlance/contract";
import { isObject, type JsonObject } from "./json.js";
import { get, parts } from "./pointer.js";

/** Reads a body, and returns it in the documented form. The body may be changed in place. */
export type Reader = (body: unknown) => unknown;

/** Compiles the rules of a contract to one function; undefined where there is none to run. */
export function reader(rules: readonly Reading[] = [], applies: (rule: Reading) => boolean): Reader | undefined {
  const readers = rules.filter(applies).map(compile);
  if (readers.length === 0) return undefined;
  return (body) => {
    for (const read of readers) body = read(body);
    return body;
  };
}

/** Changes the object or array that holds a place, at its key there. */
type Change = (at: JsonObject, key: string) => unknown;

function compile(rule: Reading): Reader {
  const guards = Object.entries(rule.where ?? {}).map(([pointer, value]) => ({ path: parts(pointer), value }));
  const changes = [
    ...each(rule.rename, (name) => (at, key) => {
      if (!Object.hasOwn(at, name)) at[name] = at[key];
      delete at[key];
    }),
    ...(rule.remove ?? []).map((pointer) => visitor(pointer, (at, key) => delete at[key])),
    ...each(rule.values, (pairs) => (at, key) => {
      const pair = pairs.find(([said]) => said === at[key]);
      if (pair?.length === 1) delete at[key];
      else if (pair) at[key] = structuredClone(pair[1]);
    }),
    ...(rule.upper ?? []).map((pointer) =>
      visitor(pointer, (at, key) => {
        if (typeof at[key] === "string") at[key] = at[key].toUpperCase();
      }),
    ),
    ...each(rule.wrap, (how) => (at, key) => {
      if (typeof at[key] !== "string") return;
      if (how === "array") at[key] = [at[key]];
      else at[key] = { ...(how.position && { [how.position]: Number(key) + 1 }), [how.property]: at[key] };
    }),
    ...each(
      rule.default,
      (value) => (at, key) => {
        if (!Array.isArray(at)) at[key] = structuredClone(value);
      },
      true,
    ),
  ];
  const unwrap = rule.unwrap === undefined ? undefined : parts(rule.unwrap);
  return (body) => {
    for (const { path, value } of guards) if (get(body, path) !== value) return body;
    for (const change of changes) change(body);
    const inner = unwrap && get(body, unwrap);
    // Only an answer may be a list.
    return isObject(inner) || (rule.operation !== undefined && Array.isArray(inner)) ? inner : body;
  };
}

function each<T>(
  rules: Readonly<Record<string, T>> = {},
  change: (rule: T) => Change,
  missing = false,
): ((body: unknown) => void)[] {
  return Object.entries(rules).map(([pointer, rule]) => visitor(pointer, change(rule), missing));
}

/** Makes a change at every place that a pointer leads to; with `missing`, where all but its last step leads somewhere. */
function visitor(pointer: string, change: Change, missing = false): (body: unknown) => void {
  const path = parts(pointer);
  const visit = (place: unknown, depth: number): void => {
    if (typeof place !== "object" || place === null) return;
    const at = place as JsonObject;
    const step = (key: string): void => {
      const there = Object.hasOwn(at, key);
      if (depth + 1 === path.length) {
        if (there !== missing) change(at, key);
      } else if (there) visit(at[key], depth + 1);
    };
    const part = path[depth]!;
    if (part === "*" && Array.isArray(place)) Object.keys(place).forEach(step);
    else step(part);
  };
  return (body) => visit(body, 0);
}

/** Whether every field has the value that is asked for. */
export function matches(body: Readonly<Record<string, unknown>>, values: Readonly<Record<string, Json>>): boolean {
  return Object.entries(values).every(([key, value]) => body[key] === value);
}
