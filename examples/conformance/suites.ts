import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Suite, suiteOf } from "@parlance/conformance";
import { runCases } from "@parlance/conformance/node";
import { assemble, load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import type { ContractDocument } from "@parlance/wire";
import { vaultFiles } from "../../packages/cli/test/vault-files.js";

export type Case = Suite["server"][number] | Suite["client"][number];
type RunOptions = Parameters<typeof runCases>[2];

// What the tests of the suite share.

const schemas = fileURLToPath(new URL("../../schemas/", import.meta.url));

/** The contract of the guide has what no other one has: bytes, and headers of requests and answers. */
const VAULT = "vault";

/** Every contract of this repository, and that of the guide. */
export const contracts = readdirSync(schemas, { withFileTypes: true })
  .flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  .concat(VAULT);
function documentOf(name: string): Promise<ContractDocument> {
  return name === VAULT ? Promise.resolve(assemble({ name, files: vaultFiles })) : load(schemas + name);
}

interface Made {
  readonly document: ContractDocument;
  readonly suite: Suite;
}
const made = new Map<string, Promise<Made>>();

/** A contract and its suite, which is made once for all files of a worker. */
export function suiteAt(name: string): Promise<Made> {
  const one =
    made.get(name) ??
    documentOf(name).then(async (document) => ({ document, suite: await suiteOf(document, contractValue) }));
  made.set(name, one);
  return one;
}

export const long = process.env.PARLANCE_LONG !== undefined;
export const SEED = 13;

export const forFixtures = (cases: Suite["server"]) => cases.filter(({ acts }) => acts.length > 0);

/** Runs cases, and returns those that did not pass. */
export async function notGreen(suite: Suite, cases: readonly Case[], options: RunOptions) {
  const results = await runCases(suite, cases, options);
  return results
    .filter(({ outcome }) => outcome !== "passed")
    .map(({ id, outcome, expected, came }) => ({ id, outcome, expected, came }));
}
