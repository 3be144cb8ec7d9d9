import type { Side } from "@parlance/wire";
import { isControl, parseResumeFrame } from "@parlance/wire/resume";
import {
  type Body,
  binaryOf,
  binaryText,
  EncodedBody,
  EventBody,
  MAX_CONTENT,
  type Messages,
  type Texts,
  WholeBody,
} from "./bodies.js";
import {
  type Content,
  type Entry,
  formatLine,
  type Happening,
  type Header,
  type HeaderList,
  isEventStream,
} from "./recording.js";
import { encodingOf, packedAs } from "./redaction/encoding.js";
import { Pieces } from "./redaction/pieces.js";
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

/** Milliseconds that a message waits for the next one, in which a secret may go on. */
const HELD = 1000;

/** A line that may wait for the text of its message, and all lines behind it. */
interface Due {
  line: string | undefined;
  readonly since: number;
}

/**
 * Turns the events of connections into lines of a recording, in their order. A message in which a secret may begin waits for the next one of
 * its stream or channel, at most a second.
 */
export class Recorder {
  readonly #write: (line: string) => void;
  readonly #redactor: Redactor | undefined;
  readonly #options: RecorderOptions;
  readonly #began = performance.now();
  #connections = 0;
  #lines = 0;
  #waiting: Due[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #open = new Set<Connection>();

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
    const note: Note = (from, happening) => {
      const line = { t: this.#now(), c, from, ...happening } as Entry;
      if (this.#waiting.length === 0) this.#line(formatLine(line));
      else this.#waiting.push({ line: formatLine(line), since: line.t });
    };
    const later: Later = (from) => {
      const t = this.#now();
      const due: Due = { line: undefined, since: t };
      this.#waiting.push(due);
      this.#timer ??= this.#wake();
      return (happening) => {
        due.line = formatLine({ t, c, from, ...happening } as Entry);
        this.#drain();
      };
    };
    const over = () => this.#open.delete(connection);
    const connection = new Connection(c, this.#redactor, this.#options, note, later, over);
    this.#open.add(connection);
    return connection;
  }

  /** Writes the lines that wait. Call it before the file is closed. */
  flush(): void {
    for (const connection of this.#open) connection.settle();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** A text that is shown beside the recording, without secrets: those seen so far, and those of the headers that it answers. */
  clean(text: string, headers: HeaderList = []): string {
    this.#redactor?.headers(headers);
    return this.#redactor?.text(text) ?? text;
  }

  #now(): number {
    return Math.round((performance.now() - this.#began) * 10) / 10;
  }

  #drain(): void {
    let count = 0;
    for (; this.#waiting[count]?.line !== undefined; count++) this.#line(this.#waiting[count]!.line!);
    if (count > 0) this.#waiting = this.#waiting.slice(count);
  }

  #wake(): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      this.#timer = undefined;
      const first = this.#waiting[0];
      if (!first) return;
      if (this.#now() - first.since >= HELD) this.flush();
      if (this.#waiting.length > 0) this.#timer = this.#wake();
    }, HELD);
    (timer as { unref?: () => void }).unref?.();
    return timer;
  }

  #line(line: string): void {
    this.#lines++;
    this.#write(line);
  }
}

type Note = (from: Side, happening: Happening) => void;
/** Takes the place of a line whose text is not known yet. */
type Later = (from: Side) => (happening: Happening) => void;

/** One HTTP request and its answer, or one WebSocket. Call each method after its event, in order. */
export class Connection {
  /** Its number in the recording. */
  readonly id: number;
  readonly #redactor: Redactor | undefined;
  readonly #options: RecorderOptions;
  readonly #note: Note;
  readonly #later: Later;
  readonly #over: () => void;
  readonly #bodies: Partial<Record<Side, Body>> = {};
  readonly #pieces: Partial<Record<Side, Pieces>> = {};

  constructor(
    id: number,
    redactor: Redactor | undefined,
    options: RecorderOptions,
    note: Note,
    later: Later,
    over: () => void,
  ) {
    this.id = id;
    this.#redactor = redactor;
    this.#options = options;
    this.#note = note;
    this.#later = later;
    this.#over = over;
  }

  /** Decides on the messages that wait. */
  settle(): void {
    this.#pieces.client?.settle();
    this.#pieces.server?.settle();
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
        ? new EventBody(
            this.#text,
            this.#message,
            (happening) => this.#note("server", happening),
            this.#options.raw ?? false,
          )
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
    if (from === "server") this.#finish();
    // The body of a request is one line, which implies its end.
    if (from === "server") this.#note(from, { kind: "end" });
  }

  /** `size` is that of the message, if its bytes were dropped. */
  frame(from: Side, data: string | Uint8Array, size = typeof data === "string" ? data.length : data.byteLength): void {
    // Of resume's own frames only the server's announcement is kept: a replay resumes by it, and has signs of life and keys of its own.
    if (typeof data === "string" && isControl(data))
      return parseResumeFrame(data) && this.#note(from, { kind: "frame", text: data });
    if (size > MAX_CONTENT) return this.#note(from, { kind: "frame", size });
    if (typeof data === "string") return this.#message(from, data, (content) => ({ kind: "frame", ...content }));
    if (!this.#redactor || this.#options.metadataOnly || packedAs(data))
      return this.#note(from, { kind: "frame", ...binaryOf(data, this.#text, !this.#redactor) });
    const { text, write } = binaryText(data);
    this.#message(from, text, ({ text: clean = "" }) => ({ kind: "frame", base64: write(clean) }));
  }

  beat(from: Side, kind: "ping" | "pong"): void {
    this.#note(from, { kind });
  }

  close(from: Side, code: number, reason: string): void {
    this.settle();
    this.#note(from, { kind: "close", code, reason: this.#options.metadataOnly ? "" : this.#scrub(reason) });
  }

  /** The connection was lost. The received part of a body is written first. */
  error(from: Side, text: string): void {
    for (const side of ["client", "server"] as const) {
      this.#bodies[side]?.end();
      delete this.#bodies[side];
    }
    this.#finish();
    this.#note(from, { kind: "error", text: this.#scrub(text) });
  }

  #finish(): void {
    this.settle();
    this.#over();
  }

  /** A message of a stream or channel: a secret may go on in the next one. */
  readonly #message: Messages = (from, text, happening, of) => {
    if (!this.#redactor || this.#options.metadataOnly) return this.#note(from, happening(this.#text(text)));
    this.#pieces[from] ??= new Pieces(this.#redactor);
    const note = this.#later(from);
    this.#pieces[from].add(text, (clean) => note(happening({ text: clean })), of);
  };

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
    const clean = { whole: "text", part: "scrub", id: "id" } as const;
    return { text: this.#redactor?.[clean[part]](text) ?? text };
  };
}
