import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { formatLine } from "@parlance/recordings/internal/entries";
import { describe, expect, onTestFinished, test } from "vitest";
import { run } from "../src/run.js";
import "./page.js";
import { serving, steady } from "./session.js";
import { folder, parlance, write } from "./terminal.js";

// What the options of the commands about recordings change.

const post = { from: "client", kind: "request", method: "POST", target: "/prompt" } as const;
const from = "server" as const;
const stream = ["content-type", "text/event-stream"] as const;

/** A recording of one prompt. */
function talk(events: readonly object[] = [], header: object = {}): string {
  const entries = [
    { ...post, headers: [["content-type", "application/json"]] },
    { from: "client", kind: "body", text: '{"prompt":"hello"}' },
    { from, kind: "response", status: 200, headers: [stream] },
    ...events,
    { from, kind: "event", event: "done", text: '{"text":"hello"}' },
    { from, kind: "end" },
  ].map((entry) => ({ t: 0, c: 1, ...entry }));
  const first = { recording: 1, versions: {}, began: "2026-01-01T00:00:00.000Z", redacted: [], ...header };
  const lines = [first, ...entries, { end: { lines: entries.length + 1, sha256: null } }];
  return lines.map((line) => formatLine(line as Parameters<typeof formatLine>[0])).join("");
}

async function started(files: Readonly<Record<string, string>> = { "talk.jsonl": talk() }): Promise<string> {
  const cwd = await folder(files);
  await parlance(cwd, "init --example sse");
  return cwd;
}

