export { type Composition, composePatches } from "./algebra/compose.js";
export { invertPatch } from "./algebra/invert.js";
export { type Merge, type MergeConflict, merge3 } from "./algebra/merge.js";
export { mergePatches, type PatchConflict, type PatchMerge } from "./algebra/merge-patches.js";
export { type MappedPosition, mapPosition, type Position } from "./algebra/position.js";
export { selectHunks } from "./algebra/select.js";
export { applyPatch } from "./apply.js";
export { type CreateOptions, createPatch } from "./diff/create.js";
export type { DiffOptions } from "./diff/diff.js";
export { fromTextEdits, type TextEdits, type TextEditsPatch, toTextEdits } from "./editor/text-edits.js";
export {
  toVsCodeEdit,
  type VsCode,
  type VsCodeDocument,
  type VsCodeEditing,
  type VsCodeFile,
  type VsCodeMetadata,
  type VsCodeWorkspaceEdit,
} from "./editor/vscode.js";
export {
  type FileConflict,
  type LspDocument,
  toWorkspaceEdit,
  type WorkspaceEditing,
  type WorkspaceOptions,
} from "./editor/workspace-edit.js";
export { explainConflict } from "./explain.js";
export { type BasedWriting, formatForBased } from "./formats/based.js";
export { formatBeginPatch, parseBeginPatch } from "./formats/begin-patch.js";
export type { FormatName } from "./formats/block.js";
export { formatEditBlocks, parseEditBlocks } from "./formats/edit-block.js";
export { formatSearchReplace, parseSearchReplace, type SearchReplaceStyle } from "./formats/search-replace.js";
export {
  formatStrReplace,
  parseStrReplace,
  type StrReplaceCall,
  type StrReplaceOptions,
  type StrReplaceWriting,
} from "./formats/str-replace.js";
export { formatWholeFiles, parseWholeFiles } from "./formats/whole-file.js";
export type { Writing } from "./formats/write.js";
export { hunkId } from "./hunk.js";
export { joinLines, type Lines, splitLines } from "./lines.js";
export type { Aligner, ApplyOptions, LineRange } from "./match/aligner.js";
export { anchored } from "./match/anchored.js";
export { applyStrictly, type StrictOptions } from "./match/strict.js";
export { type ParseOptions, parsePatch } from "./parse.js";
export type { FileKind, FilePatch, GitHeader, Hunk, Patch } from "./patch.js";
export type { ReadError, ReadErrorReason, Reading, Repair, RepairKind } from "./reading.js";
export type { AppliedHunk, ApplyResult, Conflict, ConflictReason, Rung } from "./result.js";
export type { EditEvent, EditReader, ReadOptions } from "./stream/event.js";
export { type EditOptions, parseEdits, readEdits } from "./stream/read.js";
export { formatPatch } from "./unified/format.js";
