import type { Entry } from "../recording.js";
import { encodingOf, packedAs } from "./encoding.js";
import type { Cleaner } from "./headers.js";

/** The entries of a recording, without their secrets. */
export class EntryCleaner {
  readonly #redactor: Cleaner;
  /** Of bodies that are not read yet, by side and connection. */
  readonly #encodings = new Map<string, string>();

  constructor(redactor: Cleaner) {
    this.#redactor = redactor;
  }

  /** Call it for each in its order, because the headers name the encoding of a body. */
  clean(entry: Entry): Entry {
    const side = `${entry.from} ${entry.c}`;
    if (entry.kind === "request" || entry.kind === "response") {
      const encoding = encodingOf(entry.headers);
      if (encoding === undefined) this.#encodings.delete(side);
      else this.#encodings.set(side, encoding);
    }
    if (entry.kind === "request")
      return { ...entry, target: this.#redactor.target(entry.target), headers: this.#redactor.headers(entry.headers) };
    if (entry.kind === "response") return { ...entry, headers: this.#redactor.headers(entry.headers) };
    if (entry.kind === "body" || entry.kind === "frame") {
      const left = this.#leftOut(entry, entry.kind === "body" ? this.#encodings.get(side) : undefined);
      if (entry.kind === "body") this.#encodings.delete(side);
      if (left) return left;
    }
    if (entry.kind === "close") return { ...entry, reason: this.#redactor.scrub(entry.reason) };
    if (entry.kind === "error") return { ...entry, text: this.#redactor.scrub(entry.text) };
    if (!("text" in entry || "base64" in entry)) return entry;
    const text = entry.text === undefined ? undefined : this.#redactor.text(entry.text);
    const base64 = entry.base64 === undefined ? undefined : btoa(this.#redactor.text(atob(entry.base64)));
    const clean = { ...entry, ...(text !== undefined && { text }), ...(base64 !== undefined && { base64 }) };
    if (clean.kind !== "event") return clean;
    const { raw, ...event } = clean;
    return {
      ...event,
      ...(event.event !== undefined && { event: this.#redactor.scrub(event.event) }),
      ...(event.id !== undefined && { id: this.#redactor.scrub(event.id) }),
      // The block has the text: what was replaced in one is in the other.
      ...(raw !== undefined && text === entry.text && { raw: this.#redactor.scrub(raw) }),
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
}
