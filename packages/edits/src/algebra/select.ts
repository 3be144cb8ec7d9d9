import { countLines } from "../hunk.js";
import { needPatch } from "../need.js";
import type { FilePatch, Hunk, Patch } from "../patch.js";

/**
 * Keeps only the hunks with these ids; the result applies to the same text. `select(p, all ids) = p`.
 * A file without selected hunks is left out. A file that never had hunks (a rename, a mode, an empty file) stays, because it
 * has no id to select. Ids are unique within a file; to select file by file, pass a patch of one file.
 */
export function selectHunks(patch: Patch, ids: Iterable<string>): Patch {
  needPatch({ patch });
  const chosen = new Set(ids);
  return { files: patch.files.flatMap((file) => selectInFile(file, chosen)) };
}

function selectInFile(file: FilePatch, chosen: ReadonlySet<string>): FilePatch[] {
  const hunks: Hunk[] = [];
  let dropped = 0;
  for (const hunk of file.hunks) {
    if (chosen.has(hunk.id)) {
      hunks.push(dropped === 0 || hunk.newStart === null ? hunk : { ...hunk, newStart: hunk.newStart - dropped });
      continue;
    }
    const count = countLines(hunk.lines);
    dropped += count.new - count.old;
  }
  if (hunks.length === file.hunks.length) return [file];
  if (hunks.length === 0) return [];
  // A deletion or creation of which only some hunks are kept is a plain change of the file.
  if (file.kind === "delete") return [{ ...file, kind: "modify", after: file.before, hunks }];
  return [{ ...file, hunks }];
}
