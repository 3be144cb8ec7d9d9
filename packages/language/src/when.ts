import type { Schema, SchemaObject } from "@parlance/wire";
import type { Members } from "./schema.js";
import type { Source } from "./source.js";

/**
 * The names in `when` that a request of an operation may leave out, by operation: the property is optional, and its default, where it has
 * one, is the operation's own value. An operation whose default matches goes before one of the same route without a default.
 */
export function absences(
  operations: Source,
  membersOf: (file: string) => Members | undefined,
): ReadonlyMap<string, readonly string[]> {
  const all = Object.entries<Source>(operations).map(([name, operation]) => {
    const inner = operation.body === undefined ? undefined : membersOf(operation.body);
    const when = Object.entries<unknown>(operation.when ?? {});
    const kinds = new Map(when.map(([key, value]) => [key, absence(operation, inner, key, value)] as const));
    return { name, route: routeOf(operation), kinds };
  });
  return new Map(
    all.map(({ name, route, kinds }) => {
      const isElsewhere = (key: string) =>
        all.some((other) => other.name !== name && other.route === route && other.kinds.get(key) === "default");
      const keys = [...kinds].filter(([key, kind]) => kind === "default" || (kind === "optional" && !isElsewhere(key)));
      return [name, keys.map(([key]) => key)];
    }),
  );
}

/** Parameters of one path may have different names. */
const routeOf = ({ method, path }: Source) => `${method} ${String(path).replace(/\{[^{}]*\}/g, "{}")}`;

/** What a request without the property means for an operation: its own value by default, its own value if nobody else's, or another operation. */
function absence(
  operation: Source,
  inner: Members | undefined,
  key: string,
  value: unknown,
): "default" | "optional" | "other" {
  const parameters: Source = operation.parameters ?? {};
  const parameter: SchemaObject | undefined = Object.hasOwn(parameters, key) ? parameters[key] : undefined;
  const property: Schema | undefined =
    parameter ?? (inner && Object.hasOwn(inner.properties, key) ? inner.properties[key] : undefined);
  // A broken or missing body is another finding of lint.
  const isRequired = parameter ? parameter.required === true : (inner?.required.includes(key) ?? true);
  if (isRequired) return "other";
  if (typeof property !== "object" || !("default" in property)) return "optional";
  return property.default === value ? "default" : "other";
}
