import { type ChildProcess, spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { assertLimits, Disconnected, disconnected, misuse } from "@parlance/wire/errors";
import { isHeld, type StartLock, startFolder, takeLock } from "./start-lock.js";
import { reasonIn } from "./stderr.js";

export interface ServerCommand {
  /** The program and its arguments. It is not run through a shell. */
  readonly command: readonly [program: string, ...args: string[]];
  /** Where it listens, on loopback. */
  readonly port: number;
  /** A path that answers with success once the server is ready. Without it, any answer below 500 counts as ready. */
  readonly health?: string | undefined;
  /** Milliseconds until it has to be ready. @default 10 s */
  readonly within?: number | undefined;
  readonly cwd?: string | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Stops the wait, and ends a server that this call started. */
  readonly signal?: AbortSignal | undefined;
}

export interface EnsuredServer {
  /** The `baseUrl` for `connect`. */
  readonly url: string;
  /** The process that this call started; undefined where the server runs already, or another program has started it meanwhile. */
  readonly process: ChildProcess | undefined;
  /** Ends the started process: SIGTERM, and SIGKILL after 5 s. Without this call it keeps running, even after this program ends. */
  stop(): Promise<void>;
}

const PROBE_WITHIN = 2000;
const KILL_AFTER = 5000;
/** Milliseconds between two probes of a server that starts: the first, and the longest. */
const LOOK = { first: 20, longest: 250 };
/** Milliseconds that a lock outlives the time for a start, in which a process may be suspended. */
const LOCK_SLACK = 10_000;
/** Characters of the program's standard error in the error that explains why it ended. */
const MAX_SAID = 2000;

/**
 * Finds the server on a port, or starts one. Programs of one user that call this together start one server: the others wait for it.
 *
 * The server outlives this program and does not keep it running. It is given no standard input and output; its standard error is
 * `parlance-<uid>/<port>.log` in the folder for temporary files, which the next start empties.
 *
 * @throws `Disconnected` when the program ends, is not ready in time, or when another program has the port
 */
export async function ensureServer(options: ServerCommand): Promise<EnsuredServer> {
  assertLimits(options, "within");
  const { port, health, within = 10_000, signal } = options;
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw misuse(`port is a whole number from 1 to 65535, not ${String(port)}`);
  assertCommand(options.command);
  const url = `http://127.0.0.1:${port}`;
  const what = `the server at ${url}`;
  const running: EnsuredServer = { url, process: undefined, stop: async () => {} };
  const lockPath = join(await startFolder(), `${port}.lock`);
  const until = performance.now() + within;
  let lock: StartLock | undefined;
  let started: Started | undefined;
  try {
    for (let pause = LOOK.first; ; pause = Math.min(pause * 2, LOOK.longest)) {
      const status = await probe(url, health, signal);
      const isUp = status !== undefined && isReady(status, health);
      if (isUp) return started && !started.ended ? { url, ...started.running } : running;
      if (started?.ended) throw await started.failure(what);
      if (status !== undefined && !started && !lock && !(await isHeld(lockPath)))
        throw disconnected(
          `${what} answers ${health ?? "/"} with ${status}: something else has the port`,
          "unreachable",
          false,
        );
      if (performance.now() > until) throw disconnected(`${what} was not ready within ${within} ms`, "timeout", true);
      if (lock && !started) {
        // The port was probed once more under the lock, which the last starter may have released in between.
        started = await start(options, lockPath.replace(/lock$/, "log"));
        await lock.started(started.running.process.pid);
      } else if (!started && status === undefined) {
        lock = await takeLock(lockPath, within + LOCK_SLACK);
        if (lock) continue;
      }
      await wait(pause, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
  } catch (error) {
    await started?.running.stop();
    throw error;
  } finally {
    await lock?.release();
  }
}

function assertCommand(command: unknown): void {
  const isList = Array.isArray(command) && command.every((part) => typeof part === "string" && !part.includes("\0"));
  if (!isList || !command[0])
    throw misuse('command is a list of a program and its arguments, such as ["node", "server.js"]');
}

/** A process that may become the server. */
interface Started {
  readonly program: string;
  readonly running: { readonly process: ChildProcess; stop(): Promise<void> };
  /** Why it ended; undefined while it runs. */
  readonly ended: string | undefined;
  /** Says why it ended, by the last line that names an error. `details` have the last of its standard error. */
  failure(what: string): Promise<Disconnected>;
}

async function start({ command, cwd, env }: ServerCommand, logPath: string): Promise<Started> {
  const [program, ...args] = command;
  // A file, because a pipe ends with this program, and then the first line that is logged ends the server.
  const log = await open(logPath, "w", 0o600);
  let child: ChildProcess;
  try {
    child = spawn(program, args, {
      cwd,
      env,
      stdio: ["ignore", "ignore", log.fd],
      // Its own process group: Ctrl-C in this program's terminal does not reach it.
      detached: true,
      windowsHide: true,
    });
  } catch (error) {
    await log.close();
    throw error;
  }
  child.unref();
  let ended: string | undefined;
  child.on("error", ({ message }) => {
    ended = message;
  });
  child.on("exit", (code, by) => {
    ended ??= by ? `it was ended by ${by}` : `it ended with code ${code}`;
  });
  await log.close();
  return {
    program,
    running: { process: child, stop: () => stop(child) },
    get ended() {
      return ended;
    },
    async failure(what) {
      const body = (await readFile(logPath, "utf8").catch(() => "")).slice(-MAX_SAID).trim();
      const why = [`${ended}`, reasonIn(body)].filter(Boolean).join(": ");
      const details = body ? { body } : undefined;
      const how = `${what} was not started by ${program}: ${why}`;
      return new Disconnected(how, { code: "unreachable", retryable: false, details });
    },
  };
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
  child.ref();
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER);
  await exited;
  clearTimeout(kill);
}
