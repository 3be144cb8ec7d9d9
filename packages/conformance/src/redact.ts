import type { Contract } from "@parlance/contract";
import { isObject } from "@parlance/wire";
import { Known, SHORTEST } from "./known.js";
import type { HeaderList } from "./recording.js";

export interface RedactOptions {
  /** The contract, for its API key's header and the properties and parameters marked with `x-secret`. */
  readonly contract?: Pick<Contract, "auth" | "secrets">;
  /** Replaced wherever they match, in any text. */
  readonly patterns?: readonly RegExp[];
}

/** Names of headers, parameters and properties that hold secrets, without case, `-` and `_`. */
const SECRET =
  /^(x?(auth|authorization|proxyauthorization)|cookies?|setcookie|bearer|jwt|(\w*)(password|passwd|passphrase|secret|credentials?|apikey|accesskey|secretkey|privatekey|authkey|(access|auth|bearer|id|refresh|session|api|csrf|xsrf|security|secret|client|user|device)token))$/;
/** Names that hold secrets where the value looks like one: `token` is also a word of text, `ticket` a number. */
const SUSPECT = /^(\w*token|ticket|key|signature|sig|code|pwd)$/;
/** Secrets that are known by their form. The first group is the secret. */
const FORMS =
  /\b(?:Bearer|Basic)\s+([\w.~+/-]{8,}=*)|\b(eyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*)|\b((?:sk|pk|rk)[-_][\w-]{16,})|\b(gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|AKIA[A-Z0-9]{16}|AIza[\w-]{30,})|(-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-----END [A-Z ]*PRIVATE KEY-----)|(?<=:\/\/[^\s/:@]*:)([^\s/@]{3,})(?=@)/g;
/** A substring of each of them, so that most texts are not searched. */
const HINT = /B(?:earer|asic)|eyJ|[sprk]k[-_]|gh[opsur]_|github_pat_|glpat-|xox|AKIA|AIza|PRIVATE KEY|:\/\//;
/** The maximum number of secrets searched for in other texts. The oldest is dropped first. */
const MOST = 1000;

/** The placeholder of a secret in a recording. */
export const PLACEHOLDER = /__redacted_\d+__/g;

/** Replaces secrets in a recording. A secret keeps its placeholder, and is also replaced in every later text. */
export class Redactor {
  readonly #names: ReadonlySet<string>;
  readonly #patterns: readonly RegExp[];
  readonly #placeholders = new Map<string, string>();
  readonly #known = new Known();
  #count = 0;

