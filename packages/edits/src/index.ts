export {
  type AppliedHunk,
  type ApplyOptions,
  type ApplyResult,
  applyPatch,
  type Conflict,
  type ConflictReason,
} from "./apply.js";
export { type Composition, composePatches } from "./compose.js";
export { type CreateOptions, createPatch } from "./create.js";
export type { DiffOptions } from "./diff.js";
export { hunkId } from "./hunk.js";
export { invertPatch } from "./invert.js";
export type { Rung } from "./ladder.js";
export { joinLines, type Lines, splitLines } from "./lines.js";
export { type Merge, type MergeConflict, merge3 } from "./merge.js";
export { mergePatches, type PatchConflict, type PatchMerge } from "./merge-patches.js";
export type { FileKind, FilePatch, GitHeader, Hunk, Patch } from "./patch.js";
export { type MappedPosition, mapPosition, type Position } from "./position.js";
export type { ReadError, ReadErrorReason, Reading, Repair, RepairKind } from "./reading.js";
export { selectHunks } from "./select.js";
export { formatPatch } from "./unified/format.js";
export { type ParseOptions, parsePatch } from "./unified/parse.js";
