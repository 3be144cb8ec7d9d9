import type { Side } from "@parlance/wire";

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
}

/** The sides that write a schema's values. */
export type Writers = ReadonlySet<Side>;

/** A verdict with its reason. */
export type Verdict = Pick<Change, "breaks" | "why">;

const verdict = (breaks: Breaks, why: string): Verdict => ({ breaks, why });
export const safe = (why: string) => verdict([], why);

/**
 * A server adopts a contract before its clients do. So what a client may newly send is safe, and what a server may newly send is not.
 */
export function ofWiden(writers: Writers): Verdict {
  return writers.has("server")
    ? verdict(["client"], "existing clients reject what the server may now send")
    : safe("servers adopt a contract first, so they read it before clients send it");
}

/** A new requirement rejects what existing clients send. A server's program is compiled again. */
export function ofNarrow(writers: Writers): Verdict {
  return writers.has("client")
    ? verdict(["client", "source"], "the server rejects what existing clients send")
    : verdict(["source"], "existing clients can read it, but server code must send it");
}

/** The verdict on a tighter bound, pattern or format, which types do not express. */
export function ofBound(writers: Writers): Verdict {
  return writers.has("client") ? ofBoundOfClient : safe("existing clients can read it");
}
const ofBoundOfClient = verdict(["client"], "the server rejects what existing clients send");

/** A removal breaks the readers. */
export function ofRemove(writers: Writers): Verdict {
  const readers: Party[] = [];
  if (writers.has("server")) readers.push("client");
  if (writers.has("client")) readers.push("server");
  return verdict(
    [...readers, "source"],
    `${readers.map((one) => `the ${one}`).join(" and ")} may read what is no longer sent`,
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
