import { Blocks } from "./blocks.js";
import type { Content, Happening } from "./recording.js";
import { packedAs } from "./redaction/encoding.js";

/** The maximum size of a recorded body or message, in bytes; of a longer one only the size is kept. */
export const MAX_CONTENT = 16 * 1024 * 1024;

/** The recorded form of a text: a whole message or body, a part of one, such as the name of an event. */
export type Texts = (text: string, part?: "whole" | "part") => Content;

export interface Body {
  push(bytes: Uint8Array): void;
  end(): void;
}

/** A body in one piece. */
export class WholeBody implements Body {
  readonly #texts: Texts;
  readonly #note: (content: Content) => void;
  readonly #pieces: Uint8Array[] = [];
  readonly #keepPacked: boolean;
  #size = 0;

  constructor(texts: Texts, note: (content: Content) => void, keepPacked: boolean) {
    this.#texts = texts;
    this.#note = note;
    this.#keepPacked = keepPacked;
  }

  push(bytes: Uint8Array): void {
    this.#size += bytes.length;
    if (this.#size > MAX_CONTENT) this.#pieces.length = 0;
    // Copied, because the reader may reuse the chunk.
    else this.#pieces.push(bytes.slice());
  }

  end(): void {
    if (this.#size === 0) return;
    if (this.#size > MAX_CONTENT) this.#note({ size: this.#size });
    else this.#note(contentOf(joined(this.#pieces, this.#size), this.#texts, this.#keepPacked));
  }
}

/** An event stream, a line for each block. */
export class EventBody implements Body {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #blocks: Blocks;

  constructor(texts: Texts, note: (happening: Happening) => void, keepRaw: boolean) {
    this.#blocks = new Blocks(
      MAX_CONTENT,
      ({ event, raw, isUsual }) => {
        if (!event) return note({ kind: "comment", ...texts(raw) });
        const content = texts(event.data);
        const keep = (keepRaw || !isUsual) && content.text === event.data;
        const exact = keep ? texts(raw, "part").text : undefined;
        note({
          kind: "event",
          ...(event.event !== undefined && { event: texts(event.event, "part").text! }),
          ...(event.id !== undefined && { id: texts(event.id, "part").text! }),
          ...content,
          ...(exact !== undefined && { raw: exact }),
        });
      },
      (size) => note({ kind: "event", size }),
    );
  }

  push(bytes: Uint8Array): void {
    this.#blocks.push(this.#decoder.decode(bytes, { stream: true }));
  }

  end(): void {
    this.#blocks.push(this.#decoder.decode());
    this.#blocks.end();
  }
}

/** A body of which only the size is kept: no secret can be found in its encoding. */
export class EncodedBody implements Body {
  readonly #note: (content: Content) => void;
  readonly #encoding: string;
  #size = 0;

  constructor(encoding: string, note: (content: Content) => void) {
    this.#encoding = encoding;
    this.#note = note;
  }

  push(bytes: Uint8Array): void {
    this.#size += bytes.length;
  }

  end(): void {
    if (this.#size > 0) this.#note({ size: this.#size, encoding: this.#encoding });
  }
}

/** The text of a body as replays compare it, by the charset of its type. Of bytes that are no text in it, their base64 in a `data:` URL. */
export function comparable(bytes: Uint8Array, type: string | null | undefined = undefined): string {
  try {
    return new TextDecoder(charsetOf(type) ?? "utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return dataOf(bytes);
  }
}

/** The charset that a content type names, in lower case. */
export function charsetOf(type: string | null | undefined): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(type ?? "")?.[1]?.toLowerCase();
}

/** The comparable text of bytes that are no text, such as a binary frame. */
export const dataOf = (bytes: Uint8Array) => `data:;base64,${btoa(latin1(bytes))}`;

export function bytesIn(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
}

/** Writes bytes that are not UTF-8 as base64; secrets are redacted in them too. Of packed ones, only the size is kept. */
export function contentOf(bytes: Uint8Array, texts: Texts, keepPacked = false): Content {
  try {
    return texts(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    const encoding = keepPacked ? undefined : packedAs(bytes);
    if (encoding !== undefined) return { size: bytes.length, encoding };
    const { text, size } = texts(latin1(bytes));
    return text === undefined ? { size: size === undefined ? 0 : bytes.length } : { base64: btoa(text) };
  }
}

/** A binary frame: base64 even where its bytes are UTF-8, because a text frame is another message. */
export function binaryOf(bytes: Uint8Array, texts: Texts, keepPacked = false): Content {
  const content = contentOf(bytes, texts, keepPacked);
  return content.text === undefined ? content : { base64: btoa(latin1(new TextEncoder().encode(content.text))) };
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return text;
}

/** Pieces as one, of their size together. */
export function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
