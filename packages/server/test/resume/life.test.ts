import { connect } from "@parlance/client";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { expect, it, onTestFinished } from "vitest";

/** A stream that says one word and then nothing until its signal is aborted; tells when that was. */
async function waiting(grace: number) {
  let told: (at: number) => void = () => {};
  const aborted = new Promise<number>((resolve) => {
    told = resolve;
  });
  const handlers = {
    async *send(_, { signal }) {
      yield { type: "text", text: "one" };
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      told(performance.now());
    },
  } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const app = serve(foldGateway, handlers, { grace });
  const server = await listen(app, { port: 0, closeAfter: 0 });
  onTestFinished(() => server.close());
  return { aborted, server, app };
}

it.each(["leaving the loop", "the caller's signal", "cancel"] as const)(
  "%s reaches the handler's signal at once, although a cut would have the grace period",
  async (how) => {
    const { aborted, server } = await waiting(60_000);
    const caller = new AbortController();
    const stream = connect(foldGateway, { baseUrl: server.url }).send({ content: "x" }, { signal: caller.signal });
    let left = 0;
    const read = async () => {
      for await (const _message of stream) {
        left = performance.now();
        if (how === "leaving the loop") break;
        if (how === "cancel") stream.cancel();
        else caller.abort();
      }
    };
    await read().catch((error: unknown) => expect(error).toMatchObject({ name: "AbortError" }));
    const milliseconds = (await aborted) - left;
    console.log(`${how}: ${milliseconds.toFixed(1)} ms to the handler's signal`);
    expect(milliseconds).toBeLessThan(1000);
  },
);

it("a cut reaches the handler's signal only after the grace period", async () => {
  const { aborted, server } = await waiting(300);
  const cut = new AbortController();
  const headers = { "Content-Type": "application/json", "Parlance-Resume": "0".repeat(32) };
  const init = { method: "POST", headers, body: '{"content":"x"}', signal: cut.signal };
  const response = await fetch(`${server.url}/api/send`, init);
  await response.body!.getReader().read();
  const left = performance.now();
  cut.abort();
  expect((await aborted) - left).toBeGreaterThan(290);
});

it("a server that comes back without its memory says that messages are gone", async () => {
  const first = await waiting(60_000);
  let now = first.app;
  const fetch = (request: Request) => now.fetch(request);
  const stream = connect(foldGateway, { fetch, random: () => 0 }).send({ content: "x" });
  const iterator = stream[Symbol.asyncIterator]();
  expect((await iterator.next()).value).toEqual({ type: "text", text: "one" });
  now = (await waiting(60_000)).app;
  first.app.close();
  await expect(iterator.next()).rejects.toMatchObject({ code: "gap", missing: { after: 1 } });
});

/** An agent that asks before it writes. */
function asking() {
  const decisions: string[] = [];
  const handlers = {
    prompt({ session_id }, call) {
      const ask = {
        type: "tool.call",
        tool_call_id: "t1",
        tool: "write_file",
        params: {},
        requires_approval: true,
      } as const;
      void call
        .session(session_id)
        .ask(ask)
        .then((answer) => decisions.push(answer.type));
      return { status: "accepted", agent_state: "thinking" };
    },
    approve: ({ tool_call_id }) => ({ status: "approved", tool_call_id }),
    reject: ({ tool_call_id }) => ({ status: "rejected", tool_call_id }),
    async *events() {
      yield { type: "agent.state", state: "idle" };
    },
  } as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
  return { decisions, app: serve(emacsAgent, handlers) };
}

it("an open ask is shown to a fresh connection, one decision counts, and a late one is refused", async () => {
  const { decisions, app } = asking();
  const input = { session_id: "s" };
  const session = () => connect(emacsAgent, { fetch: app.fetch });
  await session().prompt({ ...input, text: "go" });
  for (let connection = 0; connection < 2; connection++)
    for await (const message of session().events(input)) if (message.type === "tool.call") break;
  const reader = session().events(input)[Symbol.asyncIterator]();
  await reader.next();
  const decision = { ...input, tool_call_id: "t1" };
  const client = session();
  const all = await Promise.allSettled([client.approve(decision), client.reject(decision), client.approve(decision)]);
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  await expect(client.reject(decision)).rejects.toMatchObject({ status: 409 });
  expect(decisions).toHaveLength(1);
  await reader.return?.();
});

it("a server that closes lets a stream finish and refuses new calls with 503", async () => {
  let go = () => {};
  const handlers = {
    listAgents: () => [],
    async *send() {
      yield { type: "text", text: "one" };
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      yield { type: "done", full_response: "one" };
    },
  } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const app = serve(foldGateway, handlers);
  const client = connect(foldGateway, { fetch: app.fetch, retryWaits: [] });
  const reader = client.send({ content: "x" })[Symbol.asyncIterator]();
  await reader.next();
  app.drain();
  await expect(client.listAgents()).rejects.toMatchObject({ status: 503, retryAfter: 1 });
  go();
  expect((await reader.next()).value).toMatchObject({ type: "done" });
  expect((await reader.next()).done).toBe(true);
});
