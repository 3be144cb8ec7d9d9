import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { branded } from "@parlance/wire/errors";
import { visible, visibleLines } from "@parlance/wire/internal/escape";
import { Unmet } from "../case.js";
import { Lines } from "./lines.js";

/** Lines of stderr that a failure repeats. */
const LAST = 10;
/** Milliseconds in which what an ended program has printed is still read: a child of its own may keep the pipe open. */
const LEFT = 500;

const posix = process.platform !== "win32";
/** Programs that are not closed yet: none outlives this process. */
const open = new Set<Program>();
const killAll = () => {
  for (const program of open) program.kill("SIGKILL");
};

export type Answer = Readonly<Record<string, unknown>>;

/** A program under test, which answers each JSON line with one. What it writes to stderr is passed on. */
export class Program {
  readonly #child: ChildProcess;
  readonly #lines: Lines;
  #wake: (() => void) | undefined;
  #ended: string | undefined;
  /** Whether it has ended, and all that might still write to its output. */
  #isClosed = false;
  #stderr = "";
  /** What is waited for, until a line that is not it has been reported. */
  #expected: string | undefined;
  #other = "";

  constructor(command: string, cwd: string) {
    // A group of its own, so that a signal reaches what the shell has started too.
    this.#child = spawn(command, { cwd, shell: true, stdio: ["pipe", "pipe", "pipe"], detached: posix });
    if (open.size === 0) process.on("exit", killAll);
    open.add(this);
    const { stdin, stdout, stderr } = this.#child;
    this.#lines = new Lines(
      stdout!,
      (flaw) => (flaw === undefined ? this.#wake?.() : this.#end(flaw)),
      (line) => this.#printed(line),
    );
    stderr!.setEncoding("utf8").on("data", (text: string) => {
      process.stderr.write(visibleLines(text));
      this.#stderr = (this.#stderr + text)
        .split("\n")
        .slice(-LAST - 1)
        .join("\n")
        .slice(-2000);
    });
    this.#child.on("error", (error) => {
      this.#isClosed = this.#child.pid === undefined;
      this.#end(error.message);
    });
    let exited: string | undefined;
    const soon = (how: string) => void setTimeout(() => this.#end(exited ?? how), LEFT).unref();
    this.#child.on("exit", (code, signal) => {
      exited = `it ended with ${signal ?? code}`;
      soon(exited);
    });
    this.#child.on("close", () => {
      this.#isClosed = true;
      this.#end(exited ?? "it ended");
    });
    stdout!.on("end", () => soon("it closed its output"));
    stdin!.on("error", () => soon("it closed its input"));
  }

  /** Writes a line, if any, and returns the next one. Throws `Broken` where the program cannot answer, `Unmet` if no line comes in time. */
  async ask(line: object | undefined, what: string, wait: number): Promise<Answer> {
    const early = this.#lines.next();
    if (early !== undefined) throw new Broken(what, `a line that nothing asked for: ${early.slice(0, 200)}`);
    if (!line) this.#expected = what;
    // The readers of lines of Deno and Bun stop at U+2028 and U+2029 too, others at U+0085.
    if (line) this.#child.stdin!.write(`${visible(JSON.stringify(line))}\n`);
    const until = Date.now() + wait;
    for (;;) {
      const text = this.#lines.next();
      if (text !== undefined) {
        this.#expected = undefined;
        return answerIn(text, what);
      }
      if (this.#ended !== undefined) throw new Broken(what, this.#ended, true);
      const left = until - Date.now();
      if (left <= 0) throw new Unmet(what, `nothing within ${wait} ms${this.#other}`, true);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** How the program has ended, or ends within so many milliseconds; undefined if it goes on. */
  async ended(limit: number): Promise<string | undefined> {
    if (!(await this.#closes(limit))) return undefined;
    return this.#ended;
  }

  /** Ends the program and what it has started: SIGTERM after so many milliseconds, and SIGKILL at the latest two seconds later. */
  async close(patience = 500): Promise<void> {
    const { stdin, stdout, stderr } = this.#child;
    stdin!.end();
    if (!(await this.#closes(patience))) {
      this.kill("SIGTERM");
      await this.#closes(2000);
    }
    // Also what has closed its output. Whether anything was there cannot be asked: dead processes count until they are reaped.
    this.kill("SIGKILL");
    open.delete(this);
    if (open.size === 0) process.off("exit", killAll);
    // What has left the group may hold the pipes: this process does not wait for it.
    for (const stream of [stdin, stdout, stderr]) stream!.destroy();
    this.#child.unref();
    this.#end("it was stopped");
  }

  /** Sends a signal to the program and what it has started. */
  kill(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    // Windows has no groups, and no SIGTERM.
    if (!posix) spawnSync("taskkill", ["/pid", String(pid), "/t", "/f"]);
    else
      try {
        process.kill(-pid, signal);
      } catch {
        // Nothing is left.
      }
  }

  /** Whether the program ends, and its output with it, within so many milliseconds. */
  async #closes(limit: number): Promise<boolean> {
    if (this.#isClosed) return true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, limit, false);
    });
    const closed = new Promise<boolean>((resolve) => void this.#child.once("close", () => resolve(true)));
    try {
      return await Promise.race([closed, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Tells of a line that is not the one waited for at once, because a program may take long to start. */
  #printed(line: string): void {
    if (this.#expected === undefined) return;
    this.#other = ` but ${JSON.stringify(line.slice(0, 200))}`;
    process.stderr.write(
      `${visible(`the program printed${this.#other.slice(4)}, which is no line ${this.#expected}: waiting for one`)}\n`,
    );
    this.#expected = undefined;
  }

  #end(how: string): void {
    const stderr = this.#stderr.trim();
    this.#ended ??= stderr === "" ? how : `${how}, after these lines on stderr:\n${stderr}`;
    this.#wake?.();
  }
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
