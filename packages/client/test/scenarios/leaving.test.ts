import { type Channel, connect, Disconnected } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { type App, serve } from "@parlance/server";
import { type Listening, listen } from "@parlance/server/node";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";

// Cancel and disconnect are different things, and each reaches the handler's signal: at once, or after the grace period.
const GRACE = 60_000;
const carriers = ["SSE on GET", "SSE on POST", "WebSocket"] as const;
type Carrier = (typeof carriers)[number];
type When = "before its first message" | "after its first message";
const whens: readonly When[] = ["before its first message", "after its first message"];

function later<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Apps whose handlers say a word, or not, and wait for their signal; `begun` and `reason` are of the last one. */
function agents(says: boolean) {
  const seen = { begun: later<void>(), aborted: later<unknown>() };
  async function waits(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => seen.aborted.resolve(signal.reason));
    seen.begun.resolve();
    await seen.aborted.promise;
  }
  const emacs = {
    async *events(_, { signal }) {
      if (says) yield { type: "agent.state", state: "idle" };
      await waits(signal);
    },
  } as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
  const fold = {
    async *send(_, { signal }) {
      if (says) yield { type: "text", text: "one" };
      await waits(signal);
    },
  } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const agent = {
    async stream(_, channel, { signal }) {
      if (says) channel.send({ type: "server.hello", server_info: { version: "1" } });
      await waits(signal);
    },
  } as Partial<LoCoHandlers> as LoCoHandlers;
  const options = { grace: GRACE, heartbeat: 0, allowAnonymous: true };
  const apps = { get: serve(emacsAgent, emacs, options), post: serve(foldGateway, fold, options) };
  return { seen, apps: { ...apps, socket: serve(loco, agent, options) } };
}

const streams = {
  "SSE on GET": (baseUrl: string, signal: AbortSignal) =>
    connect(emacsAgent, { baseUrl }).events({ session_id: "s" }, { signal }),
  "SSE on POST": (baseUrl: string, signal: AbortSignal) =>
    connect(foldGateway, { baseUrl }).send({ content: "x" }, { signal }),
};
const open = { client_info: { name: "test", version: "1", capabilities: [] } };
const figures: number[] = [];
let server: Listening;
afterEach(() => server?.close());
afterAll(() => {
  const sorted = figures.sort((a, b) => a - b).map((milliseconds) => milliseconds.toFixed(1));
  console.log(
    `leaving → the handler's signal, over sockets: median ${sorted[sorted.length >> 1]} ms, most ${sorted.at(-1)} ms`,
  );
});

const ways = ["leaving the loop", "the caller's signal", "cancel"] as const;
const rows = carriers.flatMap((carrier) => whens.flatMap((when) => ways.map((way) => ({ way, carrier, when }))));

it.each(rows)("$way cancels the handler of $carrier at once, $when", async ({ way, carrier, when }) => {
  const { seen, apps } = agents(when === "after its first message");
  server = await listen(Object.values(apps), { port: 0, closeAfter: 0 });
  const caller = new AbortController();
  let left = 0;
  const leave = (cancel: () => unknown): void => {
    left = performance.now();
    if (way === "the caller's signal") caller.abort();
    else cancel();
  };
  const aborts = (error: unknown) => expect(error).toMatchObject({ name: "AbortError" });
  if (carrier === "WebSocket") {
    const talk = async (): Promise<void> => {
      const client = connect(loco, { baseUrl: server.url, webSocket });
      // A channel's loop may be left and gone on with; what leaves the channel is the end of its scope.
      await using session = await client.stream({ session_id: "s" }, { signal: caller.signal, open });
      if (when === "after its first message") for await (const _message of session) break;
      await seen.begun.promise;
      leave(way === "leaving the loop" ? () => {} : () => void session.close());
    };
    await talk().catch(aborts);
  } else {
    const stream = streams[carrier](server.url, caller.signal);
    const iterator = stream[Symbol.asyncIterator]();
    const first = iterator.next();
    if (when === "after its first message") await first;
    await seen.begun.promise;
    leave(way === "leaving the loop" ? () => void iterator.return?.() : () => stream.cancel());
    await first.catch(aborts);
    await iterator.next().catch(aborts);
  }
  expect(await seen.aborted.promise).toMatchObject({ name: "AbortError", message: "the caller has cancelled" });
  figures.push(performance.now() - left);
});

