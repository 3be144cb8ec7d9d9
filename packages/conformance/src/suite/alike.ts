import { isObject } from "@parlance/wire";

/** Whether everything expected is there. Objects may have more, as schemas are open; arrays may not. */
export function alike(expected: unknown, came: unknown): boolean {
  if (Array.isArray(expected))
    return Array.isArray(came) && came.length === expected.length && expected.every((one, at) => alike(one, came[at]));
  if (isObject(expected))
    return (
      isObject(came) && Object.entries(expected).every(([key, value]) => value === undefined || alike(value, came[key]))
    );
  return Object.is(expected, came);
}

/** Whether two JSON values are equal, whatever the order of their keys. */
export function equal(one: unknown, other: unknown): boolean {
  return alike(one, other) && alike(other, one);
}
