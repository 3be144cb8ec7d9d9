import { connect } from "@parlance/client";
import { webSocket as overWebSocket } from "@parlance/client/node";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type LoCoHandlers, loco, type StreamClientMessage, type StreamServerMessage } from "@parlance/protocols/loco";
import type { AnyContract, Port } from "@parlance/wire";
import { pair } from "@parlance/wire/link";
import { expect, it } from "vitest";
import { deferred, hold, overEachCarrier } from "./carriers.js";

// Frames of the two sockets as a peer without our client sends and reads them, and messages that the documents describe without printing them.

type Channel = { send(message: object): void } & AsyncIterable<{ readonly type: string }>;

const hello = { type: "server.hello", server_info: { version: "1" } } as const;
const client_info = { name: "test", version: "1", capabilities: [] };
const greeting = { type: "client.hello", client_info } as const;
const input = { session_id: "s" };
const state = { type: "initial_state", files: [], activeFile: null };

/** Sends its first message, and then an answer to each frame. */
const handling =
  (opening: object, answer: (type: string) => object) =>
  async (_: unknown, channel: Channel): Promise<void> => {
    channel.send(opening);
    for await (const { type } of channel) channel.send(answer(type));
  };
const token = (type: string) => ({ type: "assistant.token", token: type });

const tables: readonly [contract: AnyContract, path: string, rows: readonly Row[]][] = [
  [
    based,
    "/ws",
    [
      [
        "messages are JSON objects with an action, and answers have a status",
        handling(state, () => ({ type: "file_list", files: [] })),
        [{ action: "list_files" }],
        [
          { status: "success", action: "initial_state", files: [], activeFile: null },
          { status: "success", action: "file_list", files: [] },
        ],
      ],
      [
        "a context holds texts and objects, and nothing else",
        handling(state, () => ({ type: "file_list", files: [] })),
        [
          { action: "prompt", prompt: "x", context: ["a", { file: "b" }, 7] },
          { action: "prompt", prompt: "x", context: ["a", { file: "b" }] },
        ],
        [
          { status: "success", action: "initial_state", files: [], activeFile: null },
          { status: "error", action: "prompt", error: expect.stringContaining("`context.2`") },
          { status: "success", action: "file_list", files: [] },
        ],
      ],
      [
        "a general error may have no action",
        handling(state, () => ({ type: "error", error: "no" })),
        [{ action: "list_files" }],
        [
          { status: "success", action: "initial_state", files: [], activeFile: null },
          { status: "error", error: "no" },
        ],
      ],
    ],
  ],
  [
    loco,
    "/v1/sessions/s/stream",
    [
      [
        "the server's greeting answers the client's",
        handling(hello, token),
        [greeting],
        [hello, token("client.hello")],
      ],
      ["the server may greet first", handling(hello, token), [], [hello]],
    ],
  ],
];
type Row = readonly [what: string, handler: unknown, frames: readonly object[], expected: readonly object[]];

