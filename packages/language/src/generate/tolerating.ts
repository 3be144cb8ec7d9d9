import type { Checks } from "@parlance/wire";
import { array, flaw, isObject, mistyped, type Test, type Tests, under } from "./checking.js";

/**
 * The functions of generated code for `x-tolerance`. `validators` writes calls of them only for contracts that have the keyword,
 * and copies them in, so nothing here runs in the generator.
 */

/** How to undo each change that was made, while a value is read; undefined while it is only checked. */
let changes: (() => void)[] | undefined;

function undo(made: (() => void)[], length = 0): void {
  while (made.length > length) made.pop()!();
}

/** A property: its test, what is tolerated (`n` null, `e` any error), whether it is required, and its default. */
type Place = readonly [test: Test, ways: string, isRequired: boolean, fallback?: () => unknown];

/** The properties of an object that are tolerated. */
export const tolerant =
  (places: Readonly<Record<string, Place>>): Test =>
  (value) => {
    if (!isObject(value)) return mistyped("object");
    for (const key in places) {
      const [test, ways, isRequired, fallback] = places[key]!;
      const found = Object.hasOwn(value, key) ? value[key] : undefined;
      const flaws = found === undefined ? undefined : test(found);
      if (flaws) {
        const isTolerated = ways.includes("e") || (found === null && ways.includes("n"));
        if (!changes || !isTolerated || (isRequired && !fallback)) return under(key, flaws);
        changes.push(() => {
          value[key] = found;
        });
        if (fallback) value[key] = fallback();
        else delete value[key];
      } else if (found === undefined && isRequired) return flaw("required", { missingProperty: key });
    }
    return undefined;
  };

/** A list that is read without the items that break their schema. */
export const skipping = (item: Test): Test => {
  const whole = array(item);
  return (value) => {
    if (!changes || !Array.isArray(value)) return whole(value);
    const before = [...value];
    const kept = before.filter((one) => !item(one));
    if (kept.length === before.length) return undefined;
    changes.push(() => refill(value, before));
    refill(value, kept);
    return undefined;
  };
};

/** A loop, because a list can have more items than a call has arguments. */
function refill(list: unknown[], items: readonly unknown[]): void {
  list.length = 0;
  for (const item of items) list.push(item);
}

/** A union. Flaws of a branch are tolerated only where no branch fits the value as it is. */
export const either = (union: (...tests: Test[]) => Test, ...tests: Test[]): Test => {
  const strict = union(...tests);
  return (value) => {
    const made = changes;
    changes = undefined;
    const flaws = strict(value);
    changes = made;
    if (!flaws || !made) return flaws;
    for (const test of tests) {
      const { length } = made;
      if (!test(value) && made.length > length) return undefined;
      undo(made, length);
    }
    return flaws;
  };
};

/** The tests in the form in which a contract reads. A value that is refused all the same is left as it came. */
export function tolerated(tests: Tests): Checks {
  const checks: Record<string, Checks[string]> = {};
  for (const title in tests) {
    const check: Checks[string] = (value) => {
      let flaws = tests[title]!(value);
      if (flaws) {
        changes = [];
        flaws = tests[title]!(value);
        if (flaws) undo(changes);
        changes = undefined;
      }
      check.errors = flaws ?? null;
      return !flaws;
    };
    checks[title] = check;
  }
  return checks;
}
