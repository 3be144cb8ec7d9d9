import { isObject, type Side } from "@parlance/wire";
import { flawOfEntry, flawOfHeader } from "./shape.js";

/** The first line of a recording. */
export interface Header {
  /** Version of the format. A reader refuses one that it does not know. */
  readonly recording: 1;
  readonly contract?: { readonly name: string; readonly digest?: string };
  /** The writers of the file: package or program -> version. */
  readonly versions: Readonly<Record<string, string>>;
  /** The date and time of `t` = 0 (RFC 3339). */
  readonly began: string;
  /** The kinds of replaced secrets. Empty if nothing was redacted. */
  readonly redacted: readonly string[];
  /** Texts and header values were left out. */
  readonly metadataOnly?: true;
  /** Read from a transcript, which has no headers of answers. */
  readonly transcript?: true;
}

/** Names and values in the order received, with repeated ones. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** A text in a line: one of `text`, `base64` (bytes that are not UTF-8) or, if it was left out, its `size` in bytes. */
export interface Content {
  readonly text?: string;
  readonly base64?: string;
  readonly size?: number;
  /** The encoding for which a text was left out: secrets cannot be found in it. */
  readonly encoding?: string;
}

/** The event of a line. */
export type Happening =
  | {
      readonly kind: "request";
      readonly method: string;
      /** Path and query. */
      readonly target: string;
      readonly headers: HeaderList;
      /** The request asks for a WebSocket. */
      readonly socket?: true;
    }
  | { readonly kind: "response"; readonly status: number; readonly headers: HeaderList }
  /** A whole body, of a request or of an answer that is not an event stream. Without a body there is no such line. */
  | ({ readonly kind: "body" } & Content)
  /** An event of a stream. `raw` is its block to the byte if it differs from the usual form of `event`, `id` and `text`. */
  | ({ readonly kind: "event"; readonly event?: string; readonly id?: string; readonly raw?: string } & Content)
  /** A block of a stream that is no event, to the byte: a comment, a retry, an id alone. */
  | ({ readonly kind: "comment" } & Content)
  /** A message of a WebSocket. */
  | ({ readonly kind: "frame" } & Content)
  | { readonly kind: "ping" | "pong" }
  /** The body is whole. */
  | { readonly kind: "end" }
  | { readonly kind: "close"; readonly code: number; readonly reason: string }
  /** The connection was lost on this side before its end: the peer left or cut it. */
  | { readonly kind: "error"; readonly text: string };

/** One line between the first and the last. */
export type Entry = {
  /** Milliseconds since `began`. */
  readonly t: number;
  /** Connections are numbered from 1. Each HTTP request is one. */
  readonly c: number;
  readonly from: Side;
} & Happening;

/** The last line. A file without it was cut. */
export interface End {
  readonly end: {
    /** Lines before this one. */
    readonly lines: number;
    /** The hash of the bytes before this line, in hexadecimal; null for a recording in memory. */
    readonly sha256: string | null;
  };
}

export type Line = Header | Entry | End;

/** Formats a line of the file. */
export function formatLine(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}

/** The inverse of `formatLine`; the flaw of a text that is not a line of a recording. */
export function parseLine(text: string): Line | { readonly flaw: string } {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    return { flaw: "it is not JSON" };
  }
  if (!isObject(line)) return { flaw: "it is not an object" };
  const known = line as unknown as Line;
  if (isEnd(known)) return known;
  // Of another version, nothing else is known.
  const flaw = isHeader(known) ? (known.recording === 1 ? flawOfHeader(line) : undefined) : flawOfEntry(line);
  return flaw === undefined ? known : { flaw };
}

export function isHeader(line: Line): line is Header {
  return typeof (line as Header).recording === "number";
}

export function isEnd(line: Line): line is End {
  return typeof (line as End).end === "object" && (line as End).end !== null;
}

/** A header's first value, whatever the case of its name. */
export function headerOf(headers: HeaderList, name: string): string | undefined {
  return headers.find(([one]) => one.toLowerCase() === name)?.[1];
}

/** Whether an answer is an event stream. */
export function isEventStream(headers: HeaderList): boolean {
  return /^text\/event-stream\b/i.test(headerOf(headers, "content-type") ?? "");
}
