import type { ContractDocument } from "@parlance/wire";
import { asyncapi } from "./asyncapi.js";
import { markdown } from "./markdown.js";
import { openapi } from "./openapi.js";

/**
 * The documents of a contract by file name: `<name>.openapi.json` (3.1), `<name>.asyncapi.json` (3.0) and `<name>.md`. They are
 * generated from the contract. Equal documents give equal bytes.
 */
export function docs(document: ContractDocument): Readonly<Record<string, string>> {
  const { name } = document.contract;
  const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`;
  return {
    [`${name}.openapi.json`]: json(openapi(document)),
    [`${name}.asyncapi.json`]: json(asyncapi(document)),
    [`${name}.md`]: markdown(document),
  };
}
