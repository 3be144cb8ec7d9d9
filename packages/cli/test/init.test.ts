import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { load } from "@parlance/language/load";
import type { AnyContract } from "@parlance/wire";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { steps } from "../../protocols/test/transcript.js";
import { compile } from "./fences.js";
import { folder, parlance, write } from "./terminal.js";

const module = '{ "type": "module" }';
const root = fileURLToPath(new URL("../../../", import.meta.url));

/** The program that init shows. */
const shown = (out: string) =>
  out
    .slice(out.indexOf("src/try.ts:\n"))
    .split("\n")
    .slice(2)
    .map((line) => line.slice(2))
    .join("\n");

async function printedBy(file: string): Promise<unknown[]> {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  try {
    await import(pathToFileURL(file).href);
    return log.mock.calls.map(([value]) => value);
  } finally {
    log.mockRestore();
  }
}

const text = ["hello"];
const messages = [
  { type: "text", text: "hello" },
  { type: "done", text: "hello" },
];

const examples = [
  { example: "sse", name: "my-agent", prints: text },
  { example: "websocket", name: "chat-1.13", prints: messages },
  { example: "both", name: "other", prints: [...text, ...messages] },
];

describe("what init writes", () => {
  // All in one folder, because the compiler takes most of the time.
  let cwd: string;
  const program = (name: string) => join(cwd, `src/try-${name}.ts`);

  beforeAll(async () => {
    cwd = await mkdtemp(join(tmpdir(), "parlance-cli-"));
    await write(cwd, { "package.json": module });
    for (const { example, name } of examples) {
      const { out } = await parlance(cwd, `init schemas/${name} --example ${example}`);
      await write(cwd, { [`src/try-${name}.ts`]: `${shown(out)}\nexport {};\n` });
    }
    await parlance(cwd, "init schemas/mine --extends schemas/other");
    await parlance(cwd, "generate --out src/protocols");
  });
  afterAll(() => rm(cwd, { recursive: true }));

  test("lints strictly", async () => {
    expect(await parlance(cwd, "lint --strict")).toEqual({ code: 0, out: "", err: "4 contracts: nothing is wrong\n" });
  });

  test("compiles, with the program that it shows", () => {
    const programs = examples.map(({ name }) => program(name));
    expect(compile([...programs, join(cwd, "src/protocols/mine.ts")])).toEqual([]);
  }, 120_000);

  test.each(examples)("talks as the program for $example shows", async ({ name, prints }) => {
    expect(await printedBy(program(name))).toEqual(prints);
  });

  test.each(examples)("keeps to its transcripts, for $example", async ({ name }) => {
    const { transcripts } = await load(join(cwd, "schemas", name));
    const file = pathToFileURL(join(cwd, `src/protocols/${name}.ts`)).href;
    const contract = Object.values((await import(file)) as Record<string, AnyContract>).find(
      (one) => one.name === name,
    )!;
    const accepts = await contract.accepts();
    const all = Object.values(transcripts).flatMap((lines) => [...steps(contract, accepts, lines)]);
    expect(all.length).toBeGreaterThan(2);
    for (const { check } of all) check();
  });
});

