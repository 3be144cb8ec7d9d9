import { createParser } from "eventsource-parser";

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
 * One event as its block of lines. Names and ids may not hold CR, LF or NUL: such a name would end its line and let the
 * rest pass for other fields. Data of several lines is written as several `data:` lines.
 */
export function encode({ event, data, id, retry }: SseEvent): string {
  let block = "";
  if (event !== undefined) block += `event: ${oneLine("event name", event)}\n`;
  if (id !== undefined) block += `id: ${oneLine("id", id)}\n`;
  if (retry !== undefined) block += `retry: ${Math.trunc(retry)}\n`;
  const lines = /[\r\n]/.test(data) ? data.replace(/\r\n?|\n/g, "\ndata: ") : data;
  return `${block}data: ${lines}\n\n`;
}

/** A comment, which readers skip: a heartbeat. */
export function encodeComment(text: string): string {
  return `: ${oneLine("comment", text)}\n\n`;
}

function oneLine(what: string, text: string): string {
  if (/[\r\n\0]/.test(text)) throw new TypeError(`an SSE ${what} may not hold CR, LF or NUL: ${JSON.stringify(text)}`);
  return text;
}

export interface SseDecoder {
  /** Text of the stream, in any chunks; events are reported as they are complete. */
  push(text: string): void;
}

export interface SseDecoderOptions {
  readonly onEvent: (event: SseEvent) => void;
  /** Milliseconds that the server asks for before a reconnect. */
  readonly onRetry?: (milliseconds: number) => void;
  /** Any sign of life that is not an event. */
  readonly onComment?: (text: string) => void;
  /** Called once an event is longer than `maxSize` characters; nothing is decoded after it. */
  readonly onTooLarge: () => void;
  readonly maxSize: number;
}

/**
 * The inverse of `encode`, over eventsource-parser, whose gaps are closed here: a CR at the end of a chunk does not hold
 * an event back, the id of a block without data is not lost, `retry` is reported only where it is a safe number, and an event
 * over the limit is noticed inside a chunk too. An unfinished last event is discarded.
 */
export function decoder({ onEvent, onRetry, onComment, onTooLarge, maxSize }: SseDecoderOptions): SseDecoder {
  let id: string | undefined;
  let afterCr = false;
  let lineStart = true;
  let held = "";
  let tooLarge = false;

  function refuse(): void {
    if (tooLarge) return;
    tooLarge = true;
    onTooLarge();
  }

  const parser = createParser({
    onEvent(event) {
      if (tooLarge) return;
      if (event.data.length > maxSize || (event.event?.length ?? 0) > maxSize) return refuse();
      // The parser's own object goes on: this is every message's way.
      event.id = id;
      onEvent(event);
    },
    onRetry(milliseconds) {
      if (Number.isSafeInteger(milliseconds)) onRetry?.(milliseconds);
    },
    onComment(text) {
      if (!text.startsWith(ID_MARK)) return onComment?.(text);
      const value = text.slice(ID_MARK.length).replace(/^ /, "");
      if (value.length > maxSize) return refuse();
      if (!value.includes("\0")) id = value;
    },
    onError(error) {
      if (error.type === "max-buffer-size-exceeded") refuse();
    },
    // The parser counts the line that it waits for too, with its field name, whatever the field is.
    maxBufferSize: maxSize + 256,
  });

  return {
    push(chunk) {
      if (tooLarge || chunk === "") return;
      let text = chunk;
      if (afterCr && text.charCodeAt(0) === 10) text = text.slice(1);
      afterCr = false;
      if (text.includes("\r")) {
        afterCr = text.endsWith("\r");
        text = text.replace(/\r\n?/g, "\n");
      }
      text = held + text;
      held = "";
      if (text === "") return;
      // The parser forgets the id of a block without data, so ids reach us as comments, in order. A line that may yet
      // turn out to be an id is held until it is decided.
      const line = text.lastIndexOf("\n") + 1;
      if ((line > 0 || lineStart) && "id".startsWith(text.slice(line))) {
        held = text.slice(line);
        text = text.slice(0, line);
      }
      if (lineStart) text = text.replace(ID_FIELD, `:${ID_MARK}`);
      if (text.includes("\nid")) text = text.replace(ID_FIELDS, `\n:${ID_MARK}`);
      if (text === "") return;
      lineStart = text.endsWith("\n");
      parser.feed(text);
    },
  };
}

const ID_MARK = "\0id:";
const ID_FIELD = /^id(?::|(?=\n))/;
const ID_FIELDS = /\nid(?::|(?=\n))/g;
