import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { type Fence, readAllFences } from "../test/fences.js";

/**
 * Follows a page of the documentation word for word in a folder, fence by fence:
 * a fence with a file's name, `[name]` or a first comment, is written to that file; each line of `sh` is run, must succeed
 * (`sh fails`: must fail), and stays in the background after `sh background`; a `text` fence is what was printed since the last one.
 */
export async function follow(path: string, cwd: string, change: (text: string) => string): Promise<readonly string[]> {
  const fences = readAllFences(change(await readFile(path, "utf8")));
  const done: string[] = [];
  let printed = "";
  for (const fence of fences) {
    const at = `${path}:${fence.line}`;
    const file = fileOf(fence);
    if (file !== undefined) {
      await mkdir(dirname(join(cwd, file)), { recursive: true });
      await writeFile(join(cwd, file), `${fence.text}\n`);
      done.push(file);
    } else if (fence.language === "sh") {
      for (const line of fence.text.split("\n")) {
        printed +=
          fence.rest === "background" ? await start(line, cwd) : await execute(line, cwd, fence.rest === "fails", at);
        done.push(line);
      }
    } else if (fence.language === "text") {
      expectLines(printed, fence.text.split("\n"), at);
      printed = "";
    } else throw new Error(`${at}: a reader cannot tell what to do with this fence`);
  }
  return done;
}

function fileOf({ rest, text }: Fence): string | undefined {
  return (/^\[(.+)\]$/.exec(rest) ?? /^(?:\/\/|#) ([\w./-]+\.\w+)\n/.exec(text))?.[1];
}

function execute(line: string, cwd: string, fails: boolean, at: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile("sh", ["-c", line], { cwd, env: outside(), timeout: 120_000 }, (error, stdout, stderr) => {
      if ((error !== null) === fails) resolve(`${stdout}${stderr}`);
      else reject(new Error(`${at}: \`${line}\` ${error ? "failed" : "did not fail"}: ${stdout}${stderr}`));
    });
  });
}

/** Starts a command that goes on, and resolves to its first output. It ends with the test, and so does what it started. */
async function start(line: string, cwd: string): Promise<string> {
  const child: ChildProcess = spawn("sh", ["-c", line], {
    cwd,
    env: outside(),
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => {
    if (child.exitCode === null) process.kill(-child.pid!, "SIGKILL");
  });
  return new Promise((resolve, reject) => {
    let errors = "";
    child.stderr!.on("data", (chunk) => {
      errors += chunk;
    });
    child.stdout!.once("data", (chunk) => resolve(String(chunk)));
    child.once("exit", () => reject(new Error(`\`${line}\` has ended: ${errors}`)));
  });
}

/** A user's environment: what vitest and pnpm set would change how npm and node behave. */
function outside(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_|VITEST|PNPM_|GITHUB_|CI$|TEST$)/.test(name),
  );
  return Object.fromEntries(kept);
}

/** Each line was printed, in this order, alone or as a part of a longer one. */
function expectLines(printed: string, lines: readonly string[], at: string): void {
  let from = 0;
  for (const line of lines) {
    const found = printed.indexOf(line, from);
    if (found < 0) throw new Error(`${at}: "${line}" was not printed, but:\n${printed}`);
    from = found + line.length;
  }
}
