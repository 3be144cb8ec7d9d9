import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { branded } from "../../branded.js";
import { Unmet } from "../case.js";

/** A program under test, which answers each JSON line with one. What it writes to stderr is passed on. */
export class Program {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  readonly #wait: number;
  #wake: (() => void) | undefined;
  #ended: string | undefined;

  constructor(command: string, { cwd, wait }: { readonly cwd: string; readonly wait: number }) {
    this.#wait = wait;
    this.#child = spawn(command, { cwd, shell: true, stdio: ["pipe", "pipe", "inherit"], detached: true });
    const lines = createInterface({ input: this.#child.stdout! });
    lines.on("line", (line) => {
      // Anything else is the program's own output.
      if (!line.startsWith("{")) return;
      this.#lines.push(line);
      this.#wake?.();
    });
    const end = (how: string) => {
      this.#ended ??= how;
      this.#wake?.();
    };
    this.#child.on("error", (error) => end(error.message));
    this.#child.on("exit", (code, signal) => end(`it ended with ${signal ?? code}`));
    this.#child.stdin!.on("error", () => {});
  }

  /** The next line. Throws `Broken` if the program has ended, `Unmet` if no line comes in time. */
  async line(what: string, wait = this.#wait): Promise<Readonly<Record<string, unknown>>> {
    const until = Date.now() + wait;
    while (this.#lines.length === 0) {
      if (this.#ended !== undefined) throw new Broken(`the program printed no ${what}: ${this.#ended}`);
      const left = until - Date.now();
      if (left <= 0) throw new Unmet(what, `nothing within ${wait} ms`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const text = this.#lines.shift()!;
    try {
      return JSON.parse(text);
    } catch {
      throw new Broken(`the program printed a line that is not JSON: ${text.slice(0, 200)}`);
    }
  }

  /** Drops what came late for the case before. */
  forget(): void {
    this.#lines.length = 0;
  }

  say(line: object): void {
    this.#child.stdin!.write(`${JSON.stringify(line)}\n`);
  }

  async close(): Promise<void> {
    if (this.#ended !== undefined) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.stdin!.end();
    const kill = (signal: NodeJS.Signals) => {
      try {
        // The shell and what it has started.
        process.kill(-this.#child.pid!, signal);
      } catch {
        // It has just ended.
      }
    };
    const term = setTimeout(() => kill("SIGTERM"), 500);
    const hard = setTimeout(() => kill("SIGKILL"), 3000);
    await ended;
    clearTimeout(term);
    clearTimeout(hard);
  }
}

/** The program under test does not do its part: no case can be judged. */
export class Broken extends Error {
  static {
    branded(Broken, "Broken");
  }

  override readonly name = "Broken";
  readonly code = "broken_program";
}
