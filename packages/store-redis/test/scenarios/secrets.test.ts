import { inspect } from "node:util";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, Refusal, type ServeOptions, serve } from "@parlance/server";
import { clusterOn } from "@parlance/server/cluster";
import { redisLog, redisPubSub } from "@parlance/store-redis";
import { formatTicket, newKey, RESUME } from "@parlance/wire";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { hasRedis, type RedisServer, startRedis } from "../redis.js";

// No secret reaches Redis or an error: every command that two servers send is recorded while each secret carries a mark, and every error.

const MARK = "5ec2e7";
const TOKEN = `token-${MARK}`;
/** A principal with its token, as a naive `authenticate` returns it. */
const principal = { sub: `ann-${MARK}`, iss: `https://${MARK}.example`, token: TOKEN, iat: 1 };
const SESSION = `session-${MARK}`;
/** Resume keys and tickets are random, so they are remembered instead of marked. */
const secrets = new Set([MARK]);
const key = (): string => {
  const made = newKey();
  secrets.add(made);
  return made;
};

const state = { type: "initial_state" as const, files: [], activeFile: null };
const session: BasedHandlers["session"] = async (_, channel, { signal }) => {
  channel.send(state);
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
};
const send: FoldGatewayHandlers["send"] = async function* (_, { signal }) {
  yield { type: "text", text: "a" };
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
};
const agent: Partial<EmacsAgentHandlers> = {
  prompt({ session_id, text }, call) {
    const session = call.session(session_id);
    if (text === "ask") {
      const ask = { type: "tool.call", tool_call_id: "1", tool: "x", params: {}, requires_approval: true };
      session.ask(ask as never).catch(() => {});
    } else session.send({ type: "agent.state", state: "thinking" });
    return { status: "accepted", agent_state: "thinking" };
  },
  approve({ tool_call_id }, call) {
    if (!call.ask) throw new Refusal("no such tool call", { code: "INVALID_TOOL_CALL" });
    return { status: "approved", tool_call_id };
  },
  endSession: () => ({ status: "closed", transcript_path: "x" }),
  async *events(_, { signal }) {
    yield { type: "agent.state", state: "idle" };
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  },
};

