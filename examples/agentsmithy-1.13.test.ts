import { connect } from "@parlance/client";
import { applyPatch, parsePatch } from "@parlance/edits";
import { agentsmithy1_13, type FileEditMessage } from "@parlance/protocols/agentsmithy-1.13";
import { describe, expect, onTestFinished, test } from "vitest";
import { serveAgentsmithy1_13 } from "./agentsmithy-1.13/server.js";
import { copyWorkspace } from "./demo/workspace.js";

async function renamed() {
  const workspace = await copyWorkspace();
  const before = await workspace.files();
  const app = serveAgentsmithy1_13(workspace);
  onTestFinished(async () => {
    app.close();
    await workspace.remove();
  });
  const agent = connect(agentsmithy1_13, { fetch: app.fetch });
  const { id: dialog_id } = await agent.createDialog({ title: "Renaming" });
  const said = [];
  const messages = [{ role: "user", content: "rename calcTotal to sumCart" }];
  for await (const message of agent.chat({ messages, dialog_id })) said.push(message);
  return { agent, workspace, before, after: await workspace.files(), dialog_id, said };
}

describe("The agent of agentsmithy-1.13", () => {
  test("shows each file that it changed by a diff that tells the change", async () => {
    const { workspace, before, after, said } = await renamed();
    const edits = said.filter((message): message is FileEditMessage => message.type === "file_edit");
    expect(edits.map(({ file }) => file.slice(workspace.root.length + 1))).toEqual([
      "docs/cart.md",
      "src/cart.ts",
      "src/checkout.ts",
    ]);
    for (const { file, diff } of edits) {
      const path = file.slice(workspace.root.length + 1);
      const reading = parsePatch(diff!);
      expect(reading.ok && applyPatch(reading.patch, before.get(path)!)).toMatchObject({
        ok: true,
        text: after.get(path),
      });
    }
  });

  test("puts the files back to what was approved, and to any snapshot again", async () => {
    const { agent, workspace, before, after, dialog_id } = await renamed();
    expect((await agent.sessionStatus({ dialog_id })).changed_files.map(({ status }) => status)).toEqual([
      "modified",
      "modified",
      "modified",
    ]);
    await workspace.write("src/new.ts", "export {};\n");
    const { pre_reset_checkpoint } = await agent.resetSession({ dialog_id });
    expect(await workspace.files()).toEqual(before);
    await agent.restoreCheckpoint({ dialog_id, checkpoint_id: pre_reset_checkpoint! });
    expect(await workspace.files()).toEqual(
      new Map([...after, ["src/new.ts", "export {};\n"]].sort() as [string, string][]),
    );
    await agent.approveSession({ dialog_id });
    expect(await agent.sessionStatus({ dialog_id })).toMatchObject({ has_unapproved: false, changed_files: [] });
    await expect(agent.restoreCheckpoint({ dialog_id, checkpoint_id: "none" })).rejects.toMatchObject({ status: 404 });
  });

  test("gives its history in pages, each message once and in order", async () => {
    const { agent, dialog_id } = await renamed();
    const whole = await agent.history({ dialog_id });
    expect(whole.has_more).toBe(false);
    const pages = [await agent.history({ dialog_id, limit: 1 })];
    while (pages[0]!.has_more) pages.unshift(await agent.history({ dialog_id, limit: 1, before: pages[0]!.first_idx }));
    const numbered = (events: typeof whole.events) => events.filter(({ idx }) => idx !== undefined);
    expect(pages.flatMap(({ events }) => numbered(events))).toEqual(numbered(whole.events));
    expect(whole.events.filter(({ type }) => type === "tool_call")).toHaveLength(4);
    const { tool_call_id } = (await agent.listToolResults({ dialog_id }))[0]!;
    expect((await agent.getToolResult({ dialog_id, tool_call_id })).result).toMatchObject({ found: expect.any(Array) });
  });

  test("refuses what is not there, and a conversation without a question", async () => {
    const { agent, dialog_id } = await renamed();
    await expect(agent.history({ dialog_id: "gone" })).rejects.toMatchObject({
      status: 404,
      message: "Dialog not found",
    });
    await expect(agent.complete({ messages: [], dialog_id })).rejects.toMatchObject({ status: 400 });
    await expect(agent.renameInConfig({ type: "workload", old_name: "none", new_name: "other" })).rejects.toMatchObject(
      { status: 400 },
    );
    expect(
      (await agent.renameInConfig({ type: "workload", old_name: "reasoning", new_name: "deep" })).config,
    ).toMatchObject({
      workloads: { deep: {} },
      models: { agent: { workload: "deep" } },
    });
  });
});