/** A server that answers each prompt with these bytes, and what it was asked. */
async function answering(body: string) {
  const asked: string[] = [];
  const server = createServer((request, answer) => {
    asked.push(`${request.method} ${request.url} ${request.headers["x-key"] ?? "-"}`);
    request.resume().on("end", () => answer.writeHead(200, { "Content-Type": "text/event-stream" }).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { asked, port, url: `http://127.0.0.1:${port}` };
}

const sent = async (url: string, target = "/prompt") => {
  const headers = { "Content-Type": "application/json" };
  return (await fetch(url + target, { method: "POST", headers, body: '{"prompt":"hello"}' })).text();
};

describe("replay", () => {
  const differs = 'event: done\ndata: {"text":"bye"}\n\n';

  test.each([
    ["", 1, "differs: "],
    ["--ignore text", 0, ""],
    ["--ignore other --ignore text", 0, ""],
    ["--ignore other", 1, "differs: "],
    ["--value hello=bye", 0, ""],
    ["--value other=bye", 1, "differs: "],
  ])("%s against a server whose text is another exits with %i", async (words, code, out) => {
    const cwd = await started();
    const { url } = await answering(differs);
    const found = await parlance(cwd, `replay talk.jsonl --as client --target ${url} ${words}`);
    expect(found).toMatchObject({ code, out: expect.stringContaining(out) });
  });

  test("--header sends a header, and one in place of another", async () => {
    const cwd = await started();
    const { url, asked } = await answering('event: done\ndata: {"text":"hello"}\n\n');
    const client = `replay talk.jsonl --as client --target ${url}`;
    expect((await parlance(cwd, client)).code).toBe(0);
    expect((await parlance(cwd, `${client} --header X-Key:mine:1 --header X-Other:1`)).code).toBe(0);
    expect(asked).toEqual(["POST /prompt -", "POST /prompt mine:1"]);
  });

  test("--contract says which properties hold ids, which may differ", async () => {
    const cwd = await started();
    const path = join(cwd, "schemas/my-agent/contract.json");
    const contract = JSON.parse(await readFile(path, "utf8"));
    contract.operations.prompt.parameters = { text: { in: "query", type: "string" } };
    await writeFile(path, JSON.stringify({ ...contract, session: "text" }));
    const { url } = await answering(differs);
    const client = `replay talk.jsonl --as client --target ${url}`;
    expect((await parlance(cwd, client)).code).toBe(1);
    expect(await parlance(cwd, `${client} --contract schemas`)).toEqual({
      code: 0,
      out: "",
      err: "talk.jsonl: everything as recorded\n",
    });
  });
});

describe("a port that is in use", () => {
  test.each([
    "mock schemas",
    "replay talk.jsonl --as server",
    "record --target http://127.0.0.1:1 -o new.jsonl",
    "inspect --target http://127.0.0.1:1",
  ])("is refused by %s --port, with what to do", async (words) => {
    const cwd = await started();
    const { port } = await answering("");
    expect(await parlance(cwd, `${words} --port ${port}`)).toMatchObject({
      code: 2,
      err: `parlance ${words.split(" ")[0]}: port ${port} is in use: choose another, or none for a free one\n`,
    });
  });

  test("is refused by inspect --page-port too", async () => {
    const cwd = await started();
    const { port } = await answering("");
    const { code, err } = await parlance(cwd, `inspect --target http://127.0.0.1:1 --page-port ${port}`);
    expect([code, err]).toEqual([2, expect.stringContaining(`port ${port} is in use`)]);
  });
});

describe("mock", () => {
  /** The contract with a query of which one parameter is secret. */
  const secretive = async () => {
    const cwd = await started();
    const path = join(cwd, "schemas/my-agent/messages/prompt.json");
    const schema = JSON.parse(await readFile(path, "utf8"));
    schema.properties.aunt = { type: "string", description: "A secret.", "x-secret": true };
    await write(cwd, { "schemas/my-agent/messages/prompt.json": JSON.stringify(schema) });
    return cwd;
  };

  test("prints no secret of a request's target, as the contract marks it", async () => {
    const cwd = await secretive();
    const asked = (url: string) => sent(url, "/prompt?aunt=planted-one&uncle=harmless");
    const text = await serving(cwd, "mock schemas --json", asked);
    expect(text).toContain('"target":"/prompt?aunt=__redacted_1__&uncle=harmless","source":"examples"');
    expect(await serving(cwd, "mock schemas", asked)).toContain(
      "! POST /prompt?aunt=__redacted_1__&uncle=harmless: examples\n",
    );
  });

  test.each([
    ["--malformed 1", "data: {", /^event: text\ndata: (?!\{"text":"I will)/],
    ["--cut 2", "event: text", /^(?!.*event: done)/s],
  ])("%s changes what a stream sends", async (words, some, whole) => {
    const cwd = await started();
    let text = "";
    await serving(cwd, `mock schemas ${words}`, async (url) => {
      const headers = { "Content-Type": "application/json" };
      const { body } = await fetch(`${url}/prompt`, { method: "POST", body: '{"prompt":"a"}', headers });
      const write = (chunk: string) => {
        text += chunk;
      };
      await body!
        .pipeThrough(new TextDecoderStream())
        .pipeTo(new WritableStream({ write }))
        .catch(() => {});
    });
    expect(text).toContain(some);
    expect(text).toMatch(whole);
  });

  test.each([
    ["--cut 9", "--cut 9 did nothing"],
    ["--stall 8-9", "--stall 8-9 did nothing"],
    ["--malformed 7", "--malformed 7 did nothing"],
  ])("%s without such a message is reported at the end", async (words, said) => {
    const text = await serving(await started(), `mock schemas ${words}`, sent);
    expect(text).toContain(`! parlance mock: ${said}: no stream or channel came to that message\n= 0\n`);
  });
});

describe("verify", () => {
  const strange = [{ from, kind: "event", event: "strange", text: "{}" }];
  const about = async (cwd: string) => {
    const { url } = await answering('event: done\ndata: {"text":"hello"}\n\n');
    await serving(cwd, `record --target ${url} -o of.jsonl --contract schemas`, sent);
    return async (words = "") => steady((await parlance(cwd, `verify of.jsonl ${words}`)).err, cwd);
  };

  test("counts the messages that the contract does not have", async () => {
    const cwd = await started({ "talk.jsonl": talk(strange) });
    const { err } = await parlance(cwd, "verify talk.jsonl --contract schemas");
    expect(err).toMatch(
      /: 2 messages of 1 connections checked against my-agent \(.*\), 1 of them unknown to it \(1 [^)]+\): /,
    );
    await write(cwd, { "talk.jsonl": talk() });
    expect((await parlance(cwd, "verify talk.jsonl --contract schemas")).err).toMatch(/\): nothing is wrong\n$/);
  });

  test("tells a contract that has changed, and not one whose properties have another order", async () => {
    const cwd = await started();
    const verified = await about(cwd);
    const changed = "of.jsonl: my-agent has changed since the recording was made\n";
    expect(await verified()).not.toContain("changed");
    const path = join(cwd, "schemas/my-agent/contract.json");
    const text = await readFile(path, "utf8");
    const contract = JSON.parse(text);
    const turned = (one: unknown): unknown =>
      one && typeof one === "object" && !Array.isArray(one)
        ? Object.fromEntries(
            Object.entries(one)
              .reverse()
              .map(([key, value]) => [key, turned(value)]),
          )
        : one;
    await writeFile(path, JSON.stringify(turned(contract)));
    expect(await verified()).not.toContain("changed");
    contract.operations.prompt.answer.stream.messages.reverse();
    await writeFile(path, JSON.stringify(contract));
    expect(await verified()).toContain(changed);
    expect(JSON.parse((await parlance(cwd, "verify of.jsonl --json")).out)).toMatchObject({ changed: true });
    await writeFile(path, text.replace('"title": "my-agent"', '"title": "another"'));
    expect(await verified()).toContain(changed);
  });

  test("takes the contract that a long first line names", async () => {
    const long = { redacted: ["x".repeat(200_000)], contract: { name: "second", digest: "sha256:0" } };
    const cwd = await started({ "talk.jsonl": talk([], long) });
    await parlance(cwd, "init schemas/second --example sse");
    const { out } = await parlance(cwd, "verify talk.jsonl --json");
    expect(JSON.parse(out)).toMatchObject({ contract: "second", changed: true });
  });
});

describe("export", () => {
  const three = () => {
    const [header, ...lines] = talk([{ from, kind: "event", event: "text", text: `{"text":"${"x".repeat(100_000)}"}` }])
      .trim()
      .split("\n");
    const entries = [1, 2, 3].flatMap((c) =>
      lines.slice(0, -1).map((line) => JSON.stringify({ ...JSON.parse(line), c })),
    );
    return [header, ...entries, JSON.stringify({ end: { lines: entries.length + 1, sha256: null } }), ""].join("\n");
  };

  test("writes each connection as it is read, and not all at the end", async () => {
    const cwd = await started({ "talk.jsonl": three() });
    const pieces: string[] = [];
    const io = {
      cwd,
      env: {},
      stdin: (async function* () {})(),
      out: (text: string) => void pieces.push(text),
      err() {},
    };
    expect(await run(["export", "talk.jsonl", "--har"], io)).toBe(0);
    expect(pieces.filter((text) => text.includes("xxx")).length).toBeGreaterThan(1);
    const { entries } = JSON.parse(pieces.join("")).log;
    expect(entries.map(({ request }: { request: { url: string } }) => request.url)).toEqual(
      Array.from({ length: 3 }, () => "http://localhost/prompt"),
    );
    await parlance(cwd, "export talk.jsonl --har -o talk.har");
    expect(await readFile(join(cwd, "talk.har"), "utf8")).toBe(pieces.join(""));
    const markdown = (await parlance(cwd, "export talk.jsonl --md")).out;
    expect(markdown.match(/^#+ .*POST \/prompt/gm)).toHaveLength(3);
  });
});
