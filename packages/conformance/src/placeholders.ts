import { Known, SHORTEST } from "./known.js";

/** The maximum number of secrets searched for in other texts. The oldest is dropped first. */
const MOST = 1000;

/** The placeholder of a secret in a recording. */
export const PLACEHOLDER = /__redacted_\d+__/g;

/** The secrets of one recording, each with its placeholder, and the forms in which they may stand elsewhere. */
export class Placeholders {
  readonly known = new Known();
  readonly #placeholders = new Map<string, string>();
  #count = 0;

  /** The placeholder of a secret, which is searched for from now on. A placeholder is its own. */
  of(secret: string): string {
    if (new RegExp(`^${PLACEHOLDER.source}$`).test(secret)) return secret;
    const found = this.#placeholders.get(secret);
    if (found !== undefined) return found;
    const placeholder = `__redacted_${++this.#count}__`;
    this.#placeholders.set(secret, placeholder);
    // A shorter secret is replaced only in its own place: elsewhere it may be a word.
    for (const form of secret.length < SHORTEST ? [] : formsOf(secret)) this.known.add(form, placeholder);
    if (this.#placeholders.size > MOST) this.#forget();
    return placeholder;
  }

  #forget(): void {
    const [oldest, placeholder] = this.#placeholders.entries().next().value!;
    this.#placeholders.delete(oldest);
    for (const form of formsOf(oldest)) this.known.delete(form, placeholder);
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