describe("With a clock in hand", () => {
  beforeEach(
    () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] }),
  );
  afterEach(() => void vi.useRealTimers());
  const key = "ab".repeat(16);

  /** A caller with a resume key whose connection is cut; resolves with what cuts it. */
  async function caller(apps: Record<"get" | "post" | "socket", App>, carrier: Carrier): Promise<() => void> {
    const cut = new AbortController();
    const headers = { "Parlance-Resume": key, "Content-Type": "application/json" };
    if (carrier === "WebSocket") {
      const url = "http://localhost/v1/sessions/s/stream";
      const { ticket } = await (await apps.socket.fetch(new Request(url, { headers }))).json();
      const port = await apps.socket.webSocket(url, { headers: {}, protocols: [`parlance.${ticket}`], maxSize: 1e6 });
      if ("refused" in port) throw new Error(port.refused.body);
      return () => port.close(1006, "");
    }
    const [app, path, init] =
      carrier === "SSE on GET"
        ? [apps.get, "/api/sessions/s/events", {}]
        : [apps.post, "/api/send", { method: "POST", body: '{"content":"x"}' }];
    app
      .fetch(new Request(`http://localhost${path}`, { headers, ...init, signal: cut.signal }))
      .then((answer) => answer.text())
      .catch(() => {});
    return () => cut.abort();
  }

  it.each(carriers.flatMap((carrier) => whens.map((when) => ({ carrier, when }))))(
    "a cut disconnects the handler of $carrier after the grace period and not before, $when",
    async ({ carrier, when }) => {
      const { seen, apps } = agents(when === "after its first message");
      let reason: unknown;
      void seen.aborted.promise.then((it) => {
        reason = it;
      });
      const cut = await caller(apps, carrier);
      await seen.begun.promise;
      await vi.advanceTimersByTimeAsync(1);
      cut();
      await vi.advanceTimersByTimeAsync(1);
      // A client without an answer cannot know that it may come back, and its server waits no longer than it asks. Only a GET is sent again.
      const wait = carrier === "SSE on POST" && when === "before its first message" ? 5000 : GRACE;
      await vi.advanceTimersByTimeAsync(wait - 10);
      expect(reason).toBeUndefined();
      await vi.advanceTimersByTimeAsync(20);
      expect(reason).toBeInstanceOf(Disconnected);
    },
  );
});

it("a request that is slower than the DELETE which cancels it does not begin", async () => {
  const { seen, apps } = agents(true);
  let begun = false;
  void seen.begun.promise.then(() => {
    begun = true;
  });
  const headers = { "Parlance-Resume": "cd".repeat(16), "Content-Type": "application/json" };
  const ask = (method: string, body?: string) =>
    apps.post.fetch(new Request("http://localhost/api/send", { method, headers, ...(body && { body }) }));
  expect((await ask("DELETE")).status).toBe(404);
  expect((await ask("POST", '{"content":"x"}')).status).toBe(409);
  expect(begun).toBe(false);
});

it("a copy of a request that some proxy brings after it was cancelled does not begin it again", async () => {
  const { seen, apps } = agents(true);
  const headers = { "Parlance-Resume": "ef".repeat(16), "Content-Type": "application/json" };
  const ask = (method: string, body?: string) =>
    apps.post.fetch(new Request("http://localhost/api/send", { method, headers, ...(body && { body }) }));
  const answer = await ask("POST", '{"content":"x"}');
  await answer.body!.getReader().read();
  expect((await ask("DELETE")).status).toBe(204);
  expect(await seen.aborted.promise).toMatchObject({ name: "AbortError" });
  expect((await ask("POST", '{"content":"x"}')).status).toBe(409);
});

it("a channel that is left while it is cut is ended by DELETE, as it cannot say so on a socket", async () => {
  const { seen, apps } = agents(true);
  const caller = new AbortController();
  let cut = () => {};
  let online = true;
  const methods: string[] = [];
  const client = connect(loco, {
    signal: caller.signal,
    fetch: async (request) => {
      methods.push(request.method);
      // A second request gets no answer.
      if (request.method === "GET" && !online) return new Promise<Response>(() => {});
      return apps.socket.fetch(request);
    },
    webSocket: async (url, init) => {
      const port = await apps.socket.webSocket(url, init);
      if (!("refused" in port)) cut = () => port.close(1006, "");
      return port;
    },
    random: () => 0,
  });
  const session: Channel<never, never, never> = (await client.stream({ session_id: "s" }, { open })) as never;
  await seen.begun.promise;
  online = false;
  cut();
  caller.abort();
  expect(await seen.aborted.promise).toMatchObject({ name: "AbortError", message: "the caller has cancelled" });
  await expect(session.closed).rejects.toMatchObject({ name: "AbortError" });
  expect(methods.filter((method) => method === "DELETE")).toHaveLength(1);
});

it.each([
  ["interrupt", "of emacs-agent, an operation"],
  ["client.cancel", "of loco, a message"],
])("%s %s of its own, reaches its handler over sockets, and what it aborts there", async (word) => {
  const work = new AbortController();
  const aborted = new Promise((resolve) => work.signal.addEventListener("abort", resolve));
  const emacs = {
    interrupt() {
      work.abort();
      return { status: "interrupted", agent_state: "idle" };
    },
  } as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
  const agent = {
    async stream(_, channel) {
      channel.send({ type: "server.hello", server_info: { version: "1" } });
      for await (const { type } of channel) if (type === "client.cancel") work.abort();
    },
  } as Partial<LoCoHandlers> as LoCoHandlers;
  server = await listen([serve(emacsAgent, emacs), serve(loco, agent, { allowAnonymous: true })], {
    port: 0,
    closeAfter: 0,
  });
  const baseUrl = server.url;
  let left: number;
  if (word === "interrupt") {
    left = performance.now();
    await connect(emacsAgent, { baseUrl }).interrupt({ session_id: "s" });
  } else {
    const session = await connect(loco, { baseUrl, webSocket }).stream({ session_id: "s" }, { open });
    left = performance.now();
    session.send({ type: "client.cancel" });
  }
  await aborted;
  console.log(`${word} → what its handler aborts: ${(performance.now() - left).toFixed(1)} ms`);
});
