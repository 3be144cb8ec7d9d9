/** The keys on the path of a JSON Pointer (RFC 6901). */
export function parsePointer(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The same for a pointer in the fragment of a URI (section 6). */
export function parseFragment(fragment: string): string[] {
  return parsePointer(fragment).map((key) => decodeURIComponent(key));
}

export function formatPointer(path: readonly (string | number)[]): string {
  return path.map((key) => `/${escapeStep(`${key}`)}`).join("");
}

/** One step of a pointer, without its slash. */
export function escapeStep(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The path of an exchange's key, which is the name of a property or, with a slash before it, a pointer. */
export function keyPath(key: string): string[] {
  return key.startsWith("/") ? parsePointer(key) : [key];
}

/** The value at a path; undefined when there is none. */
export function valueAt(body: unknown, path: readonly string[]): unknown {
  let value = body;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

/** A copy with this value at a path, of whose objects those that are missing are made. */
export function withValue(body: unknown, [step, ...rest]: readonly string[], value: unknown): Record<string, unknown> {
  const own = rest.length === 0 ? value : withValue(valueAt(body, [step!]), rest, value);
  return { ...(Object(body) === body && (body as object)), [step!]: own };
}

/** Sets the value at a pointer, and creates missing objects. */
export function setAt(body: Record<string, unknown>, pointer: string, value: unknown): void {
  const path = parsePointer(pointer);
  const last = path.pop()!;
  let place = body;
  for (const key of path) {
    if (!Object.hasOwn(place, key) || Object(place[key]) !== place[key]) place[key] = {};
    place = place[key] as Record<string, unknown>;
  }
  place[last] = value;
}
