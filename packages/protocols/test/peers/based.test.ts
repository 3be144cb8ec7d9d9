import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { applyPatch, formatPatch, parsePatch } from "@parlance/edits";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { basedFrontend, basedServer, patched } from "./based-peers.js";

const opened = async () => connect(based, { baseUrl: await basedServer(), webSocket }).session();

describe("Based's server", () => {
  it("holds a whole conversation with a client of based, whose diff it applies", async () => {
    await using session = await opened();
    // Nothing is there to be edited.
    expect(await session.ask({ type: "prompt", prompt: "rename add to sum" })).toMatchObject({ type: "file_created" });
    const edit = { type: "prompt", prompt: "rename add to sum", activeFile: "counter.based" } as const;
    const generated = await session.ask(edit);
    if (generated.type !== "diff_generated") throw new Error(`not ${generated.type}`);
    const { filename, diff, old_code, new_code } = generated;
    expect(diff.endsWith("\n")).toBe(false);
    const reading = parsePatch(diff);
    if (!reading.ok) throw new Error("the diff is not read");
    expect(applyPatch(reading.patch, old_code)).toMatchObject({ ok: true, text: new_code });
    // As it came, it would glue two lines.
    expect(patched(old_code, diff)).toContain("fn sum(n) {  counter += n");
    const written = formatPatch(reading.patch);
    expect(await session.ask({ type: "apply_diff", filename, diff: written })).toEqual({
      type: "diff_applied",
      filename,
      new_code,
    });
    const upload = { type: "upload_file", filename: "é.based", content: "\r\n\u2028" } as const;
    expect(await session.ask(upload)).toMatchObject({ files: [filename, "é.based"] });
    expect(await session.ask({ type: "list_files" })).toMatchObject({ files: [filename, "é.based"] });
    expect(await session.ask({ type: "read_file", filename: "é.based" })).toMatchObject({ content: "\r\n\u2028" });
  });

  it("refuses with errors that name no action, each of which is the answer of its own request", async () => {
    await using session = await opened();
    await session.ask({ type: "upload_file", filename: "a", content: "" });
    const answers = await Promise.all([
      session.ask({ type: "read_file", filename: "none" }),
      session.ask({ type: "list_files" }),
      session.ask({ type: "prompt", prompt: "rename" }),
      session.ask({ type: "apply_diff", filename: "a", diff: "@@ -1 +1 @@ fn add\n-a\n+b\n" }),
      session.ask({ type: "apply_diff", filename: "none", diff: "" }),
    ]);
    expect(answers).toEqual([
      { type: "error", error: "File not found" },
      { type: "file_list", files: ["a"] },
      { type: "error", error: "Please select a file to edit. Active file 'undefined' not found or invalid." },
      { type: "error", error: "Patch failed: Invalid diff line: @@ -1 +1 @@ fn add" },
      { type: "error", error: "File not found: none" },
    ]);
  });

  it("lets requests queue: a second prompt is answered after the first, and none is rejected", async () => {
    await using session = await opened();
    for (let i = 0; i < 2; i++) session.send({ type: "prompt", prompt: "create" });
    const types: string[] = [];
    for await (const { type } of session) {
      types.push(type);
      if (types.length === 3) break;
    }
    expect(types).toEqual(["initial_state", "file_created", "file_created"]);
  });
});

describe("Based's frontend", () => {
  it("holds a whole conversation with a server of based", async () => {
    const heard: object[] = [];
    const handlers: BasedHandlers = {
      async session(_, channel) {
        const files = new Map<string, string>();
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const message of channel) {
          heard.push(message);
          const code = "fn add(n)\n";
          if (message.type === "prompt" && message.activeFile !== undefined) {
            const diff = "@@ -1 +1 @@\n-fn add(n)\n+fn sum(n)\n";
            const known = { filename: message.activeFile, old_code: code, new_code: "fn sum(n)\n" };
            channel.send({ type: "diff_generated", diff, ...known });
          } else if (message.type === "prompt" && !message.prompt.startsWith("create")) {
            channel.send({ type: "edit_error", error: "Please select a file to edit." });
          } else if (message.type === "prompt") {
            files.set("a.based", code);
            channel.send({ type: "file_created", filename: "a.based", content: code, files: [...files.keys()] });
          } else if (message.type === "apply_diff") {
            channel.send({ type: "diff_applied", filename: message.filename, new_code: "fn sum(n)\n" });
          } else if (message.type === "upload_file") {
            files.set(message.filename, message.content);
            channel.send({ type: "file_uploaded", filename: message.filename, files: [...files.keys()] });
          } else if (message.type === "list_files") channel.send({ type: "file_list", files: [...files.keys()] });
          else channel.send({ type: "read_file_error", error: "File not found" });
        }
      },
    };
    const server = await listen(serve(based, handlers), { port: 0, closeAfter: 0 });
    onTestFinished(() => server.close());
    expect(await basedFrontend(server.url)).toEqual({
      files: ["a.based", "b.based"],
      editor: "fn sum(n)\n",
      errors: ["Please select a file to edit.", "File not found", "Unknown action: dance"],
      actions: [
        "initial_state",
        "edit_error",
        "file_created",
        "diff_generated",
        "diff_applied",
        "file_uploaded",
        "file_list",
        "read_file",
        "dance",
      ],
    });
    expect(heard[0]).toEqual({ type: "prompt", prompt: "make the counter blue", context: [""] });
  });
});
