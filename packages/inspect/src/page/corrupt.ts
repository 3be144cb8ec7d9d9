import { escapeStep } from "@parlance/wire/internal/pointer";
/** The places of a value that can be corrupted, as JSON Pointers. */
export function places(value: unknown, at = ""): string[] {
  if (typeof value !== "object" || value === null) return at === "" ? [] : [at];
  const inner = Object.entries(value).flatMap(([key, one]) => places(one, `${at}/${escapeStep(key)}`));
  return at === "" ? inner : [at, ...inner];
}

/** The same value with another type at one place. */
export function corrupted(value: unknown, pointer: string): unknown {
  return changed(value, pointer, (old) => (typeof old === "string" ? 42 : "corrupted"));
}

/** The same value without one place. */
export function without(value: unknown, pointer: string): unknown {
  return changed(value, pointer, () => undefined);
}

export function changed(value: unknown, pointer: string, change: (old: unknown) => unknown): unknown {
  const [step, ...rest] = pointer.split("/").slice(1);
  if (step === undefined) return change(value);
  if (typeof value !== "object" || value === null) return value;
  const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
  const inner = (value as Record<string, unknown>)[key];
  const next = changed(inner, rest.map((one) => `/${one}`).join(""), change);
  if (Array.isArray(value))
    return next === undefined
      ? value.filter((_, at) => String(at) !== key)
      : value.map((one, at) => (String(at) === key ? next : one));
  const entries = Object.entries({ ...value, [key]: next }).filter(([, one]) => one !== undefined);
  return Object.fromEntries(entries);
}
