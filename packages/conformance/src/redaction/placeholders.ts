import { Known, SHORTEST } from "./known.js";
import { encodeUrl, unescapeJson } from "./parts.js";

/** The maximum number of secrets searched for in other texts. The oldest is dropped first. */
const MOST = 1000;

/** A word, or two: `administrator`, `package.json`, `localhost:8080`. */
export const isWord = (text: string): boolean => WORD.test(text);
const WORD = /^\p{L}{0,16}(?:[_./:-](?:\p{L}{0,12}|\d{2,5}))?$/u;

/** The placeholder of a secret in a recording. */
export const PLACEHOLDER = /__redacted_\d+__/g;

/** The secrets of one recording, each with its placeholder, and the forms in which they may stand elsewhere. */
export class Placeholders {
  readonly known = new Known();
  readonly #placeholders = new Map<string, string>();
  /** Those that the caller gave, which are never forgotten. */
  readonly #given = new Map<string, string>();
  /** Those of words that are known by their form, wherever they stand: an id may look like one. */
  readonly #random = new Map<string, string>();
  #count = 0;
  readonly #onNew: () => void;

  /** `onNew` is called when a secret is searched for from now on. */
  constructor(onNew: () => void = () => {}) {
    this.#onNew = onNew;
  }

  /** The placeholder of a secret, which is searched for from now on. A placeholder is its own. */
  of(text: string): string {
    if (new RegExp(`^${PLACEHOLDER.source}$`).test(text)) return text;
    const secret = unescapeJson(text);
    const found = this.#given.get(secret) ?? this.#placeholders.get(secret);
    if (found !== undefined) return found;
    const placeholder = this.#random.get(secret) ?? `__redacted_${++this.#count}__`;
    this.#placeholders.set(secret, placeholder);
    this.#onNew();
    // A shorter secret, or one of a few letters, is replaced only in its own place: elsewhere it may be a word, a host or a type.
    for (const form of secret.length < SHORTEST || isWord(secret) ? [] : formsOf(secret))
      this.known.add(form, placeholder);
    if (this.#placeholders.size > MOST) this.#forget();
    return placeholder;
  }

  /** Searches for a secret of the caller, also where it is a word, until the recording ends. */
  give(secret: string): void {
    if (this.#given.has(secret)) return;
    const placeholder = `__redacted_${++this.#count}__`;
    this.#given.set(secret, placeholder);
    for (const one of new Set([secret, secret.normalize("NFC"), secret.normalize("NFD")]))
      for (const form of formsOf(one)) this.known.add(form, placeholder);
  }

  /** The placeholder of a random word. Elsewhere it may be an id, so it is not searched for. */
  ofRandom(word: string): string {
    const found = this.#given.get(word) ?? this.#placeholders.get(word) ?? this.#random.get(word);
    if (found !== undefined) return found;
    if (this.#random.size >= MOST) this.#random.clear();
    const placeholder = `__redacted_${++this.#count}__`;
    this.#random.set(word, placeholder);
    return placeholder;
  }

  /** The placeholder of a piece of a secret, which is not searched for: one long secret in pieces would push out all others. */
  ofPiece(piece: string): string {
    const text = unescapeJson(piece);
    return this.#given.get(text) ?? this.#placeholders.get(text) ?? `__redacted_${++this.#count}__`;
  }

  #forget(): void {
    const [oldest, placeholder] = this.#placeholders.entries().next().value!;
    this.#placeholders.delete(oldest);
    for (const form of formsOf(oldest)) this.known.delete(form, placeholder);
  }
}

/** The encodings of a secret in a text: plain, in a URL, in JSON, in JSON within JSON, in hexadecimal digits, in base64, also of a longer text. */
function formsOf(secret: string): Set<string> {
  const json = JSON.stringify(secret).slice(1, -1);
  // The end of a sentence may have been read as a part of the secret.
  const bare = secret.replace(/[.,;:!?)}\]]+$/, "");
  const base64 = base64Of(secret);
  const url = encodeUrl(secret);
  const bytes = Array.from(new TextEncoder().encode(secret));
  const pairs = bytes.map((byte) => byte.toString(16).padStart(2, "0"));
  // As many tools show bytes.
  const hex = ["", " ", ":"].map((between) => pairs.join(between));
  return new Set([
    secret,
    ...(bare.length < SHORTEST ? [] : [bare]),
    url,
    url.replaceAll("%20", "+"),
    // Many encode these too.
    url.replace(/[!'()*~]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`),
    json,
    JSON.stringify(json).slice(1, -1),
    ...hex.flatMap((form) => [form, form.toUpperCase()]),
    // In bytes that are no UTF-8, each is read as a character.
    bytes.map((byte) => String.fromCharCode(byte)).join(""),
    ...base64.flatMap((form) => [form, form.replaceAll("+", "-").replaceAll("/", "_")]),
  ]);
}

/** The shortest base64 that is searched for, in characters. */
const SHORTEST_BASE64 = 10;

/** A text in base64: alone, and what is always there of it in a longer text, whose bytes before it shift it by 0, 1 or 2. */
function base64Of(text: string): string[] {
  const bytes = new TextEncoder().encode(text.slice(0, 10_000));
  const encode = (shift: number) => btoa("\0".repeat(shift) + String.fromCharCode(...bytes));
  const inside = [0, 1, 2].map((shift) => {
    const all = encode(shift);
    const rest = (shift + bytes.length) % 3;
    // A character that holds bits of a neighbour as well depends on it.
    return all.slice(Math.ceil((shift * 8) / 6), all.length - (rest === 0 ? 0 : 4 - rest));
  });
  const alone = encode(0);
  return [alone, alone.replace(/=+$/, ""), ...inside].filter((form) => form.length >= SHORTEST_BASE64);
}
