import { fileURLToPath } from "node:url";
import { openWorkspace, type Workspace } from "./workspace.js";

export const PROMPT = "Please rename calcTotal to sumCart";

/** Counts the changed files. Throws unless every file equals a search and replace over its original. */
export async function checkRenamed(workspace: Workspace): Promise<number> {
  const originals = await openWorkspace(fileURLToPath(new URL("./workspace", import.meta.url))).files();
  const now = await workspace.files();
  if ([...now.keys()].join() !== [...originals.keys()].join())
    throw new Error(`the files are now ${[...now.keys()].join(", ")}`);
  let changed = 0;
  for (const [path, before] of originals) {
    const wanted = before.split("calcTotal").join("sumCart");
    if (now.get(path) !== wanted) throw new Error(`${path} is not as it should be:\n${now.get(path)}`);
    if (wanted !== before) changed++;
  }
  return changed;
}
