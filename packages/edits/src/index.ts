export { type CreateOptions, createPatch } from "./create.js";
export type { DiffOptions } from "./diff.js";
export { hunkId } from "./hunk.js";
export { joinLines, type Lines, splitLines } from "./lines.js";
export type { FileKind, FilePatch, GitHeader, Hunk, Patch } from "./patch.js";
export type { ReadError, ReadErrorReason, Reading, Repair, RepairKind } from "./reading.js";
export { formatPatch } from "./unified/format.js";
export { type ParseOptions, parsePatch } from "./unified/parse.js";
