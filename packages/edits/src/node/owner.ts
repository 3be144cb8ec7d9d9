import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { threadId } from "node:worker_threads";

/**
 * Who is carrying out a plan, so that nobody takes a running one for a crashed one. A process id comes again, so the
 * time at which the process began (in the kernel's ticks; 0 where there is no /proc) is part of it.
 */
export interface Owner {
  readonly host: string;
  readonly pid: number;
  readonly started: number;
  readonly thread: number;
}

const running = new Set<string>();

export function currentOwner(): Owner {
  return { host: hostname(), pid: process.pid, started: startOf(process.pid) ?? 0, thread: threadId };
}

/** Marks a journal as this thread's own for as long as it is carried out. */
export function begin(id: string): void {
  running.add(id);
}

export function end(id: string): void {
  running.delete(id);
}

/** Whether the owner may still be at work. On another host nothing can be known, so the answer is yes. */
export function isAlive(owner: Owner, id: string): boolean {
  if (owner.host !== hostname()) return true;
  if (owner.pid === process.pid && owner.started === (startOf(process.pid) ?? 0))
    return owner.thread === threadId ? running.has(id) : true;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // EPERM: the process is there, and somebody else's.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  const started = startOf(owner.pid);
  return process.platform === "linux" ? started === owner.started : true;
}

/** When a process began, from /proc/<pid>/stat (proc(5), field 22); null for none, and for one that has ended unreaped. */
function startOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in field 2 may itself hold blanks and brackets.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? null : Number(fields[19]);
  } catch {
    return null;
  }
}
