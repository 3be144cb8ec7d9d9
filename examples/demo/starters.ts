import { execFileSync } from "node:child_process";

/** The processes that started this one: pnpm, npx and their shells. A SIGTERM ends them, and none forwards it. */
export function starters(): number[] {
  const found: number[] = [];
  const all = processes();
  for (
    let one = all.get(process.ppid);
    one && /^sh -c |\b(npm|npx|pnpm)\b/.test(one.command);
    one = all.get(one.parent)
  )
    found.push(one.pid);
  return found;
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** By number; none where there is no `ps`, as on Windows. */
function processes(): Map<number, { pid: number; parent: number; command: string }> {
  try {
    const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,args="], { encoding: "utf8" }).split("\n");
    return new Map(
      lines.map((line) => {
        const [, pid, parent, command = ""] = /^ *(\d+) +(\d+) +(.*)$/.exec(line) ?? [];
        return [Number(pid), { pid: Number(pid), parent: Number(parent), command }];
      }),
    );
  } catch {
    return new Map();
  }
}
