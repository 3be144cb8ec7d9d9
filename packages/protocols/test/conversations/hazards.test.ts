import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { based } from "@parlance/protocols/based";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { type AnyContract, codec } from "@parlance/wire";
import { expect, it } from "vitest";
import { deferred, hold, overEachCarrier } from "./carriers.js";

const gateway: FoldGatewayHandlers = {
  health: () => "OK",
  ready: () => "ready (0 agents)",
  listAgents: () => [],
  async *send() {
    yield { type: "done", full_response: "" };
  },
};
const post = (url: string, body: object, signal?: AbortSignal) =>
  new Request(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });

overEachCarrier("What other peers fell into", (carrier) => {
  it("headers keep a proxy from buffering and compressing, and a silent stream has a heartbeat", async () => {
    const beaten = deferred();
    const { connection } = await hold(
      carrier,
      foldGateway,
      {
        ...gateway,
        async *send() {
          yield { type: "text", text: "a" };
          await beaten.promise;
          yield { type: "done", full_response: "a" };
        },
      },
      { served: { heartbeat: 10 } },
    );
    const answer = await (connection.fetch ?? fetch)(post(`${connection.baseUrl}/api/send`, { content: "x" }));
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    let text = "";
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream() as never)) {
      text += chunk;
      if (text.includes("\n\n: \n\n")) beaten.resolve();
    }
    expect(text).toMatch(
      /^event: text\ndata: \{"text":"a"\}\n\n(: \n\n)+event: done\ndata: \{"full_response":"a"\}\n\n$/,
    );
  });

  it("a reader that does not read pauses the handler", async () => {
    let said = 0;
    const over = deferred();
    const text = "x".repeat(10_000);
    const { connection } = await hold(carrier, foldGateway, {
      ...gateway,
      async *send() {
        try {
          for (; said < 10_000; said++) yield { type: "text", text };
          yield { type: "done", full_response: "" };
        } finally {
          over.resolve();
        }
      },
    });
    const controller = new AbortController();
    const request = post(`${connection.baseUrl}/api/send`, { content: "x" }, controller.signal);
    const answer = await (connection.fetch ?? fetch)(request);
    await answer.body!.getReader().read();
    // The handler is paused once a turn of the loop after the next brings nothing new.
    for (let before = -1; before !== said; ) {
      before = said;
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(said).toBeLessThan(5000);
    controller.abort();
    await over.promise;
  });

  it("the messages of a session without a reader have a bound", async () => {
    const thrown = deferred<unknown>();
    const handlers = {
      prompt({ session_id }: { session_id: string }, { session }: Parameters<EmacsAgentHandlers["prompt"]>[1]) {
        try {
          for (;;) session(session_id).send({ type: "message.delta", content: "x".repeat(100), role: "assistant" });
        } catch (error) {
          thrown.resolve(error);
          throw error;
        }
      },
    };
    const served = { maxQueued: 10_000 };
    const { client } = await hold(carrier, emacsAgent, handlers as never, { served });
    await expect(client.prompt({ session_id: "s", text: "x" })).rejects.toMatchObject({ name: "Refusal" });
    expect(await thrown.promise).toMatchObject({ name: "Disconnected", code: "slow_reader" });
  });

  it("a client that sends faster than the handler reads is cut at a bound", async () => {
    const { client } = await hold(
      carrier,
      based,
      {
        async session(_, channel, { signal }) {
          channel.send({ type: "initial_state", files: [], activeFile: null });
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        },
      },
      { served: { maxQueued: 10_000 } },
    );
    const session = await client.session();
    for (let i = 0; i < 300; i++) session.send({ type: "upload_file", filename: `${i}`, content: "x".repeat(100) });
    await expect(session.closed).rejects.toThrow(/1008 slow reader/);
  });
});

/** A field that a newer peer adds to any message does not break an older one. */
it.each([agentsmithy, based, emacsAgent, foldGateway, loco] as readonly AnyContract[])(
  "$name: a new field does not break an old client, at the last event least of all",
  (contract) => {
    const ends: Readonly<Record<string, readonly [event: string | undefined, body: object]>> = {
      agentsmithy: [undefined, { done: true }],
      based: [undefined, { status: "success", action: "file_list", files: [] }],
      "emacs-agent": ["agent.state", { type: "agent.state", state: "idle" }],
      "fold-gateway": ["done", { full_response: "" }],
      loco: [undefined, { type: "assistant.message_final", message: "" }],
    };
    const [event, body] = ends[contract.name]!;
    const { decode } = codec(contract, {
      side: "server",
      names: Object.keys(contract.messages).filter((name) => contract.checks[contract.messages[name]!.schema]),
      checks: contract.checks,
      reads: contract.reads,
    });
    const plain = decode({ event, data: JSON.stringify(body) });
    const newer = decode({ event, data: JSON.stringify({ ...body, usage: { tokens: [1] } }) });
    expect(plain).toHaveProperty("message");
    expect(newer).toEqual({ message: { ...(plain as { message: object }).message, usage: { tokens: [1] } } });
  },
);
