import type { VsCodeFile } from "@parlance/edits/editor";
import { TextDocument } from "vscode-languageserver-textdocument";
import type { VsCodeDocument, VsCodeMetadata } from "../../src/editor/vscode.js";

/** An identity of its own, as an editor's URIs are: no string stands in for it. */
export class Uri {
  readonly path: string;
  constructor(path: string) {
    this.path = path;
  }
}

export class Range {
  readonly start: { line: number; character: number };
  readonly end: { line: number; character: number };
  constructor(startLine: number, startCharacter: number, endLine: number, endCharacter: number) {
    this.start = { line: startLine, character: startCharacter };
    this.end = { line: endLine, character: endCharacter };
  }
}

interface FileOptions {
  readonly overwrite?: boolean;
  readonly ignoreIfExists?: boolean;
}

type Operation =
  | { readonly kind: "replace"; readonly uri: Uri; readonly range: Range; readonly newText: string }
  | { readonly kind: "create"; readonly uri: Uri; readonly options?: FileOptions }
  | { readonly kind: "delete"; readonly uri: Uri }
  | { readonly kind: "rename"; readonly uri: Uri; readonly to: Uri; readonly options?: FileOptions };

/** Records in order what it is called with, as `vscode.WorkspaceEdit` does. */
export class WorkspaceEdit {
  readonly operations: (Operation & { readonly metadata?: VsCodeMetadata })[] = [];
  replace(uri: Uri, range: Range, newText: string, metadata?: VsCodeMetadata): void {
    this.operations.push({ kind: "replace", uri, range, newText, metadata });
  }
  createFile(uri: Uri, options?: FileOptions, metadata?: VsCodeMetadata): void {
    this.operations.push({ kind: "create", uri, options, metadata });
  }
  deleteFile(uri: Uri, _options?: object, metadata?: VsCodeMetadata): void {
    this.operations.push({ kind: "delete", uri, metadata });
  }
  renameFile(uri: Uri, to: Uri, options?: FileOptions, metadata?: VsCodeMetadata): void {
    this.operations.push({ kind: "rename", uri, to, options, metadata });
  }
}

/** An editor with files, of which it hands out live documents. */
export class Editor {
  readonly files = new Map<string, string>();
  readonly lookedUp: string[] = [];
  readonly #documents: { path: string; document: { version: number; isClosed: boolean; getText(): string } }[] = [];

  constructor(files: Readonly<Record<string, string>>) {
    for (const [path, text] of Object.entries(files)) this.files.set(path, text);
  }

  /** Answers later, in an order of its own. */
  find = async (path: string): Promise<VsCodeFile<Uri>> => {
    this.lookedUp.push(path);
    for (let turns = path.length % 3; turns > 0; turns--) await Promise.resolve();
    return { uri: new Uri(path), document: this.files.has(path) ? this.#open(path) : null };
  };

  #open(path: string): VsCodeDocument {
    const document = { version: 1, isClosed: false, getText: () => this.files.get(path)! };
    this.#documents.push({ path, document });
    return document;
  }

  type(path: string, text: string): void {
    this.files.set(path, text);
    for (const known of this.#documents) if (known.path === path) known.document.version++;
  }

  close(path: string): void {
    for (const known of this.#documents) if (known.path === path) known.document.isClosed = true;
  }

  /** Carries an edit out as VS Code does: in order, the neighbouring replacements of one document at once. */
  apply({ operations }: WorkspaceEdit): void {
    for (let i = 0; i < operations.length; i++) {
      const operation = operations[i]!;
      const { path } = operation.uri;
      const there = this.files.has(path);
      if (operation.kind === "create") {
        if (there && !operation.options?.overwrite) throw new Error(`${path} exists`);
        this.files.set(path, "");
      } else if (!there) throw new Error(`${path} does not exist`);
      else if (operation.kind === "delete") this.files.delete(path);
      else if (operation.kind === "rename") {
        if (this.files.has(operation.to.path)) throw new Error(`${operation.to.path} exists`);
        this.files.set(operation.to.path, this.files.get(path)!);
        this.files.delete(path);
      } else {
        const edits = [{ range: operation.range, newText: operation.newText }];
        for (
          let next = operations[i + 1];
          next?.kind === "replace" && next.uri.path === path;
          next = operations[i + 1]
        ) {
          edits.push({ range: next.range, newText: next.newText });
          i++;
        }
        const document = TextDocument.create(path, "text", 1, this.files.get(path)!);
        this.files.set(path, TextDocument.applyEdits(document, edits));
      }
    }
  }
}
