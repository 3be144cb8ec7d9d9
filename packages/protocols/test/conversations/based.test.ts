import { webSocket as overWebSocket } from "@parlance/client/node";
import {
  type BasedHandlers,
  based,
  type SessionClientMessage,
  type SessionServerMessage,
} from "@parlance/protocols/based";
import { Refusal } from "@parlance/server";
import type { Port } from "@parlance/wire";
import { expect, it } from "vitest";
import { aborted, all, deferred, hold, overEachCarrier } from "./carriers.js";

const state: SessionServerMessage = { type: "initial_state", files: [], activeFile: null };
const proposal: SessionServerMessage = {
  type: "diff_generated",
  filename: "a",
  diff: "",
  new_code: "x",
  old_code: "x",
};

/** Answers every message; what is in `slow` has to be let go first. */
function answering(slow: Readonly<Record<string, Promise<void>>> = {}): BasedHandlers {
  return {
    async session(_, channel) {
      channel.send(state);
      for await (const message of channel) {
        await slow[message.type];
        channel.send(answer(message));
      }
    },
  };
}

function answer(message: SessionClientMessage): SessionServerMessage {
  switch (message.type) {
    case "prompt":
      return proposal;
    case "apply_diff":
      return { type: "diff_applied", filename: message.filename, new_code: "y" };
    case "upload_file":
      return { type: "file_uploaded", filename: message.filename, files: [message.filename] };
    case "list_files":
      return { type: "file_list", files: ["a"] };
    case "read_file":
      return message.filename === "none"
        ? { type: "read_file_error", error: "File not found" }
        : { type: "file_content", filename: message.filename, content: "é\r\n" };
  }
}