overEachCarrier("In frames", (carrier) => {
  for (const [contract, path, rows] of tables)
    it.each(rows)(`${contract.name}: %s`, async (_, handler, frames, expected) => {
      const handlers = { [Object.keys(contract.channels)[0]!]: handler };
      const { connection } = await hold(carrier, contract as never, handlers as never);
      const url = `${connection.baseUrl}${path}`.replace(/^http/, "ws");
      const options = { headers: {}, protocols: [], maxSize: 1e6 };
      const port = (await (connection.webSocket ?? overWebSocket)(url, options)) as Port;
      const heard: string[] = [];
      const over = deferred();
      port.listen({
        frame: (text) => void (heard.push(text) === expected.length && over.resolve()),
        close: () => over.resolve(),
      });
      for (const frame of frames) port.send(JSON.stringify(frame));
      await over.promise;
      port.close(1000, "");
      expect(heard.map((text) => JSON.parse(text))).toEqual(expected);
    });

  it.each<[what: string, StreamClientMessage]>([
    ["a user's message with its context", { type: "client.user_message", message: "x", context: { command: "/fix" } }],
    [
      "an update of the context during the conversation",
      { type: "client.context_update", updates: { mentions: [{ type: "file", path: "a" }] } },
    ],
    [
      "a diagnostic that is a warning",
      {
        type: "client.user_message",
        message: "x",
        context: {
          diagnostics: [{ file_path: "a", severity: "warning", message: "m", line: 1, character: 0, source: "eslint" }],
        },
      },
    ],
    [
      "a patch that did not apply, with the error's message and type",
      {
        type: "client.patch_apply_result",
        patch_id: "p",
        file_path: "a",
        success: false,
        error: { message: "no such line", type: "conflict" },
      },
    ],
  ])("loco: %s reaches the server as it was sent", async (_, message) => {
    const heard = deferred<unknown>();
    const stream: LoCoHandlers["stream"] = async (_, channel) => {
      channel.send(hello);
      for await (const one of channel) if (one.type !== "client.hello") heard.resolve(one);
    };
    const { client } = await hold(carrier, loco, { stream } as LoCoHandlers);
    await using channel = await client.stream(input, { open: { client_info } });
    channel.send(message);
    expect(await heard.promise).toEqual(message);
  });

  it("loco: the parts of a patch's error are texts", async () => {
    const refused: unknown[] = [];
    const over = deferred();
    const stream: LoCoHandlers["stream"] = async (_, channel) => {
      channel.send(hello);
      for await (const one of channel) if (one.type === "client.cancel") over.resolve();
    };
    const refuse = (_: unknown, { message }: Error) => void refused.push(message);
    const served = { hooks: { refuse } };
    const { client } = await hold(carrier, loco, { stream } as LoCoHandlers, { served });
    await using channel = await client.stream(input, { open: { client_info } });
    const result = { type: "client.patch_apply_result", patch_id: "p", file_path: "a", success: false } as const;
    for (const error of [
      { message: 1, type: "conflict" },
      { message: "x", type: 1 },
    ])
      channel.send({ ...result, error } as never);
    channel.send({ type: "client.cancel" } as never);
    await over.promise;
    expect(refused).toEqual([
      expect.stringContaining("`error.message` must be string"),
      expect.stringContaining("`error.type` must be string"),
    ]);
  });

  it.each<[what: string, StreamServerMessage]>([
    ["another tool than the document's", { type: "tool.execute", tool_name: "lint", args: {}, status: "started" }],
    ["a token, while the answer is made", { type: "assistant.token", token: "a" }],
  ])("loco: %s reaches the client as it was sent", async (_, message) => {
    const read = deferred();
    const stream: LoCoHandlers["stream"] = async (_, channel) => {
      channel.send(hello);
      channel.send(message);
      await read.promise;
    };
    const { client } = await hold(carrier, loco, { stream } as LoCoHandlers);
    await using channel = await client.stream(input, { open: { client_info } });
    for await (const one of channel) {
      if (one.type !== message.type) continue;
      expect(one).toEqual(message);
      break;
    }
    read.resolve();
  });

  it.each([
    [
      "a failed edit",
      { type: "edit_error", error: "Please select a file to edit. Active file 'a' not found or invalid." },
    ],
    ["a failed patch", { type: "apply_diff_error", error: "File not found: a" }],
  ] as const)("based: %s is an answer with its words", async (_, answer) => {
    const session: BasedHandlers["session"] = async (_, channel) => {
      channel.send(state as never);
      for await (const _ of channel) channel.send(answer);
    };
    const { client } = await hold(carrier, based, { session });
    await using open = await client.session();
    const ask =
      answer.type === "edit_error"
        ? ({ type: "prompt", prompt: "x", activeFile: "a" } as const)
        : ({ type: "apply_diff", filename: "a", diff: "" } as const);
    expect(await open.ask(ask)).toEqual(answer);
  });
});

it("loco: a proposal without hunks, rationale and criteria is read as one with none", async () => {
  const [near, far] = pair();
  far.listen({ frame() {}, close() {} });
  const channel = await connect(loco, { webSocket: async () => near }).stream(input, { open: { client_info } });
  far.send(JSON.stringify({ type: "patch.proposed", id: "p", file_path: "a", diff: "" }));
  for await (const message of channel) {
    expect(message).toMatchObject({ type: "patch.proposed", patch_id: "p", hunks: [], acceptance_criteria: [] });
    break;
  }
  await channel.close();
});
