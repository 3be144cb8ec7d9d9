import { execFile, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import { handler, listen, upgrade } from "@parlance/server/node";
import { build } from "esbuild";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const CHROMIUM = "/usr/bin/chromium";
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const run = promisify(execFile);
const works = (program: string, ...args: string[]) => spawnSync(program, args, { stdio: "ignore" }).status === 0;

/** A test that needs a program; its absence is printed, not passed over. */
function needs(program: string, present: boolean): typeof it | typeof it.skip {
  if (!present) console.warn(`SKIPPED: ${program} is not on this machine, so what real peers do with it is not tested`);
  return present ? it : it.skip;
}

type LocoChannel = Parameters<LoCoHandlers["stream"]>[1];

/** What the handler of `send` waits for between its first message and the rest. */
let heardFirst: () => void = () => {};
const first = new Promise<void>((resolve) => {
  heardFirst = resolve;
});
const apps = [
  serve(foldGateway, {
    health: () => "OK",
    ready: () => "ready (1 agents)",
    listAgents: () => [{ id: "1", name: "echo", capabilities: ["chat"] }],
    async *send({ content }) {
      yield { type: "text", text: content };
      if (content === "wait") await first;
      yield { type: "tool_use", id: "1", name: "t\u2028", input_json: "" };
      yield { type: "done", full_response: `${content}!` };
    },
  }),
  serve(agentsmithy, {
    async *chat({ messages }) {
      yield { type: "content", content: messages[0]!.content };
      yield { type: "diff", file: "a", diff: "", line_start: 1, line_end: 1, reason: "r" };
      yield { type: "done" };
    },
    complete: () => ({ content: "", diffs: [], done: true }),
  }),
  serve(emacsAgent, {
    endSession: () => ({ status: "closed", transcript_path: "t" }),
    async *events() {
      yield { type: "agent.state", state: "thinking" };
      yield { type: "message.delta", content: "two\nlines é", role: "assistant" };
      yield { type: "error", message: "data: no", code: "LLM_API_ERROR" };
    },
  } as never),
  serve(
    loco,
    {
      async stream(_: unknown, channel: LocoChannel) {
        channel.send({ type: "server.hello", server_info: { version: "1" } });
        for await (const message of channel) {
          if (message.type !== "client.user_message") continue;
          channel.send({ type: "assistant.token", token: "é" });
          await channel.ask({
            type: "tool.request_approval",
            request_id: "r",
            tool_name: "write_file",
            args: {},
            risk_level: "low",
          });
          channel.send({ type: "assistant.message_final", message: "é" });
        }
      },
    } as never,
    { authenticate: ({ headers }) => headers.get("Authorization") === "Bearer t" && "me" },
  ),
];
const said = (content: string) => [
  ["text", { text: content }],
  ["tool_use", { id: "1", name: "t\u2028", input_json: "" }],
  ["done", { full_response: `${content}!` }],
];

let base = "";
let stop: () => Promise<void>;
beforeAll(async () => {
  const server = await listen(apps, { port: 0, closeAfter: 0 });
  base = server.url;
  stop = () => server.close();
});
afterAll(() => stop());

describe("Against several apps on one port,", () => {
  needs("curl", works("curl", "--version"))("curl -N shows events as they are sent", async () => {
    const curl = spawn("curl", [
      "-sN",
      "-X",
      "POST",
      `${base}/api/send`,
      "-H",
      "Content-Type: application/json",
      "-d",
      '{"content": "wait", "sender": "curl"}',
    ]);
    let output = "";
    curl.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      // The rest is sent only once the first event is seen here: nothing holds it back.
      if (output.includes("\n\n")) heardFirst();
    });
    const code = await new Promise((resolve) => curl.on("close", resolve));
    expect(code).toBe(0);
    expect(output).toBe(
      'event: text\ndata: {"text":"wait"}\n\n' +
        'event: tool_use\ndata: {"id":"1","name":"t\\u2028","input_json":""}\n\n' +
        'event: done\ndata: {"full_response":"wait!"}\n\n',
    );
  });

  needs("python3 with requests", works("python3", "-c", "import requests"))(
    "the Python loop hears every event",
    async () => {
      const { stdout } = await run("python3", [here("loop.py"), base, "é😀"]);
      expect(
        stdout
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line)),
      ).toEqual(said("é😀"));
    },
  );

  needs("emacs", works("emacs", "--version"))(
    "Emacs' rule of one name line and one data line finds every event",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "parlance-"));
      try {
        const answer = await fetch(`${base}/api/sessions/s/events`);
        const reading = answer.text();
        await fetch(`${base}/api/sessions/s`, { method: "DELETE" });
        const stream = join(folder, "stream");
        await writeFile(stream, await reading);
        const { stdout } = await run("emacs", ["-Q", "--batch", "-l", here("one-line.el"), stream]);
        expect(stdout).toBe("agent.state agent.state\nmessage.delta message.delta\nerror error\n");
      } finally {
        await rm(folder, { recursive: true });
      }
    },
  );
});

describe("In a page of Chromium,", () => {
  let browser: Browser | undefined;
  let page: Page;
  let close = () => {};
  const inChromium = needs(CHROMIUM, existsSync(CHROMIUM));

  beforeAll(async () => {
    if (!existsSync(CHROMIUM)) return;
    const { outputFiles } = await build({
      entryPoints: [here("bundle-page.ts")],
      bundle: true,
      write: false,
      format: "esm",
      platform: "browser",
      // The built packages, and not what tsconfig maps to their sources.
      tsconfigRaw: "{}",
      logLevel: "error",
    });
    const pages: Record<string, [type: string, body: string]> = {
      "/": ["text/html", '<script src="loops.js"></script><script type="module" src="bundle.js"></script>'],
      "/loops.js": ["text/javascript", await readFile(here("browser-loops.js"), "utf8")],
      "/bundle.js": ["text/javascript", outputFiles[0]!.text],
    };
    // A server of one's own, with Parlance as one of its listeners.
    const answer = handler(apps);
    const server = createServer((incoming, outgoing) => {
      const file = pages[incoming.url ?? ""];
      if (file) outgoing.writeHead(200, { "Content-Type": file[0] }).end(file[1]);
      else answer(incoming, outgoing);
    });
    server.on("upgrade", upgrade(apps));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    close = () => {
      server.close();
      server.closeAllConnections();
    };
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ["--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-gpu"],
    });
    page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.waitForFunction("globalThis.talkLoco !== undefined");
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    close();
  });

  inChromium("the documents' loops hear every event", async () => {
    expect(await page.evaluate('foldGatewayLoop("é😀")')).toEqual(said("é😀"));
    expect(await page.evaluate('agentsmithyLoop("é😀")')).toEqual(["content é😀", "diff", "done"]);
  });

  inChromium("the bundle holds a fold-gateway conversation", async () => {
    expect(await page.evaluate('talkFoldGateway("é😀")')).toEqual({
      types: ["text", "tool_use", "done"],
      text: "é😀!",
    });
  });

  inChromium("the bundle holds a loco channel, with a token that the browser's socket cannot carry", async () => {
    expect(await page.evaluate('talkLoco("t")')).toEqual({
      types: ["server.hello", "assistant.token", "tool.request_approval", "assistant.message_final"],
      code: 1000,
    });
  });
});
