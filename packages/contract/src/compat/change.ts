import type { Side } from "../model.js";

/** What changed from one version of a contract to the next, and whose programs have to change with it. */
export interface Change {
  readonly breaking: "clients" | "servers" | "both" | "none";
  readonly what: string;
  /** In the new contract; of what is gone, in the old one. */
  readonly file: string;
  readonly pointer: string;
}

/** Who writes what a schema describes. */
export type Writers = ReadonlySet<Side>;

/**
 * The law of both modules. A server takes up a contract before its clients do. So what a client may newly say is safe, and
 * what a server may newly say is not; what a writer has to say newly breaks the writer.
 */
export function ofWiden(writers: Writers): Change["breaking"] {
  return writers.has("server") ? "clients" : "none";
}

export function ofNarrow(writers: Writers): Change["breaking"] {
  return writers.size === 2 ? "both" : writers.has("client") ? "clients" : "servers";
}

/** A removal breaks the readers. */
export function ofRemove(writers: Writers): Change["breaking"] {
  return writers.size === 2 ? "both" : writers.has("client") ? "servers" : "clients";
}

export function either(one: Change["breaking"], other: Change["breaking"]): Change["breaking"] {
  if (one === "none" || one === other) return other;
  return other === "none" ? one : "both";
}

export const same = (one: unknown, other: unknown): boolean =>
  JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  );
}

/** Names of two lists or records: those of both, those gone, those new. */
export function match(
  before: Iterable<string>,
  after: Iterable<string>,
): { kept: string[]; gone: string[]; added: string[] } {
  const [one, other] = [new Set(before), new Set(after)];
  return {
    kept: [...one].filter((name) => other.has(name)),
    gone: [...one].filter((name) => !other.has(name)),
    added: [...other].filter((name) => !one.has(name)),
  };
}

/** A change in contract.json. */
export const inContract = (breaking: Change["breaking"], pointer: string, what: string): Change => ({
  breaking,
  what,
  file: "contract.json",
  pointer,
});

/** A value of contract.json, in a sentence. */
export const say = (value: unknown) => (value === undefined ? "not given" : JSON.stringify(value));
