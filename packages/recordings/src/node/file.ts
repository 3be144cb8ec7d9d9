import { createHash, type Hash } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { formatLine } from "../recording.js";

/** The size of a batch, in characters, that is written before the end of the tick. */
const FULL = 256 * 1024;

/** A recording on the disk, readable by its owner only. Lines of one tick are one write; a killed process can cut the last line only. */
export class RecordingFile {
  readonly #fd: number;
  readonly #hash: Hash = createHash("sha256");
  readonly #onError: (error: Error) => void;
  #waiting: string[] = [];
  #size = 0;
  #lines = 0;
  #due: NodeJS.Immediate | undefined;
  #over = false;

  /** @throws a system error, `EEXIST` if the file exists already */
  constructor(path: string, onError: (error: Error) => void) {
    this.#fd = openSync(path, "wx", 0o600);
    this.#onError = onError;
  }

  /** The lines so far; of a closed file all, with its end line. */
  get lines(): number {
    return this.#lines;
  }

  readonly write = (line: string): void => {
    if (this.#over) return;
    this.#waiting.push(line);
    this.#lines++;
    this.#size += line.length;
    if (this.#size > FULL) this.#flush();
    else this.#due ??= setImmediate(() => this.#flush());
  };

  /** Writes the end line and closes the file. */
  close(): void {
    this.#flush();
    if (this.#over) return;
    this.#over = true;
    const end = { lines: this.#lines, sha256: this.#hash.digest("hex") };
    try {
      writeAll(this.#fd, Buffer.from(formatLine({ end })));
      this.#lines++;
    } catch (error) {
      this.#onError(error as Error);
    }
    closeSync(this.#fd);
  }

  #flush(): void {
    this.#due = undefined;
    if (this.#waiting.length === 0) return;
    const bytes = Buffer.from(this.#waiting.join(""));
    this.#waiting = [];
    this.#size = 0;
    try {
      writeAll(this.#fd, bytes);
      this.#hash.update(bytes);
    } catch (error) {
      // On a full disk the file stays cut.
      this.#over = true;
      closeSync(this.#fd);
      this.#onError(error as Error);
    }
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}
