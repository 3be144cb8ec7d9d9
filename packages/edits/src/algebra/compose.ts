import { applyPatch } from "../apply.js";
import { createPatch } from "../diff/create.js";
import { needPatch } from "../need.js";
import type { FileKind, FilePatch, Hunk, Patch } from "../patch.js";
import { invertPatch } from "./invert.js";
import { linesOf, meet, readChanges, writeHunks } from "./spans.js";

export type Composition =
  | { readonly ok: true; readonly patch: Patch }
  | {
      readonly ok: false;
      /** The path, between the two patches, at which they do not fit together. */
      readonly path: string;
      /** `no-line-numbers`: a hunk has no line numbers. `mismatch`: the second patch does not fit the first. */
      readonly reason: "no-line-numbers" | "mismatch";
    };

/**
 * Combines two patches in a row into one: `apply(compose(p, q), a) = apply(q, apply(p, a))`. It needs no text, but both
 * patches must have exact line numbers, as those of `createPatch` do; hunks that need tolerant matching do not compose.
 */
export function composePatches(first: Patch, second: Patch): Composition {
  needPatch({ first, second });
  const files: FilePatch[] = [];
  const waiting = [...second.files];
  for (const file of first.files) {
    const next =
      file.after === null
        ? waiting.findIndex(({ kind, after }) => kind === "create" && after === file.before)
        : waiting.findIndex(({ before }) => before === file.after);
    if (next < 0) {
      files.push(file);
      continue;
    }
    const follower = waiting[next]!;
    // A copy keeps its source.
    if (follower.kind === "copy") files.push(file);
    waiting.splice(next, 1);
    const composed = composeFiles(file, follower);
    if (typeof composed === "string") return { ok: false, path: file.after ?? file.before ?? "", reason: composed };
    if (composed) files.push(composed);
  }
  return { ok: true, patch: { files: [...files, ...waiting] } };
}

function composeFiles(first: FilePatch, second: FilePatch): FilePatch | null | "no-line-numbers" | "mismatch" {
  if (first.kind === "create" && second.kind === "delete") return null;
  const said = {
    oldMode: first.oldMode,
    newMode: second.newMode ?? first.newMode,
    oldStamp: first.oldStamp,
    newStamp: second.newStamp,
    git: first.git || second.git ? {} : undefined,
    reason: second.reason ?? first.reason,
  };
  const frame: FilePatch = {
    kind: composeKinds(first, second),
    before: first.before,
    after: second.after,
    hunks: [],
    ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)),
  };
  if (second.whole) return { ...frame, hunks: second.hunks, whole: true };
  if (first.whole) {
    const middle = applyPatch(first, "");
    const done = middle.ok ? applyPatch(second, middle.text) : middle;
    const hunks = done.ok ? (createPatch("", done.text).files[0]?.hunks ?? []) : [];
    return done.ok ? { ...frame, whole: true, hunks } : "mismatch";
  }
  const hunks = composeHunks(first, second);
  return typeof hunks === "string" ? hunks : { ...frame, hunks };
}

/** Each stretch of the text between the two patches: before the first patch, and after the second. */
function composeHunks(first: FilePatch, second: FilePatch): Hunk[] | "no-line-numbers" | "mismatch" {
  const shown = new Map<number, string>();
  const back = readChanges(invertPatch({ files: [{ ...first, kind: "modify" }] }).files[0]!.hunks, shown);
  const on = readChanges(second.hunks, shown);
  if (back === "no-place" || on === "no-place") return "no-line-numbers";
  if (back === "base" || on === "base") return "mismatch";
  const turns = meet(back, on).map((meeting) => ({
    ...meeting,
    before: linesOf(meeting, meeting.left, shown),
    after: linesOf(meeting, meeting.right, shown),
  }));
  return writeHunks(turns, shown);
}

function composeKinds(first: FilePatch, second: FilePatch): FileKind {
  if (first.kind === "delete") return "modify";
  if (first.kind === "create") return "create";
  if (second.kind === "delete") return "delete";
  if (second.kind === "copy" || first.kind === "copy") return "copy";
  return first.before === second.after ? "modify" : "rename";
}
