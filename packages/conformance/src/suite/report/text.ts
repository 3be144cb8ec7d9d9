import { visibleLines } from "@parlance/wire/internal/escape";
import type { Result } from "../result.js";

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
  return `${t.toFixed(1).padStart(8)} ms  ${c} ${from === "kit" ? "->" : "<-"} ${text.length > 300 ? `${text.slice(0, 300)}…` : text}`;
}
