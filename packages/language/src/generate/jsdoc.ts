import type { Json, Schema } from "@parlance/wire";
import { keywordsOf } from "../keywords.js";

/** Keywords that a type cannot express, as JSDoc tags. */
const tags = keywordsOf(({ types }) => types === "comment").filter(
  (name) => !["description", "deprecated"].includes(name),
);

/** The lines of a schema's doc comment: its description, then what its type cannot express. */
export function linesOf(schema: Schema): string[] {
  if (typeof schema === "boolean") return [];
  const lines = typeof schema.description === "string" ? [quoteTags(schema.description)] : [];
  if (schema.deprecated === true) lines.push("@deprecated");
  for (const tag of tags) {
    const value = schema[tag];
    if (value === undefined || value === false) continue;
    lines.push(value === true && tag !== "default" ? `@${tag}` : `@${tag} ${text(value as Json)}`);
  }
  return lines;
}

/** Escapes prose for a doc comment: an `@` would begin a tag, and hide the rest of the sentence from the hover. */
const quoteTags = (prose: string) =>
  prose
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith("`") ? part : part.replace(/(?<![\w`])@[\w/.-]*\w|(?<![\w`])@/g, "`$&`")))
    .join("");

const text = (value: Json) => (typeof value === "string" && value !== "" ? value : JSON.stringify(value));
