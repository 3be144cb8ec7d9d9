import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "@parlance/client";
import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { folder, parlance, start, write } from "./terminal.js";

// The contract that init writes, with a secret of its own: what these commands know of a protocol is what its folder says.

const SECRET = "planted-4f9a-secret";

async function started(): Promise<string> {
  const cwd = await folder();
  await parlance(cwd, "init --example sse");
  const path = join(cwd, "schemas/my-agent/messages/prompt.json");
  const schema = JSON.parse(readFileSync(path, "utf8"));
  schema.properties.pass_phrase_of_mine = {
    type: "string",
    description: "A secret.",
    pattern: "^planted",
    "x-secret": true,
  };
  await write(cwd, { "schemas/my-agent/messages/prompt.json": JSON.stringify(schema) });
  expect((await parlance(cwd, "lint")).code).toBe(0);
  return cwd;
}

/** A server of the contract on a port, and a client's conversation with one. */
async function agent(cwd: string) {
  const contract = contractValue(await load(join(cwd, "schemas/my-agent")));
  const app = serve(contract, {
    async *prompt({ prompt = "" }: { prompt?: string }) {
      yield { type: "text", text: `You said ${prompt}` };
      yield { type: "done", text: prompt };
    },
  });
  const server = await listen(app, { port: 0, closeAfter: 0 });
  onTestFinished(() => server.close());
  const talk = async (baseUrl: string, text = `my secret is ${SECRET}`) => {
    const headers = { Authorization: `Bearer ${SECRET}-token`, Cookie: `sid=${SECRET}-cookie` };
    const heard: object[] = [];
    const client = connect(contract, { baseUrl, headers, retryWaits: [] });
    for await (const message of client.prompt({ prompt: text, pass_phrase_of_mine: SECRET })) heard.push(message);
    return heard;
  };
  return { url: server.url, talk };
}

/** The address that a session has printed as JSON. */
function urlIn(text: string): string {
  return JSON.parse(text.split("\n")[0]!).url;
}

