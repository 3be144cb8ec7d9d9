/**
 * Puts random mutants of the sources to the tests that reach them: `pnpm mutate [package…] [--seed n] [--count n]`. Every package but the generated
 * one is taken where none is named.
 *
 * - `--own` leaves out the tests of other packages, `--tests a,b` all but those of the packages a, b and its own.
 * - `--budget n` leaves out the tests for which n seconds do not suffice. `--at-once n` is the number of mutants side by side.
 * - `--json FILE` writes the outcomes. `--again FILE` takes the mutants of such a file that no test noticed.
 * - `--floors`: a package of which the tests notice less than `floors.json` says is an error.
 * - `--reach` records what the tests reach, and does no more.
 * - `--facts` draws from the places that the protocols' lists of facts name instead, and runs the tests that are named beside them.
 *
 * The checkout is not changed.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { readEquivalents, stale } from "./equivalents.js";
import { type Mutant, mutantsOf } from "./mutants.js";
import { rateOf, summarise } from "./report.js";
import type { Outcome } from "./run.js";
import { clear, prepare, type Sampling, sample } from "./sample.js";
import { sampleFacts } from "./sample-facts.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string" },
    count: { type: "string", default: "20" },
    budget: { type: "string", default: "60" },
    "at-once": { type: "string", default: "2" },
    json: { type: "string" },
    again: { type: "string" },
    floors: { type: "boolean", default: false },
    reach: { type: "boolean", default: false },
    facts: { type: "boolean", default: false },
    own: { type: "boolean", default: false },
    tests: { type: "string" },
  },
});
const all = readdirSync("packages").filter((name) => name !== "protocols");
const unknown = positionals.filter((name) => !all.includes(name));
if (unknown.length > 0) throw new Error(`There is no package ${unknown.join(", ")}: ${all.join(", ")}.`);
const packages = positionals.length > 0 ? positionals : all;
const sampling: Sampling = {
  root: process.cwd(),
  seed: Number(values.seed ?? Math.floor(Math.random() * 1e9)),
  count: Number(values.count),
  budget: Number(values.budget) * 1000,
  atOnce: Number(values["at-once"]),
  tests: values.own ? [] : values.tests?.split(","),
  say: (text) => console.log(text),
};
/** The mutants that no test noticed, as they are now. */
const left: Record<string, Mutant[]> | undefined = values.again === undefined ? undefined : unnoticed(values.again);
if (values.facts) report({ facts: await sampleFacts(sampling, left?.facts) });
else {
  const ground = await prepare(sampling, packages);
  const results: Record<string, Outcome[]> = {};
  for (const name of values.reach ? [] : packages) results[name] = await sample(sampling, ground, name, left?.[name]);
  if (!values.reach) report(results);
  clear(ground);
}

function report(results: Record<string, Outcome[]>): void {
  console.log(`\nseed ${sampling.seed}, ${sampling.count} mutants a package`);
  for (const [name, outcomes] of Object.entries(results)) console.log(summarise(name, outcomes));
  if (values.floors) {
    const floors = JSON.parse(readFileSync("mutate/floors.json", "utf8")) as Record<string, number>;
    for (const [name, outcomes] of Object.entries(results)) {
      const floor = floors[name] ?? 0;
      if (rateOf(outcomes) >= floor) continue;
      console.log(`${name}: less than ${floor} % were noticed`);
      process.exitCode = 1;
    }
  }
  const old = stale(sampling.root, readEquivalents(sampling.root));
  for (const { file, line } of old) console.log(`mutate/equivalents.json: no such change any more: ${file}: ${line}`);
  if (values.json) writeFileSync(values.json, `${JSON.stringify({ seed: sampling.seed, results }, null, 2)}\n`);
}

function unnoticed(file: string): Record<string, Mutant[]> {
  const { results } = JSON.parse(readFileSync(file, "utf8")) as { results: Record<string, Outcome[]> };
  const entries = Object.entries(results).map(([name, outcomes]) => {
    const mutants = outcomes
      .filter(({ end }) => end === "survived" || end === "not reached")
      .map(({ mutant }) => mutant);
    const now = mutants.flatMap((mutant) =>
      mutantsOf(mutant.file, readFileSync(mutant.file, "utf8"))
        .filter(({ before, after }) => before === mutant.before && after === mutant.after)
        .slice(0, 1),
    );
    return [name, now];
  });
  return Object.fromEntries(entries) as Record<string, Mutant[]>;
}
