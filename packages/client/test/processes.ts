import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

/** Marks the processes that a test starts, and finds those that are left: on Linux, which lists the environment of each process. */
export function marked(): { readonly env: NodeJS.ProcessEnv; left(): number[] } {
  const mark = `PARLANCE_TEST_MARK=${randomUUID()}`;
  const [name, value] = mark.split("=") as [string, string];
  const isOurs = (pid: string): boolean => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(mark);
    } catch {
      // It has ended, or is another user's.
      return false;
    }
  };
  return {
    env: { ...process.env, [name]: value },
    left: () =>
      process.platform === "linux"
        ? readdirSync("/proc")
            .filter((pid) => /^\d+$/.test(pid) && isOurs(pid))
            .map(Number)
        : [],
  };
}
