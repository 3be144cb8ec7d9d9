import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root);

const parsed = new Map<string, ts.SourceFile | undefined>();

/** What the compiler makes of some files that exist in memory only, beside this one, and of the protocols that they import. */
export function compile(files: Readonly<Record<string, string>>): {
  /** What is wrong with a file, in order. */
  readonly errors: Readonly<Record<string, readonly string[]>>;
  readonly types: number;
  readonly instantiations: number;
} {
  const here = dirname(fileURLToPath(import.meta.url));
  const texts = new Map(Object.entries(files).map(([name, text]) => [join(here, `${name}.snippet.ts`), text]));
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.getSourceFile = (path, version) => {
    const text = texts.get(path);
    if (text !== undefined) return ts.createSourceFile(path, text, version);
    if (!parsed.has(path)) parsed.set(path, getSourceFile(path, version));
    return parsed.get(path);
  };
  const program = ts.createProgram([...texts.keys()], options, host);
  const errors = Object.keys(files).map((name, index) => {
    const source = program.getSourceFile([...texts.keys()][index]!)!;
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return [name, found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"))];
  });
  for (const file of program.getSourceFiles())
    if (file.fileName.includes("/protocols/src/")) program.getSemanticDiagnostics(file);
  return {
    errors: Object.fromEntries(errors),
    types: program.getTypeCount(),
    instantiations: program.getInstantiationCount(),
  };
}
