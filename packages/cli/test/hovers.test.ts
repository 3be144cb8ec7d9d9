import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));

interface Hovered {
  /** The name that a user hovers, and where its documentation is. */
  readonly name: string;
  readonly file: string;
  /** What surrounds the example where it is used. */
  readonly before: string;
  readonly after?: string;
}

const server = 'import { coven } from "@parlance/protocols/coven"; import { serve } from "@parlance/server";';
const client = 'import { connect } from "@parlance/client"; import { coven } from "@parlance/protocols/coven";';
const handlers = `${server} declare function runModel(prompt: string, options: { onText(text: string): unknown; signal: AbortSignal }): Promise<void>;
serve(coven, {`;
const status = "declare function showStatus(text: string): void;";
const agent = `${client} ${status} const agent = connect(coven); const input = { content: "x", sender: "me" };`;
const component = (agent: string) => `${client} import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway"; import { useAsks, useChannel, useStream } from "@parlance/react";
${agent} export function Component() {`;

const calls: readonly Hovered[] = [
  { name: "send", file: "wire/src/contract/calls.ts", before: handlers, after: "}, { partial: true });" },
  { name: "ask", file: "wire/src/contract/calls.ts", before: handlers, after: "}, { partial: true });" },
  { name: "onConnection", file: "wire/src/contract/calls.ts", before: agent, after: "export { turn };" },
  { name: "onConnection", file: "client/src/options.ts", before: `${client} ${status}` },
  {
    name: "done",
    file: "server/src/hooks.ts",
    before: 'import type { Hooks } from "@parlance/server"; declare function log(entry: object): void;',
    after: "export { hooks };",
  },
  {
    name: "useStream",
    file: "react/src/stream.ts",
    before: component("const gateway = connect(foldGateway);"),
    after: "}",
  },
  { name: "useChannel", file: "react/src/channel.ts", before: component("const agent = connect(based);"), after: "}" },
  {
    name: "useAsks",
    file: "react/src/asks.ts",
    before: `${component("const agent = connect(coven);")} const turn = useStream(agent.send);`,
    after: "}",
  },
];

/** The example of a documented name. An interface of this name comes before other declarations of the file. */
function exampleOf({ name, file }: Hovered): string {
  const path = join(root, "packages", file);
  const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if ((node as Partial<ts.NamedDeclaration>).name?.getText() === name)
      for (const { tagName, comment } of ts.getJSDocTags(node))
        if (tagName.text === "example") found.push(ts.getTextOfJSDocComment(comment) ?? "");
    ts.forEachChild(node, visit);
  };
  visit(source);
  expect(found, `examples of ${name}`).toHaveLength(1);
  return /```tsx?\n(.*?)```/s.exec(found[0]!)?.[1] ?? "";
}

const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root);

// Beside the tests of React, so that it is found.
const snippets = new Map(
  calls.map((call, index) => {
    const path = join(root, `packages/react/test/hovered-${index}.snippet.tsx`);
    return [path, `${call.before}\n${exampleOf(call)}\n${call.after ?? ""}\n`];
  }),
);
const service = ts.createLanguageService({
  ...ts.sys,
  useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
  getCompilationSettings: () => ({ ...options, jsxImportSource: "react" }),
  getCurrentDirectory: () => root,
  getDefaultLibFileName: (of) => ts.getDefaultLibFilePath(of),
  getScriptFileNames: () => [...snippets.keys()],
  getScriptVersion: () => "1",
  getScriptSnapshot(path) {
    const text = snippets.get(path) ?? ts.sys.readFile(path);
    return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
  },
  fileExists: (path) => snippets.has(path) || ts.sys.fileExists(path),
  readFile: (path) => snippets.get(path) ?? ts.sys.readFile(path),
});

test.each(calls.map((call, index) => ({ ...call, index })))(
  "the hover of $name of $file has an example that compiles",
  ({ index, ...call }) => {
    const [path, text] = [...snippets][index]!;
    const found = [...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)];
    expect(found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"))).toEqual([]);
    const example = exampleOf(call);
    const at = text.indexOf(example) + example.search(new RegExp(`(?<!async \\*?)\\b${call.name}\\b`));
    const tags = service.getQuickInfoAtPosition(path, at)?.tags ?? [];
    expect(tags.map(({ name }) => name)).toContain("example");
    expect(ts.displayPartsToString(tags.find(({ name }) => name === "example")!.text)).toContain(example.trim());
  },
  60_000,
);
