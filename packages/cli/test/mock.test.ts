import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { folder, parlance, write } from "./terminal.js";

// A contract of the tests' own, in a temporary folder: the commands know it from the folder alone.

const root = fileURLToPath(new URL("../../../", import.meta.url));
const json = (value: unknown) => JSON.stringify(value);
const string = { type: "string", description: "A text." };

function schema(title: string, properties: Record<string, object>, example: object): string {
  const required = Object.keys(properties);
  return json({ title, description: `${title}.`, type: "object", required, properties, examples: [example] });
}

const lighthouse = {
  "contract.json": json({
    $schema: "../contract.schema.json",
    format: 1,
    name: "lighthouse",
    title: "Lighthouse",
    url: "http://localhost:1",
    tag: { in: "property", property: "kind" },
    messages: {
      flash: { schema: "messages/flash.json" },
      dark: { schema: "messages/dark.json" },
    },
    operations: {
      watch: {
        method: "POST",
        path: "/lights/{light}/watch",
        summary: "Watch a light.",
        parameters: { light: { in: "path", type: "string" } },
        body: "messages/watch.json",
        answer: { status: 200, stream: { messages: ["flash", "dark"], end: ["dark"] } },
      },
    },
    channels: {
      radio: {
        path: "/lights/{light}/radio",
        summary: "Call the keeper.",
        parameters: { light: { in: "path", type: "string" } },
        client: ["flash"],
        server: ["flash"],
      },
    },
    fault: { schema: "messages/fault.json", text: ["/problem"] },
  }),
  "messages/fault.json": schema("FaultBody", { problem: string }, { problem: "fog" }),
  "messages/watch.json": schema("WatchBody", { keeper: { ...string, "x-secret": true } }, { keeper: "Ann" }),
  "messages/flash.json": schema(
    "FlashMessage",
    { kind: { const: "flash" }, colour: string },
    { kind: "flash", colour: "white" },
  ),
  "messages/dark.json": schema("DarkMessage", { kind: { const: "dark" } }, { kind: "dark" }),
};

/** The command as one file, which starts in a moment. */
const built = mkdtempSync(join(tmpdir(), "parlance-command-"));
const program = join(built, "parlance.mjs");
beforeAll(async () => {
  await build({
    absWorkingDir: root,
    tsconfig: join(root, "tsconfig.json"),
    entryPoints: ["packages/cli/src/main.ts"],
    outfile: program,
    bundle: true,
    platform: "node",
    mainFields: ["module", "main"],
    format: "esm",
    logLevel: "error",
    banner: {
      js: 'import { createRequire as requireOf } from "node:module";\nconst require = requireOf(import.meta.url);',
    },
  });
});
afterAll(() => rmSync(built, { recursive: true }));

