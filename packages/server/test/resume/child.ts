import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A script of these tests as a process of its own. */
export interface Child {
  /** The next line that it prints. */
  line(): Promise<string>;
  signal(name: NodeJS.Signals): void;
  /** Ends it without a word. */
  kill(): Promise<void>;
}

const root = fileURLToPath(new URL("../../../..", import.meta.url));

/** Runs a TypeScript file; it is the process itself that gets signals, and it does not outlive the test. */
export function run(file: URL, ...args: readonly string[]): Child {
  const child: ChildProcess = spawn(process.execPath, ["--import", "tsx", fileURLToPath(file), ...args], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NODE_OPTIONS: "", TSX_TSCONFIG_PATH: "tsconfig.json" },
  });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  async function kill(): Promise<void> {
    child.kill("SIGKILL");
    await exited;
  }
  onTestFinished(kill);
  return {
    kill,
    signal: (name) => void child.kill(name),
    async line() {
      const { done, value } = await lines.next();
      if (done) throw new Error(`${file.pathname} ended without a word`);
      return value;
    },
  };
}
