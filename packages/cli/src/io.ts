/** Where a command reads and writes, so that a test can stand in for a terminal. */
export interface Io {
  /** What relative paths start from. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: AsyncIterable<string | Uint8Array>;
  /** Whether what is printed goes to a terminal. */
  readonly tty?: boolean;
  out(text: string): void;
  err(text: string): void;
}

/** Exit codes of every command. */
export const exit = { fine: 0, findings: 1, usage: 2 } as const;

/** The command was called wrongly, or a file could not be read or written: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