describe("a conversation of the contract in this folder", () => {
  test("is recorded, verified, replayed as both sides and exported, and no output has its secrets", async () => {
    const cwd = await started();
    const { url, talk } = await agent(cwd);
    const outputs: string[] = [];

    const recording = start(cwd, `record --target ${url} -o talk.jsonl --contract schemas/my-agent --json`);
    await recording.printed("{");
    const between = urlIn(`{${recording.text()}`);
    const first = await talk(between);
    expect(await recording.stop()).toBe(0);
    expect(statSync(join(cwd, "talk.jsonl")).mode & 0o777).toBe(0o600);
    outputs.push(readFileSync(join(cwd, "talk.jsonl"), "utf8"));

    const [, placeholder] = /pass_phrase_of_mine\\":\\"(__redacted_\d+__)/.exec(outputs[0]!)!;

    const verified = await parlance(cwd, "verify talk.jsonl --json");
    outputs.push(verified.out);
    expect(JSON.parse(verified.out)).toMatchObject({
      state: "complete",
      contract: "my-agent",
      connections: 1,
      messages: 2,
      findings: [],
    });
    expect(verified.code).toBe(0);

    const serving = start(cwd, "replay talk.jsonl --as server --json");
    await serving.printed("{");
    const replayed = await talk(urlIn(`{${serving.text()}`));
    expect(await serving.stop()).toBe(0);
    expect(replayed).toEqual(first);

    const client = await parlance(
      cwd,
      `replay talk.jsonl --as client --target ${url} --json --value ${placeholder}=${SECRET}`,
    );
    outputs.push(client.err);
    expect({ code: client.code, ...JSON.parse(client.out) }).toEqual({
      code: 0,
      file: "talk.jsonl",
      as: "client",
      state: "complete",
      problems: [],
    });

    for (const [form, file] of [
      ["--har", "talk.har"],
      ["--md", "talk.md"],
    ]) {
      expect(await parlance(cwd, `export talk.jsonl ${form} -o ${file}`)).toMatchObject({ code: 0 });
      outputs.push(readFileSync(join(cwd, file!), "utf8"));
    }
    expect(JSON.parse(readFileSync(join(cwd, "talk.har"), "utf8")).log.entries).toHaveLength(1);
    expect(outputs.filter((text) => text.includes("planted"))).toEqual([]);

    const again = await parlance(cwd, `record --target ${url} -o talk.jsonl`);
    expect(again).toMatchObject({ code: 2, err: expect.stringContaining("talk.jsonl exists already") });
  });

  test("fails a replay by what was not recorded, with the nearest and a diff, and by what did not come", async () => {
    const cwd = await started();
    const { url, talk } = await agent(cwd);
    const recording = start(cwd, `record --target ${url} -o talk.jsonl --contract schemas --json`);
    await recording.printed("{");
    await talk(urlIn(`{${recording.text()}`), "hello");
    await recording.stop();

    const serving = start(cwd, "replay talk.jsonl --as server --contract schemas");
    await serving.printed("at http");
    const at = `http${/^\S+?(?=;)/.exec(serving.text())![0]}`;
    await expect(talk(at, `bye ${SECRET}`)).rejects.toMatchObject({ name: "Refusal", status: 501 });
    expect(await serving.stop()).toBe(1);
    expect(serving.text()).not.toContain("planted");
    await serving.printed('/prompt: recorded "hello", came "bye __redacted');
    await serving.printed("was recorded, and was not asked for");
  });

  test("that breaks the contract, or is cut, is reported line by line", async () => {
    const cwd = await started();
    const { url, talk } = await agent(cwd);
    const recording = start(cwd, `record --target ${url} -o talk.jsonl --json`);
    await recording.printed("{");
    await talk(urlIn(`{${recording.text()}`), "hello");
    await recording.stop();
    const text = readFileSync(join(cwd, "talk.jsonl"), "utf8");
    const broken = text
      .replace('{\\"text\\":\\"You', '{\\"txt\\":\\"You')
      .split("\n")
      .filter((line) => !line.includes('"event":"done"') && !line.includes('"done\\"'));
    await write(cwd, { "broken.jsonl": `${broken.slice(0, -2).join("\n")}\n` });
    const { code, out } = await parlance(cwd, "verify broken.jsonl --contract schemas --json");
    const { state, findings } = JSON.parse(out);
    expect({ code, state, rules: findings.map(({ rule }: { rule: string }) => rule) }).toEqual({
      code: 1,
      state: "cut",
      rules: ["schema", "end"],
    });
  });
});

test("record leaves out what a pattern of its caller fits, and replay listens on the port that it is given alone", async () => {
  const cwd = await started();
  const { url, talk } = await agent(cwd);
  const recording = start(cwd, `record --target ${url} -o talk.jsonl --redact customer-\\d+ --json`);
  await recording.printed("{");
  const first = await talk(urlIn(`{${recording.text()}`), "it is customer-4711");
  await recording.stop();
  expect(first[0]).toMatchObject({ text: "You said it is customer-4711" });
  const text = readFileSync(join(cwd, "talk.jsonl"), "utf8");
  expect(text).not.toContain("4711");
  expect(text).toMatch(/You said it is __redacted_\d+__/);

  const { code, err } = await parlance(cwd, `replay talk.jsonl --as server --port ${new URL(url).port}`);
  const { port } = new URL(url);
  expect([code, err]).toEqual([2, expect.stringContaining(`port ${port} is in use: choose another, or none`)]);
  const again = await parlance(cwd, `record --target ${url} -o none.jsonl --port ${port}`);
  expect([again.code, again.err]).toEqual([2, expect.stringContaining(`port ${port} is in use`)]);
  // A file of nothing would be in the way.
  expect(() => statSync(join(cwd, "none.jsonl"))).toThrow("ENOENT");
});

