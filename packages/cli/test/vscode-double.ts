import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Editor, Range, type Uri, WorkspaceEdit } from "../../edits/test/editor/editor-double.js";

class FileUri implements Uri {
  readonly path: string;
  constructor(path: string) {
    this.path = path;
  }
  get fsPath(): string {
    return this.path;
  }
  static joinPath(base: FileUri, ...parts: string[]): FileUri {
    return new FileUri(join(base.path, ...parts));
  }
}

/** The part of the `vscode` namespace that the guide uses, over real files. Its user writes `message`, and allows tools but no command. */
export function vscodeDouble(folder: string, url: string, message: string) {
  const commands = new Map<string, () => Promise<void>>();
  const asked: string[] = [];
  const editors = new Map<string, Editor>();
  const namespace = {
    Uri: FileUri,
    Range,
    WorkspaceEdit,
    commands: {
      registerCommand(name: string, run: () => Promise<void>) {
        commands.set(name, run);
        return { dispose: () => commands.delete(name) };
      },
    },
    window: {
      showInputBox: async () => message,
      showWarningMessage: async (question: string, _: object, choice: string) => {
        asked.push(question);
        return choice === "Allow" ? choice : undefined;
      },
      showErrorMessage: async (text: string) => void asked.push(text),
    },
    workspace: {
      workspaceFolders: [{ uri: new FileUri(folder) }],
      getConfiguration: () => ({ get: () => url }),
      async openTextDocument({ path }: FileUri) {
        const editor = editors.get(path) ?? new Editor({ [path]: await readFile(path, "utf8") });
        editors.set(path, editor);
        const { document } = await editor.find(path);
        return Object.assign(document!, { save: () => writeFile(path, editor.files.get(path)!) });
      },
      async applyEdit(edit: WorkspaceEdit) {
        for (const { uri } of edit.operations) editors.get(uri.path)!.apply(edit);
        return true;
      },
      fs: { readFile: ({ path }: FileUri) => readFile(path) },
    },
  };
  return { namespace, commands, asked };
}

const SHARED = Symbol.for("parlance.test.vscode");

/** Makes the namespace what `import * as vscode from "vscode"` gives the programs of a folder. */
export async function writeVsCode(folder: string, namespace: object): Promise<void> {
  Object.assign(globalThis, { [SHARED]: namespace });
  const own = join(folder, "node_modules", "vscode");
  await mkdir(own, { recursive: true });
  await writeFile(join(own, "package.json"), '{ "type": "module", "exports": "./index.js" }\n');
  const names = Object.keys(namespace).join(", ");
  const code = `export const { ${names} } = globalThis[Symbol.for(${JSON.stringify(SHARED.description)})];\n`;
  await writeFile(join(own, "index.js"), code);
}
