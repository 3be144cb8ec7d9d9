import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { connect } from "@parlance/client";
import { program, webSocket } from "@parlance/client/node";
import { based as documented } from "@parlance/protocols/based";
import { type App, Refusal, serve } from "@parlance/server";
import { listen, stdio } from "@parlance/server/node";
import { describe, expect, it } from "vitest";

const channels = { session: { ...documented.channels.session!, carriers: ["stdio"] as const } };
const based = { ...documented, channels };
const agent = fileURLToPath(new URL("./stdio-agent.ts", import.meta.url));
const asArgs = (mode: string) => ["--import", "tsx", agent, mode];

/** Starts the agent as an editor would, by pipes. */
function start(mode: string) {
  const child = spawn(process.execPath, asArgs(mode), { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => {});
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const lines: string[] = [];
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal, said }));
  return { child, lines, ended, said: () => said, opened: () => opened(child, lines) };
}

/** Resolves with the first line of the agent, and goes on collecting. */
async function opened({ stdout }: ChildProcess, lines: string[]): Promise<void> {
  const reading = createInterface({ input: stdout! });
  reading.on("line", (line) => void lines.push(line));
  await once(reading, "line");
}

describe("stdio", () => {
  it("serves a program of ours, with standard output for the protocol alone", async () => {
    const said: string[] = [];
    const started = program(process.execPath, asArgs("turn"), { onStderr: (text) => void said.push(text) });
    {
      await using channel = await connect(based, started).session();
      for await (const message of channel) {
        expect(message.type).toBe("initial_state");
        break;
      }
      expect(await channel.ask({ type: "list_files" })).toEqual({ type: "file_list", files: ["the editor"] });
    }
    expect(said.join("")).toContain("a line of console.log\na line of process.stdout\n");
  });

  it("ends with its input: the handler is aborted, and finishes", async () => {
    const { child, lines, ended, opened } = start("turn");
    await opened();
    child.stdin.end();
    const { code, said } = await ended;
    expect(code).toBe(0);
    expect(said).toContain("aborted");
    expect(said).toContain("cleaned up");
    expect(said).toContain("the conversation is over");
    expect(lines).toHaveLength(1);
  });

  it("does not wait longer than its limit for a handler that ignores its signal", async () => {
    const { child, ended, opened } = start("stuck");
    await opened();
    child.stdin.end();
    expect(await ended).toMatchObject({ code: 0 });
  });

  it.each(["SIGTERM", "SIGINT"] as const)("drains the app at %s", async (signal) => {
    const { child, ended, opened } = start("turn");
    await opened();
    child.kill(signal);
    const { code, said } = await ended;
    expect(code).toBe(0);
    expect(said).toContain("cleaned up");
  });

  it("ends without a crash when its output is closed", async () => {
    const { child, ended, opened } = start("turn");
    await opened();
    child.stdout.destroy();
    const list = setInterval(() => child.stdin.write('{"action":"list_files"}\n'), 5);
    const { code, said } = await ended;
    clearInterval(list);
    expect(code).toBe(0);
    expect(said).toContain("aborted");
  });

  it("ends a conversation whose client does not read", async () => {
    const { child, ended } = start("flood");
    child.stdout.pause();
    const exit = once(child, "exit");
    await exit;
    child.stdout.resume();
    expect(await ended).toMatchObject({ code: 0, said: expect.stringContaining("aborted") });
  });

  it.each([
    ["over the limit", "x".repeat(1_100_000), "a frame of 1100000 characters or more is over the limit of 1048576"],
    ["over the limit, and has no end", "x".repeat(4_000_000), "characters or more is over the limit of 1048576"],
  ])("ends with an error, and reports it, where a line is %s", async (_, text, reason) => {
    const { child, ended, opened } = start("logs");
    await opened();
    child.stdin.write(text.length > 2_000_000 ? text : `${text}\n`);
    const { code, said } = await ended;
    expect(code).toBe(1);
    expect(said).toMatch(new RegExp(`@parlance/server: session was refused, printed once: .*${reason}`));
    expect(said).not.toContain("the conversation is over");
  });

  it("reads a last line whose end is missing", async () => {
    const { child, ended, opened } = start("turn");
    await opened();
    child.stdin.end('{"action":"list_files"}');
    expect((await ended).said).toContain("got list_files");
  });

  it("takes no more from its client than the handler reads", async () => {
    const started = program(process.execPath, asArgs("turn"));
    await using channel = await connect(based, started).session();
    const content = "x".repeat(100_000);
    const sending = (async () => {
      for (let i = 0; i < 100; i++) await channel.send({ type: "upload_file", filename: `${i}.based`, content });
    })();
    let uploaded = 0;
    for await (const { type } of channel) if (type === "file_uploaded" && ++uploaded === 100) break;
    await sending;
  });

  it("leaves no program behind when the editor is killed", async () => {
    const { child, ended, said } = start("editor");
    await expect.poll(said, { timeout: 20_000 }).toContain("initial_state");
    child.kill("SIGKILL");
    // The pipe of standard error is closed once nobody holds it: neither the editor nor its agent.
    expect(await ended).toMatchObject({ signal: "SIGKILL" });
  });
});

describe("the options of stdio", () => {
  const handlers = { session: async () => {} };
  const plain = serve(based, handlers);
  const known = serve(based, handlers, { authenticate: () => "somebody" });
  const none = serve(documented, handlers);
  const rows: readonly (readonly [App, object, string])[] = [
    [plain, { channel: "line" }, "channel is one of session, not line"],
    [plain, { channel: 1 }, "channel must be a string"],
    [plain, { closeAfter: -1 }, "closeAfter"],
    [known, {}, "a client on stdio sends no credentials: give `principal`"],
    [none, {}, 'based has no channel for stdio: add "stdio" to the `carriers` of one'],
  ];
  it.each(rows)("are checked before standard output is taken: case %#", async (app, options, text) => {
    const { write } = process.stdout;
    await expect(stdio(app, options)).rejects.toThrow(text);
    expect(process.stdout.write).toBe(write);
  });

  it("leave a refusal of `hooks.request` to the caller", async () => {
    const refusing = serve(based, handlers, {
      onError: false,
      hooks: {
        request() {
          throw new Refusal("not now", { status: 503 });
        },
      },
    });
    await expect(stdio(refusing)).rejects.toMatchObject({ name: "Refusal", status: 503 });
  });
});

describe("a channel that stdio alone carries", () => {
  it("is not served over WebSocket, and can be tested in memory", async () => {
    const app = serve(based, {
      session: async (_, channel) => channel.send({ type: "initial_state", files: [], activeFile: null }),
    });
    const server = await listen(app, { port: 0 });
    await expect(connect(based, { baseUrl: server.url, webSocket }).session()).rejects.toMatchObject({ status: 404 });
    await server.close();
    const local = serve(based, {
      session: async (_, channel) => channel.send({ type: "initial_state", files: [], activeFile: null }),
    });
    await using channel = await connect(based, local).session();
    for await (const { type } of channel) expect(type).toBe("initial_state");
    await local.close();
  });
});
