import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { format } from "node:util";
import ts from "typescript";
import { describe, expect, it, vi } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** A fenced program of a document. */
export interface ProgramFence {
  /** The heading above it. */
  readonly heading: string;
  /** Line of the document at which it begins, counted from 1. */
  readonly line: number;
  readonly code: string;
  /** What it prints, line by line, as its `// => …` comments have it. */
  readonly prints: readonly string[];
}

/** The `ts` fences of a document, in order. A fence that is not to be run says so: "```ts no-run". */
export function readFences(document: string): ProgramFence[] {
  const fences: ProgramFence[] = [];
  let heading = "";
  let open: { marks: string; line: number; lines: string[] } | null = null;
  for (const [i, line] of document.split("\n").entries()) {
    const opening = /^(`{3,})(\S*)(?: (.*))?$/.exec(line);
    if (open !== null && line.startsWith(open.marks) && line.trim() === open.marks) {
      const code = open.lines.join("\n");
      const prints = [...code.matchAll(/^.*?\/\/ => (.*)$/gm)].map((match) => match[1]!);
      if (open.line > 0) fences.push({ heading, line: open.line, code, prints });
      open = null;
    } else if (open !== null) open.lines.push(line);
    else if (opening !== null)
      open = { marks: opening[1]!, line: opening[2] === "ts" && opening[3] === undefined ? i + 1 : 0, lines: [] };
    else heading = /^#+ (.*)$/.exec(line)?.[1] ?? heading;
  }
  return fences;
}

/**
 * Tests every `ts` fence of a document: it compiles under the repository's settings, runs, and prints what its comments
 * say. Imports of the packages go to their sources. Call it from a test file: `testFences(new URL("../README.md", import.meta.url))`.
 */
export function testFences(url: URL): void {
  const path = fileURLToPath(url);
  const fences = readFences(readFileSync(path, "utf8"));
  const folder = join(root, ".report", "fences", basename(dirname(path)));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
  const files = fences.map(({ line, code }) => {
    const file = join(folder, `line-${line}.ts`);
    writeFileSync(file, `${code}\nexport {};\n`);
    return file;
  });

  describe(`the programs in ${basename(dirname(path))}/${basename(path)}`, () => {
    it("compile", () => {
      expect(fences.length).toBeGreaterThan(0);
      expect(compile(files)).toEqual([]);
    });

    it.each(fences.map((fence, i) => ({ ...fence, file: files[i]! })))(
      "$heading (line $line)",
      async ({ file, prints }) => {
        const printed: string[] = [];
        const log = vi.spyOn(console, "log").mockImplementation((...values) => {
          printed.push(...format(...values).split("\n"));
        });
        try {
          await import(/* @vite-ignore */ pathToFileURL(file).href);
        } finally {
          log.mockRestore();
        }
        if (prints.length > 0) expect(printed).toEqual(prints);
      },
    );
  });
}

/** What the compiler says of files, under the repository's settings. */
export function compile(files: readonly string[]): string[] {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const program = ts.createProgram(files, { ...options, noEmit: true });
  const wanted = new Set(files.map((file) => file.replaceAll("\\", "/")));
  return files.flatMap((file) => {
    const source = program.getSourceFile(file)!;
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
      .filter((diagnostic) => diagnostic.file !== undefined && wanted.has(diagnostic.file.fileName))
      .map((diagnostic) => {
        const { line } = source.getLineAndCharacterOfPosition(diagnostic.start ?? 0);
        return `${basename(file)}:${line + 1}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n")}`;
      });
  });
}
