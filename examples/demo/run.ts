import { type StdioOptions, spawn } from "node:child_process";

export interface RunOptions {
  readonly cwd: string;
  /** All of the command's environment. */
  readonly env: NodeJS.ProcessEnv;
  /** Milliseconds after which the command is killed. */
  readonly timeLimit: number;
  /** Bytes of stdout and stderr together, after which it is killed. */
  readonly outputLimit: number;
  /** Bytes of memory of each of its processes. Needs a shell with `ulimit -v`, or the command fails. */
  readonly memoryLimit?: number;
  /** Seconds of processor time of each of its processes. */
  readonly processorLimit?: number;
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

/** An environment without the secrets of this process: where programs are, and a home of the command's own. */
export function cleanEnvironment(home: string): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: home, LANG: "C.UTF-8" };
}

/** Runs a shell command within its limits. The shell's children die with it. */
export function runCommand(
  command: string,
  { cwd, env, timeLimit, outputLimit, memoryLimit, processorLimit, signal, onOutput }: RunOptions,
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const limits = [
      ...(memoryLimit === undefined ? [] : [`ulimit -v ${Math.ceil(memoryLimit / 1024)}`]),
      ...(processorLimit === undefined ? [] : [`ulimit -t ${processorLimit}`]),
    ];
    const script = [...limits, 'exec /bin/sh -c "$1"'].join(" && ");
    const stdio: StdioOptions = ["ignore", "pipe", "pipe"];
    const child = spawn("/bin/sh", ["-c", script, "sh", command], { cwd, env, detached: true, stdio });
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
      child[name]!.on("data", (bytes: Buffer) => {
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
