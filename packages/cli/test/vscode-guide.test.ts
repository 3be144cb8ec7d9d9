import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { contentHash } from "@parlance/edits/node";
import { loco } from "@parlance/protocols/loco";
import { listen } from "@parlance/server/node";
import { double } from "@parlance/server/testing";
import { expect, it, onTestFinished } from "vitest";
import { writeFences } from "./fences.js";
import { vscodeDouble, writeVsCode } from "./vscode-double.js";

const guide = fileURLToPath(new URL("../../../docs/vscode.md", import.meta.url));

const approval = { type: "tool.request_approval", tool_name: "write_file", args: {}, risk_level: "low" } as const;
const command = { type: "command.request_approval", requires_approval: true, reason: "" } as const;
const patch = (patch_id: string, file_path: string) => {
  const diff = `--- a/${file_path}\n+++ b/${file_path}\n@@ -1 +1 @@\n-one\n+two\n`;
  const known = { rationale: "", acceptance_criteria: [], requires_approval: true, hunks: [] };
  return { type: "patch.proposed" as const, patch_id, file_path, diff, ...known };
};

it("answers every ask of its agent with a message that the contract accepts", async () => {
  const folder = await mkdtemp(join(tmpdir(), "parlance-vscode-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "a.txt"), "one\n");
  const answers: unknown[] = [];
  const agent = double(loco, {
    async stream(_, channel) {
      channel.send({ type: "server.hello", server_info: { version: "1" } });
      for await (const message of channel) {
        if (message.type !== "client.user_message") continue;
        answers.push(await channel.ask({ ...approval, request_id: "tool" }));
        answers.push(await channel.ask({ ...command, command_id: "command", command: "make" }));
        for (const [id, path] of [
          ["fits", "a.txt"],
          ["again", "a.txt"],
          ["outside", "../b.txt"],
        ] as const)
          answers.push(await channel.ask(patch(id, path)));
        channel.send({
          type: "assistant.message_final",
          message: "done",
          metadata: { tokens_used: 1, files_modified: 1 },
        });
      }
    },
  });
  const server = await listen(agent, { port: 0, closeAfter: 0 });
  onTestFinished(() => server.close());

  const programs = writeFences("vscode", guide);
  const extension = programs.find(({ file }) => file.endsWith("/extension.ts"))!.file;
  const { namespace, commands, asked } = vscodeDouble(folder, server.url, "Change it");
  await writeVsCode(join(extension, ".."), namespace);
  const { activate } = await import(/* @vite-ignore */ pathToFileURL(extension).href);
  const subscriptions: { dispose(): void }[] = [];
  onTestFinished(() => {
    for (const one of subscriptions) one.dispose();
  });
  activate({ subscriptions, secrets: { get: async () => undefined } });
  await commands.get("agent.ask")!();

  expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("two\n");
  expect(asked).toEqual(["Let the agent run write_file?", `Run make in ${folder}?`]);
  const failed = (message: string) => ({
    success: false,
    error: { message: expect.stringContaining(message), type: "conflict" },
  });
  expect(answers).toMatchObject([
    { request_id: "tool", approved: true, scope: "all" },
    { command_id: "command", exit_code: 126, stderr: "the user refused the command" },
    { patch_id: "fits", file_path: "a.txt", success: true, error: null, applied_hash: contentHash("two\n") },
    { patch_id: "again", ...failed("a.txt: ") },
    { patch_id: "outside", ...failed("../b.txt is outside the folder") },
  ]);
});
