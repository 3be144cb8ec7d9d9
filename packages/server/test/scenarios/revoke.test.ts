import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, bearer, type Disconnected, type ServeOptions, serve } from "@parlance/server";
import { clusterOn, memoryPubSub, type PubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { formatTicket, newKey, RESUME } from "@parlance/wire";
import { describe, expect, it, vi } from "vitest";

// `app.revoke`: each thing that a principal may hold, ended on the server that has it, from there and from another one.

const PRINCIPALS = { ann: { sub: "ann", iat: 1 }, bob: { sub: "bob", iat: 1 } };
/** The same person with another token. */
const ANN = { sub: "ann", iat: 2 };
const options = (more: ServeOptions = {}): ServeOptions & { readonly partial: true } => ({
  authenticate: bearer(PRINCIPALS),
  heartbeat: 0,
  onError: false,
  ...more,
  partial: true,
});

interface Holding {
  /** Begins it for a caller. Resolves once it is held, to what becomes of it. */
  hold(app: App, token: string): Promise<() => Promise<unknown>>;
  readonly make: (options: ServeOptions & { readonly partial: true }, reasons: unknown[]) => App;
  /** What becomes of it. */
  readonly sees: unknown;
}

/** Waits until the signal aborts, and notes its reason. */
const until = (signal: AbortSignal, reasons: unknown[]) =>
  new Promise<void>((resolve) =>
    signal.addEventListener("abort", () => {
      reasons.push(signal.reason);
      resolve();
    }),
  );
const outcome = (promise: Promise<unknown>) =>
  promise.then(
    () => "over",
    ({ name, code }) => ({ name, code }),
  );
const headers = (token: string, more: Record<string, string> = {}) => ({ Authorization: `Bearer ${token}`, ...more });
/** What a client without resume, or one that is not told where to resume, makes of a cut. */
const CUT = { name: "Disconnected", code: "ended_early" };
/** A channel that its server has closed with 1008 and "revoked". */
const CLOSED = { name: "Disconnected", code: "closed", message: expect.stringContaining("1008 revoked") };
/** Calls that have reached their handler. */
let started = 0;
const gateway: Holding["make"] = (options, reasons) =>
  serve(
    foldGateway,
    {
      async listAgents(_, { signal }) {
        started++;
        await until(signal, reasons);
        return [];
      },
      async *send(_, { signal }) {
        yield { type: "text", text: "a" };
        await until(signal, reasons);
      },
    },
    options,
  );
const line: Holding["make"] = (options, reasons) =>
  serve(
    based,
    {
      async session(_, channel, { signal }) {
        channel.send({ type: "initial_state", files: [], activeFile: null });
        await until(signal, reasons);
      },
    },
    options,
  );
let asked: Promise<unknown> = Promise.resolve();
const agent: Holding["make"] = (options, reasons) =>
  serve(
    emacsAgent,
    {
      async *events(_, { signal }) {
        yield { type: "agent.state", state: "idle" };
        await until(signal, reasons);
      },
      prompt({ session_id, text }, call) {
        const session = call.session(session_id);
        if (text === "ask")
          asked = session.ask({
            type: "tool.call",
            tool_call_id: "1",
            tool: "x",
            params: {},
            requires_approval: true,
          } as never);
        else session.send({ type: "agent.state", state: "thinking" });
        asked.catch(() => {});
        return { status: "accepted", agent_state: "thinking" };
      },
    },
    options,
  );
const stream =
  (resume: boolean): Holding["hold"] =>
  async (app, token) => {
    const sent = connect(foldGateway, { fetch: app.fetch, token, resume }).send({ content: "x" });
    const reading = sent[Symbol.asyncIterator]();
    await reading.next();
    return () => outcome(reading.next());
  };
const offer = async (app: App, token: string) => {
  const request = new Request("http://localhost/ws", { headers: headers(token, { [RESUME]: newKey() }) });
  return ((await (await app.fetch(request)).json()) as { ticket: string }).ticket;
};
const prompts = async (app: App, token: string, text: string) => {
  await connect(emacsAgent, { fetch: app.fetch, token }).prompt({ session_id: "s", text });
};

const HOLDINGS: Record<string, Holding> = {
  "a call": {
    make: gateway,
    async hold(app, token) {
      const before = started;
      const answer = app.fetch(new Request("http://localhost/api/agents", { headers: headers(token) }));
      await vi.waitFor(() => expect(started).toBe(before + 1));
      return async () => (await answer).status;
    },
    sees: 401,
  },
  "a plain stream": { make: gateway, hold: stream(false), sees: CUT },
  "a resumable stream": { make: gateway, hold: stream(true), sees: CUT },
  "a resumable stream whose reader is away": {
    make: gateway,
    async hold(app, token) {
      const key = newKey();
      const answer = await app.fetch(
        new Request("http://localhost/api/send", {
          method: "POST",
          headers: headers(token, { "Content-Type": "application/json", [RESUME]: key }),
          body: '{"content":"x"}',
        }),
      );
      await answer.body!.cancel();
      const join = new Request("http://localhost/api/send", { headers: headers(token, { [RESUME]: key }) });
      return async () => (await app.fetch(join)).status;
    },
    sees: 410,
  },
  "a session's stream": {
    make: agent,
    async hold(app, token) {
      const events = connect(emacsAgent, { fetch: app.fetch, token, resume: false }).events({ session_id: "s" });
      const reading = events[Symbol.asyncIterator]();
      await reading.next();
      return () => outcome(reading.next());
    },
    sees: CUT,
  },
  "messages that nobody reads": {
    make: agent,
    async hold(app, token) {
      await prompts(app, token, "send");
      return async () => "gone";
    },
    sees: "gone",
  },
  "an ask": {
    make: agent,
    async hold(app, token) {
      await prompts(app, token, "ask");
      const own = asked;
      return () => outcome(own);
    },
    sees: { name: "Refusal", code: "status_401" },
  },
  "a plain channel": {
    make: line,
    async hold(app, token) {
      const channel = await connect(based, {
        fetch: app.fetch,
        webSocket: app.webSocket,
        token,
        resume: false,
      }).session();
      return () => channel.closed.catch(({ name, code, message }: Disconnected) => ({ name, code, message }));
    },
    sees: CLOSED,
  },
  "a resumable channel": {
    make: line,
    async hold(app, token) {
      const channel = await connect(based, { fetch: app.fetch, webSocket: app.webSocket, token }).session();
      return () => channel.closed.catch(({ name, code, message }: Disconnected) => ({ name, code, message }));
    },
    sees: CLOSED,
  },
  "a ticket": {
    make: line,
    async hold(app, token) {
      const protocols = [formatTicket(await offer(app, token))];
      return async () => {
        const opened = await app.webSocket("ws://localhost/ws", { headers: {}, protocols, maxSize: 1e6 });
        return "refused" in opened ? opened.refused.status : 101;
      };
    },
    sees: 426,
  },
};

const HELD = [
  "calls",
  "streams",
  "channels",
  "readers",
  "sessions",
  "asks",
  "places",
  "kept",
  "tickets",
  "queued",
  "held",
] as const;
const heldBy = (app: App) => Object.fromEntries(HELD.map((name) => [name, app.stats()[name]]));

describe.each([
  ["the server that has it", false],
  ["another server", true],
])("a revoke on %s", (_, isFar) => {
  const servers = (holding: Holding, pubSub: PubSub = memoryPubSub()) => {
    const log = memoryLog();
    const reasons: unknown[] = [];
    const [here, there] = [1, 2].map(() => holding.make(options({ log, cluster: clusterOn(pubSub) }), reasons)) as [
      App,
      App,
    ];
    return { here, revoking: isFar ? there : here, reasons };
  };

  it.each(Object.entries(HOLDINGS))("ends %s of that principal, and of nobody else", async (_, holding) => {
    const { here, revoking, reasons } = servers(holding);
    const bobs = await holding.hold(here, "bob");
    const alone = heldBy(here);
    const anns = await holding.hold(here, "ann");
    const before = reasons.length;
    await revoking.revoke(ANN);
    expect(await anns()).toEqual(holding.sees);
    await vi.waitFor(() => expect(heldBy(here)).toEqual(alone));
    expect(reasons.length - before).toBeLessThanOrEqual(1);
    for (const reason of reasons) expect(reason).toMatchObject({ name: "Refusal", status: 401 });
    await revoking.revoke(PRINCIPALS.bob);
    expect(await bobs()).toEqual(holding.sees);
  });
});

describe("a revoke", () => {
  it("is a mistake without `authenticate`, and for a principal without an identity", async () => {
    const open = serve(foldGateway, { health: () => "OK" }, { partial: true });
    await expect(open.revoke("ann")).rejects.toThrow("revoke needs `authenticate`");
    const app = gateway(options(), []);
    await expect(app.revoke({ name: "ann" })).rejects.toThrow("add `id` to what `authenticate` returns");
  });

  it("rejects where another server does not confirm, after it has ended what is here", async () => {
    const shared = memoryPubSub();
    const deaf: PubSub = { publish: shared.publish, subscribe: async () => () => {} };
    let isDeaf = false;
    const pubSub: PubSub = {
      subscribe: shared.subscribe,
      publish: async (topic, text) => ((await shared.publish(topic, text)) || 0) + (isDeaf ? 1 : 0),
    };
    const limits = { cluster: clusterOn(pubSub), queryWithin: 20, interruptedFor: 0 };
    const app = gateway(options(limits), []);
    gateway(options({ ...limits, cluster: clusterOn(deaf) }), []);
    const anns = await HOLDINGS["a plain stream"]!.hold(app, "ann");
    isDeaf = true;
    await expect(app.revoke(ANN)).rejects.toMatchObject({ name: "Disconnected", code: "timeout", retryable: true });
    expect(await anns()).toEqual(HOLDINGS["a plain stream"]!.sees);
  });

  it("leaves sessions that principals share, and the next call to `authenticate`", async () => {
    const app = agent(options({ sharedSessions: true }), []);
    await prompts(app, "ann", "send");
    await app.revoke(ANN);
    expect(app.stats().sessions).toBe(1);
    await prompts(app, "ann", "send");
  });
});
