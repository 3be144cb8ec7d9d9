import type { Outcome } from "./run.js";

/** One line a mutant; survivors with their change and the tests that reached them. */
export function describe({ mutant, end, by, tests, unused }: Outcome): string {
  const { file, line, kind, before, after } = mutant;
  const cause = by === undefined ? "" : end === "killed" ? ` by ${by}` : `: ${by}`;
  const text = `${end}${cause}  ${file}:${line} (${kind})`;
  if (end !== "survived" && end !== "not reached") return text;
  const reached = tests.slice(0, 8).join("\n    ");
  const more = tests.length > 8 ? `\n    and ${tests.length - 8} more` : "";
  const short = unused > 0 ? ` (the last ${unused} of ${tests.length} were not run, for their time)` : "";
  const where = tests.length === 0 ? "" : `\n  reached by${short}\n    ${reached}${more}`;
  return `${text}\n  - ${before.trim()}\n  + ${after.trim()}${where}`;
}

/** The percentage of mutants that were noticed, of those that can be. */
export function rateOf(outcomes: readonly Outcome[]): number {
  const counted = outcomes.filter(({ end }) => end !== "equivalent");
  const noticed = counted.filter(({ end }) => end === "killed" || end === "timed out");
  return counted.length === 0 ? 100 : (noticed.length / counted.length) * 100;
}

/** Mutants of one package by what became of them. */
export function summarise(name: string, outcomes: readonly Outcome[]): string {
  const of = (...ends: Outcome["end"][]) => outcomes.filter(({ end }) => ends.includes(end)).length;
  const noticed = of("killed", "timed out");
  const share = (all: number) => (all === 0 ? "–" : `${Math.round((noticed / all) * 100)} %`);
  const parts = [
    `${outcomes.length} mutants`,
    `${noticed} noticed (${of("timed out")} by their time)`,
    `${of("survived")} survived`,
    `${of("not reached")} not reached`,
    `${of("equivalent")} equivalent`,
    `${of("doubtful")} doubtful`,
  ];
  const rest = outcomes.length - of("equivalent");
  return `${name}: ${share(outcomes.length)} noticed, ${share(rest)} without equivalents  (${parts.join(", ")})`;
}
