import { isWord, MIN_SECRET } from "./names.js";

/** The most secrets that are searched for in other texts, without those of the caller. The oldest is dropped first. */
const MAX_KNOWN = 1000;

/** The placeholder of a secret in a recording. */
export const PLACEHOLDER = /__redacted_\d+__/g;
const IS_PLACEHOLDER = new RegExp(`^${PLACEHOLDER.source}$`);

/** The secrets of one recording, each with its placeholder. */
export class Known {
  readonly #placeholders = new Map<string, string>();
  /** The caller's own are never dropped. */
  readonly #given = new Map<string, string>();
  /** Values of headers, which are not searched for. */
  readonly #hidden = new Map<string, string>();
  /** The written forms by their first characters, the longest first: one may begin another. */
  readonly #byHead = new Map<string, { readonly text: string; readonly instead: string }[]>();
  /** Counts the heads by a hash, so that most positions of a text cost one look. */
  readonly #marks = new Uint16Array(1 << 16);
  #count = 0;

  /** The placeholder of a secret. It is searched for from now on, unless other texts may have it as a word. */
  of(secret: string): string {
    if (IS_PLACEHOLDER.test(secret)) return secret;
    const found = this.#given.get(secret) ?? this.#placeholders.get(secret);
    if (found !== undefined) return found;
    const placeholder = this.#hidden.get(secret) ?? this.#next();
    this.#placeholders.set(secret, placeholder);
    if (!isWord(secret)) for (const form of formsOf(secret)) this.#add(form, placeholder);
    if (this.#placeholders.size > MAX_KNOWN) this.#drop();
    return placeholder;
  }

  /** The placeholder of a value that is not searched for. */
  hide(value: string): string {
    const found = this.#given.get(value) ?? this.#placeholders.get(value) ?? this.#hidden.get(value);
    if (found !== undefined) return found;
    if (this.#hidden.size >= MAX_KNOWN) this.#hidden.clear();
    const placeholder = this.#next();
    this.#hidden.set(value, placeholder);
    return placeholder;
  }

  /** Searches for a secret of the caller, also where it is a word. */
  give(secret: string): void {
    if (this.#given.has(secret)) return;
    const placeholder = this.#next();
    this.#given.set(secret, placeholder);
    for (const form of formsOf(secret)) this.#add(form, placeholder);
  }

  /** A text with the placeholders of its secrets. */
  replaceIn(text: string): string {
    if (this.#byHead.size === 0) return text;
    let replaced = "";
    let from = 0;
    for (let at = 0; at + MIN_SECRET <= text.length; at++) {
      if (this.#marks[markAt(text, at)] === 0) continue;
      const found = this.#byHead.get(text.slice(at, at + MIN_SECRET))?.find((one) => text.startsWith(one.text, at));
      if (!found) continue;
      replaced += text.slice(from, at) + found.instead;
      from = at + found.text.length;
      at = from - 1;
    }
    return from === 0 ? text : replaced + text.slice(from);
  }

  #next(): string {
    return `__redacted_${++this.#count}__`;
  }

  #add(text: string, instead: string): void {
    if (text.length < MIN_SECRET) return;
    const head = text.slice(0, MIN_SECRET);
    const others = this.#byHead.get(head) ?? [];
    if (others.some((one) => one.text === text)) return;
    if (others.length === 0) this.#marks[markAt(head, 0)]!++;
    this.#byHead.set(
      head,
      [...others, { text, instead }].sort((a, b) => b.text.length - a.text.length),
    );
  }

  #drop(): void {
    const [oldest, placeholder] = this.#placeholders.entries().next().value!;
    this.#placeholders.delete(oldest);
    for (const form of formsOf(oldest)) {
      const head = form.slice(0, MIN_SECRET);
      const others = this.#byHead.get(head);
      const left = others?.filter(({ text, instead }) => text !== form || instead !== placeholder);
      if (!others || left?.length === others.length) continue;
      if (left!.length > 0) this.#byHead.set(head, left!);
      else {
        this.#byHead.delete(head);
        this.#marks[markAt(head, 0)]!--;
      }
    }
  }
}

/** How a secret is written in a text: plain, in JSON, in JSON within JSON, in a URL, in base64. */
function formsOf(secret: string): Set<string> {
  const json = JSON.stringify(secret).slice(1, -1);
  const url = encodeUrl(secret);
  const bytes = Array.from(new TextEncoder().encode(secret), (byte) => String.fromCharCode(byte)).join("");
  const base64 = btoa(bytes).replace(/=+$/, "");
  // Bytes that are not UTF-8 are read as one character each.
  return new Set([secret, json, JSON.stringify(json).slice(1, -1), url, url.replaceAll("%20", "+"), base64, bytes]);
}

/** A text as a part of a URL. A lone surrogate has no form in one. */
export const encodeUrl = (text: string) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, ""));

function markAt(text: string, at: number): number {
  const first = text.charCodeAt(at) * 31 + text.charCodeAt(at + 1);
  return ((first * 31 + text.charCodeAt(at + 4)) * 31 + text.charCodeAt(at + MIN_SECRET - 1)) & 0xffff;
}
