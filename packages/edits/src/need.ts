// An argument that is no text or no patch is a mistake of the caller, not of a model: the TypeError names it.

export function needText(values: Readonly<Record<string, unknown>>): void {
  for (const name in values) if (typeof values[name] !== "string") fail(name, "a string", values[name]);
}

/** Each must be a patch, or the patch of one file. */
export function needPatch(values: Readonly<Record<string, unknown>>): void {
  for (const name in values) {
    const value = (values[name] ?? {}) as { files?: unknown; hunks?: unknown };
    if (!Array.isArray(value.files ?? value.hunks)) fail(name, "a patch", values[name]);
  }
}

function fail(name: string, wanted: string, value: unknown): never {
  throw new TypeError(`\`${name}\` must be ${wanted}, not ${value === null ? "null" : typeof value}.`);
}
