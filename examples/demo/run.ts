import { spawn } from "node:child_process";

export interface RunOptions {
  readonly cwd: string;
  /** Milliseconds after which the command is killed. */
  readonly timeLimit: number;
  /** Bytes of stdout and stderr together, after which it is killed. */
  readonly outputLimit: number;
  readonly signal?: AbortSignal;
  readonly onOutput?: (stream: "stdout" | "stderr", text: string) => void;
}

export interface Ran {
  /** Null where it was killed: by a limit, or by the signal. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
}

/** Runs a shell command within its limits. The shell's children die with it. */
export function runCommand(
  command: string,
  { cwd, timeLimit, outputLimit, signal, onOutput }: RunOptions,
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const child = spawn(command, { cwd, shell: true, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    const output = { stdout: "", stderr: "" };
    let left = outputLimit;
    const kill = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has exited already.
      }
    };
    for (const name of ["stdout", "stderr"] as const) {
      const decoder = new TextDecoder();
      child[name].on("data", (bytes: Buffer) => {
        const text = decoder.decode(bytes.subarray(0, left), { stream: true });
        left -= bytes.length;
        output[name] += text;
        if (text !== "") onOutput?.(name, text);
        if (left <= 0) {
          left = 0;
          kill();
        }
      });
    }
    const timer = setTimeout(kill, timeLimit);
    signal?.addEventListener("abort", kill, { once: true });
    if (signal?.aborted) kill();
    const over = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", kill);
    };
    child.on("error", (error) => {
      over();
      reject(error);
    });
    child.on("close", (exitCode) => {
      over();
      resolve({ exitCode, ...output, durationMs: performance.now() - began });
    });
  });
}
