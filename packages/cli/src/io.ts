import { once } from "node:events";
import { existsSync } from "node:fs";
import { dirname, relative } from "node:path";
import type { Readable, Writable } from "node:stream";
import { ContractError } from "@parlance/language/load";

/** The input and output of a command, which a test can replace. */
export interface Io {
  /** The base of relative paths. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: AsyncIterable<string | Uint8Array>;
  /** Standard input and output as streams, for a command that talks with the program that started it. */
  readonly streams?: { readonly input: Readable; readonly output: Writable };
  /** Whether the output is a terminal. */
  readonly tty?: boolean;
  /** Asks a question and returns the answer, without the line's end. Absent where there is no terminal. */
  ask?(question: string): Promise<string>;
  /** Aborts on Ctrl-C. Until it is called, Ctrl-C ends the process. */
  interrupt?(): AbortSignal;
  out(text: string): void;
  err(text: string): void;
}

/** Ends a command whose output is read no more, as behind `| head`: one that can be interrupted as by Ctrl-C, any other at once. */
export function endsQuietly(output: NodeJS.EventEmitter, end: () => void): void {
  output.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    end();
  });
}

/** Ctrl-C from now on; a signal that never aborts where nothing presses it. */
export const interruptOf = (io: Io): AbortSignal => io.interrupt?.() ?? new AbortController().signal;

/** Resolves as soon as one of the signals is aborted. */
export async function aborted(...signals: readonly AbortSignal[]): Promise<void> {
  if (!signals.some((signal) => signal.aborted)) await Promise.race(signals.map((signal) => once(signal, "abort")));
}

/** The options of a command, as `parseArgs` takes them. */
export type Options = Readonly<
  Record<
    string,
    {
      readonly type: "boolean" | "string";
      readonly default?: string;
      readonly short?: string;
      readonly multiple?: boolean;
    }
  >
>;

export interface Command {
  readonly summary: string;
  /** Its standard output is for another program, such as a diff, and is written as it is. */
  readonly exact?: true;
  /** Loaded when it is called, so that a command does not wait for the modules of others. */
  load(): Promise<{
    readonly help: string;
    readonly options: Options;
    command(argv: string[], io: Io, commands: Commands): Promise<number>;
  }>;
}

/** Every command by name. */
export type Commands = Readonly<Record<string, Command>>;

/** Exit codes of every command. */
export const exit = { fine: 0, findings: 1, usage: 2 } as const;

/** The command was called wrongly, or a file could not be read or written: exit code 2. */
export class UsageError extends Error {}

/** Whether the caller can fix an error; then only its message is printed. Any other is a defect of this program. */
export const expected = (error: unknown): error is Error =>
  error instanceof UsageError ||
  error instanceof ContractError ||
  isMisuse(error) ||
  isParseArgsError(error) ||
  isSystemError(error);

const isMisuse = (error: unknown) => error instanceof TypeError && (error as NodeJS.ErrnoException).code === "usage";

const isParseArgsError = (error: unknown) =>
  error instanceof TypeError && String((error as NodeJS.ErrnoException).code).startsWith("ERR_PARSE_ARGS");

const isSystemError = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && "syscall" in error;

const CAUSES: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "is below a file, not a folder",
  EISDIR: "is a folder, not a file",
  EEXIST: "exists already",
  EACCES: "may not be opened by this user",
  EPERM: "may not be opened by this user",
  EROFS: "is on a file system that is read-only",
  ENOSPC: "is on a file system that is full",
};

/** What a user can do about an error. Of a system's error it is the file as it was named, and what is wrong with it. */
export function sentenceOf(error: Error, cwd: string): string {
  if (!isSystemError(error)) return error.message;
  const { port } = error as { readonly port?: number };
  if (error.code === "EADDRINUSE" && port !== undefined)
    return `port ${port} is in use: choose another, or none for a free one`;
  if (error.path === undefined) return error.message;
  const isLost = error.code === "ENOENT" && !existsSync(dirname(error.path));
  const cause = isLost ? "is in a folder that does not exist" : CAUSES[error.code ?? ""];
  // A name that was given as a whole, or is outside, stays whole.
  const near = relative(cwd, error.path);
  return cause === undefined ? error.message : `${near.startsWith("..") ? error.path : near || "."} ${cause}`;
}
