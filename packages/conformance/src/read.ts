import { type End, type Entry, type Header, isEnd, isHeader, type Line, parseLine } from "./recording.js";

/** An incremental hash, such as `createHash("sha256")` of Node. */
export interface Hasher {
  update(bytes: Uint8Array): unknown;
  digest(encoding: "hex"): string;
}

export interface ReadOptions {
  readonly onHeader?: (header: Header) => void;
  /** `line` counts from 1, and the header is the first. */
  readonly onEntry: (entry: Entry, line: number) => void;
  /** Checks the hash of the end line. Without it, only the count of lines is checked. */
  readonly hash?: Hasher;
}

/** The state of a recording after it was read. */
export interface Ending {
  /** `cut`: there is no end line. `altered`: a line, the count or the hash was changed. */
  readonly state: "complete" | "cut" | "altered";
  /** Whole lines that were read. */
  readonly lines: number;
  /** The problem of a file that is not complete. */
  readonly reason?: string;
}

/** The maximum length of a line; a recorder writes none longer. */
const MAX_LINE = 256 * 1024 * 1024;

/** Reads a recording as its bytes come, and holds one line at a time. All lines before a cut or an altered one are reported. */
export async function read(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: ReadOptions,
): Promise<Ending> {
  const lines = new Lines(options);
  for await (const chunk of chunks) {
    lines.push(chunk);
    if (lines.altered) break;
  }
  return lines.end();
}

const LF = 10;

class Lines {
  readonly #options: ReadOptions;
  readonly #text = new TextDecoder();
  #held: Uint8Array[] = [];
  #size = 0;
  #lines = 0;
  #end: End["end"] | undefined;
  #sha256: string | undefined;
  altered: string | undefined;

  constructor(options: ReadOptions) {
    this.#options = options;
  }

  push(chunk: Uint8Array): void {
    let from = 0;
    for (let to = chunk.indexOf(LF); to >= 0 && !this.altered; to = chunk.indexOf(LF, from)) {
      this.#line(this.#whole(chunk.subarray(from, to + 1)));
      from = to + 1;
    }
    if (from === chunk.length) return;
    this.#held.push(chunk.slice(from));
    this.#size += chunk.length - from;
    if (this.#size > MAX_LINE) this.altered ??= `line ${this.#lines + 1} is too long`;
  }

  end(): Ending {
    const lines = this.#lines;
    if (this.altered !== undefined) return { state: "altered", lines, reason: this.altered };
    if (!this.#end) {
      const rest = this.#size > 0 ? `line ${lines + 1} stops after ${this.#size} bytes` : "there is no end line";
      return { state: "cut", lines, reason: rest };
    }
    if (this.#size > 0) return { state: "altered", lines, reason: "there are bytes behind the end line" };
    const { lines: counted, sha256 } = this.#end;
    if (counted !== lines - 1)
      return { state: "altered", lines, reason: `the end line counts ${counted} lines, there are ${lines - 1}` };
    if (sha256 === undefined || (sha256 !== null && this.#sha256 !== undefined && sha256 !== this.#sha256))
      return { state: "altered", lines, reason: "the hash is another than that of the end line" };
    return { state: "complete", lines };
  }

  #whole(last: Uint8Array): Uint8Array {
    if (this.#held.length === 0) return last;
    const whole = new Uint8Array(this.#size + last.length);
    let at = 0;
    for (const piece of [...this.#held, last]) {
      whole.set(piece, at);
      at += piece.length;
    }
    this.#held = [];
    this.#size = 0;
    return whole;
  }

  #line(bytes: Uint8Array): void {
    const { hash, onHeader, onEntry } = this.#options;
    const line = parseLine(this.#text.decode(bytes));
    const wrong = this.#end ? "there are lines behind the end line" : misplaced(line, this.#lines);
    if (wrong !== undefined || line === undefined) {
      this.altered = wrong;
      return;
    }
    this.#lines++;
    if (isEnd(line)) {
      this.#end = line.end;
      this.#sha256 = hash?.digest("hex");
      return;
    }
    hash?.update(bytes);
    if (isHeader(line)) onHeader?.(line);
    else onEntry(line, this.#lines);
  }
}

function misplaced(line: Line | undefined, before: number): string | undefined {
  if (line === undefined)
    return before === 0
      ? "this is not a recording: its first line is no header"
      : `line ${before + 1} is no line of a recording`;
  if (!isHeader(line)) return before === 0 ? "this is not a recording: its first line is no header" : undefined;
  if (before > 0) return `line ${before + 1} is a second header`;
  return line.recording === 1
    ? undefined
    : `the recording has format ${line.recording}, and this program reads format 1: update it`;
}
