export type { Aligner, ApplyOptions, LineRange } from "./match/aligner.js";
export { applyStrictly, type StrictOptions } from "./match/strict.js";
export type { FileKind, FilePatch, GitHeader, Hunk, Patch } from "./patch.js";
export type { ReadError, ReadErrorReason, Reading, Repair, RepairKind } from "./reading.js";
export type { AppliedHunk, ApplyResult, Conflict, ConflictReason, Rung } from "./result.js";
export { applyPatch } from "./unified/apply.js";
export { formatPatch } from "./unified/format.js";
export { type ParseOptions, parsePatch } from "./unified/parse.js";
