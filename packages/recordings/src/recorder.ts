import type { Side } from "@parlance/wire";
import { isControl, parseResumeFrame } from "@parlance/wire/resume";
import { type Body, binaryOf, EncodedBody, EventBody, MAX_CONTENT, type Texts, WholeBody } from "./bodies.js";
import {
  type Content,
  type Entry,
  formatLine,
  type Happening,
  type Header,
  type HeaderList,
  isEventStream,
} from "./recording.js";
import { encodingOf } from "./redaction/encoding.js";
import { type RedactOptions, Redactor } from "./redaction/redactor.js";

export interface RecorderOptions extends RedactOptions {
  /** The name in the header. */
  readonly about?: { readonly name: string; readonly digest?: string | undefined } | undefined;
  /** Leaves out texts, header values and queries. */
  readonly metadataOnly?: boolean | undefined;
  /** Keeps every block of an event stream to the byte, even if its fields give the same bytes. */
  readonly raw?: boolean | undefined;
  /** `false` records secrets too. @default true */
  readonly redact?: boolean | undefined;
  /** Programs and their versions. */
  readonly versions?: Readonly<Record<string, string>> | undefined;
}

/** Turns the events of connections into lines of a recording, in their order. */
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
    return new Connection(c, this.#redactor, this.#options, (from, happening) =>
      this.#line(formatLine({ t: this.#now(), c, from, ...happening } as Entry)),
    );
  }

  /** A text that is shown beside the recording, without secrets: those seen so far, and those of the headers that it answers. */
  clean(text: string, headers: HeaderList = []): string {
    this.#redactor?.headers(headers);
    return this.#redactor?.text(text) ?? text;
  }

  #now(): number {
    return Math.round((performance.now() - this.#began) * 10) / 10;
  }

  #line(line: string): void {
    this.#lines++;
    this.#write(line);
  }
}

type Note = (from: Side, happening: Happening) => void;

/** One HTTP request and its answer, or one WebSocket. Call each method after its event, in order. */
export class Connection {
  /** Its number in the recording. */
  readonly id: number;
  readonly #redactor: Redactor | undefined;
  readonly #options: RecorderOptions;
  readonly #note: Note;
  readonly #bodies: Partial<Record<Side, Body>> = {};

  constructor(id: number, redactor: Redactor | undefined, options: RecorderOptions, note: Note) {
    this.id = id;
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
    if (!socket) this.#bodies.client = this.#whole("client", headers);
  }

  response(status: number, headers: HeaderList): void {
    this.#note("server", { kind: "response", status, headers: this.#headers(headers) });
    this.#bodies.server =
      isEventStream(headers) && encodingOf(headers) === undefined
        ? new EventBody(this.#text, (happening) => this.#note("server", happening), this.#options.raw ?? false)
        : this.#whole("server", headers);
  }

  #whole(from: Side, headers: HeaderList): Body {
    const note = (content: Content) => this.#note(from, { kind: "body", ...content });
    const encoding = this.#redactor && encodingOf(headers);
    return encoding === undefined ? new WholeBody(this.#text, note, !this.#redactor) : new EncodedBody(encoding, note);
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

  /** `size` is that of the message, if its bytes were dropped. */
  frame(from: Side, data: string | Uint8Array, size = typeof data === "string" ? data.length : data.byteLength): void {
    // Of resume's own frames only the server's announcement is kept: a replay resumes by it, and has signs of life and keys of its own.
    if (typeof data === "string" && isControl(data))
      return parseResumeFrame(data) && this.#note(from, { kind: "frame", text: data });
    if (size > MAX_CONTENT) return this.#note(from, { kind: "frame", size });
    const content = typeof data === "string" ? this.#text(data) : binaryOf(data, this.#text, !this.#redactor);
    this.#note(from, { kind: "frame", ...content });
  }

  beat(from: Side, kind: "ping" | "pong"): void {
    this.#note(from, { kind });
  }

  close(from: Side, code: number, reason: string): void {
    this.#note(from, { kind: "close", code, reason: this.#options.metadataOnly ? "" : this.#scrub(reason) });
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
    const clean = { whole: "text", part: "scrub" } as const;
    return { text: this.#redactor?.[clean[part]](text) ?? text };
  };
}
