import { visibleLines } from "@parlance/wire/internal/escape";
import type { Case, Level } from "./case.js";
import type { Traced } from "./trace.js";

export type Outcome =
  | "passed"
  | "failed"
  | "skipped"
  /** Failed, and on the list of known failures. */
  | "known"
  /** Passed, and on the list of known failures: the list is out of date, and the run fails. */
  | "fixed"
  /** On the list of flaky cases: failed, and passed when it was run again. */
  | "flaky";

/** What became of one case. */
export interface Result {
  readonly id: string;
  readonly side: Case["side"];
  readonly level: Level;
  readonly title: string;
  readonly at: string;
  readonly kill: string;
  readonly outcome: Outcome;
  readonly ms: number;
  /** Of a case that did not pass: what the contract says, and what came. */
  readonly expected?: string;
  readonly came?: string;
  /** Why it was skipped, or is known to fail. */
  readonly reason?: string;
  readonly trace?: readonly Traced[];
  /** The command that runs this case alone. */
  readonly rerun?: string;
}

/** One run of the suite. */
export interface Report {
  readonly suite: 1;
  readonly contract: { readonly name: string; readonly digest: string };
  /** The version of this package. */
  readonly version: string;
  readonly peers: Readonly<Partial<Record<Case["side"], string>>>;
  readonly seed?: number;
  readonly ms: number;
  readonly totals: Readonly<Record<Outcome, number>>;
  readonly results: readonly Result[];
}

export function totalsOf(results: readonly Result[]): Record<Outcome, number> {
  const totals: Record<Outcome, number> = { passed: 0, failed: 0, skipped: 0, known: 0, fixed: 0, flaky: 0 };
  for (const { outcome } of results) totals[outcome]++;
  return totals;
}

/** A result for people, on a terminal. */
export function formatResult(result: Result): string {
  const { id, outcome, title, at, expected, came, trace = [], rerun, reason } = result;
  const lines = [`${outcome} ${id}`, `  ${title} (${at})`];
  if (expected !== undefined) lines.push(`  expected ${expected}`, `  came     ${came}`);
  if (reason !== undefined) lines.push(`  ${reason}`);
  if (outcome === "failed") for (const line of trace) lines.push(`  ${formatTrace(line)}`);
  if (outcome === "failed" && rerun !== undefined) lines.push(`  again: ${rerun}`);
  // A line end within what came is indented, so that it does not begin a result.
  return `${lines.map((line) => visibleLines(line).replaceAll("\n", "\n           ")).join("\n")}\n`;
}

export function formatTrace({ t, c, from, bytes }: NonNullable<Result["trace"]>[number]): string {
  const text = JSON.stringify(bytes);
  return `${t.toFixed(1).padStart(8)} ms  ${c} ${from === "suite" ? "->" : "<-"} ${text.length > 300 ? `${text.slice(0, 300)}…` : text}`;
}
