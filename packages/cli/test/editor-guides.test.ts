import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type CovenHandlers, coven } from "@parlance/protocols/coven";
import { bearer, Refusal, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { readAllFences } from "./fences.js";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const run = promisify(execFile);

/** The editors, each with the page that tells how to write its plugin, and a program that drives that plugin. */
const EDITORS = [
  {
    editor: "Neovim",
    page: "../../../docs/neovim.md",
    file: "lua/agent.lua",
    command: ["nvim", "-u", "NONE", "-i", "NONE", "-n", "--headless", "-S", here("guides/drive.lua")],
  },
  {
    editor: "Emacs",
    page: "../../../docs/emacs.md",
    file: "agent.el",
    command: ["emacs", "-Q", "--batch", "-l", here("guides/drive.el")],
  },
] as const;

interface Drive {
  readonly url: string;
  /** What the user asks, one after the other. @default ["hello"] */
  readonly prompts?: readonly string[];
  /** @default "secret" */
  readonly token?: string;
  /** @default "Allow" */
  readonly choice?: "Allow" | "Refuse";
  /** The user stops the answer once the buffer has this text. */
  readonly stopAt?: string;
}

const TOOL = { id: "t1", name: "write_file", input_json: '{"path":"a.txt"}' };
const ANSWER = 'one\ntwo é😀\u2028 \\ "';

/** An agent that streams a text, asks, and says what it was allowed; at the prompt `wait` or `die` it does so. */
async function startAgent() {
  const prompts: { content: string; thread_id: string | undefined }[] = [];
  let abort: () => void;
  const aborted = new Promise<void>((resolve) => {
    abort = resolve;
  });
  const handlers: Partial<CovenHandlers> = {
    async *send({ content, thread_id }, call) {
      prompts.push({ content, thread_id });
      yield { type: "started", thread_id: "thread-1" };
      yield { type: "text", text: ANSWER };
      if (content === "fail") throw new Refusal("the model is gone", { status: 503 });
      if (content === "die") void server.close();
      if (content === "die" || content === "wait") {
        await new Promise<void>((resolve) => call.signal.addEventListener("abort", () => resolve()));
        abort();
      }
      const { approved } = await call.ask({ type: "tool_approval", ...TOOL, request_id: "r1" });
      yield { type: "tool_result", id: TOOL.id, output: "", is_error: !approved };
      yield { type: "text", text: approved ? "written" : "left alone" };
      yield { type: "done", full_response: "" };
    },
    approveTool: ({ approved }) => ({ success: true, approved }),
  };
  const authenticate = bearer({ secret: "ann" });
  const app = serve(coven, handlers as CovenHandlers, { partial: true, authenticate, onError: false });
  const server = await listen(app, { port: 0, closeAfter: 0 });
  onTestFinished(() => server.close());
  return { url: server.url, prompts, aborted };
}

describe.each(EDITORS)("the plugin of the page about $editor", ({ page, file, command: [program, ...args] }) => {
  const absent = [program, "curl"].find((name) => spawnSync(name, ["--version"]).error !== undefined);
  if (absent) console.warn(`SKIPPED: the plugin of ${page}, for want of ${absent}`);
  const itTalks = it.skipIf(absent !== undefined);

  async function drive({ url, prompts = ["hello"], token = "secret", choice = "Allow", stopAt }: Drive) {
    const folder = await mkdtemp(join(tmpdir(), "parlance-editor-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const [plugin] = readAllFences(await readFile(here(page), "utf8")).filter(({ language }) =>
      /lua|lisp/.test(language),
    );
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), plugin!.text);
    await writeFile(join(folder, "prompts.json"), JSON.stringify(prompts));
    await writeFile(join(folder, "agent.curl"), `header = "Authorization: Bearer ${token}"\n`);
    const variables = {
      GUIDE: folder,
      AGENT_URL: url,
      PROMPTS: join(folder, "prompts.json"),
      CHOICE: choice,
    };
    const env = { ...process.env, ...variables, ...(stopAt !== undefined && { STOP_AT: stopAt }) };
    const { stdout, stderr } = await run(program, args, { timeout: 25_000, env });
    if (!stdout.startsWith("{")) throw new Error(`${program} printed ${JSON.stringify(stdout)} and ${stderr}`);
    return JSON.parse(stdout) as { readonly text: string; readonly asked: readonly string[] };
  }

  itTalks.each([
    { choice: "Allow", shows: "[allowed write_file]\nwritten" },
    { choice: "Refuse", shows: "[refused write_file]\nleft alone" },
  ] as const)("streams an answer, and passes the decision on: $choice", async ({ choice, shows }) => {
    const { url, prompts } = await startAgent();
    const { text, asked } = await drive({ url, choice });
    expect(text).toBe(`\n> hello\n${ANSWER}\n${shows}`);
    expect(asked).toEqual([expect.stringContaining('write_file {"path":"a.txt"}')]);
    expect(prompts).toEqual([{ content: "hello", thread_id: undefined }]);
  });

  itTalks("goes on in the same thread", async () => {
    const { url, prompts } = await startAgent();
    await drive({ url, prompts: ["hello", "again"] });
    expect(prompts).toEqual([
      { content: "hello", thread_id: undefined },
      { content: "again", thread_id: "thread-1" },
    ]);
  });

  itTalks.each([
    ["quotes and backslashes", 'say "hi" to \\ and \\n'],
    ["several lines", "one\r\ntwo\n\tthree"],
    ["a file name of curl", "@/etc/passwd"],
    ["other scripts", "é😀\u2028中文"],
    ["a long text", "x".repeat(300_000)],
  ])("sends a prompt as it is: %s", async (_, prompt) => {
    const { url, prompts } = await startAgent();
    await drive({ url, prompts: [prompt] });
    expect(prompts.map(({ content }) => content)).toEqual([prompt]);
  });

  itTalks("stops an answer, and the agent notices", async () => {
    const { url, aborted } = await startAgent();
    const { text } = await drive({ url, prompts: ["wait"], stopAt: "two" });
    await aborted;
    expect(text).toBe(`\n> wait\n${ANSWER}\n[stopped]\n`);
  });

  itTalks("says that the token is wrong", async () => {
    const { url } = await startAgent();
    expect((await drive({ url, token: "other" })).text).toMatch(/> hello\n\n\[(?:.|\n)*401(?:.|\n)*\]\n$/);
  });

  itTalks("says that nobody listens", async () => {
    // Port 1 belongs to a service that no machine has any more.
    const { text } = await drive({ url: "http://127.0.0.1:1" });
    expect(text).toMatch(/> hello\n\n\[(?:.|\n)*connect(?:.|\n)*\]\n$/);
  });

  itTalks("says that the agent has failed", async () => {
    const { url } = await startAgent();
    const { text } = await drive({ url, prompts: ["fail"] });
    expect(text).toBe(`\n> fail\n${ANSWER}\n[the model is gone]\n`);
  });

  itTalks("says that the agent died in the middle of an answer", async () => {
    const { url } = await startAgent();
    const { text } = await drive({ url, prompts: ["die"] });
    expect(text.slice(0, `\n> die\n${ANSWER}`.length)).toBe(`\n> die\n${ANSWER}`);
    expect(text).toMatch(/\[[^\]]+\]\n$/);
  });
});
