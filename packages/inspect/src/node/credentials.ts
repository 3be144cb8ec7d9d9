import type { HeaderList } from "@parlance/recordings/internal/entries";
import { type RedactOptions, Redactor } from "@parlance/recordings/internal/redaction";
import type { CredentialInfo } from "../ask.js";

/** The credentials of a request. */
export interface Credential {
  readonly headers: HeaderList;
  /** Names and values of the query. */
  readonly query: HeaderList;
}

/** The most credentials that are held; the oldest are forgotten first. */
const MAX_HELD = 20;

/** The most connections whose credentials are known. */
const MAX_CONNECTIONS = 1000;

/** The most names that are remembered as secret or not. */
const MAX_NAMES = 500;

/** A value that only the name beside it makes a secret: it has no known form, and is long enough for one. */
const PROBE = "probe-secret-4711";
/** The same as a cookie. */
const PAIR = `probe=${PROBE}`;

/**
 * The credentials of observed requests, so that a person can answer as the client that was asked. They stay in memory and are sent to the
 * target only. A header, cookie or query parameter is one of them if a recording leaves it out because of its name.
 */
export class Credentials {
  readonly #options: RedactOptions;
  /** The least recently seen first. */
  readonly #held = new Map<string, { readonly c: number; readonly credential: Credential }>();
  /** Connection -> the key of its credentials. */
  readonly #keys = new Map<number, string>();
  readonly #names = new Map<string, boolean>();

  constructor(options: RedactOptions) {
    this.#options = options;
  }

  observe(c: number, target: string, headers: HeaderList): void {
    const query = [...new URLSearchParams(target.split("?")[1] ?? "")];
    const credential: Credential = {
      headers: headers.filter(([name]) => this.#isSecret(`header ${name.toLowerCase()}`)),
      query: query.filter(([name]) => this.#isSecret(`query ${name}`)),
    };
    if (credential.headers.length + credential.query.length === 0) return;
    const key = JSON.stringify(credential);
    const held = this.#held.get(key) ?? { c, credential };
    this.#held.delete(key);
    this.#held.set(key, held);
    this.#keys.set(c, key);
    if (this.#held.size > MAX_HELD) this.#held.delete(this.#held.keys().next().value!);
    if (this.#keys.size > MAX_CONNECTIONS) this.#keys.delete(this.#keys.keys().next().value!);
  }

  /** Their names, the last seen first. */
  list(): CredentialInfo[] {
    return [...this.#held.values()].reverse().map(({ c, credential: { headers, query } }) => ({
      c,
      names: [...headers.map(([name]) => name), ...query.map(([name]) => `?${name}`)],
    }));
  }

  of(c: number): Credential | undefined {
    return this.#held.get(this.#keys.get(c) ?? "")?.credential;
  }

  /** The first connection that had those of this one. */
  first(c: number): number | undefined {
    return this.#held.get(this.#keys.get(c) ?? "")?.c;
  }

  #isSecret(place: string): boolean {
    const known = this.#names.get(place);
    if (known !== undefined) return known;
    // Its own, because the probe is a secret from then on.
    const redactor = new Redactor(this.#options);
    const [kind, ...words] = place.split(" ");
    const name = words.join(" ");
    const target = `/?${encodeURIComponent(name)}=${PROBE}`;
    const isSecret =
      kind === "header" ? redactor.headers([[name, PAIR]])[0]![1] !== PAIR : redactor.target(target) !== target;
    if (this.#names.size >= MAX_NAMES) this.#names.clear();
    this.#names.set(place, isSecret);
    return isSecret;
  }
}
