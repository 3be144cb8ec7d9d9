import type { Contract } from "@parlance/wire";
import type { Entry, HeaderList } from "../recording.js";
import { cleanPath, secretPaths } from "../target.js";
import { EntryCleaner } from "./entries.js";
import { type Cleaner, cleanHeader, split } from "./headers.js";
import { cleanJson, jsonIn } from "./json.js";
import { encodeUrl, Known } from "./known.js";
import { isSecret, kindsWith, MIN_SECRET, type NameKind } from "./names.js";
import { replaceTokens } from "./tokens.js";

export interface RedactOptions {
  /** The contract, for its API key's header, its headers, and the properties and parameters marked with `x-secret`. */
  readonly contract?:
    | (Pick<Contract, "auth" | "secrets"> & Partial<Pick<Contract, "operations" | "channels">>)
    | undefined;
  /** Replaced wherever they match, in any text. */
  readonly patterns?: readonly RegExp[] | undefined;
  /** Replaced wherever they are, in any text and in its encodings. Each has 8 characters or more. */
  readonly secrets?: readonly string[] | undefined;
}

/** The most headers that are remembered as harmless. */
const MAX_HEADERS = 500;

/** How often a value of a query may hold another query. */
const MAX_NESTED = 3;

/**
 * Replaces secrets in a recording. Headers are kept by an allow-list, properties and parameters are left out by their name, and a text is
 * searched for known forms of tokens and for secrets that were given or seen before. Free text is not searched for others.
 */
export class Redactor implements Cleaner {
  readonly #marked: readonly string[];
  readonly #declared: ReadonlySet<string>;
  readonly #routes: readonly RegExp[];
  readonly #patterns: readonly RegExp[];
  readonly #given: number;
  readonly #known = new Known();
  readonly #entries = new EntryCleaner(this);
  /** Headers without a secret. Most are those of the request before. */
  readonly #harmless = new Set<string>();
  /** What the name of a property, parameter or header says of its value. */
  readonly kindOf: (name: string) => NameKind;

  constructor({ contract, patterns = [], secrets = [] }: RedactOptions = {}) {
    this.#marked = [...(contract?.secrets ?? []), ...(contract?.auth?.header ? [contract.auth.header] : [])];
    this.kindOf = kindsWith(this.#marked);
    this.#declared = new Set(contract ? headersOf(contract).filter((name) => this.kindOf(name) === "plain") : []);
    this.#routes = contract ? secretPaths(contract) : [];
    this.#patterns = patterns.map(
      (one) => new RegExp(one.source, one.flags.includes("g") ? one.flags : `${one.flags}g`),
    );
    this.#given = secrets.length;
    for (const secret of secrets) {
      if (secret.length < MIN_SECRET)
        throw new RangeError(`a secret needs ${MIN_SECRET} characters or more to be found`);
      this.#known.give(secret);
    }
  }

  /** The kinds of replaced secrets, for the header. What the caller gave is only counted: a pattern may be a secret too. */
  rules(): string[] {
    const patterns = this.#patterns.length === 0 ? [] : [`${this.#patterns.length} patterns of the caller`];
    const given = this.#given === 0 ? [] : [`${this.#given} secrets of the caller`];
    const rules = ["headers that are not known to be harmless", "properties named as secrets", "known forms of tokens"];
    return [...rules, ...this.#marked.map((name) => `contract: ${name}`), ...patterns, ...given];
  }

  headers(headers: HeaderList): HeaderList {
    return headers.map((header) => {
      const [name, value] = header;
      const known = `${name}:${value}`;
      if (this.#harmless.has(known)) return header;
      const clean = cleanHeader(name.toLowerCase(), value, this);
      if (clean !== value) return [name, clean] as const;
      if (this.#harmless.size >= MAX_HEADERS) this.#harmless.clear();
      if (value.length <= MAX_HEADERS) this.#harmless.add(known);
      return header;
    });
  }

  /** Path and query. */
  target(target: string): string {
    const [path, query] = split(target, "?");
    const clean = cleanPath(path, this.#routes, (secret) => this.replace(decodeUrl(secret)))
      .split("/")
      .map((part) => this.#escaped(part))
      .join("/");
    return this.scrub(query === undefined ? clean : `${clean}?${this.#pairs(query)}`);
  }

  /** A body or message: properties of JSON, fields of a form, and then as `scrub`. */
  text(text: string): string {
    return this.#json(text) ?? this.scrub(isForm(text) ? this.#pairs(text) : text);
  }

  /** Any text: known forms of tokens, the caller's patterns, and every secret that was given or seen before. */
  scrub(text: string): string {
    let clean = replaceTokens(this.#known.replaceIn(text), (token) => this.replace(token));
    for (const pattern of this.#patterns)
      clean = clean.replace(pattern, (found) => (found === "" ? "" : this.replace(found)));
    return clean;
  }

  /** A line of a recording that somebody else may have made. Call it for each line, because the headers name the encoding of a body. */
  entry(entry: Entry): Entry {
    return this.#entries.clean(entry);
  }

  /** Returns the placeholder of a secret, and searches for it from now on. */
  replace(secret: string): string {
    this.#harmless.clear();
    return this.#known.of(secret);
  }

  hide(value: string): string {
    return this.#known.hide(value);
  }

  isDeclared(header: string): boolean {
    return this.#declared.has(header);
  }

  isMarked(name: string): boolean {
    return this.#marked.includes(name);
  }

  #json(text: string): string | undefined {
    const value = jsonIn(text);
    return value && this.scrub(cleanJson(text, value, this));
  }

  /** A query or a form. */
  #pairs(text: string, depth = 0): string {
    return text
      .split("&")
      .map((pair) => {
        const [name, value] = split(pair, "=");
        if (!value) return pair;
        const plain = decodeUrl(value.replaceAll("+", " "));
        if (isSecret(this.kindOf(decodeUrl(name)), plain)) return `${name}=${this.replace(plain)}`;
        const clean = this.#value(plain, depth);
        return clean === plain ? pair : `${name}=${encodeUrl(clean)}`;
      })
      .join("&");
  }

  /** A value of a query or a form, which may be a query itself. */
  #value(text: string, depth: number): string {
    const json = this.#json(text);
    if (json !== undefined) return json;
    if (depth >= MAX_NESTED || !text.includes("=")) return this.scrub(text);
    const [before, query] = split(text, "?");
    return this.scrub(
      query === undefined ? this.#pairs(text, depth + 1) : `${before}?${this.#pairs(query, depth + 1)}`,
    );
  }

  /** A part of a path. */
  #escaped(text: string): string {
    if (!text.includes("%")) return text;
    const plain = decodeUrl(text);
    const clean = this.scrub(plain);
    return clean === plain ? text : encodeUrl(clean);
  }
}

/** Whether a text is a form as a browser sends it, or a query. */
const isForm = (text: string) => /^[\w.%+[\]-]+=[^\s{}"<>&]*(?:&[^\s{}"<>&=]+=[^\s{}"<>&]*)*$/.test(text);

/** A part of a URL as text. An invalid escape does not hide the rest. */
function decodeUrl(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    const bytes = Uint8Array.from(run.slice(1).split("%"), (two) => Number.parseInt(two, 16));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  });
}

/** The headers that a contract has as parameters, in lower case. */
function headersOf({ operations = {}, channels = {} }: NonNullable<RedactOptions["contract"]>): string[] {
  return [...Object.values(operations), ...Object.values(channels)].flatMap(({ parameters = {} }) =>
    Object.entries(parameters).flatMap(([name, parameter]) => (parameter.in === "header" ? [name.toLowerCase()] : [])),
  );
}
