import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyCheckout } from "./copy.js";
import { draw } from "./draw.js";
import { equivalentOf, readEquivalents } from "./equivalents.js";
import { type Mutant, mutantsOf } from "./mutants.js";
import { type Reach, reachOf } from "./reach.js";
import { describe } from "./report.js";
import { Bench, type Outcome, reaching } from "./run.js";
import { typeCheck } from "./types.js";

export interface Sampling {
  readonly root: string;
  readonly seed: number;
  /** Mutants of each package. */
  readonly count: number;
  /** Mutants that are tried side by side, each in a copy of its own. */
  readonly atOnce: number;
  /** Packages whose tests count beside those of the mutant's own; every test where there is no list. */
  readonly tests: readonly string[] | undefined;
  /** Milliseconds of tests that a mutant is put to, by how long they took when they were recorded. */
  readonly budget: number;
  readonly say: (text: string) => void;
}

/** A folder of copies of the checkout, with what the tests reach. */
export interface Ground {
  readonly folder: string;
  readonly copies: readonly string[];
  readonly reaches: readonly Reach[];
}

/** Copies the checkout and reads what its tests reach. `packages` are those that are changed. */
export async function prepare(sampling: Sampling, packages: readonly string[]): Promise<Ground> {
  const { root, tests, say } = sampling;
  const folder = makeFolder();
  const copies = copyInto(sampling, folder);
  const wanted = (test: string) => tests === undefined || isOf(test, [...tests, ...packages]);
  return { folder, copies, reaches: await reachOf(root, copies[0]!, packages, wanted, say) };
}

export const makeFolder = () => realpathSync(mkdtempSync(join(tmpdir(), "mutate-")));

/** Copies of the checkout, as many as there are mutants side by side. */
export function copyInto({ root, atOnce }: Sampling, folder: string): string[] {
  const copies = Array.from({ length: atOnce }, (_, index) => join(folder, String(index)));
  for (const copy of copies) copyCheckout(root, copy);
  return copies;
}

const isOf = (test: string, packages: readonly string[]) =>
  packages.some((name) => test.startsWith(`packages/${name}/`));

export function clear({ folder }: Ground): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Draws mutants of a package, or takes those that are given, and puts them to the tests that reach them. */
export async function sample(
  sampling: Sampling,
  { copies, reaches }: Ground,
  name: string,
  given?: readonly Mutant[],
): Promise<Outcome[]> {
  const { root, tests, budget } = sampling;
  const counted = reaches.filter(({ test }) => tests === undefined || isOf(test, [...tests, name]));
  const putting = (mutant: Mutant) => ({ tests: reaching(counted, mutant) });
  const benches = copies.map((copy) => new Bench(copy, putting, budget));
  return putAll(sampling, benches, given?.values() ?? compiling(root, name, sampling));
}

/** Puts mutants to the tests, as many side by side as there are benches, which are closed then. */
export async function putAll(
  { root, say }: Sampling,
  benches: readonly Bench[],
  mutants: Iterable<Mutant>,
): Promise<Outcome[]> {
  const equivalents = readEquivalents(root);
  const outcomes: Outcome[] = [];
  const drawn = mutants[Symbol.iterator]();
  try {
    await Promise.all(
      benches.map(async (bench) => {
        for (let next = drawn.next(); !next.done; next = drawn.next()) {
          const mutant = next.value;
          const equivalent = equivalentOf(equivalents, mutant);
          const outcome: Outcome = equivalent
            ? { mutant, end: "equivalent", by: equivalent.reason, tests: [], unused: 0 }
            : await bench.put(mutant);
          outcomes.push(outcome);
          say(describe(outcome));
        }
      }),
    );
    return await confirmed(benches[0]!, outcomes);
  } finally {
    for (const bench of benches) bench.close();
  }
}

/** The mutants of a sample, one a line: found when they are asked for, because the compiler takes its time. */
function* compiling(root: string, name: string, { seed, count }: Sampling): Generator<Mutant> {
  const files = sourcesOf(root, name);
  const compiles = typeCheck(root, files);
  const mutants = files.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), "utf8")));
  let left = count;
  for (const line of draw(mutants, seed)) {
    if (left === 0) return;
    const mutant = line.find(compiles);
    if (!mutant) continue;
    left--;
    yield mutant;
  }
}

function sourcesOf(root: string, name: string): string[] {
  const words = ["ls-files", "--cached", "--others", "--exclude-standard", `packages/${name}/src`];
  const files = execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim().split("\n");
  return files.filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts") && existsSync(join(root, file))).sort();
}

/** A test that fails without the mutant too has not killed it. */
async function confirmed(bench: Bench, outcomes: readonly Outcome[]): Promise<Outcome[]> {
  const fileOf = ({ end, by = "" }: Outcome) => (end === "killed" ? by.split(" › ")[0]! : "");
  const killers = new Set(outcomes.map(fileOf).filter((file) => file.endsWith(".ts")));
  const failing = await bench.failing([...killers]);
  return outcomes.map((outcome) => {
    if (!failing.includes(fileOf(outcome))) return outcome;
    return { ...outcome, end: "doubtful", by: `${outcome.by} also fails without it` };
  });
}
