import { type RedactOptions, Redactor } from "@parlance/recordings/internal/redaction";
import type { Result } from "./result.js";

/** The minimum length of a token that is searched for: a shorter one is also a part of words. */
const SHORTEST = 4;
/** The length of a part of a token that is searched for: a peer may send it in pieces, and a text may be cut within it. */
const PART = 8;
/** The head of a request or answer. */
const HEAD = /^(?:[A-Z]+ \S+ HTTP\/1\.1|HTTP\/1\.1 [^\r\n]*)\r\n(?:[^\r\n]+\r\n)*/;

/** Replaces the token of a run, and all that a recording replaces, in what the run reports. A peer may repeat the token anywhere. */
export class Mask {
  readonly #redactor: Redactor;
  readonly #parts = new Set<string>();
  readonly #size: number = PART;
  readonly #placeholder: string = "";

  /** `token` and `secrets` are the caller's own. The token of the suite itself is public. */
  constructor(contract: RedactOptions["contract"], token = "", secrets: readonly string[] = []) {
    this.#redactor = new Redactor({ ...(contract && { contract }), secrets });
    if (token.length < SHORTEST) return;
    this.#placeholder = this.#redactor.replace(token);
    if (token.length < 2 * PART) this.#size = token.length < PART ? token.length : Math.ceil(token.length / 2);
    for (const form of [token, encodeURIComponent(token), JSON.stringify(token).slice(1, -1)])
      for (let at = 0; at + this.#size <= form.length; at++) this.#parts.add(form.slice(at, at + this.#size));
  }

  text(text: string): string {
    return this.#withoutParts(this.#redactor.scrub(text));
  }

  result(result: Result): Result {
    // First, because a secret is often known only by its header.
    const trace = result.trace?.map((line) => ({ ...line, bytes: this.#withoutParts(this.#bytes(line.bytes)) }));
    const texts = (["expected", "came", "reason", "rerun"] as const).flatMap((name) =>
      result[name] === undefined ? [] : [[name, this.text(result[name])]],
    );
    return { ...result, ...Object.fromEntries(texts), ...(trace && { trace }) };
  }

  #withoutParts(text: string): string {
    if (this.#parts.size === 0) return text;
    let clean = "";
    let from = 0;
    for (let at = 0; at + this.#size <= text.length; at++) {
      if (!this.#parts.has(text.slice(at, at + this.#size))) continue;
      clean += text.slice(from, at) + this.#placeholder;
      while (this.#parts.has(text.slice(at + 1, at + 1 + this.#size))) at++;
      from = at + this.#size;
      at = from - 1;
    }
    return clean + text.slice(from);
  }

  #bytes(bytes: string): string {
    const head = HEAD.exec(bytes)?.[0];
    if (head === undefined) return this.#redactor.text(bytes);
    const [first = "", ...lines] = head.split("\r\n").slice(0, -1);
    const [method, target, version] = first.split(" ");
    const start = first.startsWith("HTTP/") ? first : `${method} ${this.#redactor.target(target!)} ${version}`;
    const headers = lines.map((line) => {
      const at = line.indexOf(":");
      const [name, value] = [line.slice(0, at), line.slice(at + 1).trim()];
      // The trace has left it out.
      if (at < 0 || value === "…") return line;
      return `${name}: ${this.#redactor.headers([[name, value]])[0]![1]}`;
    });
    return [start, ...headers, ""].join("\r\n") + this.#redactor.text(bytes.slice(head.length));
  }
}
