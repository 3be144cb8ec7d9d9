import { escapeRegExp } from "@parlance/wire/internal/escape";
import type { Case, Level } from "./case.js";

/** A list of cases by pattern: `*` stands for any characters within a step of an id, `**` for any steps. */
export interface Listed {
  readonly pattern: string;
  /** The text after `#` on its line. */
  readonly reason?: string | undefined;
}

/** Reads a list: one pattern a line, and a reason after `#`. */
export function parseList(text: string): Listed[] {
  return text.split("\n").flatMap((line) => {
    const at = line.search(/(?:^|\s)#/);
    const pattern = (at < 0 ? line : line.slice(0, at)).trim();
    const reason = at < 0 ? "" : line.slice(line.indexOf("#", at) + 1).trim();
    return pattern === "" ? [] : [{ pattern, ...(reason !== "" && { reason }) }];
  });
}

export function matcher(pattern: string): (id: string) => boolean {
  const source = pattern
    .split(/(\*\*|\*)/)
    .map((part) => (part === "**" ? ".*" : part === "*" ? "[^/]*" : escapeRegExp(part)))
    .join("");
  const whole = new RegExp(`^${source}$`);
  return (id) => whole.test(id);
}

export function anyOf(patterns: readonly string[]): (id: string) => boolean {
  const all = patterns.map(matcher);
  return (id) => all.some((fits) => fits(id));
}

const LEVELS: readonly Level[] = ["must", "should", "may"];

/** Whether a case is at this level or above: `should` has the `must` too. */
export function atLeast(level: Level): (one: Case) => boolean {
  const most = LEVELS.indexOf(level);
  return (one) => LEVELS.indexOf(one.level) <= most;
}

/** The same order for the same seed; without one, the order of the contract. */
export function ordered<T>(items: readonly T[], seed: number | undefined): T[] {
  if (seed === undefined) return [...items];
  // Mulberry32: small, and the same everywhere.
  let state = seed >>> 0;
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const all = [...items];
  for (let at = all.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [all[at], all[other]] = [all[other]!, all[at]!];
  }
  return all;
}
