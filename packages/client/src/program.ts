import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type { OpenSocket, Port, PortEvents } from "@parlance/wire";
import { assertForms, assertLimits, Disconnected, misuse, notify } from "@parlance/wire/errors";
import { encodeLine, LineReader } from "@parlance/wire/lines";
import { reasonIn, StderrTail } from "./stderr.js";

export interface ProgramOptions {
  /** The folder that it runs in. @default that of this process */
  readonly cwd?: string | undefined;
  /** Its environment. @default that of this process */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Called with each piece of text that the program writes to its standard error, for a log. */
  readonly onStderr?: ((text: string) => void) | undefined;
  /** Milliseconds that the program may take to read what was sent and to end, and again after SIGTERM, before it is killed. @default 3 s */
  readonly endWithin?: number | undefined;
}

/** A program as the transport of `connect`. */
export interface Program {
  readonly webSocket: OpenSocket;
  readonly fetch: (request: Request) => Promise<Response>;
  readonly resume: false;
}

const END_WITHIN = 3000;

/** Milliseconds between two looks at the standard input. Only a write reports that the program has closed it. */
const LOOK = 1000;

/** Unread characters at which the program's standard output waits for the reader of the channel. */
const AHEAD = 1024 * 1024;

/**
 * Starts a program for each channel that is opened, and talks with it on its standard input and output, one JSON text a line:
 * `connect(contract, program("codex-acp", [], { cwd }))`. It is not run through a shell.
 *
 * The program and its children are one process group. Closing the channel ends its standard input; a group that is still there after
 * `endWithin` gets SIGTERM, and SIGKILL after the same time again. Windows has no signals: there the process tree is ended at once.
 *
 * A program that does not start, or ends before the channel, is `Disconnected`; `details` has its exit code or signal, and the last 16 KiB of
 * its standard error. To start it again is up to the caller.
 */
export function program(command: string, args: readonly string[] = [], options: ProgramOptions = {}): Program {
  assertProgram(command, args, options);
  return {
    resume: false,
    async fetch() {
      throw misuse(`${command} is a program, which carries channels: it has no operations`);
    },
    webSocket: (_, { maxSize }) => openProgram(command, args, options, maxSize),
  };
}

/** Starts a program as a port. With `shell` it is a command of the system's shell. */
export async function openProgram(
  command: string,
  args: readonly string[],
  options: ProgramOptions,
  maxSize: number,
  shell = false,
): Promise<Port> {
  const child = await start(command, args, options, shell);
  return new ProgramPort(command, child, maxSize, options);
}

function assertProgram(command: unknown, args: unknown, options: ProgramOptions): void {
  const isText = (part: unknown) => typeof part === "string" && !part.includes("\0");
  if (!isText(command) || command === "") throw misuse('the command of a program is a text, such as "codex-acp"');
  if (!Array.isArray(args) || !args.every(isText))
    throw misuse(`the arguments of ${command} are a list of texts, such as ["--acp"]`);
  assertForms(options, { cwd: "a string", env: "an object", onStderr: "a function" });
  assertLimits(options, "endWithin");
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Resolves when the program runs. Rejects with `Disconnected` when it cannot be started. */
function start(command: string, args: readonly string[], { cwd, env }: ProgramOptions, shell: boolean): Promise<Child> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => reject(notStarted(command, cwd, error));
    try {
      const child = spawn(command, args, {
        cwd,
        env,
        shell,
        stdio: ["pipe", "pipe", "pipe"],
        // A process group of its own, so that all of it can be ended. On Windows it would open a window.
        detached: !isWindows,
        windowsHide: true,
      });
      child.once("error", failed).once("spawn", () => {
        keepUntilExit(child);
        resolve(child);
      });
    } catch (error) {
      // Node throws some failures, such as EINVAL for a .cmd file on Windows.
      failed(error as NodeJS.ErrnoException);
    }
  });
}

