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
  if (/[\r\n\0]/.test(text))
    throw new TypeError(`an SSE ${what} may not hold CR, LF or NUL: ${brief(JSON.stringify(text), MAX_NAME)}`);
  return text;
}

const LF = 10;
const E = 101;

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

/**
 * The inverse of `encode`. An event is reported with the line that completes it, also where that line ends in the CR at the end of a chunk;
 * the id of a block without data counts, `retry` is reported only where it is a safe number, and an unfinished last event is discarded.
 */
export function decoder({ onEvent, onRetry, onComment, onTooLarge, maxSize }: SseDecoderOptions): SseDecoder {
  let id: string | undefined;
  let event: string | undefined;
  let data: string | undefined;
  /** The beginning of an incomplete line. */
  let held = "";
  /** The last line that named an event, with its end, and the name. */
  let named = "";
  let name = "";
  let afterCr = false;
  let tooLarge = false;

  function limit(size: number, most = maxSize): void {
    if (size <= most || tooLarge) return;
    tooLarge = true;
    onTooLarge();
  }

  function dispatch(): void {
    const complete = data === undefined ? undefined : { id, event: event || undefined, data };
    event = data = undefined;
    if (complete) onEvent(complete);
  }

  function append(value: string): void {
    data = data === undefined ? value : `${data}\n${value}`;
    limit(data.length);
  }

  function read(line: string): void {
    const colon = line.indexOf(":");
    const value = colon < 0 ? "" : valueAt(line, colon + 1, line.length);
    switch (colon < 0 ? line : line.slice(0, colon)) {
      case "":
        return onComment?.(value);
      case "data":
        return append(value);
      case "event":
        named = `${line}\n`;
        event = name = value;
        return limit(value.length);
      case "id":
        if (!value.includes("\0")) id = value;
        return limit(value.length);
      case "retry":
        if (/^\d+$/.test(value) && Number.isSafeInteger(Number(value))) onRetry?.(Number(value));
    }
  }

  return {
    push(chunk) {
      if (tooLarge || chunk === "") return;
      let text = afterCr && chunk.startsWith("\n") ? chunk.slice(1) : chunk;
      afterCr = false;
      if (text.includes("\r")) {
        afterCr = text.endsWith("\r");
        text = text.replace(/\r\n?/g, "\n");
      }
      // Only the new text is searched for line ends, because a line may arrive in many chunks.
      for (let from = 0; !tooLarge; ) {
        // Most streams repeat the name of the event before: that line is not searched, nor cut.
        if (held === "" && text.charCodeAt(from) === E && text.startsWith(named, from)) {
          event = name;
          from += named.length;
        }
        let to = text.indexOf("\n", from);
        if (to < 0) {
          held += text.slice(from);
          break;
        }
        if (held !== "") {
          read(held + text.slice(from, to));
          held = "";
        } else if (from === to) dispatch();
        else if (isData(text, from)) {
          append(valueAt(text, from + 5, to));
          // Most events are complete with one line of data.
          if (!tooLarge && text.charCodeAt(to + 1) === LF) {
            to++;
            dispatch();
          }
        } else read(text.slice(from, to));
        from = to + 1;
      }
      // With the name of a field.
      limit(held.length + (data?.length ?? 0), maxSize + 256);
    },
  };
}

/** Whether a line of data begins here. Comparing characters costs a fifth of `startsWith` with a position. */
function isData(text: string, from: number): boolean {
  return (
    text.charCodeAt(from) === 100 &&
    text.charCodeAt(from + 1) === 97 &&
    text.charCodeAt(from + 2) === 116 &&
    text.charCodeAt(from + 3) === 97 &&
    text.charCodeAt(from + 4) === 58
  );
}

/** One space after the colon is not part of a value. */
function valueAt(line: string, from: number, to: number): string {
  return line.slice(line.charCodeAt(from) === 32 ? from + 1 : from, to);
}
