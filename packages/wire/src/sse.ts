import { createParser } from "eventsource-parser";
import { brief, MAX_NAME } from "./errors.js";

/** One Server-Sent Event (WHATWG HTML, section 9.2). */
export interface SseEvent {
  /** The event name; absent for the default, "message". */
  readonly event?: string | undefined;
  readonly data: string;
  /** Encoding: the id to write. Decoding: the last id that the stream has named, in this event or before it. */
  readonly id?: string | undefined;
  /** Milliseconds; only written. A decoder reports it by `onRetry`. */
  readonly retry?: number;
}

/**
 * One event as its block of lines. Names and ids may not hold CR, LF or NUL: it would end the line, and
 * the rest would be read as other fields. Data of several lines is written as several `data:` lines.
 */
export function encode({ event, data, id, retry }: SseEvent): string {
  let block = "";
  if (event !== undefined) block += `event: ${oneLine("event name", event)}\n`;
  if (id !== undefined) block += `id: ${oneLine("id", id)}\n`;
  if (retry !== undefined) block += `retry: ${Math.trunc(retry)}\n`;
  const lines = data.includes("\n") || data.includes("\r") ? data.replace(/\r\n?|\n/g, "\ndata: ") : data;
  return `${block}data: ${lines}\n\n`;
}

/** A comment, which readers skip: a heartbeat. */
export function encodeComment(text: string): string {
  return `: ${oneLine("comment", text)}\n\n`;
}

function oneLine(what: string, text: string): string {
  // Searched, because an expression took a twentieth of a resumable stream's time.
  if (text.includes("\n") || text.includes("\r") || text.includes("\0"))
    throw new TypeError(`an SSE ${what} may not hold CR, LF or NUL: ${brief(JSON.stringify(text), MAX_NAME)}`);
  return text;
}

export interface SseDecoder {
  /** Decodes the next chunk of text, without the byte order mark. Reports each event once it is complete. */
  push(text: string): void;
}

export interface SseDecoderOptions {
  readonly onEvent: (event: SseEvent) => void;
  /** Milliseconds that the server asks for before a reconnect. */
  readonly onRetry?: (milliseconds: number) => void;
  /** Called for each comment, such as a heartbeat. */
  readonly onComment?: (text: string) => void;
  /** Called once an event is longer than `maxSize` characters; nothing is decoded after it. */
  readonly onTooLarge: () => void;
  readonly maxSize: number;
}

/** What an unfinished line may have beyond `maxSize`: the name of its field. */
const MAX_FIELD = 256;

/**
 * The inverse of `encode`. An event is reported with the line that completes it, also where that line ends in the CR at the end of a chunk;
 * the id of a block without data counts, `retry` is reported only where it is a safe number, and an unfinished last event is discarded.
 */
export function decoder({ onEvent, onRetry, onComment, onTooLarge, maxSize }: SseDecoderOptions): SseDecoder {
  let lastId: string | undefined;
  let isTooLarge = false;
  /** At least the characters since the last event. */
  let unread = 0;

  function limit(size: number): void {
    if (isTooLarge || size <= maxSize) return;
    isTooLarge = true;
    onTooLarge();
  }

  const parser = createParser({
    // Counts what arrives in pieces; what arrives whole is counted when it is reported.
    maxBufferSize: maxSize + MAX_FIELD,
    onId(id) {
      limit(id.length);
      lastId = id;
    },
    onEvent(event) {
      unread = 0;
      limit(event.data.length);
      if (event.event !== undefined) limit(event.event.length);
      if (isTooLarge) return;
      event.id = lastId;
      onEvent(event);
    },
    onRetry(milliseconds) {
      if (!isTooLarge && Number.isSafeInteger(milliseconds)) onRetry?.(milliseconds);
    },
    onComment:
      onComment &&
      ((text) => {
        if (!isTooLarge) onComment(text);
      }),
  });
  // Ends the parser's search for a byte order mark, which decoding the bytes has removed.
  parser.feed("\n");
  return {
    push(text) {
      if (isTooLarge) return;
      unread += text.length;
      parser.feed(text);
      unread = Math.max(unread, text.length);
      if (unread <= maxSize) return;
      // A parser over its limit throws at the next call. `onError` reports that too, but makes an `Error` for each line of an unknown field.
      try {
        parser.feed("");
      } catch {
        limit(Number.POSITIVE_INFINITY);
      }
    },
  };
}
