export { anchored } from "./anchored.js";
export {
  type AppliedHunk,
  type ApplyOptions,
  type ApplyResult,
  applyPatch,
  type Conflict,
  type ConflictReason,
} from "./apply.js";
export { type Composition, composePatches } from "./compose.js";
export type { Aligner } from "./context.js";
export { type CreateOptions, createPatch } from "./create.js";
export type { DiffOptions } from "./diff.js";
export { explainConflict } from "./explain.js";
export { formatBeginPatch, parseBeginPatch } from "./forms/begin-patch.js";
export type { FormName } from "./forms/block.js";
export { formatEditBlocks, parseEditBlocks } from "./forms/edit-block.js";
export { formatSearchReplace, parseSearchReplace, type SearchReplaceStyle } from "./forms/search-replace.js";
export {
  formatStrReplace,
  parseStrReplace,
  type StrReplaceCall,
  type StrReplaceOptions,
  type StrReplaceWriting,
} from "./forms/str-replace.js";
export { formatWholeFiles, parseWholeFiles } from "./forms/whole-file.js";
export type { Writing } from "./forms/write.js";
export { hunkId } from "./hunk.js";
export { invertPatch } from "./invert.js";
export type { Rung } from "./ladder.js";
export { joinLines, type Lines, splitLines } from "./lines.js";
export {
  type FileConflict,
  fromTextEdits,
  type LspDocument,
  type TextEdits,
  type TextEditsPatch,
  toTextEdits,
  toWorkspaceEdit,
  type WorkspaceEditing,
  type WorkspaceOptions,
} from "./lsp.js";
export { type Merge, type MergeConflict, merge3 } from "./merge.js";
export { mergePatches, type PatchConflict, type PatchMerge } from "./merge-patches.js";
export type { FileKind, FilePatch, GitHeader, Hunk, Patch } from "./patch.js";
export { type MappedPosition, mapPosition, type Position } from "./position.js";
export type { ReadError, ReadErrorReason, Reading, Repair, RepairKind } from "./reading.js";
export { selectHunks } from "./select.js";
export type { EditEvent, EditReader, ReadOptions } from "./stream/event.js";
export { type EditOptions, parseEdits, readEdits } from "./stream/read.js";
export { applyStrictly, type StrictOptions } from "./strict.js";
export { formatPatch } from "./unified/format.js";
export { type ParseOptions, parsePatch } from "./unified/parse.js";