/** The command as a process, in a folder; its lines of JSON, one by one. */
function running(cwd: string, words: string) {
  const child = spawn(process.execPath, [program, ...words.split(" ")], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = once(child, "close").then(([code]) => code as number);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let err = "";
  child.stderr.on("data", (data) => {
    err += data;
  });
  return {
    next: async () => {
      const { value, done } = await lines.next();
      if (done) throw new Error(`no more lines: ${err}`);
      return JSON.parse(value);
    },
    stop: () => {
      child.kill("SIGINT");
      return exited;
    },
    /** The output and exit code of a command that ends by itself. */
    ended: async () => {
      let out = "";
      for (let step = await lines.next(); !step.done; step = await lines.next()) out += `${step.value}\n`;
      return { code: await exited, out, err };
    },
  };
}

async function started() {
  const cwd = await folder();
  await write(join(cwd, "schemas/lighthouse"), lighthouse);
  expect(await parlance(cwd, "lint")).toMatchObject({ code: 0 });
  const contract = contractValue(await load(join(cwd, "schemas/lighthouse")));
  /** What a client hears of a server: a stream and a channel. */
  const talk = async (baseUrl: string, light = "eddystone") => {
    const heard: object[] = [];
    const client = connect(contract, { baseUrl, webSocket, retryWaits: [], resume: false });
    for await (const message of client.watch({ light, keeper: "planted-keeper-77" })) heard.push(message);
    const radio = await client.radio({ light });
    radio.send({ type: "flash", colour: "red" });
    for await (const message of radio) if (heard.push(message) > 0) break;
    await radio.close();
    return heard;
  };
  return { cwd, contract, talk };
}

describe("a contract of somebody else's, as processes,", () => {
  test("is recorded, verified, replayed as both sides, mocked and exported", async () => {
    const { cwd, contract, talk } = await started();
    const app = serve(contract, {
      async *watch({ light }: { light: string }) {
        yield { type: "flash", colour: `of ${light}` };
        yield { type: "dark" };
      },
      async radio(_: unknown, channel: AsyncIterable<{ type: string; colour: string }> & { send(one: object): void }) {
        for await (const { colour } of channel) channel.send({ type: "flash", colour: `${colour}, seen` });
      },
    });
    const server = await listen(app, { port: 0, closeAfter: 0 });
    onTestFinished(() => server.close());

    const recording = running(cwd, `record --target ${server.url} -o talk.jsonl --contract schemas --json`);
    const recorded = await talk((await recording.next()).url);
    expect(await recording.stop()).toBe(0);

    const verified = await running(cwd, "verify talk.jsonl --json").ended();
    expect({ ...JSON.parse(verified.out), code: verified.code }).toMatchObject({
      code: 0,
      state: "complete",
      contract: "lighthouse",
      checked: ["schema", "order", "exchange", "end", "status", "header", "route", "form"],
      findings: [],
    });

    const page = "http://localhost:5173";
    const statusFor = async (url: string, Origin: string) =>
      (await fetch(`${url}/nothing`, { headers: { Origin, "Sec-Fetch-Site": "cross-site" } })).status;
    const statuses = async (url: string) => [await statusFor(url, page), await statusFor(url, "http://evil.example")];
    const serving = running(cwd, `replay talk.jsonl --as server --contract schemas --json --origin ${page}`);
    const replaying = (await serving.next()).url;
    expect(await talk(replaying)).toEqual(recorded);
    expect(await serving.stop()).toBe(0);

    const client = running(cwd, `replay talk.jsonl --as client --target ${server.url} --contract schemas --json`);
    const replayed = await client.ended();
    expect({ code: replayed.code, problems: JSON.parse(replayed.out).problems }).toEqual({ code: 0, problems: [] });

    const mocking = running(cwd, `mock schemas --from talk.jsonl --json --origin ${page}`);
    const { url, ...line } = await mocking.next();
    expect(line).toEqual({ contract: "lighthouse", from: ["talk.jsonl"], seed: 1 });
    for (let count = 0; count < 2; count++) expect(await talk(url)).toEqual(recorded);
    expect(await mocking.next()).toEqual({ method: "POST", target: "/lights/eddystone/watch", source: "recording" });
    expect(await statuses(url)).toEqual([404, 403]);
    expect(await mocking.stop()).toBe(0);

    for (const form of ["--har", "--md"]) {
      const exported = await running(cwd, `export talk.jsonl ${form}`).ended();
      expect(exported).toMatchObject({ code: 0, out: expect.stringContaining("of eddystone") });
      expect(exported.err).toContain("may have secrets in free text");
      expect(exported.out).not.toContain("planted-keeper");
    }
  }, 60_000);

  test("is mocked from its examples, with a fault", async () => {
    const { cwd, contract, talk } = await started();
    const mocking = running(cwd, "mock schemas/lighthouse --json");
    expect(await talk((await mocking.next()).url)).toEqual([
      { type: "flash", colour: "white" },
      { type: "dark" },
      { type: "flash", colour: "white" },
    ]);
    expect(await mocking.stop()).toBe(0);

    const faulty = running(cwd, "mock schemas --malformed 1 --seed 7 --json");
    const client = connect(contract, { baseUrl: (await faulty.next()).url, retryWaits: [], resume: false });
    const first = client.watch({ light: "eddystone", keeper: "Ann" })[Symbol.asyncIterator]().next();
    await expect(first).rejects.toMatchObject({ name: "Violation" });
    expect(await faulty.stop()).toBe(0);
  }, 60_000);
});

describe("wrong usage of mock", () => {
  const wrong: [string, string][] = [
    ["mock", "name one contract"],
    ["mock schemas --cut 0", "--cut 0 is neither a number from 1 on nor a range"],
    ["mock schemas --stall 5-2", "neither a number"],
    ["mock schemas --latency soon", "neither a number"],
    ["mock schemas --port 70000", "--port 70000"],
    ["mock schemas --from nowhere.jsonl", "nowhere.jsonl"],
    ["mock schemas --from other.jsonl", "is a recording of harbour, not of lighthouse"],
    ["mock nowhere", "nowhere is not a folder"],
  ];
  test.each(wrong)("%s exits with 2", async (words, message) => {
    const { cwd } = await started();
    const header = {
      recording: 1,
      contract: { name: "harbour" },
      versions: {},
      began: "2026-01-01T00:00:00Z",
      redacted: [],
    };
    await write(cwd, { "other.jsonl": `${json(header)}\n` });
    expect(await parlance(cwd, words)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  });
});

describe("a file that is no complete recording", () => {
  const header = { recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] };
  const body = [
    header,
    { t: 0, c: 1, from: "client", kind: "request", method: "GET", target: "/x", headers: [] },
    { t: 1, c: 1, from: "server", kind: "response", status: 200, headers: [] },
    { t: 2, c: 1, from: "server", kind: "end" },
  ].map((line) => `${json(line)}\n`);
  const end = `${json({ end: { lines: 4, sha256: "0".repeat(64) } })}\n`;
  const files = {
    "cut behind a line": [body.slice(0, 3).join(""), "cut"],
    "cut within a line": [body.join("").slice(0, -5), "cut"],
    "with another hash": [body.join("") + end, "altered"],
    "with a line less": [body.toSpliced(2, 1).join("") + end, "altered"],
    "with a line that is none": [`${body.slice(0, 2).join("")}{}\n${end}`, "altered"],
  } as const;
  const commands = {
    verify: ["verify FILE", 1],
    "verify --json": ["verify FILE --json", 1],
    "export --har": ["export FILE --har", 1],
    "export --md": ["export FILE --md", 1],
    "export -o": ["export FILE --md -o out.md --json", 1],
  } as const;
  const cases = Object.entries(files).flatMap(([file, [text, state]]) =>
    Object.entries(commands).map(([command, [words, code]]) => ({ file, text, state, command, words, code })),
  );
  test.each(cases)("$file: $command says $state and exits with 1", async ({ text, state, words, code }) => {
    const cwd = await folder({ "talk.jsonl": text });
    const found = await parlance(cwd, words.replace("FILE", "talk.jsonl"));
    expect(found.code).toBe(code);
    expect(found.out + found.err).toContain(state);
    if (words.startsWith("export")) expect(found.err).toContain(`talk.jsonl is ${state} (`);
  });

  test.each(Object.entries(files))(
    "%s: a replay warns of a cut and refuses what was altered",
    async (_, [text, state]) => {
      const cwd = await folder({ "talk.jsonl": text });
      const { code, err } = await parlance(cwd, "replay talk.jsonl --as client --target http://127.0.0.1:9 --wait 50");
      // What is only cut is replayed, and fails at a target that nobody listens at.
      const isReplayed = err.includes("127.0.0.1:9");
      expect({ code, said: err.includes(state), isReplayed }).toEqual({
        code: 2,
        said: true,
        isReplayed: state === "cut",
      });
    },
  );

  test("a whole one is verified without a contract, and the output says that no message was checked", async () => {
    const cwd = await folder();
    await write(join(cwd, "schemas/lighthouse"), lighthouse);
    const app = serve(contractValue(await load(join(cwd, "schemas/lighthouse"))), {}, { partial: true });
    const { record } = await import("@parlance/recordings");
    const recording = record(app);
    await recording.fetch(new Request("http://localhost/lights"));
    await write(cwd, { "talk.jsonl": recording.text() });
    const plain = await parlance(cwd, "verify talk.jsonl");
    expect(plain).toMatchObject({ code: 0, err: expect.stringContaining("no message was checked: name the contract") });
    expect(JSON.parse((await parlance(cwd, "verify talk.jsonl --json")).out)).toMatchObject({ checked: [] });
    expect(await parlance(cwd, "verify talk.jsonl --contract schemas")).toMatchObject({
      code: 1,
      err: expect.stringContaining("checked against lighthouse (schema, order"),
    });
  });
});

describe("a transcript", () => {
  test("of a contract is verified, exported, replayed and mocked from its own folder, as it is", async () => {
    const cwd = await folder();
    cpSync(join(root, "schemas/fold-gateway"), join(cwd, "fold-gateway"), { recursive: true });
    const file = "fold-gateway/transcripts/complete-flow.jsonl";
    const verified = await parlance(cwd, `verify ${file} --json`);
    expect({ code: verified.code, ...JSON.parse(verified.out) }).toMatchObject({
      code: 0,
      state: "complete",
      contract: "fold-gateway",
      findings: [],
      messages: 7,
    });
    expect(await parlance(cwd, `export ${file} --md`)).toMatchObject({
      code: 0,
      out: expect.stringContaining("POST /api/send"),
    });
    const mocking = running(cwd, `mock fold-gateway --from ${file} --json`);
    const { url } = await mocking.next();
    const client = running(cwd, `replay ${file} --as client --target ${url} --json`);
    const replayed = await client.ended();
    expect({ code: replayed.code, ...JSON.parse(replayed.out) }).toMatchObject({ code: 0, problems: [] });
    expect((await mocking.next()).source).toBe("recording");
    expect(await mocking.stop()).toBe(0);
  }, 60_000);

  test("elsewhere needs its contract, and one with a line that is none is altered", async () => {
    const line = json({ note: "a conversation" });
    const cwd = await folder({ "talk.jsonl": `${line}\n`, "wrong.jsonl": `${line}\n{"t":1}\n` });
    await write(join(cwd, "schemas/lighthouse"), lighthouse);
    for (const words of [
      "verify talk.jsonl",
      "export talk.jsonl --md",
      "replay talk.jsonl --as client --target http://a",
    ])
      expect(await parlance(cwd, words)).toMatchObject({
        code: 2,
        err: expect.stringContaining("talk.jsonl is a transcript: name its contract"),
      });
    expect(await parlance(cwd, "verify talk.jsonl --contract schemas")).toMatchObject({ code: 0 });
    expect(await parlance(cwd, "verify wrong.jsonl --contract schemas")).toMatchObject({
      code: 1,
      err: expect.stringContaining("altered (line 2 is no line of a transcript)"),
    });
  });
});

test("a recording that was cut at any byte is cut for verify, which reads it up to there", async () => {
  const { cwd, contract } = await started();
  const { record } = await import("@parlance/recordings");
  const app = serve(
    contract,
    {
      async *watch() {
        yield { type: "flash", colour: "white" };
        yield { type: "dark" };
      },
    },
    { partial: true },
  );
  const recording = record(app, { contract, about: { name: "lighthouse" } });
  for await (const _ of connect(contract, { ...recording, resume: false }).watch({ light: "a", keeper: "Ann" }));
  const bytes = Buffer.from(recording.text());
  const lines = (length: number) => bytes.subarray(0, length).toString("latin1").split("\n").length - 1;
  const wrong: number[] = [];
  const header = bytes.indexOf("\n") + 1;
  for (let length = header; length < bytes.length; length += 7) {
    await write(cwd, { "cut.jsonl": bytes.subarray(0, length).toString("latin1") });
    const { code, out } = await parlance(cwd, "verify cut.jsonl --json");
    const found = JSON.parse(out);
    const right = { code, state: found.state, lines: found.lines, findings: found.findings.length };
    if (JSON.stringify(right) !== JSON.stringify({ code: 1, state: "cut", lines: lines(length), findings: 0 }))
      wrong.push(length);
  }
  expect(wrong).toEqual([]);
});
