import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { Io } from "../src/io.js";
import { run } from "../src/run.js";

/** Every command, in the order of the help. */
export const COMMANDS: readonly string[] = [
  "init",
  "import",
  "lint",
  "generate",
  "compat",
  "docs",
  "apply",
  "record",
  "verify",
  "replay",
  "mock",
  "conform",
  "export",
  "inspect",
  "stdio",
  "completion",
];

/** A temporary folder, outside the repository, that goes when the test ends. */
export async function folder(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "parlance-cli-"));
  onTestFinished(() => rm(path, { recursive: true }));
  await write(path, files);
  return path;
}

export async function write(path: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), text);
  }
}

/** Runs a command in a folder as a terminal would, and returns what came of it. With answers, it is a terminal that can be asked. */
export async function parlance(
  cwd: string,
  words: string,
  env: Record<string, string> = {},
  answers?: readonly string[],
) {
  let out = "";
  let err = "";
  const left = [...(answers ?? [])];
  const code = await run(words.split(" ").filter(Boolean), {
    cwd,
    env,
    stdin: (async function* () {})(),
    ...(answers && {
      ask: async (question: string) => {
        out += question;
        return left.shift()!;
      },
    }),
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
  });
  return { code, out, err };
}

/** A command that goes on until Ctrl-C, and what it prints. */
export interface Session {
  /** Resolves when these words have been printed after those of the last call. */
  printed(words: string): Promise<void>;
  /** What has been printed since. */
  text(): string;
  /** Presses Ctrl-C and resolves to the exit code. */
  stop(): Promise<number>;
}

export function start(cwd: string, words: string, given: Partial<Pick<Io, "env" | "stdin">> = {}): Session {
  const controller = new AbortController();
  let text = "";
  let wake = () => {};
  const print = (more: string) => {
    text += more;
    wake();
  };
  const interrupt = () => controller.signal;
  const stdin = (async function* () {})();
  const ended = run(words.split(" "), { cwd, env: {}, stdin, interrupt, out: print, err: print, ...given });
  const stop = () => {
    controller.abort();
    return ended;
  };
  onTestFinished(() => void stop());
  return {
    async printed(words) {
      while (!text.includes(words)) {
        const more = new Promise<void>((resolve) => {
          wake = resolve;
        });
        const code = await Promise.race([more, ended]);
        if (code !== undefined) throw new Error(`ended with ${code} before "${words}": ${text}`);
      }
      text = text.slice(text.indexOf(words) + words.length);
    },
    text: () => text,
    stop,
  };
}

/** Changes one file of the contract that init writes. */
export const edit = async (cwd: string, file: string, from: string, to: string) => {
  const path = join(cwd, "schemas/my-agent", file);
  const text = await readFile(path, "utf8");
  expect(text).toContain(from);
  await writeFile(path, text.replace(from, to));
};

/** A folder with the contract that init writes. */
export const started = async () => {
  const cwd = await folder();
  await parlance(cwd, "init");
  return cwd;
};

/** The same beside a contract that extends it. */
export const extended = async () => {
  const cwd = await started();
  const own = JSON.parse(await readFile(join(cwd, "schemas/my-agent/messages/text.json"), "utf8"));
  own.properties.model = { type: "string", description: "Which model says it." };
  await write(cwd, {
    "schemas/their-agent/contract.json": '{\n  "name": "their-agent",\n  "extends": "../my-agent"\n}\n',
    "schemas/their-agent/messages/text.json": JSON.stringify(own, null, 2),
  });
  return cwd;
};
