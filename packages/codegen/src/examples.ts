import type { ContractDocument, Json } from "@parlance/contract";
import { literal } from "./literal.js";
import { sourceOf } from "./source.js";
import { wireForms } from "./validators.js";

/**
 * A module with one example of each form that the server writes: of schemas by title, of texts by operation. It is the first that is
 * not an empty list, because an empty one tests nothing.
 */
export function examples(document: ContractDocument): string {
  const schemas = Object.entries(wireForms(document, "server")).flatMap(([title, { examples }]) =>
    examples?.length ? [[title, examples.find((one) => !isEmpty(one)) ?? examples[0]]] : [],
  );
  const texts = Object.entries(sourceOf(document).operations).flatMap(([name, { answer }]) =>
    answer?.examples?.length ? [[name, answer.examples[0]]] : [],
  );
  const all: Json = { schemas: Object.fromEntries(schemas), texts: Object.fromEntries(texts) };
  return `export const examples: Examples = ${literal(all)};\n`;
}

function isEmpty(example: Json): boolean {
  return Array.isArray(example) && example.length === 0;
}
