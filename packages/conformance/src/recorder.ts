import type { Side } from "@parlance/contract";
import { Blocks, isUsual } from "./blocks.js";
import {
  type Content,
  type Entry,
  formatLine,
  type Happening,
  type Header,
  type HeaderList,
  headerOf,
  isEventStream,
} from "./recording.js";
import { type RedactOptions, Redactor } from "./redact.js";

export interface RecorderOptions extends RedactOptions {
  /** The name in the header. */
  readonly about?: { readonly name: string; readonly digest?: string };
  /** Leaves out texts, header values and queries. */
  readonly metadataOnly?: boolean;
  /** Keeps every block of an event stream to the byte, even if its fields give the same bytes. */
  readonly raw?: boolean;
  /** `false` records secrets too. @default true */
  readonly redact?: boolean;
  /** Programs and their versions. */
  readonly versions?: Readonly<Record<string, string>>;
}

/** The maximum size of a recorded body or message, in bytes; of a longer one only the size is kept. */
export const MAX_CONTENT = 16 * 1024 * 1024;

/** Turns the events of connections into lines of a recording, and emits each at once. */
export class Recorder {
  readonly #write: (line: string) => void;
  readonly #redactor: Redactor | undefined;
  readonly #options: RecorderOptions;
  readonly #began = performance.now();
  #connections = 0;
  #lines = 0;

  constructor(write: (line: string) => void, options: RecorderOptions = {}) {
    this.#write = write;
    this.#options = options;
    this.#redactor = options.redact === false ? undefined : new Redactor(options);
    const { about, metadataOnly, versions = {} } = options;
    const header: Header = {
      recording: 1,
      ...(about && { contract: about }),
      versions,
      began: new Date().toISOString(),
      redacted: this.#redactor?.rules() ?? [],
      ...(metadataOnly && { metadataOnly }),
    };
    this.#line(formatLine(header));
  }

  /** Lines so far, the header among them. */
  get lines(): number {
    return this.#lines;
  }

  connection(): Connection {
    const c = ++this.#connections;
    return new Connection(this.#redactor, this.#options, (from, happening) => {
      const t = Math.round((performance.now() - this.#began) * 10) / 10;
      this.#line(formatLine({ t, c, from, ...happening } as Entry));
    });
  }

  #line(line: string): void {
    this.#lines++;
    this.#write(line);
  }
}

type Note = (from: Side, happening: Happening) => void;

/** One HTTP request and its answer, or one WebSocket. Call each method after its event, in order. */
export class Connection {
  readonly #redactor: Redactor | undefined;
  readonly #options: RecorderOptions;
  readonly #note: Note;
  readonly #bodies: Partial<Record<Side, Body>> = {};

  constructor(redactor: Redactor | undefined, options: RecorderOptions, note: Note) {
    this.#redactor = redactor;
    this.#options = options;
    this.#note = note;
  }

