import { isObject } from "@parlance/wire";
import { visibleLines } from "@parlance/wire/internal/escape";
import type { Level } from "../case.js";
import type { Result } from "../result.js";

/** Failures that differ from the contract in the same way. */
export interface Cause {
  readonly level: Level;
  readonly count: number;
  /** The failure that exchanged the fewest bytes. */
  readonly shortest: Result;
}

/** How a level is shown: `FAIL` where the contract says so. */
const LABELS: Readonly<Record<Level, string>> = { must: "FAIL", should: "WARN", may: "NOTE" };

/** The longest text that is shown of an expectation, or of what came. */
const MAX_TEXT = 200;

/** The causes of all failures: those of `must` first, and then those of most cases. */
export function causesOf(results: readonly Result[]): Cause[] {
  const causes = new Map<string, Result[]>();
  for (const result of results.filter(({ outcome }) => outcome === "failed")) {
    const key = `${result.level} ${keyOf(result)}`;
    causes.set(key, [...(causes.get(key) ?? []), result]);
  }
  const levels = Object.keys(LABELS);
  return [...causes.values()]
    .map((all): Cause => {
      const [shortest] = [...all].sort((one, other) => sizeOf(one) - sizeOf(other) || one.id.length - other.id.length);
      return { level: shortest!.level, count: all.length, shortest: shortest! };
    })
    .sort((one, other) => levels.indexOf(one.level) - levels.indexOf(other.level) || other.count - one.count);
}

/** A line for each cause of failures, with the place and the command of its shortest case. */
export function formatCauses(results: readonly Result[]): string {
  return causesOf(results).map(formatCause).join("");
}

export function formatCause({ level, count, shortest: { id, at, rerun, expected = "", came = "" } }: Cause): string {
  const cases = count === 1 ? "1 case" : `${count} cases`;
  const lines = [
    `${LABELS[level]} ${cases}: expected ${brief(expected)}, but came ${brief(came)}`,
    `     ${count === 1 ? "" : "such as "}${id} (${at})`,
  ];
  if (rerun !== undefined) lines.push(`     again: ${rerun}`);
  return `${lines.map(visibleLines).join("\n")}\n`;
}

const sizeOf = ({ trace = [] }: Result) => trace.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** A text in one line. */
function brief(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT)}…` : line;
}

/** A cause of failures, and the facts that they share. */
function keyOf({ expected = "", came = "" }: Result): string {
  const [before, wanted] = jsonAt(expected);
  const [, got] = jsonAt(came);
  if (wanted !== undefined && got !== undefined) {
    const at = differenceIn(wanted, got);
    if (at !== undefined) return `${before} ${at}`;
  }
  return `${plain(expected)}\n${plain(came)}`;
}

/** A text without what differs from case to case: the case's own place, JSON, and numbers of bytes and times. */
function plain(text: string): string {
  const statuses = /^\d{3}(?: or \d{3})*(?= |$)/.exec(text)?.[0];
  if (statuses !== undefined) return statuses;
  return text
    .replace(/ that breaks .*$/s, "")
    .replace(/"(?:[^"\\]|\\.)*"/g, "…")
    .replace(/[[{].*[\]}]/gs, "…")
    .replace(/\b\d+(?= ms| bytes| messages)/g, "…");
}

/** The JSON at the end of a text, and the text before it. */
function jsonAt(text: string): [before: string, value: unknown] {
  const from = text.search(/[[{]/);
  if (from < 0) return [text, undefined];
  try {
    return [text.slice(0, from), JSON.parse(text.slice(from))];
  } catch {
    return [text, undefined];
  }
}

/** The place of the first difference, with `*` for the index of an item; undefined where everything expected is there. */
function differenceIn(wanted: unknown, got: unknown, at = ""): string | undefined {
  if (Array.isArray(wanted) && Array.isArray(got)) {
    for (const [index, one] of wanted.entries()) {
      const found = index < got.length ? differenceIn(one, got[index], `${at}/*`) : `${at}/* (missing)`;
      if (found !== undefined) return found;
    }
    return got.length > wanted.length ? `${at}/* (one more)` : undefined;
  }
  if (isObject(wanted) && isObject(got)) {
    for (const [key, one] of Object.entries(wanted)) {
      const found = key in got ? differenceIn(one, got[key], `${at}/${key}`) : `${at}/${key} (missing)`;
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return Object.is(wanted, got) ? undefined : at || "/";
}