describe("init", () => {
  test("shows what it wrote as a tree, with the schema that $schema leads to", async () => {
    const cwd = await folder();
    const { out } = await parlance(cwd, "init");
    expect(out).toMatch(
      /^schemas\n├── contract.schema.json\n└── my-agent\n {4}├── .gitattributes\n {4}├── contract.json\n {4}├── messages\n {4}│ {3}├── done.json\n/,
    );
    const { $schema } = JSON.parse(await readFile(join(cwd, "schemas/my-agent/contract.json"), "utf8"));
    const schema = JSON.parse(await readFile(join(cwd, "schemas/my-agent", $schema), "utf8"));
    expect(schema.title).toBe("Contract");
    expect(await readFile(join(cwd, "schemas/my-agent/.gitattributes"), "utf8")).toBe("* text=auto eol=lf\n");
    const message = JSON.parse(await readFile(join(cwd, "schemas/my-agent/messages/text.json"), "utf8"));
    expect(message.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
  });

  const asked: [words: string, answers: string[], questions: RegExp, contract: string][] = [
    [
      "init",
      ["chat", "both"],
      /^Name of the protocol \(my-agent\): Example: sse, websocket, both or agent \(sse\): schemas\n/,
      "chat",
    ],
    ["init", ["", ""], /^Name.*Example.*: schemas\n/, "my-agent"],
    ["init", ["Not This", "chat", "smoke", "sse"], /^Name.*: Name.*: Example.*: Example.*: schemas\n/, "chat"],
    ["init protocols/mine", ["websocket"], /^Example.*: protocols\n/, "../protocols/mine"],
    ["init --example sse", ["chat"], /^Name.*: schemas\n/, "chat"],
    ["init --yes", [], /^schemas\n/, "my-agent"],
    ["init protocols/mine --example both", [], /^protocols\n/, "../protocols/mine"],
  ];
  test.each(asked)("%s, answered %j, asks for what is not given", async (words, answers, questions, contract) => {
    const cwd = await folder();
    const { code, out } = await parlance(cwd, words, {}, answers);
    expect(code).toBe(0);
    expect(out).toMatch(questions);
    expect(await readdir(join(cwd, "schemas", contract))).toContain("contract.json");
  });

  const bases: [what: string, base: string, from: string][] = [
    ["a folder", "base/my-agent", "../../base/my-agent"],
    ["a package", "their-protocols/schemas/my-agent", "their-protocols/schemas/my-agent"],
  ];
  test.each(bases)("--extends %s starts a contract that lints strictly and generates", async (_, base, from) => {
    const cwd = await folder({
      "package.json": module,
      "node_modules/their-protocols/package.json":
        '{ "name": "their-protocols", "exports": { "./schemas/*": "./schemas/*" } }',
    });
    await parlance(cwd, "init base/my-agent");
    await parlance(cwd, "init node_modules/their-protocols/schemas/my-agent");
    const { code, out } = await parlance(cwd, `init schemas/mine --extends ${base}`);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^schemas\n├── contract.schema.json\n├── dialect.schema.json\n└── mine\n {4}├── .gitattributes\n {4}└── contract.json\n/,
    );
    expect(JSON.parse(await readFile(join(cwd, "schemas/mine/contract.json"), "utf8"))).toMatchObject({
      $schema: "../dialect.schema.json",
      extends: from,
    });
    expect(await parlance(cwd, "lint --strict")).toMatchObject({ code: 0, err: "1 contract: nothing is wrong\n" });
    expect((await parlance(cwd, "generate --out src")).code).toBe(0);
    expect((await readdir(join(cwd, "schemas/mine"))).sort()).toEqual([".gitattributes", "contract.json"]);
  });

  test("--extends a protocol of ours from its folder", async () => {
    const cwd = await folder();
    expect((await parlance(cwd, `init --extends ${join(root, "schemas/agentsmithy-1.13")}`)).code).toBe(0);
    expect((await parlance(cwd, "lint schemas/my-agentsmithy-1.13")).err).toBe("1 contract: nothing is wrong\n");
  });

  const wrong: [words: string, message: string][] = [
    ["--extends nowhere", "nowhere is neither a contract's folder nor one in an installed package"],
    ["--extends a --example sse", "--extends and --example exclude each other"],
    ["class", '"class" is a word of the language'],
    ["class --example agent", '"class" is a word of the language'],
    ["--example smoke", "--example smoke: it is sse, websocket, both or agent"],
  ];
  test.each(wrong)("%s is refused, and nothing is written", async (words, message) => {
    const cwd = await folder();
    const { code, err } = await parlance(cwd, `init ${words}`);
    expect(code).toBe(2);
    expect(err).toContain(message);
    expect(await readdir(cwd)).toEqual([]);
  });
});

describe("init --example agent", () => {
  test("writes an agent that lints strictly, compiles, and passes its own tests", async () => {
    const cwd = await folder({ "package.json": module });
    const { code, out } = await parlance(cwd, "init schemas/our-agent --example agent");
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("└── server.ts\n") });
    expect((await parlance(cwd, "lint --strict")).err).toBe("1 contract: nothing is wrong\n");
    expect((await parlance(cwd, "generate --out src/protocols")).code).toBe(0);
    const programs = (await readdir(join(cwd, "src"))).filter((file) => file.endsWith(".ts")).sort();
    expect(programs).toEqual(["agent.test.ts", "agent.ts", "client.ts", "editor.ts", "server.ts"]);
    const settings = { noPropertyAccessFromIndexSignature: false };
    expect(
      compile(
        programs.map((file) => join(cwd, "src", file)),
        settings,
      ),
    ).toEqual([]);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", pathToFileURL(join(root, "node_modules/tsx/dist/loader.mjs")).href, "--test", "src/agent.test.ts"],
      { cwd, env: { ...process.env, NODE_OPTIONS: "", TSX_TSCONFIG_PATH: join(root, "tsconfig.json") } },
    );
    expect(stdout).toContain("# pass 5\n# fail 0\n");
  }, 120_000);

  // Each is a name that the programs have for something else.
  test("writes programs that compile, whatever the protocol is called", async () => {
    const names = ["agent", "user", "ask", "serve", "contract", "connect", "text", "chat-1.13"];
    const files: string[] = [];
    for (const name of names) {
      const cwd = await folder({ "package.json": module });
      expect(await parlance(cwd, `init schemas/${name} --example agent`)).toMatchObject({ code: 0 });
      expect(await parlance(cwd, "generate --out src/protocols")).toMatchObject({ code: 0 });
      for (const file of ["agent.test.ts", "agent.ts", "client.ts", "editor.ts"]) files.push(join(cwd, "src", file));
    }
    expect(compile(files, { noPropertyAccessFromIndexSignature: false })).toEqual([]);
  }, 120_000);

  test("writes nothing where src is a file", async () => {
    const cwd = await folder({ src: "mine" });
    expect((await parlance(cwd, "init --example agent --yes")).code).toBe(2);
    expect(await readdir(cwd)).toEqual(["src"]);
  });

  test("overwrites no program", async () => {
    const cwd = await folder({ "src/client.ts": "mine" });
    const { code, err } = await parlance(cwd, "init --example agent --yes");
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining("src/client.ts exists; nothing was written"),
    });
    expect(await readdir(cwd)).toEqual(["src"]);
    expect(await readFile(join(cwd, "src/client.ts"), "utf8")).toBe("mine");
  });
});
