import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { draw } from "./draw.js";
import { type NamedTest, readFacts, testsOf } from "./facts.js";
import { type Mutant, mutantsOf, mutated } from "./mutants.js";
import { offsetOf, type Place, placesOf } from "./places.js";
import { Bench, type Outcome, type Putting } from "./run.js";
import { copyInto, makeFolder, putAll, type Sampling } from "./sample.js";
import { typeCheck } from "./types.js";

/** Milliseconds that a test file may be expected to take. */
const EXPECTED = 10_000;

/** Draws mutants of the places that the lists of facts name, and puts each to the tests that are named beside them. */
export async function sampleFacts(sampling: Sampling, given?: readonly Mutant[]): Promise<Outcome[]> {
  const { root, seed, count } = sampling;
  const folder = makeFolder();
  const facts = readFacts(root).map((fact) => ({ fact, places: placesOf(root, fact) }));
  const files = [...new Set(facts.flatMap(({ places }) => places.map(({ file }) => file)))].sort();
  const compiles = typeCheck(
    root,
    files.filter((file) => !file.endsWith(".json")),
  );
  const testsAt = (mutant: Mutant): NamedTest[] => {
    const at = offsetOf(readFileSync(join(root, mutant.file), "utf8"), mutant);
    const isThere = ({ file, start, end }: Place) => file === mutant.file && start <= at && at < end;
    const held = facts.filter(({ places }) => places.some(isThere));
    return held.flatMap(({ fact }) => testsOf(root, fact));
  };
  /** Of the mutants that have been drawn. */
  const puttings = new Map<Mutant, Putting>();
  function isPlanted(mutant: Mutant): boolean {
    const also = mutant.file.endsWith(".json") ? generate(root, folder, mutant) : compiles(mutant) ? {} : undefined;
    if (also) puttings.set(mutant, { ...puttingOf(testsAt(mutant)), also });
    return also !== undefined;
  }
  function* drawn(): Generator<Mutant> {
    const all = files.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), "utf8")));
    const lines = given?.map((mutant) => [mutant]);
    let left = given?.length ?? count;
    for (const line of lines ??
      draw(
        all.filter((mutant) => testsAt(mutant).length > 0),
        seed,
      )) {
      const mutant = left > 0 ? line.find(isPlanted) : undefined;
      if (!mutant) continue;
      left--;
      yield mutant;
    }
  }

  try {
    cpSync(join(root, "schemas"), join(folder, "schemas"), { recursive: true });
    const benches = copyInto(sampling, folder).map((copy) => new Bench(copy, (mutant) => puttings.get(mutant)!));
    return await putAll(sampling, benches, drawn());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function puttingOf(named: readonly NamedTest[]): Putting {
  const tests = [...new Set(named.map(({ test }) => test))].map((test) => ({ test, ms: EXPECTED }));
  return { tests, titles: [...new Set(named.map(({ title }) => title))].join("|") };
}

/** What is generated from a contract with a mutant in it, by file, or undefined where the contract is refused. */
function generate(root: string, folder: string, mutant: Mutant): Record<string, string> | undefined {
  const path = join(folder, mutant.file);
  const text = readFileSync(path, "utf8");
  const contract = join(folder, ...mutant.file.split("/").slice(0, 2));
  const out = join(folder, "generated");
  writeFileSync(path, mutated(text, mutant));
  try {
    const words = ["--import", "tsx", "packages/cli/src/main.ts", "generate", contract, "--out", out];
    const { status } = spawnSync(process.execPath, words, { cwd: root, stdio: "ignore" });
    if (status !== 0 || !existsSync(out)) return undefined;
    const name = mutant.file.split("/")[1]!;
    const files = readdirSync(out).filter((file) => file.startsWith(`${name}.`));
    return Object.fromEntries(
      files.map((file) => [`packages/protocols/src/${file}`, readFileSync(join(out, file), "utf8")]),
    );
  } finally {
    writeFileSync(path, text);
  }
}
