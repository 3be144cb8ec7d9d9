import { identifyHunks } from "./hunk.js";
import type { FilePatch, Hunk, Patch } from "./patch.js";

/**
 * The patch that undoes this one: `apply(invert(p), apply(p, a)) = a`, and `invert(invert(p)) = p` up to the order of
 * lines within a change and up to a copy, whose inverse deletes it. What a `whole` file replaced is not in the patch:
 * its inverse has no hunks, and applying it is refused as stale. Files come in reverse order.
 */
export function invertPatch(patch: Patch): Patch {
  return { files: patch.files.map(invertFile).reverse() };
}

function invertFile(file: FilePatch): FilePatch {
  const { kind, before, after, hunks, whole, oldMode, newMode, git, oldStamp, newStamp, ...rest } = file;
  if (kind === "copy") return { kind: "delete", before: after, after: null, hunks: [], ...rest };
  const lost = whole && kind !== "create";
  const index = git?.index?.split("..").reverse().join("..");
  return {
    kind: kind === "create" ? "delete" : kind === "delete" ? "create" : kind,
    before: after,
    after: before,
    hunks: lost ? [] : identifyHunks(hunks.map(invertHunk)),
    ...(lost && { whole }),
    ...(newMode !== undefined && { oldMode: newMode }),
    ...(oldMode !== undefined && { newMode: oldMode }),
    ...(git && { git: { ...git, ...(index !== undefined && { index }) } }),
    ...(newStamp !== undefined && { oldStamp: newStamp }),
    ...(oldStamp !== undefined && { newStamp: oldStamp }),
    ...rest,
  };
}

function invertHunk({ oldStart, newStart, section, lines, oldNoNewline, newNoNewline }: Hunk): Omit<Hunk, "id"> {
  const inverted: string[] = [];
  let added: string[] = [];
  for (const line of lines) {
    if (line[0] === "+") inverted.push(`-${line.slice(1)}`);
    else if (line[0] === "-") added.push(`+${line.slice(1)}`);
    else {
      for (const text of added) inverted.push(text);
      inverted.push(line);
      added = [];
    }
  }
  return {
    oldStart: newStart,
    newStart: oldStart,
    ...(section !== undefined && { section }),
    lines: inverted.concat(added),
    ...(newNoNewline && { oldNoNewline: newNoNewline }),
    ...(oldNoNewline && { newNoNewline: oldNoNewline }),
  };
}
