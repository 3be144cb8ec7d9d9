import type { Side } from "../model/message.js";

/**
 * Who is broken by a change: `client`, a client of before at a server of now; `server`, a server that reads what clients of now no
 * longer write; `source`, a program that is compiled against the types of now.
 */
export type Party = "client" | "server" | "source";
export type Breaks = readonly Party[];

/** What changed from one version of a contract to the next, and whom it breaks. */
export interface Change {
  /** In the order client, server, source; empty where nobody has to change. */
  readonly breaks: Breaks;
  readonly what: string;
  /** Why it breaks them, or why nobody. */
  readonly why: string;
  /** In the new contract; of what is gone, in the old one. */
  readonly file: string;
  readonly pointer: string;
}

/** Who writes what a schema describes. */
export type Writers = ReadonlySet<Side>;

/** A verdict with its reason. */
export type Verdict = Pick<Change, "breaks" | "why">;

const verdict = (breaks: Breaks, why: string): Verdict => ({ breaks, why });
export const safe = (why: string) => verdict([], why);

/**
 * The law of both modules. A server takes up a contract before its clients do. So what a client may newly say is safe, and
 * what a server may newly say is not.
 */
export function ofWiden(writers: Writers): Verdict {
  return writers.has("server")
    ? verdict(["client"], "a client of before refuses what a server may write now")
    : safe("a server reads it before a client writes it");
}

/** What has to be said newly, or may no longer be, is refused of a client of before; a server's program is compiled again. */
export function ofNarrow(writers: Writers): Verdict {
  return writers.has("client")
    ? verdict(["client", "source"], "a server of now refuses what a client of before writes")
    : verdict(["source"], "every reader understands it; a server's program has to write it so");
}

/** The same for a bound, a pattern or a format, which no type says. */
export function ofBound(writers: Writers): Verdict {
  return writers.has("client") ? ofBoundOfClient : safe("every reader understands it");
}
const ofBoundOfClient = verdict(["client"], "a server of now refuses what a client of before writes");

/** A removal breaks the readers. */
export function ofRemove(writers: Writers): Verdict {
  const readers: Party[] = [];
  if (writers.has("server")) readers.push("client");
  if (writers.has("client")) readers.push("server");
  return verdict(
    [...readers, "source"],
    `${readers.map((one) => `the ${one}`).join(" and ")} reads what is no longer there`,
  );
}

export function either(one: Verdict, other: Verdict): Verdict {
  const breaks = (["client", "server", "source"] as const).filter(
    (party) => one.breaks.includes(party) || other.breaks.includes(party),
  );
  const why =
    one.why === other.why || other.breaks.length === 0
      ? one.why
      : one.breaks.length === 0
        ? other.why
        : `${one.why}; ${other.why}`;
  return { breaks, why };
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

const reasons: Readonly<Record<string, string>> = {
  "": "nobody relies on it",
  client: "a client of before knows it the other way",
  server: "a server of before knows it the other way",
  source: "programs name it; nothing changes on the wire",
  "client,source": "a client of before relies on it, and programs name it",
  "client,server": "both sides have to know it the same way",
  "client,server,source": "both sides have to know it the same way, and programs name it",
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
