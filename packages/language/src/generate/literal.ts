import type { Json } from "@parlance/wire";

/** The longest line of generated code. */
export const width = 120;

/** A JSON value as a TypeScript expression, on one line if it fits. */
export function literal(value: Json, indent = "", taken = 0): string {
  const line = inline(value);
  if (typeof value !== "object" || value === null || indent.length + taken + line.length <= width) return line;
  const inner = `${indent}  `;
  const items = Array.isArray(value)
    ? value.map((item) => `${inner}${literal(item, inner)},\n`)
    : Object.entries(value).map(([key, item]) => {
        const head = `${property(key)}: `;
        return `${inner}${head}${literal(item, inner, head.length + 1)},\n`;
      });
  return Array.isArray(value) ? `[\n${items.join("")}${indent}]` : `{\n${items.join("")}${indent}}`;
}

function inline(value: Json): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  const entries = Object.entries(value).map(([key, item]) => `${property(key)}: ${inline(item)}`);
  return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`;
}

/** A property's name, quoted if needed. */
export const property = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

/** A declaration of a union, one member below the other if it does not fit on a line. */
export function union(name: string, members: readonly string[]): string {
  const line = `export type ${name} = ${members.join(" | ")};`;
  if (members.length === 1 || (line.length <= width && !line.includes("\n"))) return line;
  return `export type ${name} =\n${members.map((member) => `  | ${member.replaceAll("\n", "\n    ")}`).join("\n")};`;
}

/** A doc comment, or nothing for empty text. */
export function comment(prose: readonly (string | undefined)[], indent = ""): string {
  const lines = prose.flatMap((part) => part?.replaceAll("*/", "*\\/").split("\n") ?? []);
  if (lines.length === 0) return "";
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}
