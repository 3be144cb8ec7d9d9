import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { based } from "@parlance/protocols/based";
import { bearer, type ServeOptions, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { run } from "../src/run.js";
import { folder, parlance } from "./terminal.js";

/** A server of based, whose connections a test can cut. */
async function served(options: ServeOptions = {}) {
  const app = serve(
    based,
    {
      async session(_, channel) {
        await channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const { type } of channel) await channel.send({ type: "file_list", files: [type] });
      },
    },
    options,
  );
  const server = await listen(app, { port: 0 });
  onTestFinished(() => server.close());
  const sockets: Socket[] = [];
  server.server.on("upgrade", (_, socket) => sockets.push(socket as Socket));
  return { url: server.url, cut: () => sockets.at(-1)!.destroy(), sockets };
}

/** The command as an editor starts it. */
function started(words: string, env: Readonly<Record<string, string>> = {}) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let err = "";
  const controller = new AbortController();
  const code = run(words.split(" "), {
    cwd: "/",
    env,
    stdin: input,
    streams: { input, output },
    interrupt: () => controller.signal,
    out: () => {},
    err: (text) => {
      err += text;
    },
  });
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  return {
    input,
    output,
    code,
    interrupt: () => controller.abort(),
    err: () => err,
    line: async () => JSON.parse((await lines.next()).value as string),
  };
}

const LIST = '{"action":"list_files"}\n';

describe("parlance stdio", () => {
  it("forwards lines both ways, and ends with its input", async () => {
    const { url } = await served();
    const { input, line, code, err } = started(`stdio --server ${url} --contract based`);
    expect(await line()).toMatchObject({ action: "initial_state" });
    input.write(LIST);
    expect(await line()).toEqual({ status: "success", action: "file_list", files: ["list_files"] });
    input.end();
    expect(await code).toBe(0);
    expect(err()).toBe("");
  });

  it("joins a connection again that was cut", async () => {
    const { url, cut, sockets } = await served();
    const { input, line, code } = started(`stdio --server ${url} --contract based`);
    expect(await line()).toMatchObject({ action: "initial_state" });
    cut();
    input.write(LIST);
    expect(await line()).toMatchObject({ action: "file_list" });
    expect(sockets).toHaveLength(2);
    input.end();
    expect(await code).toBe(0);
  });

  it("forwards what the contract does not define", async () => {
    const unknown: unknown[] = [];
    const { url } = await served({ hooks: { unknown: (_, { body }) => void unknown.push(body) } });
    const { input, line, code } = started(`stdio --server ${url} --contract based`);
    await line();
    input.write(`{"action":"later","more":[1,{"a":null}]}\n${LIST}`);
    // It is answered, because based answers by order.
    expect(await line()).toMatchObject({ action: "later", error: expect.any(String) });
    await line();
    expect(unknown).toEqual([{ action: "later", more: [1, { a: null }] }]);
    input.end();
    await code;
  });

  it("takes the token from the environment", async () => {
    const { url } = await served({ authenticate: bearer({ "a-secret-token": "ada" }) });
    const refused = started(`stdio --server ${url} --contract based`);
    expect(await refused.code).toBe(1);
    expect(refused.err()).toMatch(/^parlance stdio: /);
    const { line, input, code } = started(`stdio --server ${url} --contract based`, {
      PARLANCE_TOKEN: "a-secret-token",
    });
    expect(await line()).toMatchObject({ action: "initial_state" });
    input.end();
    expect(await code).toBe(0);
  });

  it("ends at Ctrl-C, and when its output is closed", async () => {
    const { url } = await served();
    const first = started(`stdio --server ${url} --contract based`);
    await first.line();
    first.interrupt();
    expect(await first.code).toBe(0);
    const second = started(`stdio --server ${url} --contract based`);
    await second.line();
    second.output.destroy(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
    expect(await second.code).toBe(0);
  });

  it("says that no server is there, and exits with 1", async () => {
    const { code, err } = started("stdio --server http://127.0.0.1:9 --contract based");
    expect(await code).toBe(1);
    expect(err()).toMatch(/^parlance stdio: based\.session: /);
  });

  it.each([
    ["--contract based", "--server URL is needed"],
    ["--server http://x", "--contract NAME is needed"],
    ["--server x --contract based", "x is not an http or https URL"],
    ["--server http://a:b@x --contract based", "--server has a user name or password: put a token into PARLANCE_TOKEN"],
    ["--server http://x --contract nothing", "nothing is neither a folder nor a protocol that comes with Parlance"],
    ["--server http://x --contract ../based", "../based is neither a folder nor a protocol that comes with Parlance"],
    ["--server http://x --contract fold-gateway", "fold-gateway has no channel, only operations"],
    ["--server http://x --contract loco", "the channel stream of loco has parameters"],
    ["--server http://x --contract based --channel line", "--channel is one of session"],
  ])("refuses %s", async (words, text) => {
    const { code, err } = started(`stdio ${words}`);
    expect(await code).toBe(2);
    expect(err()).toContain(text);
  });

  it("needs streams", async () => {
    const { code, err } = await parlance(await folder(), "stdio --server http://x --contract based");
    expect(code).toBe(2);
    expect(err).toContain("standard input and output are needed");
  });
});
