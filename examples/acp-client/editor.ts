import { readFile, writeFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { type ConnectOptions, connect, Refusal } from "@parlance/client";
import { acp, type SessionUpdate } from "@parlance/protocols/acp";

/** Shows a line to the user. */
export type Print = (line: string) => void;

/** Gives an ACP agent one turn in a folder. Its reads and writes stay in the folder, and each permission is granted once. */
export async function takeTurn(agent: ConnectOptions, cwd: string, text: string, print: Print): Promise<string> {
  /** @throws `Refusal` for a path outside of the folder */
  function inside(path: string): string {
    const whole = resolve(cwd, path);
    if (relative(cwd, whole).startsWith("..")) throw new Refusal(`${path} is outside of ${cwd}`);
    return whole;
  }

  await using channel = await connect(acp, agent).acp({
    "session/request_permission": async ({ toolCall, options }) => {
      const option = options.find(({ kind }) => kind === "allow_once") ?? options[0];
      print(`? ${toolCall.title ?? toolCall.toolCallId}: ${option?.name ?? "no answer"}`);
      return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
    },
    "fs/read_text_file": async ({ path }) => ({ content: await readFile(inside(path), "utf8") }),
    "fs/write_text_file": async ({ path, content }) => {
      await writeFile(inside(path), content);
      return {};
    },
  });
  const { agentInfo } = await channel.call("initialize", {
    protocolVersion: 1,
    clientInfo: { name: "example-editor", version: "1.0.0" },
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
  });
  print(`# ${agentInfo?.title ?? agentInfo?.name ?? "an agent"}`);
  const { sessionId } = await channel.call("session/new", { cwd, mcpServers: [] });
  const turn = channel.call("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  for await (const { update } of turn) render(update, print);
  return (await turn).stopReason;
}

function render(update: SessionUpdate, print: Print): void {
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
      if (update.content.type === "text") print(update.content.text);
      break;
    case "tool_call":
      print(`- ${update.title}`);
      break;
    case "tool_call_update":
      if (update.status) print(`- ${update.status}`);
      break;
  }
}
