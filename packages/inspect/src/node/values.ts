import { isObject, type SchemaObject } from "@parlance/wire";
import { baseOf, branchesOf, choicesOf, type Node, resolve } from "../schema.js";

type Schemas = Readonly<Record<string, SchemaObject>>;

/** A value with a short label. */
interface Choice {
  readonly words: readonly string[];
  readonly value: unknown;
}

/**
 * The values that a schema allows, made of its constants, its lists of values, and what the question calls by the same name, such as the ids of
 * its options. Optional properties are left out. A value that would need anything else is not among them.
 */
export function valuesOf(schemas: Schemas, title: string, question: unknown): Choice[] {
  return choices({ schemas, question }, "", schemas[title], schemas[title], false, 0);
}

interface Context {
  readonly schemas: Schemas;
  readonly question: unknown;
}

function choices(
  context: Context,
  name: string,
  node: Node,
  base: SchemaObject | undefined,
  isOneOfSeveral: boolean,
  depth: number,
): Choice[] {
  const { schemas, question } = context;
  const schema = resolve(schemas, node, base);
  const file = baseOf(schemas, node, base);
  const told = (value: unknown): Choice => ({ words: [`${name} ${JSON.stringify(value)}`], value });
  if (depth > 8) return [];
  if (schema.const !== undefined) return isOneOfSeveral ? [told(schema.const)] : [{ words: [], value: schema.const }];
  const listed = choicesOf(schema) ?? (schema.type === "boolean" ? [true, false] : undefined);
  if (listed) return listed.map(told);
  const branches = branchesOf(schema);
  if (branches.length > 0)
    return branches.flatMap((branch) => choices(context, name, branch, file, branches.length > 1, depth + 1));
  if (schema.type !== "object") return [...new Set(named(question, name))].map(told);
  const { required = [], properties = {} } = schema as {
    readonly required?: readonly string[];
    readonly properties?: Readonly<Record<string, Node>>;
  };
  let all: Choice[] = [{ words: [], value: {} }];
  for (const key of required) {
    const each = choices(context, key, properties[key], file, isOneOfSeveral, depth + 1);
    all = all.flatMap(({ words, value }) =>
      each.map((one) => ({ words: [...words, ...one.words], value: { ...(value as object), [key]: one.value } })),
    );
  }
  return all;
}

/** The texts and numbers in a value that have a name. */
function named(value: unknown, name: string): unknown[] {
  if (Array.isArray(value)) return value.flatMap((one) => named(one, name));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    key === name && ["string", "number"].includes(typeof one) ? [one] : named(one, name),
  );
}
