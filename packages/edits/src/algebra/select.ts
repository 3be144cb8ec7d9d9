import { countLines } from "../hunk.js";
import { needPatch } from "../need.js";
import type { FilePatch, Hunk, Patch } from "../patch.js";

/**
 * The patch with only the hunks of these ids; it applies to the same text as the whole one. `select(p, all ids) = p`.
 * A file all of whose hunks are left out is left out. One that never had any (a rename, a mode, an empty file) stays: there is no id to
 * choose it by. Ids are unique within a file; to choose file by file, select from a patch of one file.
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
  // What is left of a deletion or a creation in part no longer takes or makes the whole file.
  if (file.kind === "delete") return [{ ...file, kind: "modify", after: file.before, hunks }];
  return [{ ...file, hunks }];
}
