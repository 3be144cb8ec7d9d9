import type { Json, Side } from "@parlance/wire";

/**
 * What a change breaks: `client`, an existing client of the new server; `server`, a server that expects what new clients no longer
 * send; `source`, a program that is compiled against the new types.
 */
export type Party = "client" | "server" | "source";
export type Breaks = readonly Party[];

/** What changed from one version of a contract to the next, and whom it breaks. */
export interface Change {
  /** In the order client, server, source; empty for a safe change. */
  readonly breaks: Breaks;
  readonly what: string;
  /** Why it breaks them, or why it is safe. */
  readonly why: string;
  /** In the new contract; for a removal, in the old one. */
  readonly file: string;
  readonly pointer: string;
  /** A value that the reader refuses, where values break. */
  readonly example?: Json;
  /** Whether it could not be decided if it breaks anybody. */
  readonly unclear?: true;
}

/** The sides that write a schema's values. */
export type Writers = ReadonlySet<Side>;

/** Merges two verdicts on one change. */
export function either<V extends Pick<Change, "breaks" | "why">>(one: V, other: V): V {
  const breaks = (["client", "server", "source"] as const).filter(
    (party) => one.breaks.includes(party) || other.breaks.includes(party),
  );
  const why =
    one.why === other.why || other.breaks.length === 0
      ? one.why
      : one.breaks.length === 0
        ? other.why
        : `${one.why}; ${other.why}`;
  return { ...other, ...one, breaks, why };
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

/** Compares the names of two lists or records: kept, gone and added. */
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

const reasons: Readonly<Record<string, string>> = {
  "": "no client or server depends on it",
  client: "existing clients use the old form",
  server: "existing servers use the old form",
  source: "programs use the name; the bytes on the wire are the same",
  "client,source": "existing clients use it, and programs name it",
  "client,server": "both sides must use the same form",
  "client,server,source": "both sides must use the same form, and programs name it",
};

/** A change in contract.json. */
export const inContract = (
  breaks: Breaks,
  pointer: string,
  what: string,
  why = reasons[breaks.join()] ?? "",
): Change => ({ breaks, why, what, file: "contract.json", pointer });

/** A value of contract.json, in a sentence. */
export const say = (value: unknown) => (value === undefined ? "not given" : JSON.stringify(value));
