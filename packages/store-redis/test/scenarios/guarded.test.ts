import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test, vi } from "vitest";
import { hasRedis } from "../redis.js";

describe.runIf(hasRedis)("a test process", () => {
  let child: ChildProcess | undefined;
  afterEach(() => child?.kill("SIGKILL"));

  test("that is killed leaves no server process and no folder behind, also of a server that it had stopped", async () => {
    const script = fileURLToPath(new URL("../leftover.ts", import.meta.url));
    child = spawn(process.execPath, ["--import", "tsx", script], { stdio: ["pipe", "pipe", "inherit"] });
    const exited = once(child, "exit");
    const lines = createInterface({ input: child.stdout! });
    const [line] = (await once(lines, "line")) as [string];
    const [socket, ...folders] = JSON.parse(line) as string[];
    const all = [dirname(socket!), ...folders];
    expect(all).toHaveLength(4);
    expect(all.filter(existsSync)).toEqual(all);
    expect(processesOf(all)).toBeGreaterThanOrEqual(4);
    child.kill("SIGKILL");
    await exited;
    await vi.waitFor(() => {
      expect(processesOf(all)).toBe(0);
      expect(all.filter(existsSync)).toEqual([]);
    }, 10_000);
  });
});

/** How many processes work for these folders. */
function processesOf(folders: readonly string[]): number {
  const { stdout } = spawnSync("ps", ["-eo", "args"], { encoding: "utf8" });
  return stdout.split("\n").filter((args) => folders.some((folder) => args.includes(folder))).length;
}
