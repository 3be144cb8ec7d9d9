import { join } from "node:path";
import ts from "typescript";
import { type Mutant, mutated } from "./mutants.js";

/** Returns whether a mutant compiles. Files are relative to the root, whose tsconfig.json counts. */
export function typeCheck(root: string, files: readonly string[]): (mutant: Mutant) => boolean {
  const config = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile).config as object;
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const changed = new Map<string, string>();
  let version = 0;
  const service = ts.createLanguageService({
    getCompilationSettings: () => ({ ...options, noEmit: true }),
    getScriptFileNames: () => files.map((file) => join(root, file)),
    getScriptVersion: (name) => (changed.has(name) ? String(version) : "0"),
    getScriptSnapshot: (name) => {
      const text = changed.get(name) ?? ts.sys.readFile(name);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    realpath: ts.sys.realpath!,
  });
  const errors = (name: string) =>
    service.getSyntacticDiagnostics(name).length || service.getSemanticDiagnostics(name).length;
  const unchanged = new Map<string, number>();
  return (mutant) => {
    const name = join(root, mutant.file);
    const before = unchanged.get(name) ?? errors(name);
    unchanged.set(name, before);
    version++;
    changed.set(name, mutated(ts.sys.readFile(name)!, mutant));
    try {
      return errors(name) <= before;
    } finally {
      changed.delete(name);
    }
  };
}