  request(method: string, target: string, headers: HeaderList, socket = false): void {
    const clean = this.#redactor?.target(target) ?? target;
    this.#note("client", {
      kind: "request",
      method,
      target: this.#options.metadataOnly ? clean.split("?")[0]! : clean,
      headers: this.#headers(headers),
      ...(socket && { socket }),
    });
    if (!socket)
      this.#bodies.client = new WholeBody(this.#text, (content) => this.#note("client", { kind: "body", ...content }));
  }

  response(status: number, headers: HeaderList): void {
    this.#note("server", { kind: "response", status, headers: this.#headers(headers) });
    this.#bodies.server =
      isEventStream(headers) && !headerOf(headers, "content-encoding")
        ? new EventBody(this.#text, (happening) => this.#note("server", happening), this.#options.raw ?? false)
        : new WholeBody(this.#text, (content) => this.#note("server", { kind: "body", ...content }));
  }

  body(from: Side, bytes: Uint8Array): void {
    this.#bodies[from]?.push(bytes);
  }

  /** The body is complete. */
  end(from: Side): void {
    const body = this.#bodies[from];
    if (!body) return;
    delete this.#bodies[from];
    body.end();
    // The body of a request is one line, which implies its end.
    if (from === "server") this.#note(from, { kind: "end" });
  }

  frame(from: Side, data: string | Uint8Array): void {
    const size = typeof data === "string" ? data.length : data.byteLength;
    const content =
      size > MAX_CONTENT ? { size } : typeof data === "string" ? this.#text(data) : contentOf(data, this.#text);
    this.#note(from, { kind: "frame", ...content });
  }

  beat(from: Side, kind: "ping" | "pong"): void {
    this.#note(from, { kind });
  }

  close(from: Side, code: number, reason: string): void {
    this.#note(from, { kind: "close", code, reason: this.#scrub(reason) });
  }

  /** The connection was lost. The received part of a body is written first. */
  error(from: Side, text: string): void {
    for (const side of ["client", "server"] as const) {
      this.#bodies[side]?.end();
      delete this.#bodies[side];
    }
    this.#note(from, { kind: "error", text: this.#scrub(text) });
  }

  #scrub(text: string): string {
    return this.#redactor?.scrub(text) ?? text;
  }

  #headers(headers: HeaderList): HeaderList {
    const clean = this.#redactor?.headers(headers) ?? headers;
    if (!this.#options.metadataOnly) return clean;
    return clean.map(([name, value]) => [name, name.toLowerCase() === "content-type" ? value : ""] as const);
  }

  readonly #text: Texts = (text, part = "whole") => {
    if (this.#options.metadataOnly && part === "whole") return { size: new TextEncoder().encode(text).length };
    return { text: (part === "whole" ? this.#redactor?.text(text) : this.#redactor?.scrub(text)) ?? text };
  };
}

/** The recorded form of a text: a whole message or body, or a part such as an event's name. */
type Texts = (text: string, part?: "whole" | "part") => Content;

interface Body {
  push(bytes: Uint8Array): void;
  end(): void;
}

/** A body in one piece. */
class WholeBody implements Body {
  readonly #texts: Texts;
  readonly #note: (content: Content) => void;
  readonly #pieces: Uint8Array[] = [];
  #size = 0;

  constructor(texts: Texts, note: (content: Content) => void) {
    this.#texts = texts;
    this.#note = note;
  }

  push(bytes: Uint8Array): void {
    this.#size += bytes.length;
    if (this.#size > MAX_CONTENT) this.#pieces.length = 0;
    // Copied, because the reader may reuse the chunk.
    else this.#pieces.push(bytes.slice());
  }

  end(): void {
    if (this.#size === 0) return;
    this.#note(
      this.#size > MAX_CONTENT ? { size: this.#size } : contentOf(joined(this.#pieces, this.#size), this.#texts),
    );
  }
}

/** An event stream, a line for each block. */
class EventBody implements Body {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #blocks: Blocks;

  constructor(texts: Texts, note: (happening: Happening) => void, keepRaw: boolean) {
    this.#blocks = new Blocks(
      MAX_CONTENT,
      (block) => {
        const { event, raw } = block;
        if (!event) return note({ kind: "comment", ...texts(raw) });
        const content = texts(event.data);
        const exact = (keepRaw || !isUsual(block)) && content.text === event.data ? texts(raw, "part").text : undefined;
        note({
          kind: "event",
          ...(event.event !== undefined && { event: texts(event.event, "part").text }),
          ...(event.id !== undefined && { id: texts(event.id, "part").text }),
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

/** Writes bytes that are not UTF-8 as base64; secrets are redacted in them too. */
function contentOf(bytes: Uint8Array, texts: Texts): Content {
  try {
    return texts(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    const { text, size } = texts(latin1(bytes));
    return text === undefined ? { size: size === undefined ? 0 : bytes.length } : { base64: btoa(text) };
  }
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return text;
}

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
