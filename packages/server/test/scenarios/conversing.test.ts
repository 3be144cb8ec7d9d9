import { type BasedHandlers, based } from "@parlance/protocols/based";
import { loco } from "@parlance/protocols/loco";
import { Refusal, type ServeOptions, serve } from "@parlance/server";
import type { AnyContract, Port } from "@parlance/wire";
import { describe, expect, onTestFinished, test, vi } from "vitest";

// Channels whose client is a test, frame by frame.

type Handler = BasedHandlers["session"];
const state = { type: "initial_state" as const, files: [], activeFile: null };
const listening: Handler = async (_, channel) => {
  channel.send(state);
  for await (const message of channel)
    if (message.type === "list_files") channel.send({ type: "file_list", files: [] });
};

/** A channel of `based`, or of what `change` makes of it, with all that its client and the hooks get. */
async function opened(
  handler: Handler = listening,
  options: ServeOptions = {},
  change: (contract: AnyContract) => object = () => ({}),
) {
  const events: unknown[] = [];
  const contract = based as unknown as AnyContract;
  const app = serve(
    { ...contract, ...change(contract) } as unknown as typeof based,
    { session: handler },
    {
      onError: (error, { source, operation }) =>
        void events.push(["error", (error as Error).message, source, operation]),
      ...options,
      hooks: {
        close: (_, how) => void events.push(how),
        unknown: (_, { body }) => void events.push(["unknown", body]),
        refuse: (_, { status, message }, __, operation) => void events.push(["refuse", status, message, operation]),
        ...options.hooks,
      },
    },
  );
  onTestFinished(() => app.close());
  const port = await app.webSocket("ws://localhost/ws", { headers: {}, protocols: [], maxSize: 1e6 });
  const heard: unknown[] = [];
  if (!("refused" in port))
    port.listen({
      frame: (text) => void heard.push(JSON.parse(text)),
      close: (...how) => void heard.push(how.slice(0, 2)),
    });
  const hears = (count: number) =>
    vi.waitFor(() => {
      expect(heard.length).toBeGreaterThanOrEqual(count);
      return heard;
    });
  const say = (message: object) => (port as Port).send(JSON.stringify(message));
  return { app, opening: port, port: port as Port, heard, hears, say, events };
}

/** `based` whose channel is described otherwise. */
const described = (more: object) => (contract: AnyContract) => ({
  channels: { session: { ...contract.channels.session!, ...more } },
});

