import type { Contract } from "@parlance/wire";
import type { Entry, HeaderList } from "../recording.js";
import { cleanPath, secretPaths } from "../target.js";
import { encodeAs, packedIn } from "./base64.js";
import { Entries } from "./entries.js";
import { cleanHeader, credentialsIn, isStructured } from "./headers.js";
import { cleanJson } from "./json.js";
import { SHORTEST } from "./known.js";
import { isSecret } from "./looks.js";
import { idsWith, type KindOf, kindsWith } from "./names.js";
import { besideLabel, labelIn } from "./pairs.js";
import {
  decodeForm,
  decodeUrl,
  encodeUrl,
  escapedIn,
  jsonIn,
  partsOf,
  split,
  withoutNeedlessEscapes,
} from "./parts.js";
import { Placeholders } from "./placeholders.js";
import { randomIn } from "./random.js";
import { merged, overlaps, replaced, type Span } from "./span.js";
import { secretsIn } from "./text.js";
import { begunIn, findIn, replaceIn, unfinishedIn } from "./views.js";

export interface RedactOptions {
  /**
   * The contract, for its API key's header and the properties and parameters marked with `x-secret`. The values of its session and of the
   * keys of its exchanges are ids, which stay.
   */
  readonly contract?:
    | (Pick<Contract, "auth" | "secrets"> &
        Partial<Pick<Contract, "operations" | "channels" | "session" | "exchanges">>)
    | undefined;
  /** Replaced wherever they match, in any text. */
  readonly patterns?: readonly RegExp[] | undefined;
  /** Replaced wherever they are, in any text and in its encodings. Each has 8 characters or more. */
  readonly secrets?: readonly string[] | undefined;
}

/** The most headers that are kept as harmless. */
const MOST_HEADERS = 500;

/** The fewest characters of a beginning of a secret that is left out where the rest does not follow. */
const LEAST_BEGINNING = 6;

/** How often a text is read as one that is escaped in another. */
const MOST_ESCAPES = 5;

/** Replaces secrets in a recording. A secret keeps its placeholder, and is also replaced in every later text. */
export class Redactor {
  readonly #own: readonly string[];
  readonly #kindOf: KindOf;
  readonly #isId: (name: string) => boolean;
  readonly #routes: readonly RegExp[];
  readonly #patterns: readonly RegExp[];
  readonly #given: number;
  readonly #placeholders = new Placeholders(() => this.#harmless.clear());
  readonly #entries = new Entries(this);
  /** Headers without a secret. A new secret empties it. */
  readonly #harmless = new Set<string>();
  /** How many texts the one that is read is escaped in. */
  #escapes = 0;

