import type { AnyContract } from "@parlance/wire";
import { joined } from "./bodies.js";
import { type End, type Entry, type Header, isEnd, isHeader, type Line, parseLine } from "./recording.js";
import { flawOfEntry } from "./shape.js";
import { parseTranscriptLine, TranscriptEntries, transcriptHeader } from "./transcript.js";

/** An incremental hash, such as `createHash("sha256")` of Node. */
export interface Hasher {
  update(bytes: Uint8Array): unknown;
  digest(encoding: "hex"): string;
}

export interface ReadOptions {
  readonly onHeader?: ((header: Header) => void) | undefined;
  /** `line` counts from 1, and the header is the first. `at` is the position of the line's first byte. */
  readonly onEntry: (entry: Entry, line: number, at: number) => void;
  /** Checks the hash of the end line. Without it, only the count of lines is checked. */
  readonly hash?: Hasher | undefined;
  /** The contract of a transcript, which is read as a recording. A recording needs none. */
  readonly contract?: AnyContract | undefined;
}

/** The state of a recording after it was read. */
export interface Ending {
  /** `cut`: there is no end line. `altered`: a line, the count or the hash was changed. */
  readonly state: "complete" | "cut" | "altered";
  /** Whole lines that were read. */
  readonly lines: number;
  /** The problem of a file that is not complete. */
  readonly reason?: string | undefined;
  /** The file is a contract's transcript. It has no end line, so a cut at the end of a line is not seen. */
  readonly transcript?: true | undefined;
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
const BEGINNING = '{"recording":1';

class Lines {
  readonly #options: ReadOptions;
  readonly #text = new TextDecoder();
  #held: Uint8Array[] = [];
  #size = 0;
  #lines = 0;
  /** Bytes before the line that is read. */
  #bytes = 0;
  #end: End["end"] | undefined;
  #sha256: string | undefined;
  #transcript: TranscriptEntries | undefined;
  #isTranscript = false;
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
    if (this.#transcript && this.#size > 0 && this.altered === undefined) this.#line(this.#whole(new Uint8Array()));
    const lines = this.#lines;
    if (this.altered !== undefined)
      return { state: "altered", lines, reason: this.altered, ...(this.#isTranscript && { transcript: true }) };
    if (this.#transcript) {
      this.#transcript.end();
      return { state: "complete", lines, transcript: true };
    }
    if (!this.#end && lines === 0 && this.#size > 0 && !this.#mayBeHeader())
      return { state: "altered", lines, reason: "this is not a recording: its first line is no header" };
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

  /** Whether the first bytes, which no line's end follows, may begin a header that was cut. */
  #mayBeHeader(): boolean {
    const begun = this.#held.map((piece) => new TextDecoder().decode(piece.subarray(0, BEGINNING.length))).join("");
    return begun.startsWith(BEGINNING) || BEGINNING.startsWith(begun);
  }

  #whole(last: Uint8Array): Uint8Array {
    if (this.#held.length === 0) return last;
    const whole = joined([...this.#held, last], this.#size + last.length);
    this.#held = [];
    this.#size = 0;
    return whole;
  }

  #line(bytes: Uint8Array): void {
    const { hash, onHeader, onEntry } = this.#options;
    const text = this.#text.decode(bytes);
    if (this.#isTranscript || (this.#lines === 0 && parseTranscriptLine(text))) return this.#step(text);
    const line = parseLine(text);
    const wrong = this.#end ? "there are lines behind the end line" : misplaced(line, this.#lines);
    if (wrong !== undefined || "flaw" in line) {
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
    else onEntry(line, this.#lines, this.#bytes);
    this.#bytes += bytes.length;
  }

  /** A line of a transcript, which has neither header nor end line. */
  #step(text: string): void {
    const { contract, onHeader, onEntry } = this.#options;
    this.#isTranscript = true;
    if (!contract) {
      this.altered = "this is a transcript of a contract, which is read with its contract";
      return;
    }
    if (!this.#transcript) onHeader?.(transcriptHeader(contract));
    this.#transcript ??= new TranscriptEntries(contract, (entry) => {
      const flaw = flawOfEntry({ ...entry });
      if (flaw !== undefined) this.altered ??= `line ${this.#lines} is no line of a transcript: ${flaw}`;
      if (this.altered === undefined) onEntry(entry, this.#lines, 0);
    });
    this.#lines++;
    const line = parseTranscriptLine(text);
    if (line) this.#transcript.line(line);
    else if (text.trim() !== "") this.altered = `line ${this.#lines} is no line of a transcript`;
  }
}

function misplaced(line: Line | { readonly flaw: string }, before: number): string | undefined {
  if ("flaw" in line)
    return before === 0
      ? `this is not a recording: its first line is no header: ${line.flaw}`
      : `line ${before + 1} is no line of a recording: ${line.flaw}`;
  if (!isHeader(line)) return before === 0 ? "this is not a recording: its first line is no header" : undefined;
  if (before > 0) return `line ${before + 1} is a second header`;
  return line.recording === 1
    ? undefined
    : `the recording has format ${line.recording}, and this program reads format 1: update it`;
}