  constructor({ contract, patterns = [] }: RedactOptions = {}) {
    const own = [...(contract?.secrets ?? []), ...(contract?.auth?.header ? [contract.auth.header] : [])];
    this.#names = new Set(own.map(bare));
    this.#patterns = patterns.map(
      (one) => new RegExp(one.source, one.flags.includes("g") ? one.flags : `${one.flags}g`),
    );
  }

  /** The kinds of replaced secrets, for the header. A pattern may be a secret itself, so patterns are only counted. */
  rules(): string[] {
    const patterns = this.#patterns.length === 0 ? [] : [`${this.#patterns.length} patterns of the caller`];
    const rules = [
      "credentials in headers, cookies and queries",
      "tickets",
      "properties named as secrets",
      "known forms of keys",
    ];
    return [...rules, ...[...this.#names].map((name) => `contract: ${name}`), ...patterns];
  }

  headers(headers: HeaderList): HeaderList {
    return headers.map(([name, value]) => [name, this.#header(name.toLowerCase(), value)] as const);
  }

  /** Path and query. */
  target(target: string): string {
    const [path, query] = split(target, "?");
    return this.scrub(query === undefined ? path : `${path}?${this.#pairs(query)}`);
  }

  /** A body or message: properties of JSON, fields of a form, and then as `scrub`. */
  text(text: string): string {
    const json = this.#json(text);
    if (json !== undefined) return this.scrub(json);
    return this.scrub(/^[\w.%+-]+=[^\s{}]*$/.test(text) ? this.#pairs(text) : text);
  }

  /** Any text: known forms of keys, the caller's patterns, and every secret seen before. */
  scrub(text: string): string {
    let scrubbed = !HINT.test(text)
      ? text
      : text.replace(FORMS, (whole, ...groups) => {
          const secret = groups.find((group, at) => at < 6 && group !== undefined) as string | undefined;
          // "Basic authentication" is prose.
          if (secret === undefined || (groups[0] !== undefined && !looksSecret(secret))) return whole;
          return whole.replace(secret, () => this.#replace(secret));
        });
    for (const pattern of this.#patterns)
      scrubbed = scrubbed.replace(pattern, (found) => (found === "" ? "" : this.#replace(found)));
    return this.#known.replace(scrubbed);
  }

  #isSecret(name: string, value: unknown): boolean {
    const plain = bare(name);
    if (this.#names.has(plain) || SECRET.test(plain)) return true;
    return SUSPECT.test(plain) && typeof value === "string" && looksSecret(value);
  }

  #header(name: string, value: string): string {
    if (name === "authorization" || name === "proxy-authorization") {
      const [scheme, rest] = split(value, " ");
      if (rest === undefined) return this.#replace(value);
      if (/^basic$/i.test(scheme)) this.#basic(rest);
      return `${scheme} ${this.#replace(rest.trim())}`;
    }
    if (name === "cookie")
      return value
        .split(";")
        .map((pair) => this.#pair(pair))
        .join(";");
    if (name === "set-cookie") {
      const [first, rest] = split(value, ";");
      return this.#pair(first) + (rest === undefined ? "" : `;${this.scrub(rest)}`);
    }
    if (name === "sec-websocket-protocol") return this.#protocols(value);
    // A ticket gives access to its stream or channel.
    if (name === "parlance-resume" && /^[0-9a-f]{32}$/.test(value)) return this.#replace(value);
    if (name === "referer" || name === "location") return this.target(value);
    if (this.#isSecret(name, value) || /(token|secret|api-?key|password|credential)/.test(name))
      return this.#replace(value);
    return this.scrub(value);
  }

  /** Basic authentication; its password may also occur alone elsewhere. */
  #basic(encoded: string): void {
    try {
      const password = split(atob(encoded), ":")[1];
      if (password) this.#replace(password);
    } catch {
      // Not base64.
    }
  }

  /** Tickets and tokens are offered as subprotocols, because a page cannot set a header on a WebSocket. */
  #protocols(value: string): string {
    let secretNext = false;
    const offered = value.split(",").map((one) => {
      const protocol = one.trim();
      const [name, rest] = split(protocol, ".");
      const is = secretNext || looksSecret(protocol);
      secretNext = /^(bearer|token|ticket|auth|authorization|access_token|jwt)$/i.test(protocol);
      if (name === "parlance" && rest !== undefined) return `parlance.${this.#replace(rest)}`;
      return is ? this.#replace(protocol) : protocol;
    });
    return offered.join(", ");
  }

  /** One cookie. */
  #pair(pair: string): string {
    const [name, value] = split(pair, "=");
    return value === undefined || value === "" ? pair : `${name}=${this.#replace(value)}`;
  }

  /** A query or a form. */
  #pairs(text: string): string {
    return text
      .split("&")
      .map((pair) => {
        const [name, value] = split(pair, "=");
        if (!value || !this.#isSecret(decode(name), decode(value))) return pair;
        return `${name}=${this.#replace(decode(value))}`;
      })
      .join("&");
  }

  /** JSON without its secrets; undefined if it has none, or the text is not JSON. */
  #json(text: string): string | undefined {
    if (!/^\s*[[{]/.test(text)) return undefined;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return undefined;
    }
    const clean = this.#walk(value, false, 0);
    // A text without secrets keeps its own spaces and numbers.
    return clean === value ? undefined : JSON.stringify(clean);
  }

  /** Returns the same value if nothing was replaced in it. */
  #walk(value: unknown, secret: boolean, depth: number): unknown {
    if (depth > 64) return value;
    if (typeof value === "string") {
      if (secret) return value === "" ? value : this.#replace(value);
      return this.#json(value) ?? value;
    }
    if (secret && typeof value === "number") return this.#replace(String(value));
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#walk(item, secret, depth + 1));
      return items.some((item, at) => item !== value[at]) ? items : value;
    }
    if (!isObject(value)) return value;
    let changed = false;
    const entries = Object.entries(value).map(([key, inner]) => {
      const clean = this.#walk(inner, secret || this.#isSecret(key, inner), depth + 1);
      changed ||= clean !== inner;
      return [key, clean] as const;
    });
    return changed ? Object.fromEntries(entries) : value;
  }

  /** Returns the placeholder of a secret, and searches for it from now on. */
  #replace(secret: string): string {
    if (new RegExp(`^${PLACEHOLDER.source}$`).test(secret)) return secret;
    const found = this.#placeholders.get(secret);
    if (found !== undefined) return found;
    const placeholder = `__redacted_${++this.#count}__`;
    this.#placeholders.set(secret, placeholder);
    // A shorter secret is replaced only in its own place: elsewhere it may be a word.
    for (const form of secret.length < SHORTEST ? [] : formsOf(secret)) this.#known.add(form, placeholder);
    if (this.#placeholders.size > MOST) this.#forget();
    return placeholder;
  }

  #forget(): void {
    const [oldest, placeholder] = this.#placeholders.entries().next().value!;
    this.#placeholders.delete(oldest);
    for (const form of formsOf(oldest)) this.#known.delete(form, placeholder);
  }
}

/** The encodings of a secret in a text: plain, in a URL, in JSON, in JSON within JSON, in base64. */
function formsOf(secret: string): Set<string> {
  const json = JSON.stringify(secret).slice(1, -1);
  const base64 = toBase64(secret);
  const url = encodeURIComponent(secret.replace(/\p{Surrogate}/gu, ""));
  return new Set([
    secret,
    url,
    url.replaceAll("%20", "+"),
    json,
    JSON.stringify(json).slice(1, -1),
    // Its last characters depend on what follows the secret.
    ...(base64.length > 12
      ? [base64, base64.replace(/=+$/, ""), base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")]
      : []),
  ]);
}

function toBase64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text.slice(0, 10_000))));
}

/** Long, without spaces, with a digit: not a word. */
function looksSecret(value: string): boolean {
  return value.length >= 12 && /\d/.test(value) && !/\s/.test(value);
}

const bare = (name: string) => name.toLowerCase().replace(/[-_]/g, "");

function split(text: string, by: string): [string, string | undefined] {
  const at = text.indexOf(by);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + by.length)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
