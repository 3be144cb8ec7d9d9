import type { Contract } from "@parlance/contract";
import { isObject } from "@parlance/wire";
import type { Entry, HeaderList } from "../recording.js";
import { encodingOf, packedAs } from "./encoding.js";
import { bare, isVague, kindOfName } from "./names.js";
import { decode, jsonIn, split } from "./parts.js";
import { Placeholders } from "./placeholders.js";
import { isSecretHeader, isSecretName, looksSecret, merged, type Span, secretsIn } from "./secrets.js";

export interface RedactOptions {
  /** The contract, for its API key's header and the properties and parameters marked with `x-secret`. */
  readonly contract?: Pick<Contract, "auth" | "secrets">;
  /** Replaced wherever they match, in any text. */
  readonly patterns?: readonly RegExp[];
}

/** Replaces secrets in a recording. A secret keeps its placeholder, and is also replaced in every later text. */
export class Redactor {
  readonly #names: ReadonlySet<string>;
  readonly #patterns: readonly RegExp[];
  readonly #placeholders = new Placeholders();
  /** Of bodies that are not read yet, by side and connection. */
  readonly #encodings = new Map<string, string>();

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
      "values behind names of secrets in texts",
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

  /** A body or message: properties of JSON, fields of a form, and then as `scrub`. `json` is what `jsonIn` reads in it. */
  text(text: string, json = jsonIn(text)): string {
    // The texts in it are clean of known forms; what was seen before may be encoded.
    if (json !== undefined) return this.#seen(this.#cleaned(text, json));
    if (/^[\w.%+[\]-]+=[^\s{}]*$/.test(text)) return this.scrub(this.#pairs(text));
    return this.scrub(/^--\S/.test(text) ? this.#parts(text) : text);
  }

  /** Any text: known forms of keys, values behind names, the caller's patterns, and every secret seen before. */
  scrub(text: string): string {
    return this.#seen(this.#forms(text));
  }

  /** The places of all secrets in a text. */
  find(text: string): Span[] {
    const patterns = this.#patterns.flatMap((pattern) =>
      [...text.matchAll(pattern)].map(({ index, 0: found }) => ({ from: index, to: index + found.length })),
    );
    return [...secretsIn(text), ...patterns, ...this.#placeholders.known.find(text)].filter(
      ({ from, to }) => to > from,
    );
  }

  /** The position from which the end of a text begins a secret that was seen; the text's length if it begins none. */
  unfinished(text: string): number {
    return this.#placeholders.known.unfinished(text);
  }

  #forms(text: string): string {
    const parts: string[] = [];
    let at = 0;
    for (const { from, to } of merged(secretsIn(text))) {
      parts.push(text.slice(at, from), this.replace(text.slice(from, to)));
      at = to;
    }
    return at === 0 ? text : parts.join("") + text.slice(at);
  }

  /** The caller's patterns, and secrets that were seen before, in any encoding. */
  #seen(text: string): string {
    let clean = text;
    for (const pattern of this.#patterns)
      clean = clean.replace(pattern, (found) => (found === "" ? "" : this.replace(found)));
    return this.#placeholders.known.replace(clean);
  }

  /** A line of a recording that somebody else may have made. Call it for each line, because the headers name the encoding of a body. */
  entry(entry: Entry): Entry {
    const side = `${entry.from} ${entry.c}`;
    if (entry.kind === "request" || entry.kind === "response") {
      const encoding = encodingOf(entry.headers);
      if (encoding === undefined) this.#encodings.delete(side);
      else this.#encodings.set(side, encoding);
    }
    if (entry.kind === "request")
      return { ...entry, target: this.target(entry.target), headers: this.headers(entry.headers) };
    if (entry.kind === "response") return { ...entry, headers: this.headers(entry.headers) };
    if (entry.kind === "body" || entry.kind === "frame") {
      const left = this.#leftOut(entry, entry.kind === "body" ? this.#encodings.get(side) : undefined);
      if (entry.kind === "body") this.#encodings.delete(side);
      if (left) return left;
    }
    if (entry.kind === "close") return { ...entry, reason: this.scrub(entry.reason) };
    if (entry.kind === "error") return { ...entry, text: this.scrub(entry.text) };
    if (!("text" in entry || "base64" in entry)) return entry;
    const text = entry.text === undefined ? undefined : this.text(entry.text);
    const base64 = entry.base64 === undefined ? undefined : btoa(this.text(atob(entry.base64)));
    const clean = { ...entry, ...(text !== undefined && { text }), ...(base64 !== undefined && { base64 }) };
    if (clean.kind !== "event") return clean;
    const { raw, ...event } = clean;
    return {
      ...event,
      ...(event.event !== undefined && { event: this.scrub(event.event) }),
      ...(event.id !== undefined && { id: this.scrub(event.id) }),
      // The block has the text: what was replaced in one is in the other.
      ...(raw !== undefined && text === entry.text && { raw: this.scrub(raw) }),
    };
  }

