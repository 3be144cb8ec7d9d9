import { connect } from "@parlance/client";
import { type CovenHandlers, coven, type SendMessage } from "@parlance/protocols/coven";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { type App, Refusal, type ServeOptions, serve } from "@parlance/server";
import { clusterOn, memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { describe, expect, it, onTestFinished, vi } from "vitest";

const approval = (id: string) =>
  ({ type: "tool_approval", id, name: "write_file", input_json: "{}", request_id: "1" }) as const;
const done = { type: "done", full_response: "" } as const;
const text = (word: string) => ({ type: "text", text: word }) as const;
const input = { content: "x", sender: "me" };
const decide = (tool_id: string, approved = true) => ({ agent_id: "1", tool_id, approved });

function agent(send: CovenHandlers["send"], options: ServeOptions = {}) {
  const app = serve(
    coven,
    { send, approveTool: ({ approved }) => ({ success: true, approved }) },
    { onError: false, ...options, partial: true },
  );
  onTestFinished(() => app.close());
  return { app, client: connect(coven, { fetch: app.fetch, retryWaits: [] }) };
}

async function typesOf(stream: AsyncIterable<SendMessage>): Promise<string[]> {
  const types: string[] = [];
  for await (const message of stream) types.push(message.type === "text" ? message.text : message.type);
  return types;
}

const holding = { resumes: {}, "does not resume": { resume: false } } as const;

describe.each(Object.entries(holding))("call.send of a stream that %s", (_, options) => {
  it("sends from an async function, which ends the stream when it returns", async () => {
    const { client, app } = agent(async (_, { send }) => {
      for (const word of ["a", "b"]) await send(text(word));
      await send(done);
    }, options);
    expect(await typesOf(client.send(input))).toEqual(["a", "b", "done"]);
    await vi.waitFor(() => expect(app.stats()).toMatchObject({ streams: 0, queued: 0 }));
  });

  it("keeps the order of what is sent and yielded", async () => {
    const { client } = agent(async function* (_, call) {
      call.send(text("1"));
      call.send(text("2"));
      yield text("3");
      const later = Promise.resolve().then(() => call.send(text("4")));
      await later;
      yield text("5");
      call.send(text("6"));
      yield done;
    }, options);
    expect(await typesOf(client.send(input))).toEqual(["1", "2", "3", "4", "5", "6", "done"]);
  });

  it("reaches the reader while the handler waits for something else", async () => {
    let goOn = (): void => {};
    const { client } = agent(async function* (_, call) {
      setTimeout(() => call.send(text("from a callback")), 1);
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
      yield done;
    }, options);
    const types: string[] = [];
    for await (const message of client.send(input)) {
      types.push(message.type);
      goOn();
    }
    expect(types).toEqual(["text", "done"]);
  });

  it("throws for a message that breaks its schema, and the stream goes on", async () => {
    let error: unknown;
    const { client } = agent(async (_, call) => {
      try {
        call.send({ type: "text", text: 1 } as never);
      } catch (thrown) {
        error = thrown;
      }
      await call.send(done);
    }, options);
    expect(await typesOf(client.send(input))).toEqual(["done"]);
    expect(error).toMatchObject({ name: "Violation", code: "schema", side: "server" });
  });

  it("refuses the call with what the function throws before its first message", async () => {
    const { client } = agent(async () => {
      throw new Refusal("no agent", { status: 503 });
    }, options);
    await expect(client.send(input).opened).rejects.toMatchObject({ status: 503, message: "no agent" });
  });

  it("ends the stream with the protocol's fault when the function fails later", async () => {
    const { client } = agent(async (_, call) => {
      await call.send(text("a"));
      throw new Refusal("too long", { status: 422 });
    }, options);
    expect(await typesOf(client.send(input))).toEqual(["a", "error"]);
  });

  it("rejects, and later throws, once the caller has cancelled", async () => {
    const outcomes: unknown[] = [];
    let ended = (): void => {};
    const over = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const { client, app } = agent(async (_, call) => {
      try {
        for (;;) await call.send(text("x".repeat(100_000)));
      } catch (error) {
        outcomes.push(error);
        await Promise.resolve()
          .then(() => call.send(done))
          .catch((thrown: unknown) => outcomes.push(thrown));
        ended();
      }
    }, options);
    for await (const _ of client.send(input)) break;
    await over;
    expect(outcomes).toMatchObject([{ name: "AbortError" }, { name: "AbortError" }]);
    await vi.waitFor(() => expect(app.stats()).toMatchObject({ streams: 0, queued: 0 }));
  });
});

it("call.send waits for the reader, and throws without that above `maxQueued`", async () => {
  const log: string[] = [];
  const { client } = agent(
    async (_, call) => {
      await call.send(text("first"));
      for (let i = 0; ; i++) {
        try {
          call.send(text("x".repeat(60)));
        } catch (error) {
          log.push(`${i > 0} ${(error as { code: string }).code}`);
          break;
        }
      }
      await call.send(done).catch(() => {});
    },
    { maxQueued: 100 },
  );
  const stream = client.send(input)[Symbol.asyncIterator]();
  await stream.next();
  await vi.waitFor(() => expect(log).toEqual(["true slow_reader"]));
});

describe("A handler that returns", () => {
  it.each([
    ["no message and no promise", () => undefined as never, "returned no messages"],
    ["a promise of something else", async () => 7 as never, "returned no messages"],
    ["without the end that the stream needs", async () => {}, "returned without done"],
  ] as const)("%s is reported", async (_, send, message) => {
    const errors: unknown[] = [];
    const { client } = agent(send, { onError: (error) => errors.push(error) });
    await expect(client.send(input).opened).rejects.toMatchObject({ status: 500 });
    expect(String(errors[0])).toContain(message);
  });
});

/** A coven agent that asks once in each stream, and reports the answers. */
function asking(options: ServeOptions = {}) {
  const outcomes: unknown[] = [];
  const { app, client } = agent(async function* ({ content }, call) {
    try {
      outcomes.push((await call.ask(approval(content))).approved);
    } catch (error) {
      outcomes.push((error as Error).name);
      throw error;
    }
    yield done;
  }, options);
  return { app, client, outcomes };
}

const atRest = { asks: 0, sessions: 0 };

describe.each([
  ["one server", (): ServeOptions[] => [{}]],
  ["one server without resume", (): ServeOptions[] => [{ resume: false }]],
  [
    "two servers",
    (): ServeOptions[] => {
      const [pubSub, log] = [memoryPubSub(), memoryLog()];
      return [
        { cluster: clusterOn(pubSub), log },
        { cluster: clusterOn(pubSub), log },
      ];
    },
  ],
] as const)("An ask in a POST's stream, on %s", (_, servers) => {
  const all = () => {
    const agents = servers().map(asking);
    return { first: agents[0]!, last: agents.at(-1)! };
  };

  it("resolves with the decision, which is refused with 409 the second time and 404 when nothing was asked", async () => {
    const { first, last } = all();
    const types: string[] = [];
    await expect(last.client.approveTool(decide("a"))).rejects.toMatchObject({ status: 404 });
    for await (const message of first.client.send({ ...input, content: "a" })) {
      types.push(message.type);
      if (message.type !== "tool_approval") continue;
      await expect(last.client.approveTool(decide("b"))).rejects.toMatchObject({ status: 404 });
      expect(await last.client.approveTool(decide("a", false))).toEqual({ success: true, approved: false });
      await expect(last.client.approveTool(decide("a"))).rejects.toMatchObject({ status: 409 });
    }
    expect([types, first.outcomes]).toEqual([["tool_approval", "done"], [false]]);
    for (const { app } of [first, last]) await vi.waitFor(() => expect(app.stats()).toMatchObject(atRest));
  });

  it("ends with the stream, and a later decision gets 409", async () => {
    const { first, last } = all();
    for (const id of ["a", "b", "c"])
      for await (const message of first.client.send({ ...input, content: id }))
        if (message.type === "tool_approval") break;
    await vi.waitFor(() => expect(first.outcomes).toEqual(["AbortError", "AbortError", "AbortError"]));
    await expect(last.client.approveTool(decide("a"))).rejects.toMatchObject({ status: 409 });
    await vi.waitFor(() => expect(first.app.stats()).toMatchObject({ ...atRest, streams: 0 }));
  });

  it("is decided once when two decisions come at a time", async () => {
    const { first, last } = all();
    for await (const message of first.client.send({ ...input, content: "a" })) {
      if (message.type !== "tool_approval") continue;
      const both = [first, last].map(({ client }) =>
        client.approveTool(decide("a")).then(
          () => 200,
          ({ status }) => status,
        ),
      );
      expect((await Promise.all(both)).sort()).toEqual([200, 409]);
    }
    expect(first.outcomes).toEqual([true]);
  });
});

it("an ask in a stream belongs to its principal", async () => {
  const { app, outcomes } = asking({ authenticate: (request) => request.headers.get("X-Me") });
  const as = (name: string) => connect(coven, { fetch: app.fetch, headers: { "X-Me": name }, retryWaits: [] });
  for await (const message of as("ann").send({ ...input, content: "a" })) {
    if (message.type !== "tool_approval") continue;
    await expect(as("bob").approveTool(decide("a"))).rejects.toMatchObject({ status: 404 });
    await as("ann").approveTool(decide("a"));
  }
  expect(outcomes).toEqual([true]);
});

it("an ask in a stream is counted, and limited by maxAsks", async () => {
  const names: string[] = [];
  const { client, app } = agent(
    async (_, call) => {
      const asks = ["a", "b", "c"].map((id) =>
        call.ask(approval(id)).then(
          () => "answered",
          ({ name }) => name,
        ),
      );
      names.push(await Promise.race(asks));
      expect(app.stats()).toMatchObject({ asks: 2, sessions: 1 });
      await call.send(done);
    },
    { maxAsks: 2, authenticate: () => "ann" },
  );
  await typesOf(client.send(input));
  expect(names).toEqual(["Refusal"]);
});

it("a question that a handler yields or sends is open until it is decided or the stream ends", async () => {
  const decided = new Map<string, (approved: boolean) => void>();
  const decision = (id: string) => new Promise<boolean>((resolve) => decided.set(id, resolve));
  const app = serve(
    coven,
    {
      async *send(_, call) {
        yield approval("yielded");
        await decision("yielded");
        await call.send(approval("sent"));
        await decision("sent");
        yield approval("left open");
        yield done;
      },
      approveTool({ tool_id, approved }) {
        decided.get(tool_id)?.(approved);
        return { success: true, approved };
      },
    },
    { partial: true },
  );
  onTestFinished(() => app.close());
  const client = connect(coven, { fetch: app.fetch, retryWaits: [] });
  const statusOf = (id: string) =>
    client.approveTool(decide(id)).then(
      () => 200,
      ({ status }) => status,
    );
  const statuses: number[] = [];
  for await (const message of client.send(input)) {
    if (message.type !== "tool_approval" || message.id === "left open") continue;
    statuses.push(await statusOf("never asked"), await statusOf(message.id), await statusOf(message.id));
  }
  expect(statuses).toEqual([404, 200, 409, 404, 200, 409]);
  await vi.waitFor(() => expect(app.stats()).toMatchObject(atRest));
  expect(await statusOf("left open")).toBe(409);
});

it("`keepsAsks` gives every decision to the handler", async () => {
  const { client } = agent(async (_, call) => void (await call.send(done)), { keepsAsks: true });
  expect(await client.approveTool(decide("a"))).toEqual({ success: true, approved: true });
});

it("an ask in a session's stream is the session's: it outlives its reader", async () => {
  const answers: unknown[] = [];
  const app: App = serve(
    emacsAgent,
    {
      async *events(_, call) {
        if (answers.length > 0) return;
        answers.push(
          call.ask({ type: "tool.call", tool_call_id: "c", tool: "edit", params: {}, requires_approval: true }),
        );
        yield { type: "agent.state", state: "idle" };
      },
      approve: ({ tool_call_id }) => ({ status: "approved", tool_call_id }),
    },
    { partial: true },
  );
  onTestFinished(() => app.close());
  const client = connect(emacsAgent, { fetch: app.fetch });
  const seen: string[] = [];
  for (let reader = 0; reader < 2; reader++)
    for await (const message of client.events({ session_id: "s" })) {
      seen.push(message.type);
      if (message.type === "tool.call") break;
    }
  expect(seen).toContain("tool.call");
  expect(seen.filter((type) => type === "tool.call")).toHaveLength(2);
  await client.approve({ session_id: "s", tool_call_id: "c" });
  expect(await answers[0]).toMatchObject({ type: "approve" });
});
