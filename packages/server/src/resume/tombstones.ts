import type { EventLog } from "./log.js";

/** Names that are kept because they were cancelled. The oldest go first. */
const KEPT = 1000;

/**
 * Ends a stream for good: its name stays taken for so many milliseconds, so that a copy of its request, or a request that is slower than what
 * cancelled it, does not begin it. `last` is its last entry.
 */
export function undertaker(log: EventLog, milliseconds: number): (name: string, last: number) => Promise<void> {
  const buried = new Map<string, ReturnType<typeof setTimeout>>();

  function drop(name: string): void {
    clearTimeout(buried.get(name));
    buried.delete(name);
    log.drop(name).catch(() => {});
  }

  return async (name, last) => {
    clearTimeout(buried.get(name));
    const timer = setTimeout(drop, milliseconds, name);
    (timer as { unref?: () => void }).unref?.();
    buried.set(name, timer);
    if (buried.size > KEPT) drop(buried.keys().next().value!);
    await log.close(name);
    await log.trim(name, last);
  };
}
