/** A readable stream of bytes: the part of Node's that is used. */
export interface ByteSource {
  on(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  on(event: "end" | "close", listener: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

export interface LineEvents {
  frame(text: string): void;
  /** Characters that the reader of the frames has not taken yet. Without it, nothing waits for the reader. */
  unread?(): number;
  /** No line follows. `rest` counts the bytes of a line that was cut: it has no end, and is no JSON. */
  end(rest: number): void;
}

export interface LineLimits {
  /** Characters of a line. The first ones of a longer line are a frame that is over the limit. */
  readonly maxSize: number;
  /** Unread characters at which the source waits for the reader. */
  readonly ahead: number;
}

/** Line ends in JSON: white space, or, inside of strings, those that only some readers know, such as Node's `readline`. */
const LINE_ENDS = /[\n\r\u2028\u2029]/g;

/** Encodes a frame of JSON as a line, with its meaning kept. */
export function encodeLine(frame: string): string {
  return `${frame.replace(LINE_ENDS, (end) => (end < " " ? " " : `\\u${end.charCodeAt(0).toString(16)}`))}\n`;
}

const NEWLINE = 10;
const CR = 13;
const BRACE = 123;
const EMPTY = new Uint8Array();

/** Bytes of the first buffer of a line that comes in pieces, and of the largest that is kept for the next one. */
const FIRST_BUFFER = 1024;
const KEPT_BUFFER = 64 * 1024;

/** Decodes bytes, split anywhere, to lines: UTF-8, ended by LF or CRLF. Blank lines are left out. */
export class LineDecoder {
  readonly #most: number;
  readonly #strict = new TextDecoder("utf-8", { fatal: true });
  readonly #lenient = new TextDecoder();
  #buffer = EMPTY;
  /** Bytes of the line that has begun. */
  rest = 0;
  /** Whether the beginning of that line was given, because it is over the limit. */
  #isGiven = false;

  /** `maxSize` is in characters. */
  constructor(maxSize: number) {
    // A character takes at most three bytes, so that what is kept of a longer line has too many characters too.
    this.#most = 3 * (maxSize + 1);
  }

  decode(bytes: Uint8Array): string[] {
    const lines: string[] = [];
    let start = 0;
    if (this.rest > 0) {
      const end = bytes.indexOf(NEWLINE);
      this.#keep(end < 0 ? bytes : bytes.subarray(0, end), lines);
      if (end < 0) return lines;
      if (!this.#isGiven) this.#add(lines, this.#buffer.subarray(0, this.rest));
      this.#isGiven = false;
      this.rest = 0;
      if (this.#buffer.length > KEPT_BUFFER) this.#buffer = EMPTY;
      start = end + 1;
    }
    const last = bytes.lastIndexOf(NEWLINE);
    if (last >= start) this.#add(lines, bytes.subarray(start, last));
    this.#keep(bytes.subarray(Math.max(start, last + 1)), lines);
    return lines;
  }

  /** The last line, where only its end is missing: whole JSON, as some programs write it. A line that was cut is left out. */
  last(): string | undefined {
    // The beginning of a line over the limit was given.
    if (this.#isGiven) this.rest = 0;
    const lines: string[] = [];
    this.#add(lines, this.#buffer.subarray(0, this.rest));
    if (!isWhole(lines[0])) return undefined;
    this.rest = 0;
    return lines[0];
  }

  /** Keeps the beginning of a line. One over the limit is given at once, because its end may never come. */
  #keep(bytes: Uint8Array, lines: string[]): void {
    const kept = bytes.subarray(0, this.#most - this.rest);
    const size = this.rest + kept.length;
    if (size > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(size, 2 * this.#buffer.length, FIRST_BUFFER));
      grown.set(this.#buffer.subarray(0, this.rest));
      this.#buffer = grown;
    }
    this.#buffer.set(kept, this.rest);
    this.rest = size;
    if (size < this.#most || this.#isGiven) return;
    this.#isGiven = true;
    this.#add(lines, this.#buffer.subarray(0, size));
  }

  #add(lines: string[], bytes: Uint8Array): void {
    for (const line of this.#textOf(bytes).split("\n")) {
      const text = line.charCodeAt(line.length - 1) === CR ? line.slice(0, -1) : line;
      // Most lines begin with a brace, which needs no search for more.
      if (text.charCodeAt(0) === BRACE || text.trim() !== "") lines.push(text);
    }
  }

  #textOf(bytes: Uint8Array): string {
    try {
      return this.#strict.decode(bytes);
    } catch {
      return this.#partsOf(bytes).join("\n");
    }
  }

  /** The lines of bytes that are not all UTF-8. */
  #partsOf(bytes: Uint8Array): string[] {
    const parts: string[] = [];
    for (let start = 0; start <= bytes.length; ) {
      const found = bytes.indexOf(NEWLINE, start);
      const end = found < 0 ? bytes.length : found;
      const part = bytes.subarray(start, end);
      try {
        parts.push(this.#strict.decode(part));
      } catch {
        // A replacement character in a string would pass for the peer's text. In front of the line it makes the line invalid JSON.
        parts.push(`\uFFFD${this.#lenient.decode(part)}`);
      }
      start = end + 1;
    }
    return parts;
  }
}

/** Whether a text is a whole object or array of JSON. The beginning of a number would be one too. */
function isWhole(text = ""): boolean {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

/** Milliseconds between the first two looks at a reader that is behind. The interval doubles while it takes nothing. */
const FIRST_LOOK = 1;
const LONGEST_LOOK = 100;

/** Milliseconds after which a reader that takes nothing is given as much again: it may wait for an answer that is behind what it has not read. */
const PATIENCE = 1000;

/** Reads frames from a stream of bytes, one a line, no faster than their reader takes them. */
export class LineReader {
  readonly #source: ByteSource;
  readonly #on: LineEvents;
  readonly #decoder: LineDecoder;
  readonly #ahead: number;
  /** Unread characters at which the source waits now. */
  #mark: number;
  /** Lines that wait for the reader. */
  #lines: string[] = [];
  #isOver = false;
  #hasEnded = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wait = FIRST_LOOK;
  /** The unread characters at the last look, and the time since with no fewer. */
  #level = 0;
  #silent = 0;

  constructor(source: ByteSource, { maxSize, ahead }: LineLimits, on: LineEvents) {
    this.#source = source;
    this.#on = on;
    this.#decoder = new LineDecoder(maxSize);
    this.#ahead = this.#mark = ahead;
    const end = () => this.#end();
    source.on("end", end);
    source.on("close", end);
    source.on("error", end);
    source.on("data", (bytes) => this.#receive(bytes));
  }

  /** Whether the source waits for the reader. */
  get isWaiting(): boolean {
    return this.#timer !== undefined;
  }

  /** Drops the lines that wait, and all that follow. */
  stop(): void {
    this.#isOver = true;
    this.#lines = [];
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #receive(bytes: Uint8Array): void {
    if (this.#isOver) return;
    const lines = this.#decoder.decode(bytes);
    this.#lines = this.#lines.length === 0 ? lines : [...this.#lines, ...lines];
    if (!this.isWaiting) this.#deliver();
  }

  /** Delivers lines as long as the reader keeps up. */
  #deliver(): void {
    let at = 0;
    for (; at < this.#lines.length && !this.#isBehind(this.#lines[at]!); at++) {
      this.#on.frame(this.#lines[at]!);
      if (this.#isOver) return;
    }
    this.#lines = this.#lines.slice(at);
    if (this.#lines.length > 0) return this.#look();
    this.#timer = undefined;
    if (this.#hasEnded) this.#finish();
    else this.#source.resume();
  }

  #isBehind({ length }: string): boolean {
    const unread = this.#on.unread?.() ?? 0;
    return unread > 0 && unread + length > this.#mark;
  }

  #look(): void {
    this.#source.pause();
    this.#level = this.#on.unread?.() ?? 0;
    this.#timer = setTimeout(() => this.#pass(), this.#wait);
  }

  #pass(): void {
    const unread = this.#on.unread?.() ?? 0;
    const isTaking = unread < this.#level;
    this.#silent = isTaking ? 0 : this.#silent + this.#wait;
    this.#wait = isTaking ? FIRST_LOOK : Math.min(LONGEST_LOOK, 2 * this.#wait);
    if (isTaking) this.#mark = this.#ahead;
    else if (this.#silent >= PATIENCE) {
      this.#mark = unread + this.#ahead;
      this.#silent = 0;
    }
    this.#deliver();
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (!this.isWaiting) this.#finish();
  }

  #finish(): void {
    if (this.#isOver) return;
    const last = this.#decoder.last();
    if (last !== undefined) this.#on.frame(last);
    if (this.#isOver) return;
    this.#isOver = true;
    this.#on.end(this.#decoder.rest);
  }
}
