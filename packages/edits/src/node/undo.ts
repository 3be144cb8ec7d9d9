import { describeChanges, invertChanges } from "./preview.js";
import type { RootOptions } from "./root.js";
import { applyPlan, type WriteResult, type Written } from "./write.js";

/**
 * Takes back what `applyPlan` wrote: texts, modes and moves, and directories it made, if they are empty then. All or none,
 * as ever; a file that has changed since is a conflict (`stale`). The result can itself be undone.
 */
export function undo(written: Written, options: RootOptions = {}): Promise<WriteResult> {
  const { files, moves } = invertChanges(written.files, written.moves);
  const preview = describeChanges(files, moves);
  return applyPlan({ root: written.root, files, moves, preview, hunks: [], conflicts: [] }, options);
}