const isWindows = process.platform === "win32";

const REMEDIES: Readonly<Record<string, string>> = {
  ENOENT: "there is no such program: install it, add its folder to PATH, or write the whole path",
  EACCES: "it may not be executed: is it a file with the permission to (chmod +x)?",
  EINVAL: "on Windows a .cmd or .bat file is no program: start what it starts, such as node with its script",
};

function notStarted(command: string, cwd: string | undefined, cause: NodeJS.ErrnoException): Disconnected {
  const { code = "", message } = cause;
  const isLost = cwd !== undefined && code === "ENOENT" && !existsSync(cwd);
  const why = isLost ? `there is no folder ${cwd} to run it in` : (REMEDIES[code] ?? message);
  return new Disconnected(`${command} was not started: ${why}`, { code: "unreachable", retryable: false, cause });
}

/** Programs that run, which end with this process. */
const running = new Set<ChildProcess>();

function killAll(): void {
  for (const child of running) signalGroup(child, "SIGKILL");
}

function keepUntilExit(child: ChildProcess): void {
  if (running.size === 0) process.on("exit", killAll);
  running.add(child);
  child.once("exit", () => {
    running.delete(child);
    if (running.size === 0) process.off("exit", killAll);
  });
}

/** Sends a signal to a program and all that it has started. */
function signalGroup(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    if (!isWindows) process.kill(-child.pid!, signal);
    else if (child.exitCode === null)
      spawn("taskkill", ["/pid", String(child.pid), "/t", "/f"], { stdio: "ignore", windowsHide: true })
        // Where there is no taskkill, at least the program itself.
        .on("error", () => child.kill());
  } catch {
    // The group is gone.
  }
}

/**
 * A running program as a port. It is over when the program has ended and its output was read:
 *
 *     running ─close, cut, or an end of its input or output→ ending ─exit→ over
 *
 * From `closing` on it has a limited time, while it may still read.
 */
class ProgramPort implements Port {
  #state: "running" | "ending" | "over" = "running";
  readonly #name: string;
  readonly #child: Child;
  readonly #maxSize: number;
  readonly #endWithin: number;
  readonly #said = new StderrTail();
  #on: PortEvents | undefined;
  #reader: LineReader | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #looks: ReturnType<typeof setInterval>;
  /** Whether the program has a limited time left. */
  #isLimited = false;
  /** The close of this side. */
  #closing: { readonly code: number; readonly reason: string } | undefined;
  /** The act of the program that ended the conversation: a reason only where it then goes on. */
  #does: string | undefined;
  #did: string | undefined;
  #failure: unknown;
  #exit: { readonly exitCode: number | undefined; readonly signal: string | undefined } | undefined;
  /** Streams that may still have something of the program. */
  #open = 2;
  #rest = 0;

