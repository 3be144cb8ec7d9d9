import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { connect } from "@parlance/client";
import { program } from "@parlance/client/node";
import { acp, type ToolCallUpdate } from "@parlance/protocols/acp";
import { expect, onTestFinished } from "vitest";
import { DONE, scriptedModel, WAIT } from "./model.js";

/** A real agent of others, which talks on its standard input and output. */
export interface Agent {
  readonly name: string;
  /** What starts it. @default this Node */
  readonly command?: string;
  /** The script of the installed package, and its arguments. */
  readonly args: readonly string[];
  /** Whether a question of it shows the edit. @default true */
  readonly showsEdit?: boolean;
  /** Its settings, by their path in the user's home. */
  readonly settings: Readonly<Record<string, object>>;
  /** The same as text, where they name the model. */
  texts?(model: string): Readonly<Record<string, string>>;
  env(model: string): Readonly<Record<string, string>>;
}

const BEFORE = 'def greet(name):\n    return "hello " + name\n';
const AFTER = BEFORE.replace("greet", "welcome");

/** A folder with a file to edit, and a home that `write` puts an agent's settings in. */
async function folders() {
  const root = await realpath(await mkdtemp(join(tmpdir(), "parlance-agent-")));
  onTestFinished(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));
  const [home, work] = [join(root, "home"), join(root, "work")];
  await mkdir(work, { recursive: true });
  const file = join(work, "main.py");
  await writeFile(file, BEFORE);
  const write = async (texts: Readonly<Record<string, string>>) => {
    for (const [path, content] of Object.entries(texts)) {
      await mkdir(dirname(join(home, path)), { recursive: true });
      await writeFile(join(home, path), content);
    }
  };
  return { home, work, file, write };
}

/** Holds three turns with an agent: one with an edit that is allowed, one that is refused, and one that is cancelled. */
export async function holdTurns(agent: Agent): Promise<void> {
  const { home, work, file, write } = await folders();
  const model = await scriptedModel({ path: file, from: "def greet", to: "def welcome" });
  onTestFinished(() => model.close());
  for (const [path, content] of Object.entries(agent.settings)) await write({ [path]: JSON.stringify(content) });
  await write(agent.texts?.(model.url) ?? {});
  const { PATH = "" } = process.env;
  const env = { PATH, HOME: home, NO_BROWSER: "1", ...agent.env(model.url) };
  const violations: Error[] = [];
  const asked: ToolCallUpdate[] = [];
  let kind = "allow_once";
  const editor = await connect(acp, {
    ...program(agent.command ?? process.execPath, agent.args, { cwd: work, env }),
    answerTimeout: 60_000,
    onViolation: (violation) => void violations.push(violation),
  }).acp({
    "session/request_permission": ({ toolCall, options }) => {
      asked.push(toolCall);
      const { optionId } = options.find((one) => one.kind === kind)!;
      return { outcome: { outcome: "selected", optionId } };
    },
  });
  onTestFinished(() => editor.close());

  const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };
  expect(await editor.call("initialize", { protocolVersion: 1, clientCapabilities })).toMatchObject({
    protocolVersion: 1,
  });
  const { sessionId } = await editor.call("session/new", { cwd: work, mcpServers: [] });

  /** A turn, with the text that it streamed. */
  async function turn(prompt: string, options = {}, onText = () => {}) {
    const call = editor.call("session/prompt", { sessionId, prompt: [{ type: "text", text: prompt }] }, options);
    let text = "";
    for await (const { update } of call)
      if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") {
        text += update.content.text;
        onText();
      }
    return { text, stopReason: (await call).stopReason };
  }

  const allowed = await turn("Rename the function.");
  expect(allowed).toMatchObject({ stopReason: "end_turn", text: expect.stringContaining(DONE) });
  if (agent.showsEdit !== false)
    expect(asked[0]!.content).toContainEqual(expect.objectContaining({ type: "diff", newText: AFTER }));
  expect(await readFile(file, "utf8")).toBe(AFTER);

  await writeFile(file, BEFORE);
  kind = "reject_once";
  await turn("Rename it again.");
  expect(asked).toHaveLength(2);
  expect(await readFile(file, "utf8")).toBe(BEFORE);

  const abort = new AbortController();
  const cancelled = await turn(`Please ${WAIT}.`, { signal: abort.signal }, () => abort.abort());
  expect(cancelled.stopReason).toBe("cancelled");
  expect(violations).toEqual([]);
}
