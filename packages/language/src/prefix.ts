import type { Contract, SchemaObject } from "@parlance/wire";
import { escapeRegExp } from "@parlance/wire/internal/escape";

/** The prefix that a message's name, such as `data-*`, is for. Messages that are told apart by their shape have no names on the wire. */
export function prefixOf({ tag }: Pick<Contract, "tag">, name: string): string | undefined {
  return tag.in !== "shape" && name.endsWith("*") ? name.slice(0, -1) : undefined;
}

/** The names that are prefixes, longest first: the first that a tag begins with is meant. */
export function prefixesOf(contract: Pick<Contract, "tag" | "messages">): string[] {
  const names = Object.keys(contract.messages).filter((name) => prefixOf(contract, name) !== undefined);
  return names.sort((one, other) => other.length - one.length);
}

/** The message that a tag names, of those with these names. A message of that very name comes before any prefix. */
export function messageOf(contract: Pick<Contract, "tag">, names: readonly string[], tag: string): string | undefined {
  if (names.includes(tag)) return tag;
  const fitting = names.filter((name) => tag.startsWith(prefixOf(contract, name) ?? "\0"));
  return fitting.sort((one, other) => other.length - one.length)[0];
}

/** What the schema of a message says of the property that names it. */
export function tagSchema(contract: Pick<Contract, "tag">, name: string): SchemaObject {
  const prefix = prefixOf(contract, name);
  return prefix === undefined
    ? { const: name }
    : { type: "string", pattern: `^${escapeRegExp(prefix).replaceAll("\\/", "/")}` };
}

/** The type of a message's name in memory, where it is a prefix. */
export function tagType(contract: Pick<Contract, "tag">, name: string): string | undefined {
  const prefix = prefixOf(contract, name)?.replace(/[\\`]|\$(?=\{)/g, "\\$&");
  return prefix === undefined ? undefined : `\`${prefix}\${string}\``;
}