  constructor(name: string, child: Child, maxSize: number, { endWithin = END_WITHIN, onStderr }: ProgramOptions) {
    this.#name = name;
    this.#child = child;
    this.#maxSize = maxSize;
    this.#endWithin = endWithin;
    // EPIPE: the program does not read any more. It may be about to end.
    child.stdin.on("error", () => this.#end("closed its standard input"));
    child.stderr
      .on("data", (chunk: Buffer) => this.#said.add(chunk))
      .on("error", () => {})
      .on("close", () => this.#closed());
    if (onStderr) this.#logTo(onStderr);
    this.#looks = setInterval(() => child.stdin.writableLength > 0 || child.stdin.write(""), LOOK).unref();
    child.on("error", () => {});
    if (child.exitCode !== null || child.signalCode !== null) this.#exited();
    else child.once("exit", () => this.#exited());
  }

  send(frame: string): void {
    if (this.#state === "running") this.#child.stdin.write(encodeLine(frame));
  }

  buffered(): number {
    return this.#state === "running" ? this.#child.stdin.writableLength : 0;
  }

  close(code: number, reason: string): void {
    this.#closing ??= { code, reason };
    this.#end();
  }

  /** The program gets no more time for the frames before the close than for its end. */
  closing(): void {
    this.#limit();
  }

  cut(): void {
    this.#end();
    signalGroup(this.#child, "SIGKILL");
  }

  listen(on: PortEvents): void {
    this.#on = on;
    this.#reader = new LineReader(
      this.#child.stdout,
      { maxSize: this.#maxSize, ahead: AHEAD },
      {
        frame: on.frame,
        unread: on.unread,
        end: (rest) => {
          this.#rest = rest;
          this.#end("closed its standard output");
          this.#closed();
        },
      },
    );
  }

  /** Ends the program, first by the end of its standard input. */
  #end(did?: string): void {
    if (this.#state !== "running") return;
    this.#state = "ending";
    clearInterval(this.#looks);
    this.#child.stdin.end();
    this.#does = did;
    this.#limit();
  }

  /** Ends the program by signals, unless it ends before. */
  #limit(): void {
    if (this.#isLimited || this.#exit) return;
    this.#isLimited = true;
    this.#after(() => {
      this.#did = this.#does;
      signalGroup(this.#child, "SIGTERM");
      this.#after(() => {
        signalGroup(this.#child, "SIGKILL");
        // A process that the system does not end.
        this.#after(() => this.#finish());
      });
    });
  }

  #after(run: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(run, this.#endWithin);
  }

  #exited(): void {
    const { exitCode, signalCode } = this.#child;
    this.#exit = { exitCode: exitCode ?? undefined, signal: signalCode ?? undefined };
    // Its children, which may keep its output open.
    signalGroup(this.#child, "SIGKILL");
    this.#drain();
  }

  /** Waits for the end of the program's output, which a process that left its group may hold. */
  #drain(): void {
    if (this.#open === 0) return this.#finish();
    this.#after(() => {
      // Not while the output waits for its reader.
      if (this.#reader?.isWaiting) return this.#drain();
      this.#child.stdout.destroy();
      this.#child.stderr.destroy();
    });
  }

  #closed(): void {
    this.#open--;
    if (this.#open === 0 && this.#exit) this.#finish();
  }

  #finish(): void {
    if (this.#state === "over") return;
    this.#state = "over";
    clearTimeout(this.#timer);
    clearInterval(this.#looks);
    this.#reader?.stop();
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy();
    const { exitCode, signal } = this.#exit ?? {};
    const cause = this.#cause();
    // A program that ended by itself has read its input, or did not want to.
    if (this.#closing && exitCode !== undefined) this.#on?.close(this.#closing.code, this.#closing.reason);
    else if (!this.#closing && exitCode === 0 && !signal) this.#on?.close(1000, cause.message, cause);
    else this.#on?.close(1006, cause.message, cause);
  }

  #cause(): Disconnected {
    const body = this.#said.text();
    const { exitCode, signal } = this.#exit ?? {};
    const how = signal ? `was ended by ${signal}` : `ended with code ${exitCode}`;
    const ended = this.#exit ? how : `did not end within ${this.#endWithin} ms of SIGKILL`;
    const half = this.#rest > 0 && `after ${this.#rest} bytes of a line without an end`;
    const does = [this.#did, ended, half].filter(Boolean).join(", ");
    return new Disconnected([`${this.#name} ${does}`, reasonIn(body)].filter(Boolean).join(": "), {
      code: "closed",
      retryable: true,
      details: { body, exitCode, signal },
      cause: this.#failure,
    });
  }

  #logTo(onStderr: (text: string) => void): void {
    const decoder = new TextDecoder();
    const failed = (error: unknown) => {
      this.#failure = error;
      this.cut();
    };
    this.#child.stderr.on("data", (chunk: Buffer) => notify(onStderr, decoder.decode(chunk, { stream: true }), failed));
  }
}
