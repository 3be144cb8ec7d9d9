import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
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

/** Any fenced text of a document: ```language rest. */
export interface Fence {
  readonly heading: string;
  readonly line: number;
  readonly language: string;
  /** What stands behind the language, such as `no-run` or `[src/try.ts]`. */
  readonly rest: string;
  readonly text: string;
}

export function readAllFences(document: string): Fence[] {
  const fences: Fence[] = [];
  let heading = "";
  let open: (Omit<Fence, "text"> & { readonly marks: string; readonly lines: string[] }) | null = null;
  for (const [i, line] of document.split("\n").entries()) {
    const opening = /^(`{3,})(\S*)(?: (.*))?$/.exec(line);
    if (open !== null && line.startsWith(open.marks) && line.trim() === open.marks) {
      const { marks: _, lines, ...fence } = open;
      fences.push({ ...fence, text: lines.join("\n") });
      open = null;
    } else if (open !== null) open.lines.push(line);
    else if (opening !== null) {
      const [, marks, language, rest = ""] = opening;
      open = { marks: marks!, heading, line: i + 1, language: language!, rest, lines: [] };
    } else heading = /^#+ (.*)$/.exec(line)?.[1] ?? heading;
  }
  return fences;
}

/** The `ts` fences of a document, in order. A fence that is not to be run says so: "```ts no-run". */
export function readFences(document: string): ProgramFence[] {
  return readAllFences(document)
    .filter(({ language, rest }) => language === "ts" && rest === "")
    .map(({ heading, line, text }) => ({
      heading,
      line,
      code: text,
      prints: [...text.matchAll(/^.*?\/\/ => (.*)$/gm)].map((match) => match[1]!),
    }));
}

/**
 * Runs every `ts` fence of a document and compares what it prints with its comments. Imports of the packages go to
 * their sources. Call it from a test file: `testFences(new URL("../README.md", import.meta.url))`.
 * One compiler run for the fences of all documents is in `fences.test.ts`.
 */
export function testFences(url: URL): void {
  const path = fileURLToPath(url);
  const fences = writeFences("run", path);

  describe(`the programs in ${basename(dirname(path))}/${basename(path)}`, () => {
    it("are there", () => expect(fences.length).toBeGreaterThan(0));

    it.each(fences)("$heading (line $line)", async ({ file, prints }) => {
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
    });
  });
}

/** Writes each `ts` fence of a document to a file of its own: the one that its first line names (`// agent.ts`), so that others can import it. */
export function writeFences(purpose: string, path: string): (ProgramFence & { readonly file: string })[] {
  const folder = join(root, ".report", "fences", purpose, relative(root, path).replaceAll(/[/\\]/g, "-"));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
  return readFences(readFileSync(path, "utf8")).map((fence) => {
    const named = /^\/\/ ([\w./[\]-]+\.ts)\n/.exec(fence.code)?.[1];
    const file = join(folder, named ?? `line-${fence.line}.ts`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${fence.code}\nexport {};\n`);
    return { ...fence, file };
  });
}

/** What the compiler says of files, under the repository's settings and those that replace them. */
export function compile(files: readonly string[], settings: ts.CompilerOptions = {}): string[] {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const program = ts.createProgram(files, { ...options, ...settings, noEmit: true });
  const wanted = new Set(files.map((file) => file.replaceAll("\\", "/")));
  return files.flatMap((file) => {
    const source = program.getSourceFile(file)!;
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
      .filter((diagnostic) => diagnostic.file !== undefined && wanted.has(diagnostic.file.fileName))
      .map((diagnostic) => {
        const { line } = source.getLineAndCharacterOfPosition(diagnostic.start ?? 0);
        return `${relative(root, file)}:${line + 1}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n")}`;
      });
  });
}
