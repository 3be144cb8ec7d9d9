import type { CheckError, Checks } from "@parlance/wire";

/**
 * The functions that the checks of a generated module call. `validators` writes the expressions and copies in the functions they use, so
 * nothing here runs in the generator. Keywords, places and params of an error are ajv's.
 */

/** Returns the first error of a value, as ajv does without `allErrors`; undefined for a valid one. */
// biome-ignore lint/suspicious/noExplicitAny: a value that is not checked yet.
export type Test = (value: any) => readonly CheckError[] | undefined;
export type Tests = Readonly<Record<string, Test>>;

export const flaw = (keyword: string, params: CheckError["params"]): CheckError[] => [
  { instancePath: "", keyword, params },
];

/** Paths are built only after an error, so a valid value costs no text. */
export const under = (step: string | number, flaws: readonly CheckError[] | undefined) =>
  flaws?.map((one) => ({
    ...one,
    instancePath: `/${`${step}`.replace(/~/g, "~0").replace(/\//g, "~1")}${one.instancePath}`,
  }));

const test =
  (passes: (value: never) => boolean, keyword: string, params: CheckError["params"]): Test =>
  (value) =>
    passes(value as never) ? undefined : flaw(keyword, params);

export const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);

// Most of a message is strings, booleans and numbers: one call each.
export const mistyped = (type: unknown) => flaw("type", { type });
export const string: Test = (value) => (typeof value === "string" ? undefined : mistyped("string"));
export const boolean: Test = (value) => (typeof value === "boolean" ? undefined : mistyped("boolean"));
export const number: Test = (value) => (Number.isFinite(value) ? undefined : mistyped("number"));
export const integer: Test = (value) => (Number.isInteger(value) ? undefined : mistyped("integer"));
export const nil: Test = (value) => (value === null ? undefined : mistyped("null"));
export const anything: Test = () => undefined;
export const nothing: Test = () => flaw("false schema", {});

export const types = (tests: Tests): Test =>
  test((value) => Object.values(tests).some((one) => !one(value)), "type", { type: Object.keys(tests) });

/** An object with all of `required` and any of `optional`. */
export function object(required: Tests, optional: Tests = {}): Test {
  const needed = Object.keys(required).length;
  // Merged as lists: an object would put keys such as "1" first.
  const keys = [required, optional].flatMap(Object.keys);
  const tests = [required, optional].flatMap<Test>(Object.values);
  return (value) => {
    if (!isObject(value)) return mistyped("object");
    // Runs for every message, so it uses no iterators.
    for (let at = 0; at < keys.length; at++) {
      const key = keys[at]!;
      const found = value[key];
      if (found !== undefined) {
        const flaws = tests[at]!(found);
        if (flaws) return under(key, flaws);
      } else if (at < needed) return flaw("required", { missingProperty: key });
    }
    return undefined;
  };
}

/** A property with a name that every object inherits, such as "constructor". */
export const own =
  (key: string, test: Test, isRequired: boolean): Test =>
  (value) => {
    if (Object.hasOwn(value, key) && value[key] !== undefined) return under(key, test(value[key]));
    return isRequired ? flaw("required", { missingProperty: key }) : undefined;
  };

/** Applies `test` to each property of an object except the known ones. */
export const others =
  (test: Test, ...known: readonly string[]): Test =>
  (value) => {
    for (const key in value) {
      const flaws = known.includes(key) ? undefined : test(value[key]);
      if (flaws) return under(key, flaws);
    }
    return undefined;
  };

/** An object with these properties only. */
export const only =
  (...known: readonly string[]): Test =>
  (value) => {
    for (const key in value) if (!known.includes(key)) return flaw("additionalProperties", { additionalProperty: key });
    return undefined;
  };

export const array =
  (item: Test): Test =>
  (value) => {
    if (!Array.isArray(value)) return mistyped("array");
    for (let at = 0; at < value.length; at++) {
      const flaws = item(value[at]);
      if (flaws) return under(at, flaws);
    }
    return undefined;
  };

export const constant =
  (allowedValue: unknown): Test =>
  (value) =>
    value === allowedValue ? undefined : flaw("const", { allowedValue });
export const values = (...allowedValues: unknown[]): Test =>
  test((value) => allowedValues.includes(value), "enum", { allowedValues });
export const minimum = (limit: number): Test => test((value) => value >= limit, "minimum", { comparison: ">=", limit });
export const maximum = (limit: number): Test => test((value) => value <= limit, "maximum", { comparison: "<=", limit });
/** The length in code points, as the specification counts. */
export const minLength = (limit: number): Test =>
  test(
    (value: string) => {
      let count = 0;
      for (const _ of value) if (++count >= limit) return true;
      return count >= limit;
    },
    "minLength",
    { limit },
  );
