import type { Readable } from "node:stream";

/** The length of a line, in characters. */
const LONGEST = 1 << 20;
/** Lines that wait to be read. */
const MOST = 1000;

/** The JSON lines of a program's output. Other lines are the program's own. */
export class Lines {
  readonly #lines: string[] = [];
  #rest: string[] = [];
  #length = 0;

  readonly #onOther: (line: string) => void;

  /** Calls back for each line, and with a flaw where the output passes a limit; `onOther` for each line that is not JSON. */
  constructor(output: Readable, notify: (flaw?: string) => void, onOther: (line: string) => void = () => {}) {
    this.#onOther = onOther;
    output.setEncoding("utf8");
    output.on("error", () => {});
    const read = (chunk: string) => {
      const flaw = this.#push(chunk);
      if (flaw !== undefined) {
        // Not paused: a program that waits for its pipe would not read its input either, and not end with it.
        output.off("data", read);
        output.resume();
        this.#rest = [];
      }
      if (flaw !== undefined || this.#lines.length > 0) notify(flaw);
    };
    output.on("data", read);
  }

  next(): string | undefined {
    return this.#lines.shift();
  }

  #push(chunk: string): string | undefined {
    const [first, ...more] = chunk.split("\n") as [string, ...string[]];
    this.#rest.push(first);
    this.#length += first.length;
    for (const next of more) {
      if (this.#length > LONGEST) break;
      // Some runtimes begin their output with a byte order mark; it is white space.
      const line = this.#rest.join("").trim();
      if (line.startsWith("{")) this.#lines.push(line);
      else if (line !== "") this.#onOther(line);
      this.#rest = [next];
      this.#length = next.length;
    }
    if (this.#length > LONGEST) return `a line of more than ${LONGEST >> 20} MiB`;
    return this.#lines.length > MOST ? `more than ${MOST} lines that nothing asked for` : undefined;
  }
}
