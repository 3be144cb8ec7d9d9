import type { ContractDocument, Json } from "@parlance/wire";
import { serverExamples } from "../schema.js";
import { literal } from "./literal.js";
import { wireForms } from "./validators.js";

/** A module with one example of each form that the server writes: of schemas by title, of texts by operation. */
export function examples(document: ContractDocument): string {
  const all = serverExamples(document, Object.values(wireForms(document, "server")));
  return `export const examples: Examples = ${literal(all as unknown as Json)};\n`;
}
