import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { apiKey, bearer } from "@parlance/server";
import { expect, test } from "vitest";
import { compile, readAllFences, writeFences } from "./fences.js";
import { strictest, undefinedOptions } from "./undefined-options.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));

const documents = execFileSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" }).trim().split("\n");

/** What a fence may be beside a program: pages to start with are followed word for word, commands and files included. */
const others = /^(sh|text|jsonl?|lisp|lua|python|tsx|yaml|diff|nginx)$/;
/** Where a part of a program is shown: it needs a server, an editor, a Redis, an agent or a bundler that no test has here. */
const parts = [
  "docs/acp-agent.md",
  "docs/acp-client.md",
  "docs/contract.md",
  "docs/deployment.md",
  // Next.js compiles its own, in the packaging tests.
  "docs/frameworks.md",
  "docs/resume.md",
  "packages/edits/README.md",
  "packages/store-redis/README.md",
];

test("every fence of a document is a program, of a language that is tested, or one of few parts of a program", () => {
  const strays = documents.flatMap((path) =>
    readAllFences(readFileSync(join(root, path), "utf8"))
      .filter(({ language, rest }) => {
        if (language !== "ts") return !others.test(language);
        return rest !== "" && !(rest === "no-run" && parts.includes(path)) && !path.startsWith("docs/start/");
      })
      .map(({ line, language, rest }) => `${path}:${line} ${language} ${rest}`),
  );
  expect(strays).toEqual([]);
});

test("the JSON in all documents is JSON", () => {
  const broken = documents.flatMap((path) =>
    readAllFences(readFileSync(join(root, path), "utf8"))
      .filter(({ language }) => /^jsonl?$/.test(language))
      .flatMap(({ language, line, text }) => {
        try {
          for (const one of language === "json" ? [text] : text.trim().split("\n")) JSON.parse(one);
          return [];
        } catch (error) {
          return [`${path}:${line} ${error}`];
        }
      }),
  );
  expect(broken).toEqual([]);
});

test("every token and key in all documents is one that a client can send", () => {
  const calls = documents.flatMap((path) =>
    [...readFileSync(join(root, path), "utf8").matchAll(/\b(?:bearer|apiKey)\((?:"[^"]*", *)?\{[^}]*\}\)/g)].map(
      ([call]) => ({ path, call }),
    ),
  );
  expect(calls.length).toBeGreaterThan(3);
  const broken = calls.flatMap(({ path, call }) => {
    try {
      new Function("bearer", "apiKey", "process", `return ${call}`)(bearer, apiKey, { env: {} });
      return [];
    } catch (error) {
      return [`${path}: ${call} ${error}`];
    }
  });
  expect(broken).toEqual([]);
});

const interop = join(root, "interop");
const hasInterop = existsSync(join(interop, "node_modules"));
const { devDependencies } = JSON.parse(readFileSync(join(interop, "package.json"), "utf8")) as {
  readonly devDependencies: Readonly<Record<string, string>>;
};
/** Whether a program needs a package that `pnpm interop` installs, and a stranger does not have. */
const importsInterop = (text: string): boolean =>
  Object.keys(devDependencies).some((name) => text.includes(`from "${name}"`));
/** The programs that everybody can compile, and the others in the folder of their packages. */
function compilable(files: readonly string[]): string[] {
  return files.flatMap((file) => {
    if (!importsInterop(readFileSync(file, "utf8"))) return [file];
    if (!hasInterop) return [];
    const moved = join(interop, relative(root, file));
    // With the files that a page names, and its programs import.
    cpSync(dirname(file), dirname(moved), { recursive: true });
    return [moved];
  });
}

test("the programs in all documents compile under the strictest settings, with and without DOM types, and every option and input may be undefined", () => {
  const written = documents.flatMap((path) => writeFences("compiled", join(root, path))).map(({ file }) => file);
  const files = compilable(written);
  expect(files.length).toBeGreaterThan(10);
  const lines = undefinedOptions(root);
  // Fewer would be a fault of the test.
  expect(lines.length).toBeGreaterThan(150);
  const some = ['ConnectOptions, "token"', 'ServeOptions, "hooks"', 'Hooks, "open"', 'SendInput, "agent_id"'];
  for (const option of some) expect(lines.join("\n")).toContain(option);
  const generated = join(root, ".report", "fences", "compiled", "undefined-options.ts");
  writeFileSync(generated, `${lines.join("\n")}\nexport {};\n`);
  expect(compile([generated, ...files], strictest)).toEqual([]);
  // A program of Node has no library of a browser. JSX would load it, so that setting goes too.
  const lib = ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"];
  const programs = files.filter((file) => !file.includes("/webview/"));
  expect(compile(programs, { ...strictest, lib, jsx: undefined, jsxImportSource: undefined })).toEqual([]);
}, 240_000);
