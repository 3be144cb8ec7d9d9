import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Mutant, mutated } from "./mutants.js";
import type { Reach } from "./reach.js";
import { Runner } from "./runner.js";

/** What became of a mutant. */
export interface Outcome {
  readonly mutant: Mutant;
  readonly end: "killed" | "timed out" | "survived" | "not reached" | "equivalent" | "doubtful";
  /** The test that killed it, or the reason why none can. */
  readonly by?: string;
  /** The test files that reach its line, in the order in which they run. */
  readonly tests: readonly string[];
  /** Those of them for which there was no time. */
  readonly unused: number;
}

/** How much longer than recorded a test file may take before it counts as one that never ends: other programs may keep the machine busy. */
const PATIENCE = 5;
/** Milliseconds on top, for the start. */
const START = 30_000;

/** The test files that reach a line, the most telling for their time first: of the same package, with few lines beside it, and short. */
export function reaching(reaches: readonly Reach[], { file, line }: Pick<Mutant, "file" | "line">): Reach[] {
  const own = `${file.split("/").slice(0, 2).join("/")}/`;
  const breadth = ({ files }: Reach) => Object.values(files).reduce((sum, { lines }) => sum + lines.length, 0);
  // A file that no test runs may be read as text, as by a bundler.
  const isRun = reaches.some(({ files }) => files[file] !== undefined && files[file].lines.length > 0);
  return reaches
    .filter(({ test, files }) => (isRun ? files[file]?.lines.includes(line) : test.startsWith(own)))
    .map((reach) => ({ reach, rank: breadth(reach) * reach.ms * (reach.test.startsWith(own) ? 1 : 10) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ reach }) => reach);
}

/** What a mutant is put to. */
export interface Putting {
  readonly tests: readonly { readonly test: string; readonly ms: number }[];
  /** Which tests of the files, by their names; all of them where it is left out. */
  readonly titles?: string;
  /** Files that change with the mutant. */
  readonly also?: Readonly<Record<string, string>>;
}

/** Puts mutants to the tests, one at a time in the copy. */
export class Bench {
  private readonly copy: string;
  private readonly runner: Runner;
  private readonly putting: (mutant: Mutant) => Putting;
  /** Milliseconds of the recorded runs of the files that a mutant is put to: the files that are nearest to it. */
  private readonly budget: number;
  /** Files that vitest last read as they are not any more. */
  private changed: readonly string[] = [];

  constructor(copy: string, putting: (mutant: Mutant) => Putting, budget = Infinity) {
    this.copy = copy;
    this.runner = new Runner(copy);
    this.putting = putting;
    this.budget = budget;
  }

  async put(mutant: Mutant): Promise<Outcome> {
    const { tests: all, titles, also = {} } = this.putting(mutant);
    let spent = 0;
    const used = all.filter(({ ms }, index) => {
      spent += ms;
      return index === 0 || spent <= this.budget;
    });
    const tests = all.map(({ test }) => test);
    if (all.length === 0) return { mutant, end: "not reached", tests, unused: 0 };
    const text = readFileSync(join(this.copy, mutant.file), "utf8");
    if (text.split("\n")[mutant.line - 1] !== mutant.before)
      throw new Error(`${mutant.file} has changed since the checkout was copied.`);
    const restore = this.write({ ...also, [mutant.file]: mutated(text, mutant) });
    try {
      const limit = START + PATIENCE * Math.max(...used.map(({ ms }) => ms));
      const files = used.map(({ test }) => test);
      const ran = await this.runner.run({ files, changed: this.changed, titles }, limit);
      const unused = all.length - used.length;
      if (!ran) return { mutant, end: "timed out", tests, unused };
      if (ran.failed !== undefined) return { mutant, end: "killed", by: ran.failed, tests, unused };
      return { mutant, end: ran.count === 0 ? "not reached" : "survived", tests, unused };
    } finally {
      restore();
    }
  }

  /** Returns what undoes it. */
  private write(files: Readonly<Record<string, string>>): () => void {
    const before = Object.keys(files).map((file) => [
      join(this.copy, file),
      readFileSync(join(this.copy, file), "utf8"),
    ]);
    for (const [file, text] of Object.entries(files)) writeFileSync(join(this.copy, file), text);
    this.changed = [...Object.keys(files), ...this.changed];
    return () => {
      for (const [path, text] of before) writeFileSync(path!, text!);
      this.changed = Object.keys(files);
    };
  }

  /** Which of these test files fail without a mutant: they prove nothing. */
  async failing(tests: readonly string[]): Promise<string[]> {
    let rest = [...tests];
    const found: string[] = [];
    while (rest.length > 0) {
      const ran = await this.runner.run({ files: rest, changed: this.changed });
      const failed = rest.find((test) => ran?.failed?.startsWith(test));
      if (failed === undefined) break;
      found.push(failed);
      rest = rest.slice(rest.indexOf(failed) + 1);
    }
    return found;
  }

  close(): void {
    this.runner.close();
  }
}
