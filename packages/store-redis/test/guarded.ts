import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/**
 * Runs a program beside a watch that holds a pipe to this process. However this process ends, also by SIGKILL, the pipe breaks; the watch then
 * kills the program, even a stopped one, and removes its folder.
 */
const WATCH = `
folder=$1; shift
exec 3<&0
sh -c 'echo "$$"; exec "$@"' program "$@" 3<&- </dev/null &
program=$!
{ cat <&3 >/dev/null; trap '' TERM; kill -9 "$program"; exit 7; } &
watch=$!
wait "$program"
kill "$watch"
wait "$watch"
if [ $? = 7 ]; then rm -rf "$folder"; fi
`;

/** A program that cannot outlive this process. */
export interface Guarded {
  readonly lines: AsyncIterator<string>;
  /** Resolves when it has ended. */
  readonly ended: Promise<unknown>;
  signal(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void;
  /** Kills it and waits for its end. */
  kill(): Promise<void>;
}

export async function guard(
  folder: string,
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Guarded> {
  const shell: ChildProcess = spawn("sh", ["-c", WATCH, "watch", folder, command, ...args], {
    ...options,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = once(shell, "exit");
  const lines = createInterface({ input: shell.stdout! })[Symbol.asyncIterator]();
  const pid = Number((await lines.next()).value);
  let over = false;
  void ended.then(() => {
    over = true;
  });
  const signal = (signal: NodeJS.Signals) => void (over || process.kill(pid, signal));
  return {
    lines,
    ended,
    signal,
    async kill() {
      signal("SIGKILL");
      await ended;
    },
  };
}