  constructor({ contract, patterns = [], secrets = [] }: RedactOptions = {}) {
    this.#own = [...(contract?.secrets ?? []), ...(contract?.auth?.header ? [contract.auth.header] : [])];
    this.#kindOf = kindsWith(this.#own);
    this.#isId = idsWith(contract ? idsOf(contract) : []);
    this.#routes = contract ? secretPaths(contract) : [];
    this.#patterns = patterns.map(
      (one) => new RegExp(one.source, one.flags.includes("g") ? one.flags : `${one.flags}g`),
    );
    this.#given = secrets.length;
    for (const secret of secrets) {
      if (secret.length < SHORTEST) throw new RangeError(`a secret needs ${SHORTEST} characters or more to be found`);
      this.#placeholders.give(secret);
    }
  }

  /** The kinds of replaced secrets, for the header. What the caller gave is only counted: a pattern may be a secret too. */
  rules(): string[] {
    const patterns = this.#patterns.length === 0 ? [] : [`${this.#patterns.length} patterns of the caller`];
    const given = this.#given === 0 ? [] : [`${this.#given} secrets of the caller`];
    const rules = [
      "credentials in headers, cookies and queries",
      "tickets",
      "properties named as secrets",
      "known forms of keys",
      "values behind names of secrets in texts",
    ];
    return [...rules, ...this.#own.map((name) => `contract: ${name}`), ...patterns, ...given];
  }

  headers(headers: HeaderList): HeaderList {
    return headers.map((header) => {
      const [name, value] = header;
      const known = `${name}:${value}`;
      // Most are those of the request before.
      if (this.#harmless.has(known)) return header;
      const clean = this.#header(name.toLowerCase(), value);
      if (clean !== value || value.length > 500) return [name, clean] as const;
      if (this.#harmless.size >= MOST_HEADERS) this.#harmless.clear();
      this.#harmless.add(known);
      return header;
    });
  }

  /** Path and query. */
  target(target: string): string {
    const [path, query] = split(target, "?");
    const clean = cleanPath(path, this.#routes, (secret) => this.replace(decodeUrl(secret)));
    return this.id(query === undefined ? clean : `${clean}?${this.#pairs(query)}`);
  }

  /** A body or message: properties of JSON, fields of a form, and then as `scrub`. One that was cut may end within a secret. */
  text(text: string, json = jsonIn(text)): string {
    const to = json === undefined ? this.begun(text) : text.length;
    return to === text.length
      ? this.piece(text, json)
      : this.piece(text.slice(0, to)) + this.replacePiece(text.slice(to));
  }

  /** As `text`, of what another message may go on with. `json` is what `jsonIn` reads in it. */
  piece(text: string, json = jsonIn(text)): string {
    if (json !== undefined) return this.#seen(this.#cleaned(text, json));
    if (/^[\w.%+[\]-]+=[^\s{}"<>&]*(?:&[^\s{}"<>&=]+=[^\s{}"<>&]*)*$/.test(text)) return this.scrub(this.#pairs(text));
    return this.scrub(/^--\S/.test(text) ? this.#parts(text) : text);
  }

  /** Any text: known forms of keys, values behind names, random words, the caller's patterns, and every secret seen before. */
  scrub(text: string): string {
    return this.#seen(this.#forms(text, false));
  }

  /** As `scrub`, for an id, a path or a name, in which random words stay. */
  id(text: string): string {
    return this.#seen(this.#forms(text, true));
  }

  /** The places of all secrets in a text that was joined of several. */
  find(text: string): Span[] {
    const patterns = this.#patterns.flatMap((pattern) =>
      [...text.matchAll(pattern)].map(({ index, 0: found }) => ({ from: index, to: index + found.length })),
    );
    const own = [...secretsIn(text, this.#kindOf, false), ...patterns, ...this.again(text)];
    return [...own, ...this.#escapedIn(text)].filter(({ from, to }) => to > from);
  }

  /** The places of the secrets that were seen before. */
  again(text: string): Span[] {
    return findIn(this.#placeholders.known, text);
  }

  /** A text without the secrets that were seen before. */
  known(text: string): string {
    return replaceIn(this.#placeholders.known, text);
  }

  /** What names say of values, as this redactor judges them. */
  get kindOf(): KindOf {
    return this.#kindOf;
  }

  /** Whether random words stay in the value of a property, because it is an id or the like. */
  get isId(): (name: string) => boolean {
    return this.#isId;
  }

  /** The position from which the end of a text begins a secret that was seen; the text's length if it begins none. */
  unfinished(text: string): number {
    return unfinishedIn(this.#placeholders.known, text);
  }

  /** As `unfinished`, where enough of the secret is there to tell it from other words. */
  begun(text: string): number {
    const from = begunIn(this.#placeholders.known, text);
    return text.length - from < LEAST_BEGINNING ? text.length : from;
  }

  #forms(text: string, isId: boolean): string {
    const plain = this.#unpacked(this.#unescaped(text));
    const named = secretsIn(plain, this.#kindOf);
    // A name tells only the first word of a passphrase: what is known may go on behind it.
    const known = named.length === 0 ? [] : findIn(this.#placeholders.known, plain).filter(overlaps(named));
    const found = [...named, ...known];
    const spans = merged(found);
    const instead = new Map(known.map((one) => [plain.slice(one.from, one.to), one.instead]));
    const clean = replaced(plain, spans, (secret) => instead.get(secret) ?? this.replace(secret));
    // Of those that overlap, the inner one may be the secret, and the other have a quote or a bracket too.
    if (spans.length < found.length) for (const { from, to } of found) this.replace(plain.slice(from, to));
    if (isId || randomIn(clean, []).length === 0) return clean;
    // A part of a random word may be a secret that was seen, whose placeholder says so.
    const seen = this.known(clean);
    return replaced(seen, randomIn(seen, []), (word) => this.#placeholders.ofRandom(word));
  }

  /** A text without the secrets of the words that are escaped as in a URL. */
  #unescaped(text: string): string {
    const words = this.#escapedIn(text);
    return replaced(text, [...words], () => words.shift()!.clean);
  }

  /** A text without the secrets of what is in base64 in it. */
  #unpacked(text: string): string {
    const words = packedIn(text);
    if (words.length === 0) return text;
    const clean = (word: string) => {
      const { plain } = words.shift()!;
      const found = this.#within(() => this.piece(plain)) ?? plain;
      return found === plain ? word : encodeAs(word, found);
    };
    return replaced(text, [...words], clean);
  }

  /** The words of a text that are escaped as in a URL and have secrets, without them. */
  #escapedIn(text: string): (Span & { readonly clean: string })[] {
    if (!text.includes("%")) return [];
    const words = () =>
      escapedIn(text).flatMap(({ from, to }) => {
        const word = text.slice(from, to);
        const clean = this.#word(word);
        return clean === word ? [] : [{ from, to, clean }];
      });
    return this.#within(words) ?? [];
  }

  /** A word that is escaped as in a URL: a query with what is before it, or one value. */
  #word(word: string): string {
    if (word.includes("=")) {
      const [, before = "", query = ""] = /^([^?#=]*[?#])?(.*)$/s.exec(word)!;
      return (before.includes("%") ? this.#word(before) : before) + this.#pairs(query);
    }
    // What is between the slashes of a path is escaped, and the slashes are not.
    if (word.includes("/"))
      return word
        .split("/")
        .map((part) => (part.includes("%") ? this.#word(part) : part))
        .join("/");
    const plain = decodeUrl(word);
    const clean = this.piece(plain);
    return clean === plain ? word : encodeUrl(clean);
  }

  /** Reads what is escaped in another text; undefined where that is too deep. */
  #within<T>(read: () => T): T | undefined {
    if (this.#escapes >= MOST_ESCAPES) return undefined;
    this.#escapes++;
    try {
      return read();
    } finally {
      this.#escapes--;
    }
  }

  /** The caller's patterns, and secrets that were seen before, in any encoding. */
  #seen(text: string): string {
    let clean = text;
    for (const pattern of this.#patterns)
      clean = clean.replace(pattern, (found) => (found === "" ? "" : this.replace(found)));
    clean = this.known(clean);
    if (!/\\(?:\/|u[0-9a-f]{4})/i.test(clean)) return clean;
    const plain = withoutNeedlessEscapes(clean);
    const again = this.known(plain);
    return again === plain ? clean : again;
  }

  /** A line of a recording that somebody else may have made. Call it for each line, because the headers name the encoding of a body. */
  entry(entry: Entry): Entry {
    return this.#entries.clean(entry);
  }

  #header(name: string, value: string): string {
    return cleanHeader(name, value, {
      kindOf: this.#kindOf,
      replace: (secret) => this.replace(secret),
      target: (target) => this.target(target),
      text: (text, of = "") => (this.#isId(of) ? this.id(text) : this.piece(text)),
    });
  }

  /** A query or a form. A name may be the value of another: `name=password&value=…`. */
  #pairs(text: string): string {
    const pairs = text.split("&").map((pair) => split(pair, "="));
    const decoded = pairs.map(([name, value = ""]) => [decodeForm(name), decodeForm(value)] as const);
    const label = labelIn(Object.fromEntries(decoded), this.#kindOf);
    return pairs
      .map(([name, value], at) => {
        if (!value) return value === undefined ? name : `${name}=`;
        const [plainName, plain] = decoded[at]!;
        const own = this.#kindOf(plainName);
        const kind = own === "plain" ? besideLabel(label.kind, plainName) : own;
        if (isSecret(kind, plain)) return `${name}=${this.replace(plain)}`;
        // A name within the value is found without it.
        const clean = this.#isId(plainName) ? this.id(plain) : (this.#within(() => this.piece(plain)) ?? plain);
        return `${name}=${clean === plain ? value : encodeUrl(clean)}`;
      })
      .join("&");
  }

  /** A form in parts (multipart/form-data). */
  #parts(text: string): string {
    return partsOf(text, (value, name) => {
      const kind = this.#kindOf(name);
      if (isSecret(kind, value)) return this.replace(value);
      return this.piece(value);
    });
  }

  #cleaned(text: string, json: object): string {
    // The texts of JSON with escapes differ from what it shows of them.
    const isEscaped = text.includes("\\");
    const leaf = (one: string, isId: boolean) =>
      isEscaped ? this.#seen(this.#forms(one, isId)) : this.#forms(one, isId);
    const clean = cleanJson(json, {
      kindOf: this.#kindOf,
      secret: (value, name) => (isStructured(name) ? this.#header(name.toLowerCase(), value) : this.replace(value)),
      name: (one) => leaf(one, true),
      isId: this.#isId,
      text: (one, isId) => {
        const inner = jsonIn(one);
        return inner === undefined ? leaf(one, isId) : this.#cleaned(one, inner);
      },
    });
    // A text without secrets keeps its own spaces and numbers.
    if (clean === json) return text;
    return (text.startsWith("\uFEFF") ? "\uFEFF" : "") + JSON.stringify(clean);
  }

  /** Returns the placeholder of a secret, and searches for it from now on. */
  replace(secret: string): string {
    for (const part of credentialsIn(secret)) this.#placeholders.of(part);
    return this.#placeholders.of(secret);
  }

  /** Returns the placeholder of a piece of a secret. */
  replacePiece(piece: string): string {
    return this.#placeholders.ofPiece(piece);
  }
}

/** The names of a contract whose values are ids. */
function idsOf({ session, exchanges = [] }: NonNullable<RedactOptions["contract"]>): string[] {
  const keys = exchanges.flatMap(({ key, answers }) => [key, ...answers.map((one) => one.key)]);
  return [session, ...keys].filter((name) => name !== undefined);
}
