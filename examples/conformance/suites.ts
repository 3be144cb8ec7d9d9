import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Case, type RunOptions, runCases, type Suite } from "@parlance/conformance/suite";

// What the tests of the suite share.

const schemas = fileURLToPath(new URL("../../schemas/", import.meta.url));

/** Every contract of this repository. */
export const contracts = readdirSync(schemas, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);
export const long = process.env.PARLANCE_LONG !== undefined;
export const SEED = 13;

export const forFixtures = (cases: Suite["server"]) => cases.filter(({ script }) => script.length > 0);

/** Runs cases, and returns those that did not pass. */
export async function notGreen(suite: Suite, cases: readonly Case[], options: RunOptions) {
  const results = await runCases(suite, cases, options);
  return results
    .filter(({ outcome }) => outcome !== "passed")
    .map(({ id, outcome, expected, came }) => ({ id, outcome, expected, came }));
}
