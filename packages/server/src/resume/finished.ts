import { ANYBODY, ownerIn } from "../identity.js";
import type { Limits } from "../limits.js";
import type { Run } from "./run.js";

/** Finished streams that are kept for readers that may come back. Those of a principal, or of all, above their limits go, oldest first. */
export interface FinishedRuns {
  /** Takes one whose handler is done, and lets go of what its request held. */
  add(run: Run): void;
}

/** `drop` forgets a stream, whose readers are shown a gap then. */
export function finishedRuns({ maxFinished, maxTotalFinished }: Limits, drop: (run: Run) => void): FinishedRuns {
  const all = new Set<Run>();
  const owned = new Map<string, Set<Run>>();
  /** One that is read is kept for its reader. */
  const dropOldest = (runs: ReadonlySet<Run>): void => {
    for (const run of runs) if (run.readers.size === 0) return drop(run);
  };
  return {
    add(run) {
      if (run.life.closed) return;
      const owner = ownerIn(run.name);
      const own = owned.get(owner) ?? new Set();
      owned.set(owner, own.add(run));
      all.add(run);
      run.called = { operation: run.called.operation };
      run.production?.release();
      run.life.add(() => {
        all.delete(run);
        own.delete(run);
        if (own.size === 0) owned.delete(owner);
      }, "kept");
      if (owner !== ANYBODY && own.size > maxFinished) dropOldest(own);
      else if (all.size > maxTotalFinished) dropOldest(all);
    },
  };
}
