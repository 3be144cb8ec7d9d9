/**
 * The part of the Language Server Protocol 3.17 that is read and written here. The types are defined here to avoid a
 * dependency; they are assignable to those of `vscode-languageserver-types`.
 */

/** Both count from zero; `character` counts UTF-16 code units. */
export interface Position {
  line: number;
  character: number;
}

export interface TextEdit {
  range: { start: Position; end: Position };
  newText: string;
}

/** An edit or a file operation with `annotationId` is shown with that annotation. */
export interface Annotated {
  annotationId?: string | undefined;
}

export interface ChangeAnnotation {
  label: string;
  needsConfirmation?: boolean | undefined;
  description?: string | undefined;
}

export interface TextDocumentEdit {
  textDocument: { uri: string; version: number | null };
  edits: (TextEdit & Annotated)[];
}

export interface FileOptions {
  overwrite?: boolean | undefined;
  ignoreIfExists?: boolean | undefined;
}

export type FileOperation = Annotated &
  (
    | { kind: "create"; uri: string; options?: FileOptions }
    | { kind: "rename"; oldUri: string; newUri: string; options?: FileOptions }
    | { kind: "delete"; uri: string }
  );

export interface WorkspaceEdit {
  documentChanges: (TextDocumentEdit | FileOperation)[];
  changeAnnotations?: Record<string, ChangeAnnotation> | undefined;
}
