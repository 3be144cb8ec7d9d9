import type { Schema, SchemaObject } from "@parlance/wire";
import { locate } from "./schema.js";
import { mapSchema, subschemas } from "./walk.js";

/** A schema with an `$id` of its own, and the name of the one that it was a part of. */
export interface Part {
  readonly name: string;
  readonly schema: SchemaObject;
}

/**
 * The schemas of these names, and all that they refer to: each schema inside another that a reference leads to apart, after those that it leads to
 * itself. ajv compiles the target of a reference inside its source; as they are, a chain of some hundred would be more than the call stack.
 */
export function apart(byId: Readonly<Record<string, SchemaObject>>, names = Object.keys(byId)): Part[] {
  const ids = new Map<Schema, string>();
  const ordered = new Map<SchemaObject, string>();
  const find = (name: string, ref: unknown) =>
    typeof ref === "string" ? locate({ schemas: byId }, String(byId[name]!.$id), ref) : undefined;
  const stack = names.map((name) => ({ schema: byId[name]!, name }));
  for (let one = stack.at(-1); one !== undefined; one = stack.at(-1)) {
    const { schema, name } = one;
    if (ids.has(schema)) {
      stack.pop();
      ordered.set(schema, ordered.get(schema) ?? name);
      continue;
    }
    const id = String(byId[name]!.$id);
    ids.set(schema, schema === byId[name] ? id : `${id}/${ids.size}`);
    for (const { schema: inner } of subschemas(schema)) {
      const target = find(name, inner.$ref);
      if (target && typeof target.schema === "object" && !ids.has(target.schema))
        stack.push({ schema: target.schema, name: target.title });
    }
  }
  return [...ordered].map(([schema, name]) => {
    const moved = mapSchema(schema, (inner) => {
      const { $ref, ...rest } = inner;
      const target = find(name, $ref);
      if (target === undefined) return inner;
      if (typeof target.schema === "object") return { ...rest, $ref: ids.get(target.schema)! };
      return target.schema ? rest : { allOf: [rest, false] };
    }) as SchemaObject;
    return { name, schema: { ...moved, $id: ids.get(schema)! } };
  });
}
