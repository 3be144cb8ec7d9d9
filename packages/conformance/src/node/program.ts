import { openProgram } from "@parlance/client/internal/program";
import type { Port } from "@parlance/wire";
import { branded, type Disconnected } from "@parlance/wire/errors";
import { visible, visibleLines } from "@parlance/wire/internal/escape";
import { Unmet } from "../case.js";

/** Lines of stderr that a failure repeats, and their characters. */
const LAST = 10;
const MAX_STDERR = 2000;
/** Milliseconds that a program may take to end after its standard input, and again after SIGTERM. */
const END_WITHIN = 500;
/** Characters of a line. */
const MAX_LINE = 1 << 20;
/** Lines that wait to be read. */
const MAX_LINES = 1000;

export type Answer = Readonly<Record<string, unknown>>;

/** A program under test, which answers each JSON line with one. Its stderr is passed on. */
export class Program {
  readonly #port: Port;
  readonly #closed: Promise<void>;
  /** The lines of JSON that it has printed. Its other lines are its own. */
  readonly #lines: string[] = [];
  #wake: (() => void) | undefined;
  #ended: string | undefined;
  /** The line that is waited for, until another one has been reported. */
  #expected: string | undefined;
  #other = "";

  private constructor(port: Port) {
    this.#port = port;
    this.#closed = new Promise((resolve) =>
      port.listen({
        frame: (text) => this.#receive(text),
        close: (_, __, cause) => {
          this.#end(cause ? endOf(cause) : "it was stopped");
          resolve();
        },
      }),
    );
  }

  /** Starts a command of the shell. Throws `Disconnected` if there is no folder to start it in. */
  static async start(command: string, cwd: string): Promise<Program> {
    const onStderr = (text: string) => void process.stderr.write(visibleLines(text));
    return new Program(await openProgram(command, [], { cwd, onStderr, endWithin: END_WITHIN }, MAX_LINE, true));
  }

  /** Writes a line, if any, and returns the next one. Throws `Broken` where the program cannot answer, `Unmet` if no line comes in time. */
  async ask(line: object | undefined, what: string, wait: number): Promise<Answer> {
    const early = this.#lines.shift();
    if (early !== undefined) throw new Broken(what, `a line that nothing asked for: ${early.slice(0, 200)}`);
    // The readers of lines of Deno and Bun stop at U+2028 and U+2029 too, others at U+0085.
    if (line) this.#port.send(visible(JSON.stringify(line)));
    else this.#expected = what;
    const until = Date.now() + wait;
    for (;;) {
      const text = this.#lines.shift();
      if (text !== undefined) {
        this.#expected = undefined;
        return answerIn(text, what);
      }
      if (this.#ended !== undefined) throw new Broken(what, this.#ended, true);
      const left = until - Date.now();
      if (left <= 0) throw new Unmet(what, `nothing within ${wait} ms${this.#other}`, true);
      const next = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await inTime(next, left);
    }
  }

  /** How the program has ended, or ends within so many milliseconds; undefined if it goes on. */
  async ended(limit: number): Promise<string | undefined> {
    await inTime(this.#closed, limit);
    return this.#ended;
  }

  /** Ends the program and all that it has started. */
  async close(): Promise<void> {
    this.#port.close(1000, "");
    await this.#closed;
  }

  #receive(text: string): void {
    if (this.#ended !== undefined) return;
    // Some runtimes begin their output with a byte order mark; it is white space.
    const line = text.trim();
    if (text.length > MAX_LINE) this.#fail(`a line of more than ${MAX_LINE >> 20} MiB`);
    // A line that is not UTF-8 begins with U+FFFD.
    else if (!/^\uFFFD?\{/.test(line)) this.#printed(line);
    else if (this.#lines.push(line) > MAX_LINES) this.#fail(`more than ${MAX_LINES} lines that nothing asked for`);
    this.#wake?.();
  }

  /** Reports another line than the one that is waited for at once, because a program may take long to start. */
  #printed(line: string): void {
    if (this.#expected === undefined) return;
    this.#other = ` but ${JSON.stringify(line.slice(0, 200))}`;
    process.stderr.write(
      `${visible(`the program printed${this.#other.slice(4)}, which is no line ${this.#expected}: waiting for one`)}\n`,
    );
    this.#expected = undefined;
  }

  #fail(flaw: string): void {
    this.#end(flaw);
    this.#port.cut!();
  }

  #end(how: string): void {
    this.#ended ??= how;
    this.#wake?.();
  }
}

/** Waits for a promise, but not longer than so many milliseconds. */
async function inTime(promise: Promise<void>, limit: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limit);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}

/** The end of a program as a sentence, with its last lines of stderr. */
function endOf({ details }: Disconnected): string {
  const { body, exitCode, signal } = details!;
  const how = `it ended with ${signal ?? exitCode}`;
  const last = body.split("\n").slice(-LAST).join("\n").slice(-MAX_STDERR);
  return last === "" ? how : `${how}, after these lines on stderr:\n${last}`;
}

function answerIn(text: string, what: string): Answer {
  try {
    return JSON.parse(text);
  } catch {
    throw new Broken(what, `a line that is not JSON: ${text.slice(0, 200)}`);
  }
}

/** The program under test does not do its part. */
export class Broken extends Error {
  static {
    branded(Broken, "Broken");
  }

  declare readonly name: "Broken";
  readonly code = "broken_program";
  readonly expected: string;
  readonly came: string;
  /** Whether the program is over, so that it may be started again. */
  readonly hasEnded: boolean;
  constructor(expected: string, came: string, hasEnded = false) {
    super(`the program printed no ${expected}: ${came}`);
    this.expected = expected;
    this.came = came;
    this.hasEnded = hasEnded;
  }
}
