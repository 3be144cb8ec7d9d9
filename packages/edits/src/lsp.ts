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
export type { ApplyOptions, LineRange } from "./match/aligner.js";
