import { readdirSync, readFileSync } from "node:fs";

type Node = { readonly examples?: readonly unknown[]; readonly [key: string]: unknown };

/** What people read, and what allows anything, which is allowed without it. */
const PROSE = new Set(["title", "description", "examples", "$schema", "$id"]);

const folderOf = (protocol: string) => new URL(`../schemas/${protocol}/messages/`, import.meta.url);

/** The schemas of a contract that ships. */
export function readSchemas(protocol: string): Node[] {
  const folder = folderOf(protocol);
  return readdirSync(folder).map((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")));
}

/** A schema without prose, with every reference in place: what two schemas of the same structure have in common. */
export function expanded(protocol: string, schema: unknown): unknown {
  const folder = folderOf(protocol);
  const visit = (value: unknown, isNames = false): unknown => {
    if (Array.isArray(value)) return value.map((item) => visit(item));
    if (typeof value !== "object" || value === null) return value;
    const node = value as Node;
    if (!isNames && typeof node.$ref === "string")
      return visit(JSON.parse(readFileSync(new URL(node.$ref, folder), "utf8")));
    const entries = Object.entries(node).flatMap(([key, inner]) => {
      if (isNames) return [[key, visit(inner)]];
      const isOpen = key === "additionalProperties" && JSON.stringify(inner) === "{}";
      if (PROSE.has(key) || key.startsWith("spec") || isOpen) return [];
      // A constant says its type.
      if (key === "type" && "const" in node) return [];
      // Converters of other versions choose either for a union that constants tell apart.
      return [[key === "oneOf" ? "anyOf" : key, visit(inner, key === "properties")]];
    });
    return Object.fromEntries(entries);
  };
  return visit(schema);
}
