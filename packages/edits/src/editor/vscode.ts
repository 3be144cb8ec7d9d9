import type { Patch } from "../patch.js";
import type { Annotated, FileOptions } from "./protocol.js";
import { type FileConflict, toWorkspaceEdit, type WorkspaceOptions } from "./workspace-edit.js";

/** The part of the `vscode` namespace that is used; the real namespace fits. */
export interface VsCode<Range, Edit> {
  readonly Range: new (startLine: number, startCharacter: number, endLine: number, endCharacter: number) => Range;
  readonly WorkspaceEdit: new () => Edit;
}

/** The part of a `vscode.WorkspaceEdit` that is used. */
export interface VsCodeWorkspaceEdit<Uri, Range> {
  replace(uri: Uri, range: Range, newText: string, metadata?: VsCodeMetadata): void;
  createFile(uri: Uri, options?: FileOptions, metadata?: VsCodeMetadata): void;
  deleteFile(uri: Uri, options?: object, metadata?: VsCodeMetadata): void;
  renameFile(oldUri: Uri, newUri: Uri, options?: FileOptions, metadata?: VsCodeMetadata): void;
}

/** A change as the refactoring preview shows it, and whether the user has to confirm it. */
export interface VsCodeMetadata {
  needsConfirmation: boolean;
  label: string;
  description?: string | undefined;
}

/** The part of a `vscode.TextDocument` that is used. */
export interface VsCodeDocument {
  readonly version: number;
  readonly isClosed: boolean;
  getText(): string;
}

/** A file of the patch in the editor; `document` is null if the file does not exist. */
export interface VsCodeFile<Uri> {
  readonly uri: Uri;
  readonly document: VsCodeDocument | null;
}

export type VsCodeEditing<Edit> =
  | {
      readonly ok: true;
      readonly edit: Edit;
      /** Whether the documents are still as read. VS Code does not compare versions: check right before `applyEdit`. */
      readonly isCurrent: () => boolean;
    }
  | { readonly ok: false; readonly conflicts: readonly FileConflict[] };

/**
 * Converts a patch to a `vscode.WorkspaceEdit`: `toWorkspaceEdit` for an extension, with nothing imported. Paths are
 * looked up once each, in parallel. Changes to confirm carry metadata for the refactoring preview.
 * @throws what `find` throws.
 */
export async function toVsCodeEdit<Uri, Range, Edit extends VsCodeWorkspaceEdit<Uri, Range>>(
  vscode: VsCode<Range, Edit>,
  patch: Patch,
  find: (path: string) => VsCodeFile<Uri> | PromiseLike<VsCodeFile<Uri>>,
  options: WorkspaceOptions = {},
): Promise<VsCodeEditing<Edit>> {
  const paths = new Set(patch.files.flatMap(({ before, after }) => [before, after].filter((path) => path !== null)));
  const found = await Promise.all([...paths].map(async (path) => [path, await find(path)] as const));
  const files = new Map(found);
  const read = found.flatMap(([, { document }]) => (document ? [{ document, version: document.version }] : []));
  // A path stands for its URI here, because only the editor can spell its URIs.
  const texts = new Map(found.map(([path, { document }]) => [path, document?.getText() ?? null]));
  const editing = toWorkspaceEdit(patch, (uri) => ({ uri, version: null, text: texts.get(uri)! }), options);
  if (!editing.ok) return editing;
  const { documentChanges, changeAnnotations = {} } = editing.edit;
  const metadataOf = ({ annotationId }: Annotated): VsCodeMetadata | undefined => {
    const annotation = annotationId === undefined ? undefined : changeAnnotations[annotationId];
    return annotation && { ...annotation, needsConfirmation: annotation.needsConfirmation ?? false };
  };
  const uriOf = (path: string) => files.get(path)!.uri;
  const edit = new vscode.WorkspaceEdit();
  for (const change of documentChanges) {
    if (!("kind" in change))
      for (const part of change.edits) {
        const { start, end } = part.range;
        const range = new vscode.Range(start.line, start.character, end.line, end.character);
        edit.replace(uriOf(change.textDocument.uri), range, part.newText, metadataOf(part));
      }
    else if (change.kind === "create") edit.createFile(uriOf(change.uri), change.options, metadataOf(change));
    else if (change.kind === "delete") edit.deleteFile(uriOf(change.uri), undefined, metadataOf(change));
    else edit.renameFile(uriOf(change.oldUri), uriOf(change.newUri), change.options, metadataOf(change));
  }
  const isCurrent = () => read.every(({ document, version }) => !document.isClosed && document.version === version);
  return { ok: true, edit, isCurrent };
}
