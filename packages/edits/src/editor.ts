export type { WorkspaceEdit } from "./editor/protocol.js";
export { type TextEdits, toTextEdits } from "./editor/text-edits.js";
export { toVsCodeEdit, type VsCodeEditing, type VsCodeFile } from "./editor/vscode.js";
export {
  type FileConflict,
  type LspDocument,
  toWorkspaceEdit,
  type WorkspaceEditing,
  type WorkspaceOptions,
} from "./editor/workspace-edit.js";