describe("the secrets of a file and of the environment", () => {
  test("are left out of a recording, and their file's lines are not printed", async () => {
    const cwd = await started();
    const { url, talk } = await agent(cwd);
    await write(cwd, { "secrets.txt": "\uFEFFsecond word\r\n\r\nfirst-word" });
    const env = { MY_API_KEY: "third-word-1", HOME_SECRET: "/home/of/mine" };
    const recording = start(cwd, `record --target ${url} -o talk.jsonl --secrets secrets.txt --json`, { env });
    await recording.printed("{");
    await talk(urlIn(`{${recording.text()}`), "It is first-word, second%20word third-word-1 /home/of/mine");
    await recording.stop();
    const text = readFileSync(join(cwd, "talk.jsonl"), "utf8");
    expect(text).toMatch(/It is __redacted_\d+__, __redacted_\d+__ __redacted_\d+__ \/home\/of\/mine/);
    expect(text).not.toMatch(/first-word|second.{1,3}word|third-word/);
    expect(recording.text()).not.toMatch(/first-word/);
  });

  test("come from the standard input too", async () => {
    const cwd = await started();
    const { url, talk } = await agent(cwd);
    const stdin = (async function* () {
      yield "first-";
      yield new TextEncoder().encode("wörd\n");
    })();
    const recording = start(cwd, `record --target ${url} -o talk.jsonl --secrets - --json`, { stdin });
    await recording.printed("{");
    await talk(urlIn(`{${recording.text()}`), "It is first-wörd.");
    await recording.stop();
    expect(readFileSync(join(cwd, "talk.jsonl"), "utf8")).toMatch(/It is __redacted_\d+__\./);
  });

  test.each([
    ["fine-and-long\nhunter2\n", "line 2 of --secrets secrets.txt has fewer than 8 characters"],
    ["\n\n", "--secrets secrets.txt has no secret: write one on each line"],
  ])("are refused where a file has %j", async (text, why) => {
    const cwd = await started();
    await write(cwd, { "secrets.txt": text });
    for (const command of ["record --target http://a.test -o talk.jsonl", "inspect --target http://a.test"]) {
      const { code, err } = await parlance(cwd, `${command} --secrets secrets.txt`);
      expect([code, err]).toEqual([2, expect.stringContaining(why)]);
      expect(err).not.toContain("hunter2");
    }
    const { code, err } = await parlance(cwd, "record --target http://a.test -o talk.jsonl --secrets no.txt");
    expect([code, err]).toEqual([2, "parlance record: no.txt does not exist\n"]);
    const folder = await parlance(cwd, "record --target http://a.test -o talk.jsonl --secrets schemas");
    expect(folder.err).toBe("parlance record: schemas is a folder, not a file\n");
  });
});

test.each([
  ["(a+)+$", "can be made slow by a text (exponential)"],
  ["(a|a)*$", "can be made slow by a text (exponential)"],
  ["a(", "is not a regular expression"],
])("record and inspect refuse the pattern %s of their caller, which %s", async (pattern, why) => {
  const cwd = await started();
  for (const command of ["record --target http://127.0.0.1:1 -o talk.jsonl", "inspect --target http://127.0.0.1:1"]) {
    const { code, err } = await parlance(cwd, `${command} --redact fine --redact ${pattern}`);
    expect([code, err]).toEqual([2, expect.stringContaining(`--redact PATTERN number 2 ${why}`)]);
    expect(err).not.toContain(pattern);
  }
});

test("the command records as a process until its terminal is closed, and the file is whole", async () => {
  const cwd = await started();
  const { url, talk } = await agent(cwd);
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const words = ["--import", import.meta.resolve("tsx"), main, "record", "--target", url, "-o", "talk.jsonl", "--json"];
  const env = { ...process.env, TSX_TSCONFIG_PATH: fileURLToPath(new URL("../../../tsconfig.json", import.meta.url)) };
  const child = spawn(process.execPath, words, { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  await talk(urlIn(line.toString()));
  child.kill("SIGHUP");
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
  expect(await parlance(cwd, "verify talk.jsonl --json")).toMatchObject({ code: 0 });
});
