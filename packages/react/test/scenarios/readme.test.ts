import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

const readme = new URL("../../README.md", import.meta.url);

test("the component of the README compiles", () => {
  const root = fileURLToPath(new URL("../../../../", import.meta.url));
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root);
  const [, component = ""] = /```tsx\n(.*?)```/s.exec(readFileSync(readme, "utf8")) ?? [];
  const path = fileURLToPath(new URL("./readme.snippet.tsx", import.meta.url));
  const host = ts.createCompilerHost({ ...options, jsxImportSource: "react" });
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (file) => file === path || fileExists(file);
  host.readFile = (file) => (file === path ? component : readFile(file));
  host.getSourceFile = (file, version) =>
    file === path ? ts.createSourceFile(file, component, version) : getSourceFile(file, version);
  const program = ts.createProgram([path], { ...options, jsxImportSource: "react" }, host);
  const found = ts.getPreEmitDiagnostics(program, program.getSourceFile(path));
  expect(component).toContain("useStream");
  expect(found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"))).toEqual([]);
}, 60_000);