  /** A body without its text, if no secret can be found in it. */
  #leftOut(
    { text, base64, ...entry }: Extract<Entry, { kind: "body" | "frame" }>,
    named: string | undefined,
  ): Entry | undefined {
    if (base64 === undefined && (text === undefined || named === undefined)) return undefined;
    const size = base64 === undefined ? text!.length : Math.floor((base64.length * 3) / 4);
    const encoding = named ?? packedAs(Uint8Array.from(atob(base64!.slice(0, 16)), (one) => one.charCodeAt(0)));
    return encoding === undefined ? undefined : { ...entry, size, encoding };
  }

  #isSecret(name: string, value: unknown): boolean {
    return (this.#names.size > 0 && this.#names.has(bare(name))) || isSecretName(name, value);
  }

  #header(name: string, value: string): string {
    if (name === "authorization" || name === "proxy-authorization") {
      const [scheme, rest] = split(value, " ");
      if (rest === undefined) return this.replace(value);
      if (/^basic$/i.test(scheme)) this.#basic(rest);
      return `${scheme} ${this.replace(rest.trim())}`;
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
    if (name === "parlance-resume" && /^[0-9a-f]{32}$/.test(value)) return this.replace(value);
    if (name === "referer" || name === "location") return this.target(value);
    if (this.#isSecret(name, value) || isSecretHeader(name, value)) return this.replace(value);
    return this.scrub(value);
  }

  /** Basic authentication; its password may also occur alone elsewhere. */
  #basic(encoded: string): void {
    try {
      const password = split(atob(encoded), ":")[1];
      if (password) this.replace(password);
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
      if (name === "parlance" && rest !== undefined) return `parlance.${this.replace(rest)}`;
      return is ? this.replace(protocol) : protocol;
    });
    return offered.join(", ");
  }

  /** One cookie. */
  #pair(pair: string): string {
    const [name, value] = split(pair, "=");
    return value === undefined || value === "" ? pair : `${name}=${this.replace(value)}`;
  }

  /** A query or a form. */
  #pairs(text: string): string {
    return text
      .split("&")
      .map((pair) => {
        const [name, value] = split(pair, "=");
        if (!value || !this.#isSecret(decode(name), decode(value))) return pair;
        return `${name}=${this.replace(decode(value))}`;
      })
      .join("&");
  }

  /** A form in parts (multipart/form-data, RFC 7578), whose first line separates them. */
  #parts(text: string): string {
    const [boundary = ""] = /^--[^\r\n]{1,200}/.exec(text) ?? [];
    return text
      .split(boundary)
      .map((part) => {
        const blank = /\r?\n\r?\n/.exec(part);
        const disposition = blank && /content-disposition:[^\r\n]*/i.exec(part.slice(0, blank.index))?.[0];
        const name = disposition && /\bname="?([^"\r\n;]{1,200})/i.exec(disposition)?.[1];
        if (!blank || !name) return part;
        const from = blank.index + blank[0].length;
        const value = part.slice(from).replace(/\r?\n$/, "");
        if (value === "" || !this.#isSecret(name, value)) return part;
        return part.slice(0, from) + this.replace(value) + part.slice(from + value.length);
      })
      .join(boundary);
  }

  /** JSON without its secrets; undefined if the text is not JSON. */
  #json(text: string): string | undefined {
    const json = jsonIn(text);
    return json === undefined ? undefined : this.#cleaned(text, json);
  }

  #cleaned(text: string, json: object): string {
    const clean = this.#walk(json, false, 0);
    // A text without secrets keeps its own spaces and numbers.
    return clean === json ? text : JSON.stringify(clean);
  }

  /** Returns the same value if nothing was replaced in it. */
  #walk(value: unknown, secret: boolean, depth: number, suspect = false): unknown {
    if (depth > 64) return value;
    if (typeof value === "string") {
      if (secret) return value === "" ? value : this.replace(value);
      return this.#json(value) ?? this.#forms(value);
    }
    if (secret && typeof value === "number") return this.replace(String(value));
    if (Array.isArray(value)) {
      const items = value.map((item) =>
        this.#walk(item, secret || (suspect && typeof item === "string" && looksSecret(item)), depth + 1),
      );
      return items.some((item, at) => item !== value[at]) ? items : value;
    }
    if (!isObject(value)) return value;
    const object: Readonly<Record<string, unknown>> = value;
    const keys = Object.keys(object);
    /** The entries so far, once one of them has changed. */
    let entries: [string, unknown][] | undefined;
    for (const [at, key] of keys.entries()) {
      const inner = object[key];
      const suspects = typeof inner === "object" && kindOfName(key) === "suspect";
      const isSuspect = suspect && typeof inner === "string" && looksSecret(inner) && isVague(key);
      const clean = this.#walk(inner, secret || isSuspect || this.#isSecret(key, inner), depth + 1, suspects);
      const name = this.#forms(key);
      if (clean !== inner || name !== key) entries ??= keys.slice(0, at).map((one) => [one, object[one]]);
      entries?.push([name, clean]);
    }
    return entries ? Object.fromEntries(entries) : value;
  }

  /** Returns the placeholder of a secret, and searches for it from now on. */
  replace(secret: string): string {
    return this.#placeholders.of(secret);
  }

  /** Returns the placeholder of a piece of a secret. */
  replacePiece(piece: string): string {
    return this.#placeholders.ofPiece(piece);
  }
}
