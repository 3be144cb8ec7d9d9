import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { expect, onTestFinished, test, vi } from "vitest";
import { serveBased } from "./based/server.js";
import { copyWorkspace } from "./demo/workspace.js";
import { serveFoldGateway } from "./fold-gateway/server.js";

test("based's example creates a file where there is none, and where one is asked for", async () => {
  const { fetch, webSocket } = serveBased();
  await using session = await connect(based, { fetch, webSocket }).session();
  const prompt = "Please create a simple counter agent: ../../x";
  const filename = "simple-counter-agent-x.based";
  expect(await session.ask({ type: "prompt", prompt })).toMatchObject({
    type: "file_created",
    filename,
    files: [filename],
  });
  expect(await session.ask({ type: "read_file", filename })).toMatchObject({ type: "file_content", filename });
  expect(await session.ask({ type: "prompt", prompt: "create a simple counter agent x" })).toMatchObject({
    type: "file_created",
    filename: "simple-counter-agent-x-2.based",
  });
  // An edit needs a file that is there.
  expect(await session.ask({ type: "prompt", prompt: "fix it", activeFile: "x" })).toMatchObject({
    type: "edit_error",
  });
});

test("based's example answers an unexpected error with the general one, and keeps the connection", async () => {
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(console, "error").mockImplementation(() => {});
  const { fetch, webSocket } = serveBased(undefined, () => {
    throw new Error("secret");
  });
  await using session = await connect(based, { fetch, webSocket }).session();
  await session.ask({ type: "upload_file", filename: "a", content: "x" });
  expect(await session.ask({ type: "prompt", prompt: "fix it", activeFile: "a" })).toEqual({
    type: "error",
    error: "Internal server error",
    action: "prompt",
  });
  expect(await session.ask({ type: "list_files" })).toMatchObject({ files: ["a"] });
});

test("fold-gateway's example keeps a thread: its agent, and what was asked in it", async () => {
  const workspace = await copyWorkspace();
  onTestFinished(workspace.remove);
  const gateway = connect(foldGateway, { fetch: serveFoldGateway(workspace).fetch });
  const send = async (content: string, thread_id?: string) => {
    const seen = { agent: "", text: "" };
    for await (const message of gateway.send({ content, thread_id })) {
      if (message.type === "thinking") seen.agent = message.text;
      if (message.type === "done") seen.text = message.full_response;
    }
    return seen;
  };
  const first = await send("rename calcTotal to sumCart", "t1");
  const other = await send("again", "t2");
  expect(other.agent).not.toBe(first.agent);
  expect(other.text).not.toBe(first.text);
  expect(await send("again", "t1")).toEqual(first);
  expect(await send("again", "t1")).toEqual(first);
});