describe("A channel", () => {
  test("that its client breaks, and that has no message to say so, has failed", async () => {
    const { port, hears, events } = await opened(listening, {}, described({ fault: undefined }));
    await hears(1);
    port.send("{");
    expect((await hears(2))[1]).toEqual([1008, "malformed_json"]);
    await vi.waitFor(() => expect(events.slice(1)).toEqual(["failed"]));
  });

  test("may be refused by a hook, before its handler is called", async () => {
    const handler = vi.fn(listening);
    const request = () => {
      throw new Refusal("not you", { status: 403 });
    };
    const { opening, events } = await opened(handler, { hooks: { request } });
    expect(opening).toMatchObject({ refused: { status: 403, body: expect.stringContaining("not you") } });
    expect([handler.mock.calls, events]).toEqual([[], [["refuse", 403, "not you", "session"]]]);
  });

  test("that is asked for without an upgrade is refused by its name", async () => {
    const { app, events } = await opened();
    const answer = await app.fetch(new Request("http://localhost/ws"));
    expect([answer.status, answer.headers.get("Upgrade")]).toEqual([426, "websocket"]);
    expect(events).toEqual([["refuse", 426, "/ws is a WebSocket: ask for an upgrade", "session"]]);
  });

  test("closes with 1000 when its handler has returned, and then its handler's signal is aborted", async () => {
    let signal: AbortSignal | undefined;
    const { hears, events } = await opened(async (_, channel, call) => {
      channel.send(state);
      signal = call.signal;
    });
    expect((await hears(2))[1]).toEqual([1000, ""]);
    await vi.waitFor(() => expect(events).toEqual(["done"]));
    expect(signal!.aborted).toBe(true);
  });

  test.each([
    [new Refusal("not now", { status: 409 }), "not now", []],
    [new Error("secret"), "the server failed", [["error", "secret", "handler", "session"]]],
  ])("whose handler fails has the protocol's fault, and closes with 1011: %s", async (error, said, reports) => {
    const { hears, events } = await opened(async (_, channel) => {
      channel.send(state);
      throw error;
    });
    const heard = await hears(3);
    expect(heard[1]).toMatchObject({ status: "error", error: said });
    expect(heard[2]).toEqual([1011, "the handler failed"]);
    const status = error instanceof Refusal ? 409 : 500;
    await vi.waitFor(() =>
      expect(events).toEqual([
        ["refuse", status, said === "not now" ? said : "the server failed", "session"],
        ...reports,
        "failed",
      ]),
    );
  });

  test("whose message handler fails, and that has no fault, has its close code", async () => {
    const { hears, port } = await opened(
      async (_, channel) => {
        channel.send(state);
        await channel.handle(() => {
          throw new Error("secret");
        });
      },
      {},
      described({ fault: undefined }),
    );
    port.send('{"action":"list_files"}');
    expect((await hears(2))[1]).toEqual([1011, "the handler failed"]);
  });

  test("whose handler fails at once, and that has no fault, has its close code", async () => {
    const { hears } = await opened(
      () => {
        throw new Error("secret");
      },
      {},
      described({ fault: undefined }),
    );
    expect(await hears(1)).toEqual([[1011, "the handler failed"]]);
  });

  test("that its client closes aborts its handler, which may fail then without a report unless it is its own", async () => {
    for (const own of [false, true]) {
      let reason: unknown;
      const { port, hears, events } = await opened(async (_, channel, { signal }) => {
        channel.send(state);
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        reason = signal.reason;
        throw own ? new Error("own") : reason;
      });
      await hears(1);
      port.close(1000, "");
      await vi.waitFor(() => expect(events).toEqual(own ? ["done", ["error", "own", "handler", "session"]] : ["done"]));
      expect(reason).toMatchObject({ name: "AbortError", message: "the caller has cancelled" });
    }
  });

  test("of a server that closes is closed with 1001, and its handler knows why", async () => {
    let reason: unknown;
    const { app, hears } = await opened(async (_, channel, { signal }) => {
      channel.send(state);
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      reason = signal.reason;
    });
    await hears(1);
    app.drain();
    expect((await hears(2))[1]).toEqual([1001, "the server is closing"]);
    await vi.waitFor(() => expect(reason).toMatchObject({ name: "AbortError", message: "the server is closing" }));
  });

  test("answers what it does not know where answers come in order, by its name, and goes on", async () => {
    const { hears, say, events } = await opened();
    const long = "x".repeat(250);
    for (const action of ["fly", long, 7]) say({ action });
    say({ action: "list_files" });
    const [, fly, tooLong, nameless, list] = await hears(5);
    expect(fly).toEqual({ status: "error", action: "fly", error: "Unknown action: fly" });
    expect(tooLong).toMatchObject({ action: long, error: `Unknown action: ${"x".repeat(100)}…` });
    expect(nameless).toEqual({ status: "error", error: "the message is unknown" });
    expect(list).toMatchObject({ action: "file_list" });
    expect(events).toEqual([
      ["unknown", { action: "fly" }],
      ["unknown", { action: long }],
      ["unknown", { action: 7 }],
    ]);
  });

  test("cannot name what it does not know where its messages have no property in common", async () => {
    const { hears, say } = await opened(listening, {}, ({ messages }) => ({
      messages: { ...messages, list_files: { ...messages.list_files, shape: undefined } },
    }));
    say({ action: "fly" });
    expect((await hears(2))[1]).toEqual({ status: "error", error: "the message is unknown" });
  });

  test("does not answer what it does not know where answers have a key", async () => {
    const keyed = ({ exchanges = [] }: AnyContract) => ({ exchanges: exchanges.map((one) => ({ ...one, key: "id" })) });
    for (const change of [
      keyed,
      () => ({ exchanges: undefined }),
      ({ exchanges = [] }: AnyContract) => ({ exchanges: exchanges.map((one) => ({ ...one, by: "server" })) }),
    ]) {
      const { hears, say, events } = await opened(listening, {}, change as never);
      say({ action: "fly" });
      say({ action: "list_files" });
      expect((await hears(2)).map((one) => (one as { action?: string }).action)).toEqual([
        "initial_state",
        "file_list",
      ]);
      expect(events).toEqual([["unknown", { action: "fly" }]]);
    }
  });

  test("refuses a second request of a kind that waits for an answer, and takes one after it", async () => {
    const kinds: string[] = [];
    const busy: Handler = async (_, channel) => {
      channel.send(state);
      for await (const { type } of channel) {
        kinds.push(type);
        if (type === "list_files") channel.send({ type: "edit_error", error: "no" });
      }
    };
    // Also where each of its exchanges is refused so.
    const all = ({ exchanges = [] }: AnyContract) => ({ exchanges: exchanges.filter((one) => one.busy) });
    for (const change of [() => ({}), all]) {
      kinds.length = 0;
      const { hears, say } = await opened(busy, {}, change);
      say({ action: "prompt", prompt: "x" });
      say({ action: "prompt", prompt: "y" });
      expect((await hears(2))[1]).toEqual({
        status: "error",
        action: "operation_rejected",
        error: "Another operation is already in progress. Please wait.",
      });
      expect(kinds).toEqual(["prompt"]);
    }
    const plain = ({ exchanges = [] }: AnyContract) => ({ exchanges: exchanges.map(({ busy: _, ...one }) => one) });
    kinds.length = 0;
    const { hears, say } = await opened(busy, {}, plain);
    for (const prompt of ["x", "y"]) say({ action: "prompt", prompt });
    await hears(1);
    await vi.waitFor(() => expect(kinds).toEqual(["prompt", "prompt"]));
  });

  test("whose message a hook refuses has a fault about it, or closes with 1008 where there is none", async () => {
    const message: NonNullable<ServeOptions["hooks"]>["message"] = (_, { type }) => {
      if (type === "list_files") throw new Refusal("no lists", { status: 403 });
    };
    const { hears, say, events } = await opened(listening, { hooks: { message } });
    say({ action: "list_files" });
    expect((await hears(2))[1]).toEqual({ status: "error", action: "list_files", error: "no lists" });
    expect(events).toEqual([["refuse", 403, "no lists", "session"]]);
    const silent = await opened(listening, { hooks: { message } }, described({ fault: undefined }));
    silent.say({ action: "list_files" });
    expect((await silent.hears(2))[1]).toEqual([1008, "refused"]);
    await vi.waitFor(() => expect(silent.events.at(-1)).toBe("failed"));
  });

  test("does not send what a hook refuses of its handler, whose `send` throws", async () => {
    const no = new Refusal("no lists", { status: 403 });
    let thrown: unknown;
    const message: NonNullable<ServeOptions["hooks"]>["message"] = (_, { type }) => {
      if (type === "file_list") throw no;
    };
    const { heard } = await opened(
      async (_, channel) => {
        channel.send(state);
        try {
          channel.send({ type: "file_list", files: [] });
        } catch (error) {
          thrown = error;
        }
      },
      { hooks: { message } },
    );
    await vi.waitFor(() => expect(heard).toHaveLength(2));
    expect([thrown, heard[1]]).toEqual([no, [1000, ""]]);
  });

  test("of a client that sends nothing is open for as long as it likes", async () => {
    const app = serve(
      loco,
      {
        stream: async (_: unknown, channel: { readonly closed: Promise<void> }) => void (await channel.closed),
      } as never,
      {
        allowAnonymous: true,
      },
    );
    onTestFinished(() => app.close());
    const port = (await app.webSocket("ws://localhost/v1/sessions/s/stream", {
      headers: {},
      protocols: [],
      maxSize: 1e6,
    })) as Port;
    const close = vi.fn();
    port.listen({ frame() {}, close });
    expect(app.stats()).toMatchObject({ channels: 1, sessions: 1 });
    port.close(1000, "");
    await vi.waitFor(() => expect(app.stats()).toMatchObject({ channels: 0, sessions: 0, calls: 0 }));
    expect(close.mock.calls[0]!.slice(0, 1)).toEqual([1000]);
  });
});
