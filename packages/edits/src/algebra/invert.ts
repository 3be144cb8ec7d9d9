import { hashParts, ordinals } from "../hunk.js";
import { needPatch } from "../need.js";
import type { FilePatch, Hunk, Patch } from "../patch.js";

const PLUS = 43;
const MINUS = 45;

/**
 * Makes the patch that undoes this one: `apply(invert(p), apply(p, a)) = a`. `invert(invert(p)) = p` up to the order of
 * lines within a change; the inverse of a copy deletes it. A patch does not hold the text that a `whole` file replaced:
 * its inverse has no hunks, and applying it is refused as stale. Files come in reverse order.
 */
export function invertPatch(patch: Patch): Patch {
  needPatch({ patch });
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
    hunks: lost ? [] : invertHunks(hunks),
    ...(lost && { whole }),
    ...(newMode !== undefined && { oldMode: newMode }),
    ...(oldMode !== undefined && { newMode: oldMode }),
    ...(git && { git: { ...git, ...(index !== undefined && { index }) } }),
    ...(newStamp !== undefined && { oldStamp: newStamp }),
    ...(oldStamp !== undefined && { newStamp: oldStamp }),
    ...rest,
  };
}

/** All hunks as one text with the lines as views of it: a concatenated line would be copied on each read. */
function invertHunks(hunks: readonly Hunk[]): Hunk[] {
  const inverted: string[] = [];
  for (const { lines } of hunks) {
    let added: string[] = [];
    for (const line of lines) {
      const mark = line.charCodeAt(0);
      if (mark === PLUS) inverted.push(`-${line.slice(1)}`);
      else if (mark === MINUS) added.push(`+${line.slice(1)}`);
      else {
        if (added.length > 0) {
          for (const text of added) inverted.push(text);
          added = [];
        }
        inverted.push(line);
      }
    }
    for (const text of added) inverted.push(text);
  }
  const text = inverted.join("\n");
  const views = text.split("\n");
  const hash = hashParts(text);
  const tellApart = ordinals();
  let from = 0;
  let offset = 0;
  return hunks.map((hunk) => {
    const { oldStart, newStart, section, anchors, atEnd, oldNoNewline, newNoNewline } = hunk;
    const end = from + hunk.lines.length;
    const start = offset;
    for (let i = from; i < end; i++) offset += views[i]!.length + 1;
    const lines = views.slice(from, end);
    from = end;
    const id = tellApart(hash(start, offset - 1));
    // Assigned one by one: a spread for each of them took longer than the rest.
    const inverse: { -readonly [Key in keyof Hunk]: Hunk[Key] } = { id, oldStart: newStart, newStart: oldStart, lines };
    if (section !== undefined) inverse.section = section;
    if (anchors !== undefined) inverse.anchors = anchors;
    if (atEnd) inverse.atEnd = atEnd;
    if (newNoNewline) inverse.oldNoNewline = newNoNewline;
    if (oldNoNewline) inverse.newNoNewline = oldNoNewline;
    return inverse;
  });
}
