import type { JsonObject } from "./json.js";

/** The parts of a JSON Pointer (RFC 6901). */
export function parts(pointer: string): string[] {
  return pointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The value at a path; undefined when there is none. */
export function get(body: unknown, path: readonly string[]): unknown {
  let value = body;
  for (const part of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as JsonObject)[part];
  }
  return value;
}

/** Sets the value at a pointer, and creates missing objects. */
export function set(body: JsonObject, pointer: string, value: unknown): void {
  const path = parts(pointer);
  const last = path.pop()!;
  let place = body;
  for (const part of path) {
    if (Object(place[part]) !== place[part]) place[part] = {};
    place = place[part] as JsonObject;
  }
  place[last] = value;
}
