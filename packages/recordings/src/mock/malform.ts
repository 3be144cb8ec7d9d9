import { type Codec, isObject, Violation } from "@parlance/wire";
import type { Random } from "./random.js";

/** A message that breaks its schema, or is no JSON: one of its properties is removed or of another type, or it is torn. */
export function malform(codec: Codec, event: string | undefined, text: string, random: Random): string {
  const torn = text.slice(0, Math.max(1, Math.floor(text.length / 2)));
  const broken = [...variants(text), torn].filter((one) => isBroken(codec, event, one));
  return broken[random.below(Math.max(1, broken.length))] ?? torn;
}

function variants(text: string): string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [];
  }
  if (!isObject(value)) return [];
  return Object.keys(value).flatMap((name) => {
    const { [name]: old, ...rest } = value;
    return [rest, { ...value, [name]: typeof old === "object" ? 0 : {} }].map((one) => JSON.stringify(one));
  });
}

function isBroken(codec: Codec, event: string | undefined, data: string): boolean {
  try {
    codec.decode({ event, data });
    return false;
  } catch (error) {
    return error instanceof Violation;
  }
}
