import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import { COMMANDS, edit, extended, folder, parlance, started, write } from "./terminal.js";

const contents = async (path: string) =>
  Object.fromEntries(
    await Promise.all(
      (await readdir(path)).sort().map(async (name) => [name, await readFile(join(path, name), "utf8")]),
    ),
  );

describe("parlance", () => {
  test("without a command tells what there is, as a fault", async () => {
    const { code, err } = await parlance("/", "");
    expect(code).toBe(2);
    for (const command of COMMANDS) expect(err).toContain(`  ${command} `);
  });

  test.each(COMMANDS)("%s --help tells its exit codes", async (command) => {
    const { code, out } = await parlance("/", `${command} --help`);
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^parlance ${command} `));
    expect(out).toContain("Exit codes: 0 ");
  });

  test.each(["--version", "-v", "version"])("%s tells its version", async (word) => {
    expect(await parlance("/", word)).toEqual({ code: 0, out: `${packageJson.version}\n`, err: "" });
  });

  const wrong: [string, string][] = [
    ["sing", "there is no command sing; there are init, import, lint"],
    ["lnit", "there is no command lnit; there are init, import, lint"],
    ["lint --loud", "Unknown option '--loud'"],
    ["lint nowhere", "nowhere is not a folder; parlance init starts a contract"],
    ["lint .", ". has no contract.json, and neither has a folder in it"],
    ["generate", "--out OUT is needed"],
    ["record", "--target URL is needed"],
    ["record --target http://localhost:1", "-o FILE is needed"],
    ["record --target localhost:1 -o a", "localhost:1 is not an http or https URL"],
    ["record --target http://localhost:1 -o a --redact ((", "a --redact PATTERN is not a regular expression"],
    ["verify", "name one recording"],
    ["verify nothing.jsonl", "nothing.jsonl does not exist"],
    ["replay nothing.jsonl", "say --as server or --as client"],
    ["replay nothing.jsonl --as client", "nothing.jsonl does not exist"],
    ["verify .", ". is a folder, not a file"],
    ["export nothing.jsonl", "say --har or --md"],
    ["docs", "--out OUT is needed"],
    ["compat", "OLD is needed"],
    ["init My_Agent", '"My_Agent" cannot name a protocol'],
  ];
  test.each(wrong)("%s exits 2 and says what to do", async (words, message) => {
    const { code, out, err } = await parlance(await folder(), words);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
  });
});

describe("init", () => {
  test("writes a contract that lints, generates and documents", async () => {
    const cwd = await started();
    expect(await parlance(cwd, "lint")).toEqual({ code: 0, out: "", err: "1 contract: nothing is wrong\n" });
    expect((await parlance(cwd, "generate --out out")).code).toBe(0);
    expect((await parlance(cwd, "docs --out docs")).code).toBe(0);
    expect(await readdir(join(cwd, "docs"))).toEqual([
      "my-agent.asyncapi.json",
      "my-agent.md",
      "my-agent.openapi.json",
    ]);
  });

  test("overwrites nothing", async () => {
    const cwd = await started();
    await edit(cwd, "contract.json", "8080", "9090");
    const { code, err } = await parlance(cwd, "init");
    expect({ code, err }).toEqual({
      code: 2,
      err: "parlance init: schemas/my-agent is not empty; nothing was written\n",
    });
    expect(await readFile(join(cwd, "schemas/my-agent/contract.json"), "utf8")).toContain("9090");
  });
});

describe("lint", () => {
  test("tells file, line, pointer and rule of every fault", async () => {
    const cwd = await started();
    await edit(cwd, "messages/text.json", '"I will rename "', "1");
    await edit(cwd, "contract.json", '"POST"', '"SEND"');
    const { code, out, err } = await parlance(cwd, "lint");
    expect(code).toBe(1);
    expect(out.split("\n")).toEqual([
      'schemas/my-agent/contract.json:29 /operations/prompt/method: "SEND" must be one of GET, POST, PUT, PATCH, DELETE [form]',
      "schemas/my-agent/messages/text.json:17 /examples/0/text: does not match its schema: must be string [example]",
      "",
    ]);
    expect(err).toBe("1 contract: 2 wrong\n");
  });

  test("names line and column where a file is not JSON", async () => {
    const cwd = await started();
    await edit(cwd, "messages/text.json", '"type": "object",', '"type": "object"');
    expect((await parlance(cwd, "lint")).out).toBe(
      "schemas/my-agent/messages/text.json:6:3: is not JSON: line 6, column 3: a comma is expected [json]\n",
    );
  });

  test("warns of what has no description, which is an error with --strict", async () => {
    const cwd = await started();
    await edit(cwd, "messages/text.json", '"description": "A piece of the answer\'s text.",', "");
    const { code, out, err } = await parlance(cwd, "lint");
    const words = 'has no "description": say what it is in a sentence [description]';
    expect({ code, out, err }).toEqual({
      code: 0,
      out: `schemas/my-agent/messages/text.json:1: warning: ${words}\n`,
      err: "1 contract: nothing is wrong, 1 warning\n",
    });
    expect(await parlance(cwd, "lint --strict")).toMatchObject({
      code: 1,
      out: `schemas/my-agent/messages/text.json:1: ${words}\n`,
    });
  });

  test("speaks JSON", async () => {
    const cwd = await started();
    expect(JSON.parse((await parlance(cwd, "lint --json")).out)).toEqual({ findings: [] });
    await edit(cwd, "messages/text.json", '"I will rename "', "1");
    const { code, out } = await parlance(cwd, "lint schemas/my-agent --json");
    expect(code).toBe(1);
    expect(JSON.parse(out)).toEqual({
      findings: [
        {
          contract: "my-agent",
          rule: "example",
          message: "does not match its schema: must be string",
          file: "schemas/my-agent/messages/text.json",
          line: 17,
          pointer: "/examples/0/text",
        },
      ],
    });
  });

  test("annotates a pull request on GitHub, with paths from the repository's root", async () => {
    const cwd = await started();
    await edit(cwd, "messages/text.json", '"I will rename "', "1");
    const env = { GITHUB_ACTIONS: "true", GITHUB_WORKSPACE: cwd };
    const { out } = await parlance(join(cwd, "schemas"), "lint my-agent", env);
    expect(out).toContain(
      "\n::error file=schemas/my-agent/messages/text.json,line=17,title=parlance example::/examples/0/text: does not match its schema: must be string\n",
    );
  });

  test("tells the line of a transcript", async () => {
    const cwd = await started();
    await edit(cwd, "transcripts/prompt.jsonl", '"call":"prompt"', '"call":"promptly"');
    const { out } = await parlance(cwd, "lint");
    expect(out).toBe(
      "schemas/my-agent/transcripts/prompt.jsonl:2 /1/call: there is no operation or channel promptly [transcript]\n",
    );
  });
});

describe("generate", () => {
  test("gives equal bytes twice and writes only what changed", async () => {
    const cwd = await started();
    expect((await parlance(cwd, "generate --out a")).code).toBe(0);
    expect((await parlance(cwd, "generate --out b")).code).toBe(0);
    expect(await contents(join(cwd, "a"))).toEqual(await contents(join(cwd, "b")));
    expect((await parlance(cwd, "generate --out a")).err).toMatch(/^0 of \d+ files written\n$/);
  });

  test("--check passes what is fresh and fails what is stale, missing or left over, and writes nothing", async () => {
    const cwd = await started();
    await parlance(cwd, "generate --out out");
    expect((await parlance(cwd, "generate --out out --check")).code).toBe(0);
    await edit(cwd, "messages/text.json", "A piece of", "Some of");
    await rm(join(cwd, "out/my-agent.validators.ts"));
    await write(cwd, {
      "out/old.ts": "// Generated by Parlance, format 1, from old/contract.json.\n",
      "out/own.ts": "\n",
    });
    const before = await contents(join(cwd, "out"));
    const { code, out } = await parlance(cwd, "generate --out out --check");
    expect(code).toBe(1);
    expect(out).toContain("out/my-agent.ts:1: is not what its contract gives now; run it without --check [stale]");
    expect(out).toContain("out/my-agent.validators.ts:1: is not what its contract gives now");
    expect(out).toContain("out/old.ts:1: comes from a contract that is gone");
    expect(out).not.toContain("own.ts");
    expect(await contents(join(cwd, "out"))).toEqual(before);

    expect((await parlance(cwd, "generate --out out")).code).toBe(0);
    expect(await readdir(join(cwd, "out"))).not.toContain("old.ts");
    expect(await readdir(join(cwd, "out"))).toContain("own.ts");
    expect((await parlance(cwd, "generate --out out --check")).code).toBe(0);
  });

  test("writes nothing of a contract with a fault, and tells the fault", async () => {
    const cwd = await started();
    await edit(cwd, "contract.json", '"end": [', '"end": [ "gone",');
    const { code, out } = await parlance(cwd, "generate --out out --json");
    expect(code).toBe(1);
    expect(JSON.parse(out).findings).toMatchObject([
      { rule: "name", pointer: "/operations/prompt/answer/stream/end/0" },
    ]);
    await expect(readdir(join(cwd, "out"))).rejects.toThrow("ENOENT");
  });
});

describe("a contract that extends another", () => {
  test("is linted, generated, documented and compared as any other", async () => {
    const cwd = await extended();
    expect((await parlance(cwd, "lint")).err).toBe("2 contracts: nothing is wrong\n");
    expect((await parlance(cwd, "generate --out out")).code).toBe(0);
    expect(await readFile(join(cwd, "out/their-agent.ts"), "utf8")).toContain("model?: string");
    expect((await parlance(cwd, "docs --out docs")).code).toBe(0);
    expect((await parlance(cwd, "compat schemas/my-agent schemas/their-agent")).err).toBe("2 changes, 0 breaking\n");
  });

  test("has its faults told where they are written: in its own files, or in its base's", async () => {
    const cwd = await extended();
    await edit(cwd, "contract.json", '"end": [', '"end": [ "gone",');
    await edit(cwd, "../their-agent/messages/text.json", '"TextMessage"', '"text message"');
    const { out } = await parlance(cwd, "lint schemas/their-agent");
    expect(out).toMatch(
      /^schemas\/my-agent\/contract\.json:\d+ \/operations\/prompt\/answer\/stream\/end\/0: "gone" is/m,
    );
    expect(out).toMatch(/^schemas\/their-agent\/messages\/text\.json:3 \/title: "text message" is not PascalCase/m);
  });
});
