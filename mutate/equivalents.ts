import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Mutant, mutantsOf } from "./mutants.js";

/** A mutant that no test can notice, with the reason. Found by its text, so that lines may move. */
export interface Equivalent {
  readonly file: string;
  readonly line: string;
  readonly change: string;
  readonly reason: string;
}

export function readEquivalents(root: string): Equivalent[] {
  const path = join(root, "mutate/equivalents.json");
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Equivalent[]) : [];
}

export function equivalentOf(equivalents: readonly Equivalent[], mutant: Mutant): Equivalent | undefined {
  return equivalents.find((equivalent) => matches(equivalent, mutant));
}

/** Entries whose line or change is no more. */
export function stale(root: string, equivalents: readonly Equivalent[]): Equivalent[] {
  const mutants = new Map<string, Mutant[]>();
  return equivalents.filter((equivalent) => {
    const { file } = equivalent;
    const path = join(root, file);
    if (!existsSync(path)) return true;
    if (!mutants.has(file)) mutants.set(file, mutantsOf(file, readFileSync(path, "utf8")));
    return !mutants.get(file)!.some((mutant) => matches(equivalent, mutant));
  });
}

function matches({ file, line, change }: Equivalent, { before, after, ...mutant }: Mutant): boolean {
  return file === mutant.file && line === before.trim() && change === after.trim();
}
