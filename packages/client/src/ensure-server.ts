import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as wait } from "node:timers/promises";
import { disconnected } from "@parlance/wire/errors";

export interface ServerCommand {
  /** The program and its arguments. It is not run through a shell. */
  readonly command: readonly [program: string, ...args: string[]];
  /** Where it listens, on loopback. */
  readonly port: number;
  /** A path that answers with success once the server is ready. Without one, any answer below 500 will do. */
  readonly health?: string;
  /** Milliseconds until it has to be ready. @default 10 s */
  readonly within?: number;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Gives up waiting, and ends a server that was started for it. */
  readonly signal?: AbortSignal;
}

export interface EnsuredServer {
  /** The `baseUrl` for `connect`. */
  readonly url: string;
  /** The process that this call has started; undefined for a server that ran already. */
  readonly process: ChildProcess | undefined;
  /** Ends the process that was started: SIGTERM, and SIGKILL after 5 s. It is not ended otherwise, also not with this program. */
  stop(): Promise<void>;
}

const PROBE_WITHIN = 2000;
const KILL_AFTER = 5000;
/** Characters that are kept of what the program prints to its standard error, for the error that tells why it ended. */
const MAX_SAID = 2000;

/**
 * The server on a port: the one that runs there, or one that is started. Rejects with `Disconnected` where the program ends or is not ready in
 * time, and where something else has the port.
 */
export async function ensureServer(options: ServerCommand): Promise<EnsuredServer> {
  const { command, port, health, within = 10_000, cwd, env, signal } = options;
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
      // Somebody else may have started one at the same time: then ours has found the port taken.
      if (status !== undefined && isReady(status, health)) {
        if (ended !== undefined) return running;
        return { url, process: child, stop: () => stop(child) };
      }
      if (ended !== undefined) {
        const why = said.trim() ? `: ${said.trim()}` : "";
        throw disconnected(`${what} was not started by ${program}: ${ended}${why}`, "unreachable", false);
      }
      if (performance.now() > until) throw disconnected(`${what} was not ready within ${within} ms`, "timeout", true);
      await wait(pause, undefined, { signal });
    }
  } catch (error) {
    await stop(child);
    throw error;
  }
}

/** The status of an answer; undefined where nobody listens. */
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