export const pattern = (source: string): Test => {
  const form = new RegExp(source, "u");
  return test((value: string) => form.test(value), "pattern", { pattern: source });
};
export const format = (name: string, form: RegExp): Test =>
  test((value: string) => form.test(value), "format", { format: name });

/** A time of RFC 3339. The form allows each leap second; there are only those at 23:59:60 UTC. */
export const moment = (name: string, form: RegExp): Test =>
  test(
    (value: string) =>
      form.test(value) &&
      (!value.includes(":60") ||
        Date.parse(`2000-01-01T${value.replace(/.*t/i, "").replace(":60", ":59")}`.toUpperCase()) % 864e5 >= 86399e3),
    "format",
    { format: name },
  );

export const all = (...tests: Test[]): Test => {
  if (tests.length === 1) return tests[0]!;
  return (value) => {
    for (let at = 0; at < tests.length; at++) {
      const flaws = tests[at]!(value);
      if (flaws) return flaws;
    }
    return undefined;
  };
};

export const any =
  (...tests: Test[]): Test =>
  (value) => {
    const found: (readonly CheckError[])[] = [];
    for (const one of tests) {
      const flaws = one(value);
      if (!flaws) return undefined;
      found.push(flaws);
    }
    return nearest(found, "anyOf");
  };

/** Exactly one of them. */
export const one =
  (...tests: Test[]): Test =>
  (value) => {
    const found = tests.map((test) => test(value));
    const passingSchemas = [...found.keys()].filter((at) => !found[at]);
    if (passingSchemas.length === 1) return undefined;
    return passingSchemas.length > 1
      ? flaw("oneOf", { passingSchemas: passingSchemas.slice(0, 2) })
      : nearest(found as (readonly CheckError[])[], "oneOf");
  };

/** The flaws of the branch that fits best: of those of the value's type, the one with the deepest flaw. */
function nearest(found: readonly (readonly CheckError[])[], keyword: string): readonly CheckError[] {
  const isMistyped = ([first]: readonly CheckError[]) => first!.keyword === "type" && first!.instancePath === "";
  if (found.every(isMistyped)) return mistyped([...new Set(found.flatMap(([first]) => first!.params.type))]);
  const typed = found.filter((flaws) => !isMistyped(flaws));
  const depth = ([first]: readonly CheckError[]) => first!.instancePath.split("/").length;
  const deepest = Math.max(...typed.map(depth));
  const best = typed.filter((flaws) => depth(flaws) === deepest);
  return best.length === 1 ? best[0]! : flaw(keyword, {});
}

/**
 * A union of objects that are told apart by a property: each row has a test and the values that it is for. `absent` is for objects without
 * the property, `others` for values that are no objects.
 */
export const tagged = (
  property: string,
  rows: readonly (readonly [Test, ...unknown[]])[],
  absent?: Test | false,
  others?: Test,
): Test => {
  const tests = new Map(rows.flatMap(([test, ...values]) => values.map((value) => [value, test] as const)));
  // The value before, because most repeat it: comparing two is quicker than hashing one that was just read.
  let last: unknown;
  let test: Test | undefined;
  return (value) => {
    if (!isObject(value)) {
      const flaws = others?.(value);
      return others && !flaws ? undefined : nearest([mistyped("object"), ...(flaws ? [flaws] : [])], "anyOf");
    }
    const found = value[property];
    if (found === undefined) return absent ? absent(value) : flaw("required", { missingProperty: property });
    if (found !== last) {
      last = found;
      test = tests.get(found);
    }
    if (!test) return under(property, flaw("enum", { allowedValues: [...tests.keys()], found }));
    const flaws = test(value);
    return flaws?.map((one) => ({ branch: found, ...one }));
  };
};

export const not = (inner: Test): Test => test((value) => inner(value) !== undefined, "not", {});

/** A schema that contains itself. */
export const later =
  (inner: () => Test): Test =>
  (value) =>
    inner()(value);

/** Rare keywords, as ajv compiled them. */
export const compiled =
  (check: { (value: unknown): boolean; errors?: readonly CheckError[] | null }): Test =>
  (value) =>
    check(value) ? undefined : check.errors!;

/** The tests in the form that a contract takes. */
export function checked(tests: Tests): Checks {
  const checks: Record<string, Checks[string]> = {};
  for (const title in tests) {
    const test = tests[title]!;
    const check: Checks[string] = (value) => {
      check.errors = test(value) ?? null;
      return check.errors === null;
    };
    checks[title] = check;
  }
  return checks;
}