overEachCarrier("based", (carrier) => {
  it("a whole session: every action gets its answer, in order, and closes normally", async () => {
    const { client, seen } = await hold(carrier, based, answering());
    const session = await client.session();
    const first = await session[Symbol.asyncIterator]().next();
    expect(first.value).toEqual(state);
    expect(await session.ask({ type: "upload_file", filename: "a", content: "x" })).toMatchObject({
      type: "file_uploaded",
    });
    expect(await session.ask({ type: "list_files" })).toEqual({ type: "file_list", files: ["a"] });
    expect(await session.ask({ type: "read_file", filename: "a" })).toMatchObject({ content: "é\r\n" });
    expect(await session.ask({ type: "read_file", filename: "none" })).toMatchObject({ type: "read_file_error" });
    expect(await session.ask({ type: "prompt", prompt: "go" })).toEqual(proposal);
    expect(await session.ask({ type: "apply_diff", filename: "a", diff: "" })).toMatchObject({ type: "diff_applied" });
    await session.close();
    expect(await session.closed).toMatchObject({ code: 1000 });
    expect(seen.slice(0, 5)).toEqual([
      "request session",
      "open session",
      "server initial_state",
      "client upload_file",
      "server file_uploaded",
    ]);
  });

  it("asks at once are sent one after the other, and each gets its own answer", async () => {
    const { client, seen } = await hold(carrier, based, answering());
    await using session = await client.session();
    const answers = await Promise.all([
      session.ask({ type: "prompt", prompt: "1" }),
      session.ask({ type: "prompt", prompt: "2" }),
      session.ask({ type: "list_files" }),
      session.ask({ type: "read_file", filename: "none" }),
      session.ask({ type: "apply_diff", filename: "b", diff: "" }),
    ]);
    expect(answers.map(({ type }) => type)).toEqual([
      "diff_generated",
      "diff_generated",
      "file_list",
      "read_file_error",
      "diff_applied",
    ]);
    expect(seen).not.toContain("server operation_rejected");
  });

  it("while a prompt runs a second one is rejected at once, and other actions wait their turn", async () => {
    const running = deferred();
    const { client } = await hold(carrier, based, answering({ prompt: running.promise }));
    await using session = await client.session();
    const types: string[] = [];
    session.send({ type: "prompt", prompt: "1" });
    session.send({ type: "apply_diff", filename: "a", diff: "" });
    session.send({ type: "list_files" });
    session.send({ type: "prompt", prompt: "2" });
    for await (const message of session) {
      types.push(message.type);
      if (types.length === 3) running.resolve();
      if (types.length === 5) break;
    }
    expect(types).toEqual(["initial_state", "operation_rejected", "operation_rejected", "diff_generated", "file_list"]);
  });

  it("after the answer the next prompt is taken", async () => {
    const { client, seen } = await hold(carrier, based, answering());
    await using session = await client.session();
    for (let i = 0; i < 3; i++) expect(await session.ask({ type: "prompt", prompt: "x" })).toEqual(proposal);
    expect(seen.filter((one) => one === "server operation_rejected")).toEqual([]);
  });

  it.each([
    ["not JSON", "{", /JSON/],
    ["an array", "[]", /object/],
    ["an unknown action", '{"action":"dance"}', /^Unknown action: dance$/, "dance"],
    ["an action that is a server's", '{"action":"edit_error"}', /^Unknown action: edit_error$/],
    ["no action", "{}", /unknown/],
    ["a message without its prompt", '{"action":"prompt"}', /prompt/],
    ["nesting of 65", `{"action":"list_files","x":${"[".repeat(65)}${"]".repeat(65)}}`, /nested/],
    ["a forbidden key", '{"action":"list_files","__proto__":{"x":1}}', /__proto__/],
  ])("%s is answered with `error`, and the session goes on", async (_, frame, message, action?: string) => {
    const { client, connection } = await hold(carrier, based, answering());
    const port = (await (connection.webSocket ?? overWebSocket)(`${connection.baseUrl}/ws`.replace(/^http/, "ws"), {
      headers: {},
      protocols: [],
      maxSize: 1e6,
    })) as Port;
    const heard: string[] = [];
    const three = deferred();
    port.listen({
      frame: (text) => {
        if (heard.push(text) === 3) three.resolve();
      },
      close: () => three.resolve(),
    });
    port.send(frame);
    port.send('{"action":"list_files"}');
    await three.promise;
    port.close(1000, "");
    expect(heard.map((text) => JSON.parse(text))).toMatchObject([
      { action: "initial_state" },
      { status: "error", error: expect.stringMatching(message), ...(action && { action }) },
      { action: "file_list", files: ["a"] },
    ]);
    expect(client).toBeDefined();
  });

  it("a frame over the limit closes the socket with 1009, and the server goes on serving", async () => {
    const { client } = await hold(carrier, based, answering(), { served: { maxMessageSize: 1000 } });
    const session = await client.session();
    session.send({ type: "prompt", prompt: "x".repeat(2000) });
    await expect(all(session)).rejects.toMatchObject({ name: "Disconnected" });
    await expect(session.closed).rejects.toThrow(/1009/);
    await using next = await client.session();
    expect(await next.ask({ type: "list_files" })).toMatchObject({ type: "file_list" });
  });

  it("a handler that fails says `error` and closes with 1011", async () => {
    const { client, seen } = await hold(carrier, based, {
      async session(_, channel) {
        channel.send(state);
        throw new Error("secret");
      },
    });
    const session = await client.session();
    const heard: SessionServerMessage[] = [];
    const reading = (async () => {
      for await (const message of session) heard.push(message);
    })();
    await expect(reading).rejects.toMatchObject({ name: "Disconnected" });
    expect(heard).toEqual([state, { type: "error", error: "the server failed" }]);
    expect(seen).toContain("close session failed");
  });

  const asks = [
    { type: "prompt", prompt: "x" },
    { type: "apply_diff", filename: "a", diff: "" },
    { type: "upload_file", filename: "a", content: "" },
    { type: "list_files" },
    { type: "read_file", filename: "a" },
  ] as const;

  it.each(asks)("a general error about $type is an answer, and the session goes on", async (ask) => {
    const { client } = await hold(carrier, based, {
      async session(_, channel) {
        channel.send(state);
        for await (const { type: action } of channel)
          channel.send({ type: "error", error: "Internal server error", action });
      },
    });
    await using session = await client.session();
    for (let i = 0; i < 2; i++) {
      const answer = await session.ask(ask as SessionClientMessage & { type: "prompt" });
      // On the wire a general error about `read_file` is the document's read error.
      const said = ask.type === "read_file" ? { type: "read_file_error" } : { type: "error", action: ask.type };
      expect(answer).toEqual({ ...said, error: "Internal server error" });
    }
  });

  it.each(asks)(
    "a message handler that fails at $type answers with the action, and keeps the session's files",
    async (ask) => {
      const { client, seen } = await hold(
        carrier,
        based,
        {
          async session(_, channel) {
            const files: string[] = [];
            let fails = true;
            channel.send(state);
            await channel.handle(async (message) => {
              if (message.type === ask.type && fails && files.length > 0) {
                fails = false;
                throw message.type === "list_files"
                  ? new Refusal("the disk is full", { status: 503 })
                  : new Error("secret");
              }
              if (message.type === "upload_file") files.push(message.filename);
              channel.send({ type: "file_uploaded", filename: "x", files: [...files] });
            });
          },
        },
        { served: { onError: false } },
      );
      await using session = await client.session();
      await session.ask({ type: "upload_file", filename: "kept", content: "" });
      const failed = await session.ask(ask as SessionClientMessage & { type: "prompt" });
      const said = ask.type === "read_file" ? { type: "read_file_error" } : { type: "error", action: ask.type };
      expect(failed).toEqual({ ...said, error: ask.type === "list_files" ? "the disk is full" : "the server failed" });
      expect(seen).toContain(`refuse session ${ask.type === "list_files" ? 503 : 500}`);
      const next = await session.ask({ type: "upload_file", filename: "next", content: "" });
      expect(next).toMatchObject({ files: ["kept", "next"] });
    },
  );

  it("a prompt that failed lets the next one run", async () => {
    let prompts = 0;
    const { client } = await hold(
      carrier,
      based,
      {
        async session(_, channel) {
          channel.send(state);
          await channel.handle(() => {
            if (prompts++ === 0) throw new Error("secret");
            channel.send({ type: "edit_error", error: "no" });
          });
        },
      },
      { served: { onError: false } },
    );
    await using session = await client.session();
    expect(await session.ask({ type: "prompt", prompt: "x" })).toMatchObject({ type: "error", action: "prompt" });
    expect(await session.ask({ type: "prompt", prompt: "x" })).toMatchObject({ type: "edit_error" });
  });

  it("a handler that fails in its loop names the action before it closes", async () => {
    const { client } = await hold(
      carrier,
      based,
      {
        async session(_, channel) {
          channel.send(state);
          for await (const _ of channel) throw new Error("secret");
        },
      },
      { served: { onError: false } },
    );
    const session = await client.session();
    const answer = await session.ask({ type: "list_files" });
    expect(answer).toEqual({ type: "error", error: "the server failed", action: "list_files" });
    await expect(session.closed).rejects.toThrow(/1011/);
  });

  it("a handler that sends what is no message has a bug, which the hook sees", async () => {
    const causes: unknown[] = [];
    const { client } = await hold(
      carrier,
      based,
      {
        async session(_, channel) {
          channel.send(state);
          channel.send({ type: "file_list", files: [7] } as never);
        },
      },
      { served: { hooks: { refuse: (_, __, cause) => void causes.push(cause) } } },
    );
    await expect((await client.session()).closed).rejects.toMatchObject({ name: "Disconnected" });
    expect(causes).toMatchObject([{ name: "Violation", side: "server", flaws: [{ at: "/files/0" }] }]);
  });

  it("the client's leaving aborts the handler's signal and ends its loop", async () => {
    const left = deferred();
    const { client } = await hold(carrier, based, {
      async session(_, channel, { signal }) {
        channel.send(state);
        await all(channel);
        await aborted(signal);
        left.resolve();
      },
    });
    const session = await client.session();
    await session.close();
    await left.promise;
    expect(() => session.send({ type: "list_files" })).toThrow(/closed/);
  });

  it("an aborted signal closes the session, and refuses to open one", async () => {
    const { client } = await hold(carrier, based, answering());
    const reason = new Error("enough");
    await expect(client.session({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const session = await client.session({ signal: controller.signal });
    const reading = all(session);
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
    await expect(session.closed).rejects.toBe(reason);
  });

  it("an ask that is aborted gives its place to nobody else's answer", async () => {
    const running = deferred();
    const { client } = await hold(carrier, based, answering({ prompt: running.promise }));
    await using session = await client.session();
    const controller = new AbortController();
    const asked = session.ask({ type: "prompt", prompt: "x" }, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
    const next = session.ask({ type: "list_files" });
    running.resolve();
    expect(await next).toEqual({ type: "file_list", files: ["a"] });
  });
});
