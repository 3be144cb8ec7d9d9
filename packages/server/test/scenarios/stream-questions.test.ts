import { connect } from "@parlance/client";
import { type CovenHandlers, coven, type SendMessage } from "@parlance/protocols/coven";
import { type ServeOptions, serve } from "@parlance/server";
import { memoryLog } from "@parlance/server/resume";
import { describe, expect, it, onTestFinished, vi } from "vitest";

const approval = (id: string) =>
  ({ type: "tool_approval", id, name: "write_file", input_json: "{}", request_id: "1" }) as const;
const done = { type: "done", full_response: "" } as const;
const input = { content: "x", sender: "me" };

/** An agent of coven, or of a dialect of it whose threads are sessions. */
function agent(send: CovenHandlers["send"], options: ServeOptions = {}, contract: typeof coven = coven) {
  const errors: unknown[] = [];
  const app = serve(
    contract,
    { send, approveTool: ({ approved }) => ({ success: true, approved }) },
    { onError: (error) => errors.push(error), ...options, partial: true },
  );
  onTestFinished(() => app.close());
  return { app, errors, client: connect(contract, { fetch: app.fetch, retryWaits: [] }) };
}

const threads: typeof coven = { ...coven, session: "thread_id" };

async function read(stream: AsyncIterable<SendMessage>): Promise<SendMessage[]> {
  const messages: SendMessage[] = [];
  for await (const message of stream) messages.push(message);
  return messages;
}

const nothing = { asks: 0, sessions: 0, streams: 0, queued: 0 };

const yields: CovenHandlers["send"] = async function* () {
  for (const id of ["a", "b", "c"]) yield approval(id);
  yield done;
};

/** The ways to ask in a stream. */
const ways: Readonly<Record<string, CovenHandlers["send"]>> = {
  yielded: yields,
  sent: async (_, call) => {
    for (const id of ["a", "b", "c"]) await call.send(approval(id));
    await call.send(done);
  },
  asked: async (_, call) => {
    await Promise.race(["a", "b", "c"].map((id) => call.ask(approval(id))));
  },
};
const logs = { "is kept": { log: memoryLog }, "is not kept": { log: () => undefined } } as const;

describe.each(Object.keys(logs) as (keyof typeof logs)[])("A question in a stream that %s", (kept) => {
  it.each(Object.keys(ways))("fails its stream above maxAsks when it is %s", async (way) => {
    const { client, app, errors } = agent(ways[way]!, { maxAsks: 2, authenticate: () => "ann", log: logs[kept].log() });
    const messages = await read(client.send(input));
    expect(messages).toEqual([
      approval("a"),
      approval("b"),
      { type: "error", error: "no more than 2 asks may be open at a time (option maxAsks)" },
    ]);
    expect(errors).toEqual([]);
    await vi.waitFor(() => expect(app.stats()).toMatchObject(nothing));
  });

  it.each(["yielded", "sent", "asked"])("refuses its call when it is %s first, above maxAsks", async (way) => {
    const { client } = agent(ways[way]!, { maxTotalAsks: 0, log: logs[kept].log() });
    await expect(client.send(input).opened).rejects.toMatchObject({
      status: 503,
      message: "no more than 0 asks may be open at a time by all (option maxTotalAsks)",
    });
  });

  it("is open only once it is sent", async () => {
    const outcomes: unknown[] = [];
    const { client, app } = agent(
      async (_, call) => {
        for (let i = 0; outcomes.length === 0; i++)
          try {
            call.send(approval(`${i}`));
          } catch (error) {
            outcomes.push((error as { code?: string }).code, app.stats().asks === i);
          }
        await call.send(done);
      },
      { maxQueued: 100, log: logs[kept].log() },
    );
    await read(client.send(input));
    expect(outcomes).toEqual(["slow_reader", true]);
  });
});

describe("A question in a contract with sessions", () => {
  it.each(Object.keys(ways))("fails its stream when it is %s and nothing names its session", async (way) => {
    const { client, errors, app } = agent(ways[way]!, {}, threads);
    await expect(client.send(input).opened).rejects.toMatchObject({ status: 500 });
    expect(errors).toMatchObject([
      {
        name: "Violation",
        code: "schema",
        side: "server",
        subject: "tool_approval",
        flaws: [{ at: "", keyword: "required", params: { missingProperty: "thread_id" } }],
        message:
          "coven: `thread_id` is missing in the message tool_approval, its call and the messages before it, so that no decision could find the question: set it, or the option keepsAsks (from the server)",
      },
    ]);
    await vi.waitFor(() => expect(app.stats()).toMatchObject(nothing));
  });

  it.each([
    ["its call", { thread_id: "t" }, []],
    ["a message before it", {}, [{ type: "started", thread_id: "t" } as const]],
    ["the last message that names one", {}, ["s", "t"].map((thread_id) => ({ type: "started", thread_id }) as const)],
  ])("is decided under the session that %s names", async (_, named, before) => {
    const answers: unknown[] = [];
    const { client } = agent(
      async function* (_, call) {
        yield* before;
        answers.push((await call.ask(approval("a"))).approved);
        yield done;
      },
      {},
      threads,
    );
    const decide = (thread_id?: string) =>
      client.approveTool({ agent_id: "1", tool_id: "a", approved: true, ...(thread_id && { thread_id }) }).then(
        () => 200,
        ({ status, message }) => (thread_id ? status : message),
      );
    const statuses: unknown[] = [];
    for await (const message of client.send({ ...input, ...named }))
      if (message.type === "tool_approval") statuses.push(await decide(), await decide("other"), await decide("t"));
    expect([statuses, answers]).toEqual([
      ["no question that approveTool answers is open without `thread_id`: send it", 200, 200],
      [true],
    ]);
  });

  it("is the handler's with keepsAsks", async () => {
    const { client, errors } = agent(yields, { keepsAsks: true }, threads);
    expect((await read(client.send(input))).map(({ type }) => type)).toEqual([
      ...["a", "b", "c"].map(() => "tool_approval"),
      "done",
    ]);
    expect(errors).toEqual([]);
  });
});