describe.runIf(hasRedis)("no secret", () => {
  let server: RedisServer;
  const commands: string[] = [];
  const errors: string[] = [];
  let monitor: Redis;
  beforeAll(async () => {
    server = await startRedis();
    monitor = await server.client().monitor();
    monitor.on("monitor", (_: string, args: string[]) => void commands.push(args.join(" ")));
  });
  afterAll(async () => {
    monitor.disconnect();
    await server.remove();
  });

  const options = (): ServeOptions & { readonly partial: true; stop(): void } => {
    const redis = server.client();
    const [log, pubSub] = [redisLog({ redis, timeout: 300 }), redisPubSub({ redis, timeout: 300 })];
    return {
      log,
      cluster: clusterOn(pubSub),
      authenticate: ({ headers }) => headers.get("Authorization") === `Bearer ${TOKEN}` && principal,
      // What a logger prints of an error: its stack, its properties and its causes.
      onError: (error, context) => void errors.push(inspect([error, context], { depth: 9, showHidden: true })),
      heartbeat: 0,
      grace: 500,
      storeWithin: 300,
      queryWithin: 200,
      interruptedFor: 300,
      unreadFor: 200,
      partial: true,
      stop() {
        log.stop();
        pubSub.stop();
      },
    };
  };
  const ask = (
    app: App,
    path: string,
    { method = "GET", headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: object } = {},
  ) =>
    app.fetch(
      new Request(`http://localhost${path}`, {
        method,
        headers: { Authorization: `Bearer ${TOKEN}`, ...(body && { "Content-Type": "application/json" }), ...headers },
        ...(body && { body: JSON.stringify(body) }),
      }),
    );
  const first = async (answer: Response) => {
    const reader = answer.body?.getReader();
    await reader?.read().catch(() => {});
    return reader;
  };

  /** Drives everything that the two servers say to each other, and to the log. */
  async function drive(
    make: (options: ServeOptions & { readonly partial: true }) => App,
    run: (one: App, two: App) => Promise<void>,
  ) {
    const both = [options(), options()];
    const [one, two] = both.map(make) as [App, App];
    await run(one, two);
    await one.revoke(principal).catch(() => {});
    for (const app of [one, two]) await app.close();
    for (const { stop } of both) stop();
  }
  const streams = async (one: App, two: App) => {
    const own = key();
    const path = "/api/send";
    const reader = await first(
      await ask(one, path, { method: "POST", headers: { [RESUME]: own }, body: { content: "x" } }),
    );
    await first(await ask(two, path, { headers: { [RESUME]: own } })).then((other) => other?.cancel());
    await first(await ask(two, path, { method: "POST", headers: { [RESUME]: own }, body: { content: "x" } })).then(
      (other) => other?.cancel(),
    );
    await ask(two, path, { headers: { [RESUME]: own, "Last-Event-ID": "x.9" } });
    await ask(two, path, { method: "DELETE", headers: { [RESUME]: key() } });
    await ask(two, path, { method: "DELETE", headers: { [RESUME]: own } });
    await reader?.cancel().catch(() => {});
  };
  const sessions = async (one: App, two: App) => {
    const at = `/sessions/${SESSION}`;
    const reader = await first(await ask(two, `${at}/events`, { headers: { [RESUME]: key() } }));
    for (const [app, text] of [
      [one, "send"],
      [two, "send"],
      [one, "ask"],
    ] as const)
      await ask(app, `${at}/prompt`, { method: "POST", body: { text } });
    await ask(two, `${at}/approve`, { method: "POST", body: { tool_call_id: "1" } });
    await ask(two, `${at}/approve`, { method: "POST", body: { tool_call_id: "1" } });
    await ask(one, `/sessions/${SESSION}-unread/prompt`, { method: "POST", body: { text: "send" } });
    await new Promise((resolve) => setTimeout(resolve, 300));
    await ask(two, at, { method: "DELETE" });
    await reader?.cancel().catch(() => {});
  };
  const channels = async (one: App, two: App) => {
    const own = key();
    const offer = async (app: App, more: Record<string, string> = {}) => {
      const { ticket } = (await (await ask(app, "/ws", { headers: { [RESUME]: own, ...more } })).json()) as {
        ticket: string;
      };
      secrets.add(ticket);
      secrets.add(ticket.slice(-32));
      return { headers: {}, protocols: [formatTicket(ticket)], maxSize: 1e6 };
    };
    const opened = await two.webSocket("ws://localhost/ws", await offer(one));
    if (!("refused" in opened)) {
      opened.listen({ frame() {}, close() {} });
      opened.cut?.();
    }
    const epoch = (await ask(two, "/ws", { headers: { [RESUME]: own } })).headers.get(RESUME)!.split(";")[0]!;
    await ask(one, "/ws", { headers: { [RESUME]: own, "Last-Event-ID": `${epoch}.0` } });
    await two.webSocket("ws://localhost/ws", { headers: {}, protocols: [formatTicket(key())], maxSize: 1e6 });
    await ask(two, "/ws", { method: "DELETE", headers: { [RESUME]: own } });
  };
  const KINDS: [
    string,
    (options: ServeOptions & { readonly partial: true }) => App,
    (one: App, two: App) => Promise<void>,
  ][] = [
    ["streams", (options) => serve(foldGateway, { send }, options), streams],
    ["sessions", (options) => serve(emacsAgent, agent, options), sessions],
    ["channels", (options) => serve(based, { session }, options), channels],
  ];
  const leaks = (lines: readonly string[]) =>
    lines.flatMap((line) =>
      [...secrets].filter((secret) => line.includes(secret)).map((secret) => `${secret} in ${line.slice(0, 300)}`),
    );

  it.each(KINDS)("of %s is in a command to Redis", async (_, make, run) => {
    const before = commands.length;
    await drive(make, run);
    await vi.waitFor(() => expect(commands.length).toBeGreaterThan(before + 5));
    expect(leaks(commands)).toEqual([]);
  });

  it.each(KINDS)("of %s is in an error, whatever fails", async (_, make, run) => {
    const faults: (() => Promise<unknown>)[] = [
      // Everything is lost, at a moment when streams are open.
      async () => server.client().flushall(),
      async () => server.client().config("SET", "maxmemory", "1"),
      async () => server.pause(),
    ];
    for (const fault of faults) {
      await drive(make, async (one, two) => {
        const running = run(one, two);
        running.catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 60));
        await fault();
        await running.catch(() => {});
      });
      server.resume();
      await server.client().config("SET", "maxmemory", "0");
    }
    expect(errors.length).toBeGreaterThan(0);
    expect(leaks(errors)).toEqual([]);
  });
});
