import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "@parlance/client";
import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { expect, onTestFinished, test } from "vitest";
import "./page.js";
import { serving } from "./session.js";
import { folder, parlance, start, write } from "./terminal.js";

/** The contract that init writes, and its server: nothing of ours knows it. */
async function agent() {
  const cwd = await folder();
  await parlance(cwd, "init --example sse");
  const contract = contractValue(await load(join(cwd, "schemas/my-agent")));
  const app = serve(contract, {
    async *prompt({ prompt = "" }: { prompt?: string }) {
      yield { type: "text", text: `You said ${prompt}` };
      yield { type: "done", text: prompt };
    },
  });
  const server = await listen(app, { port: 0, closeAfter: 0 });
  onTestFinished(() => server.close());
  return { cwd, contract, url: server.url };
}

test("a contract of this folder is inspected by a process, with its flaws and the case of a conversation, until Ctrl-C", async () => {
  const { cwd, contract, url } = await agent();
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const cases = ["--cases", "schemas/my-agent/transcripts"];
  await write(cwd, { "schemas/my-agent/transcripts/.keep": "" });
  const words = ["--import", import.meta.resolve("tsx"), main, "inspect", "--target", url, "--json", ...cases];
  const env = { ...process.env, TSX_TSCONFIG_PATH: fileURLToPath(new URL("../../../tsconfig.json", import.meta.url)) };
  const child = spawn(process.execPath, words, { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const { page, proxy, target } = JSON.parse(line.toString());
  expect(target).toBe(url);

  const { origin, hash } = new URL(page);
  const headers = { Authorization: `Bearer ${new URLSearchParams(hash.slice(1)).get("token")}` };
  const answer = await (await fetch(`${origin}/api/state`, { headers })).json();
  expect(answer).toMatchObject({ contract: { name: "my-agent" }, proxy, logs: [{ id: "live" }] });
  const client = connect(contract, { baseUrl: proxy, retryWaits: [] });
  for await (const _ of client.prompt({ prompt: "hello" }));
  const made = { log: "live", connection: 1, name: "hello" };
  const post = (path: string, body: object) =>
    fetch(origin + path, { method: "POST", headers, body: JSON.stringify(body) }).then((response) => response.json());
  expect(await post("/api/case", made)).toEqual({ file: join(cwd, "schemas/my-agent/transcripts/hello.jsonl") });
  expect(await parlance(cwd, "lint")).toMatchObject({ code: 0 });
  const saved = await (await fetch(`${origin}/api/export?log=live&as=jsonl`, { headers })).text();
  await write(cwd, { "talk.jsonl": saved });
  for (const form of ["har", "md"]) {
    const exported = await (await fetch(`${origin}/api/export?log=live&as=${form}`, { headers })).text();
    expect((await parlance(cwd, `export talk.jsonl --${form}`)).out).toBe(exported);
    if (form === "har") expect(JSON.parse(exported).log.entries).toHaveLength(1);
  }
  expect(await parlance(cwd, "verify talk.jsonl")).toMatchObject({ code: 0 });

  child.kill("SIGINT");
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
});

test.each([
  ["", "--target URL or --open FILE is needed"],
  ["--target localhost:80", "is not an http or https URL"],
  ["--target http://me:pass@localhost", "--header"],
  ["--target http://localhost --port 70000", "--port 70000 is not a port"],
  ["--target http://localhost --root nowhere", "--root nowhere is not a folder"],
  ["--target http://localhost --header secret", "write it as --header NAME:VALUE"],
  ["--target http://localhost --redact [", "is not a regular expression"],
  ["--open nothing.jsonl", "nothing.jsonl does not exist"],
  ["--open package.json", "this is not a recording"],
  ["--target http://localhost --contract nowhere", "nowhere is not a folder"],
])("inspect %s is wrong usage, and says why", async (words, why) => {
  const cwd = await folder({ "package.json": "{}\n" });
  await parlance(cwd, "init --example sse");
  expect(await parlance(cwd, `inspect ${words}`)).toMatchObject({ code: 2, err: expect.stringContaining(why) });
});

test("inspect calls with the headers of its options, and its page has nothing that they leave out", async () => {
  const { cwd } = await agent();
  await write(cwd, { "secrets.txt": "first-word\n" });
  const keys: unknown[] = [];
  const called = new Promise<string>((resolve) => {
    const server = createServer((request, answer) => {
      keys.push(request.headers["x-key"]);
      request.setEncoding("utf8").on("data", resolve);
      answer
        .writeHead(200, { "Content-Type": "text/event-stream" })
        .end('event: done\ndata: {"text":"first-word"}\n\n');
    });
    onTestFinished(() => void server.close());
    server.listen(0, "127.0.0.1", async () => {
      const { port } = server.address() as AddressInfo;
      const options = "--header X-Key:mine --redact customer-\\d+ --secrets secrets.txt --json";
      const session = start(cwd, `inspect --target http://127.0.0.1:${port} ${options}`);
      await session.printed('{"page":"');
      const { origin, hash } = new URL(session.text().split('"')[0]!);
      headers.Authorization = `Bearer ${new URLSearchParams(hash.slice(1)).get("token")}`;
      at = origin;
      const body = JSON.stringify({ name: "prompt", body: '{"prompt":"of customer-4711"}' });
      await fetch(`${origin}/api/call`, { method: "POST", headers, body });
    });
  });
  const headers: Record<string, string> = {};
  let at = "";
  expect(await called).toBe('{"prompt":"of customer-4711"}');
  expect(keys).toEqual(["mine"]);
  let saved = "";
  while (!saved.includes('"kind":"end"'))
    saved = await (await fetch(`${at}/api/export?log=live&as=jsonl`, { headers })).text();
  expect(saved).not.toMatch(/4711|first-word/);
  expect(saved).toMatch(/of __redacted_\d+__/);
});

/** The token of an inspected page is new each time. */
const withoutToken = (text: string) => text.replace(/token=[\w-]+/g, "token=TOKEN");

test("inspect prints the addresses of its page and of its proxy", async () => {
  const { cwd, contract, url } = await agent();
  await serving(cwd, `record --target ${url} -o talk.jsonl`, async (baseUrl) => {
    for await (const _ of connect(contract, { baseUrl, retryWaits: [] }).prompt({ prompt: "hello" }));
  });
  const nothing = async () => {};
  const texts = [
    await serving(cwd, `inspect --target ${url} --header X:1`, nothing),
    await serving(cwd, `inspect --target ${url} --json --root .`, nothing),
    await serving(cwd, "inspect --open talk.jsonl", nothing),
    await serving(cwd, "inspect --open talk.jsonl --json --cases schemas", nothing),
  ];
  await expect(withoutToken(texts.join("\n"))).toMatchFileSnapshot("./sessions/inspect.txt");
}, 60_000);
