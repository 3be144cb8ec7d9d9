import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";

const own = new URL("../acp/", import.meta.url);

/** ACP as a contract, with the checks of ajv. */
export const acp = contractValue(
  await load(fileURLToPath(existsSync(own) ? own : new URL("../../schemas/acp/", import.meta.url))),
);
