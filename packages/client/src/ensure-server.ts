import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as wait } from "node:timers/promises";
import { assertLimits, disconnected, misuse } from "@parlance/wire/errors";

export interface ServerCommand {
  /** The program and its arguments. It is not run through a shell. */
  readonly command: readonly [program: string, ...args: string[]];
  /** Where it listens, on loopback. */
  readonly port: number;
  /** A path that answers with success once the server is ready. Without it, any answer below 500 counts as ready. */
  readonly health?: string;
  /** Milliseconds until it has to be ready. @default 10 s */
  readonly within?: number;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Stops the wait, and ends a server that this call started. */
  readonly signal?: AbortSignal;
}

export interface EnsuredServer {
  /** The `baseUrl` for `connect`. */
  readonly url: string;
  /** The process that this call started; undefined when the server was already running. */
  readonly process: ChildProcess | undefined;
  /** Ends the started process: SIGTERM, and SIGKILL after 5 s. Without this call it keeps running, even after this program ends. */
  stop(): Promise<void>;
}

const PROBE_WITHIN = 2000;
const KILL_AFTER = 5000;
/** Characters kept of the program's standard error, for the error that explains why it ended. */
const MAX_SAID = 2000;

/**
 * Finds the server on a port, or starts one. Rejects with `Disconnected` when the program ends, is not ready in time, or when another
 * program has the port.
 */
export async function ensureServer(options: ServerCommand): Promise<EnsuredServer> {
  assertLimits(options, "within");
  const { command, port, health, within = 10_000, cwd, env, signal } = options;
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw misuse(`port is a whole number from 1 to 65535, not ${String(port)}`);
  const url = `http://127.0.0.1:${port}`;
  const what = `the server at ${url}`;
  const running: EnsuredServer = { url, process: undefined, stop: async () => {} };
  const status = await probe(url, health, signal);
  if (status !== undefined) {
    if (isReady(status, health)) return running;
    throw disconnected(
      `${what} answers ${health ?? "/"} with ${status}: something else has the port`,
      "unreachable",
      false,
    );
  }

  const [program, ...args] = command;
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-MAX_SAID);
  });
  let ended: string | undefined;
  child.on("error", ({ message }) => {
    ended = message;
  });
  child.on("exit", (code, by) => {
    ended ??= by ? `it was ended by ${by}` : `it ended with code ${code}`;
  });
  try {
    const until = performance.now() + within;
    for (let pause = 20; ; pause = Math.min(pause * 2, 250)) {
      const status = await probe(url, health, signal);
      // Another process may have started a server at the same time; then ours ended because the port was taken.
      if (status !== undefined && isReady(status, health)) {
        if (ended !== undefined) return running;
        return { url, process: child, stop: () => stop(child) };
      }
      if (ended !== undefined) {
        const why = said.trim() ? `: ${said.trim()}` : "";
        throw disconnected(`${what} was not started by ${program}: ${ended}${why}`, "unreachable", false);
      }
      if (performance.now() > until) throw disconnected(`${what} was not ready within ${within} ms`, "timeout", true);
      await wait(pause, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
  } catch (error) {
    await stop(child);
    throw error;
  }
}

/** The status of the answer; undefined when nothing listens on the port. */
async function probe(url: string, health: string | undefined, signal?: AbortSignal): Promise<number | undefined> {
  signal?.throwIfAborted();
  const limit = AbortSignal.timeout(PROBE_WITHIN);
  try {
    const answer = await fetch(new URL(health ?? "/", url), {
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    await answer.body?.cancel();
    return answer.status;
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}

const isReady = (status: number, health: string | undefined) => (health === undefined ? status < 500 : status < 300);

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER);
  await exited;
  clearTimeout(kill);
}
