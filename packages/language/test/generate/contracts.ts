import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "@parlance/language/load";
import type { ContractDocument } from "@parlance/wire";

const schemas = fileURLToPath(new URL("../../../../schemas/", import.meta.url));

/** Every contract of this repository, by name. */
export const documents: readonly ContractDocument[] = await Promise.all(
  readdirSync(schemas, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => load(schemas + name)),
);
export const named = documents.map((document) => [document.contract.name, document] as const);
