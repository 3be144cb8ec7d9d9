import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { threadId } from "node:worker_threads";
import { codeOf } from "./files.js";
import { isRecord } from "./shape.js";

/** The process that applies a plan. Ids are reused, so its start (in the ticks of the kernel; 0 without /proc) is part of it. */
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

export function isOwner(value: unknown): value is Owner {
  if (!isRecord(value) || typeof value.host !== "string") return false;
  return [value.pid, value.started, value.thread].every(Number.isSafeInteger);
}

/** Marks a journal as this thread's own while its plan is applied. */
export function begin(id: string): void {
  running.add(id);
}

export function end(id: string): void {
  running.delete(id);
}

/** Whether the owner may still be running. Always true for another host, which cannot be checked. */
export function isAlive(owner: Owner, id: string): boolean {
  if (owner.host !== hostname()) return true;
  if (owner.pid === process.pid && owner.started === currentOwner().started)
    return owner.thread !== threadId || running.has(id);
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return codeOf(error) === "EPERM";
  }
  return process.platform !== "linux" || startOf(owner.pid) === owner.started;
}

function startOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in field 2 may itself contain blanks and brackets.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? null : Number(fields[19]);
  } catch {
    return null;
  }
}
