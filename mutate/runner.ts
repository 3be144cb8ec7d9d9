import { type ChildProcess, fork } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

/** What a worker is asked for: the test files that there are, or a run of some after files of the sources have changed. */
export type Order = "list" | Run;

interface Run {
  readonly files: readonly string[];
  readonly changed: readonly string[];
  /** An expression: only the tests whose full names have it run. */
  readonly titles?: string | undefined;
}

export type Answer =
  | "ready"
  /** A test file of the run is over. */
  | "alive"
  | { readonly files: readonly string[] }
  /** The first test that failed, the milliseconds of the files that did not, and how many tests ran. */
  | { readonly failed: string | undefined; readonly passed: Readonly<Record<string, number>>; readonly count: number };
export type Ran = Extract<Answer, { readonly passed: unknown }>;

/** Runs tests in a folder. A process that is asked again after a time-out is a new one. */
export class Runner {
  private child: ChildProcess | undefined;
  private readonly folder: string;
  private readonly env: Readonly<Record<string, string>>;

  constructor(folder: string, env: Readonly<Record<string, string>> = {}) {
    this.folder = folder;
    this.env = env;
  }

  async list(): Promise<readonly string[]> {
    const answer = await this.ask("list");
    return (answer as { readonly files: readonly string[] }).files;
  }

  /** Returns undefined after so many milliseconds in which no test file came to its end. */
  async run(run: Run, limit?: number): Promise<Ran | undefined> {
    return (await this.ask(run, limit)) as Ran | undefined;
  }

  close(): void {
    const pid = this.child?.pid;
    this.child = undefined;
    // The group: vitest has processes of its own, and so have the tests.
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  }

  private async ask(order: Order, limit?: number): Promise<Answer | undefined> {
    this.child ??= await start(this.folder, this.env);
    const { child } = this;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<undefined>((resolve) => {
      if (limit !== undefined) timer = setTimeout(() => resolve(undefined), limit);
    });
    const answered = answerOf(child, () => timer?.refresh());
    child.send(order);
    try {
      const answer = await Promise.race([answered, late]);
      if (answer === undefined) this.close();
      return answer;
    } finally {
      clearTimeout(timer);
    }
  }
}

async function start(cwd: string, env: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const worker = fileURLToPath(new URL("worker.ts", import.meta.url));
  // Named by its place: the folder may be of a project without it.
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const child = fork(worker, {
    cwd,
    env: { ...process.env, ...env },
    execArgv: ["--import", tsx],
    detached: true,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  await answerOf(child);
  return child;
}

function answerOf(child: ChildProcess, alive = () => {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const over = () => {
      child.off("exit", ended);
      child.off("message", hear);
    };
    const ended = () => {
      over();
      reject(new Error("The process that runs the tests ended."));
    };
    const hear = (answer: unknown) => {
      if (answer === "alive") return alive();
      over();
      resolve(answer as Answer);
    };
    child.on("exit", ended);
    child.on("message", hear);
  });
}
