import { connect as dial } from "node:net";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type EmacsAgentHandlers, type EmacsAgentSession, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, bearer, type ServeOptions, type Stats, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { memoryLog } from "@parlance/server/resume";
import { type Bytes, formatTicket, newKey, type Port, RESUME } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import { describe, expect, it, onTestFinished, vi } from "vitest";

// What a server holds, row by row as docs/limits.md lists it: each has a limit, and a gauge that is zero again.

const options = (more: ServeOptions): ServeOptions & { readonly partial: true } => ({
  authenticate: bearer({ t: "ann" }),
  heartbeat: 0,
  onError: false,
  ...more,
  partial: true,
});
const MI = 1024 * 1024;
const TOKEN = { Authorization: "Bearer t" };
const post = (app: App, path: string, body: object, headers: Record<string, string> = {}) =>
  app.fetch(
    new Request(`http://localhost${path}`, {
      method: "POST",
      headers: { ...TOKEN, "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
    }),
  );
const get = (app: App, path: string, headers: Record<string, string> = {}, method = "GET") =>
  app.fetch(new Request(`http://localhost${path}`, { method, headers: { ...TOKEN, ...headers } }));
const gauge = (app: App, name: keyof Stats, value: number) =>
  vi.waitFor(() => expect([name, app.stats()[name]]).toEqual([name, value]));
const isRefused = async (answer: Response, status: number, option: string) => {
  expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(`(option ${option})`)]);
  expect(answer.headers.get("Retry-After")).toBe("1");
};

/** A gateway whose handlers wait until they are released. */
function gateway(more: ServeOptions) {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const app = serve(
    foldGateway,
    {
      async listAgents() {
        await released;
        return [];
      },
      async *send({ content }) {
        yield { type: "text", text: content.slice(0, 1) };
        if (content.startsWith("wait")) await released;
        yield { type: "done", full_response: "" };
      },
    },
    options(more),
  );
  return { app, release };
}

describe("calls", () => {
  it("are limited for a principal", async () => {
    const { app, release } = gateway({ maxCalls: 2 });
    const open = [1, 2].map(() => get(app, "/api/agents"));
    await gauge(app, "calls", 2);
    await isRefused(await get(app, "/api/agents"), 429, "maxCalls");
    release();
    for (const answer of open) expect((await answer).status).toBe(200);
    await gauge(app, "calls", 0);
  });

  it.each([
    ["too many", 65, false],
    ["some behind a stream whose connection is then closed", 40, true],
  ])("of one connection end with it: %s", async (_, count, closes) => {
    let running = 0;
    let begun = 0;
    const app = serve(
      foldGateway,
      {
        async *send(_, { signal }) {
          running++;
          begun++;
          try {
            yield { type: "text", text: "x".repeat(1000) };
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
          } finally {
            running--;
          }
        },
      },
      options({ authenticate: undefined as never, heartbeat: 60_000 }),
    );
    const server = await listen(app, { port: 0, closeAfter: 0 });
    onTestFinished(() => server.close());
    const socket = dial(server.port, "127.0.0.1");
    socket.on("error", () => {}).resume();
    const body = '{"content":"x"}';
    const one = `POST /api/send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    // One by one, so that Node sees answers that wait before the next request.
    for (let i = 0; i < count; i++) {
      socket.write(one);
      if (closes) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    if (closes) {
      await vi.waitFor(() => expect(begun).toBeGreaterThan(0));
      socket.destroy();
    }
    await gauge(app, "calls", 0);
    await vi.waitFor(() => expect(running).toBe(0));
  });
});

describe("bodies and inputs", () => {
  const large = { content: `wait${"x".repeat(600)}` };

  it.each([
    ["of a principal", { maxReceived: 1000 }, 429, "maxReceived"],
    ["of all together", { maxTotalReceived: 1000 }, 503, "maxTotalReceived"],
  ])("are limited until their handlers are done: %s", async (_, limits, status, option) => {
    const { app, release } = gateway(limits);
    const first = await post(app, "/api/send", large);
    expect(app.stats().received).toBeGreaterThan(600);
    await isRefused(await post(app, "/api/send", large), status, option);
    release();
    await first.text();
    await gauge(app, "received", 0);
    expect((await post(app, "/api/send", { content: "x" })).status).toBe(200);
  });

  it("of many small values count by their memory", async () => {
    const { app, release } = gateway({ maxReceived: 5000 });
    expect((await post(app, "/api/send", { content: "wait", more: "x".repeat(2000) })).status).toBe(200);
    await isRefused(await post(app, "/api/send", { content: "wait", more: Array(300).fill({}) }), 429, "maxReceived");
    release();
    await gauge(app, "received", 0);
  });

  it("are let go where the handler is done, though its stream waits for a reader", async () => {
    const { app, release } = gateway({ grace: 60_000 });
    const answer = await post(app, "/api/send", large, { [RESUME]: newKey() });
    await answer.body!.cancel();
    expect(app.stats().received).toBeGreaterThan(600);
    release();
    await gauge(app, "kept", 1);
    expect(app.stats()).toMatchObject({ received: 0, streams: 0, calls: 0 });
  });
});

describe("answers that nobody reads", () => {
  const name = "x".repeat(20_000);
  const large = (begun: () => void) => ({
    listAgents() {
      begun();
      return [{ id: "1", name, capabilities: [] }];
    },
  });

  it.each([
    ["of a principal", { maxHeld: 30_000 }, 429, "maxHeld"],
    ["of all together", { maxTotalHeld: 30_000 }, 503, "maxTotalHeld"],
  ])("are limited, before a handler is called: %s", async (_, limits, status, option) => {
    let begun = 0;
    const app = serve(
      foldGateway,
      large(() => void begun++),
      options(limits),
    );
    // The call of an adapter is open until its answer is written.
    const calls = [1, 2].map(() => app.open());
    const listed = () => new Request("http://localhost/api/agents", { headers: TOKEN });
    for (const call of calls) expect((await app.answer(listed(), call)).status).toBe(200);
    expect(app.stats().held).toBeGreaterThan(2 * name.length);
    await isRefused(await app.fetch(listed()), status, option);
    expect(begun).toBe(2);
    for (const call of calls) call.close();
    await gauge(app, "held", 0);
    expect((await app.fetch(listed())).status).toBe(200);
  });

  it("are made by so many handlers at a time; further calls wait, and leave with their callers", async () => {
    const releases: (() => void)[] = [];
    const handlers = {
      async listAgents() {
        await new Promise<void>((resolve) => releases.push(resolve));
        return [{ id: "1", name, capabilities: [] }];
      },
    };
    const app = serve(foldGateway, handlers, options({ maxHandlers: 2 }));
    const list = (call: Scope) =>
      app.answer(new Request("http://localhost/api/agents", { headers: TOKEN }), call).then(({ status }) => status);
    const calls = [1, 2, 3, 4].map(() => app.open());
    const answers = calls.map(list);
    await vi.waitFor(() => expect(releases).toHaveLength(2));
    calls[2]!.close();
    expect(await answers[2]).toBe(499);
    releases[0]!();
    await vi.waitFor(() => expect(releases).toHaveLength(3));
    for (const release of releases) release();
    expect([await answers[0], await answers[1], await answers[3]]).toEqual([200, 200, 200]);
    for (const call of calls) call.close();
    await gauge(app, "held", 0);
  });

  it("are limited where their handlers end together, and then not to be asked for again", async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun = 0;
    const handlers = {
      async listAgents() {
        begun++;
        await released;
        return [{ id: "1", name, capabilities: [] }];
      },
    };
    const app = serve(foldGateway, handlers, options({ maxHeld: 30_000 }));
    const calls = [1, 2, 3].map(() => app.open());
    const answers = calls.map((call) =>
      app.answer(new Request("http://localhost/api/agents", { headers: TOKEN }), call),
    );
    await vi.waitFor(() => expect(begun).toBe(3));
    release();
    const found = await Promise.all(answers);
    expect(found.map(({ status }) => status).sort()).toEqual([200, 200, 429]);
    expect(found.find(({ status }) => status === 429)!.headers).not.toHaveProperty("Retry-After");
    for (const call of calls) call.close();
    await gauge(app, "held", 0);
  });
});

describe("answers of bytes that nobody reads", () => {
  const contract = {
    ...foldGateway,
    operations: {
      ...foldGateway.operations,
      listAgents: { ...foldGateway.operations.listAgents, answer: { status: 200, binary: "application/octet-stream" } },
    },
  } as unknown as typeof foldGateway;
  const bytes = new Uint8Array(20_000);
  const chunks = () =>
    new ReadableStream({
      pull: (controller) => controller.enqueue(bytes),
    });

  it.each<[what: string, make: () => Bytes, limits: ServeOptions, gauge: keyof Stats, status: number, option: string]>([
    ["a Uint8Array", () => bytes, { maxHeld: 30_000 }, "held", 429, "maxHeld"],
    ["a Blob", () => new Blob([bytes]), { maxTotalHeld: 30_000 }, "held", 503, "maxTotalHeld"],
    ["a stream", chunks, { maxStreams: 2 }, "places", 429, "maxStreams"],
  ])("are limited: %s", async (_, make, limits, name, status, option) => {
    const handlers = { listAgents: () => make() } as unknown as FoldGatewayHandlers;
    const app = serve(contract, handlers, options(limits));
    const calls = [1, 2, 3].map(() => app.open());
    const answers = await Promise.all(
      calls.map((call) => app.answer(new Request("http://localhost/api/agents", { headers: TOKEN }), call)),
    );
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, status]);
    expect(answers[2]!.body).toContain(`(option ${option})`);
    expect(app.stats()[name]).toBeGreaterThan(0);
    for (const call of calls) call.close();
    await gauge(app, name, 0);
  });
});

describe("text of streams that nobody reads", () => {
  it.each([
    ["plain", {}],
    ["resumable", { [RESUME]: newKey() }],
  ])("is counted until its reader has it: %s", async (_, headers) => {
    const handlers: Partial<FoldGatewayHandlers> = {
      async *send() {
        for (let i = 0; i < 2; i++) yield { type: "text", text: "x".repeat(MI) };
        yield { type: "done", full_response: "" };
      },
    };
    const app = serve(foldGateway, handlers as FoldGatewayHandlers, options({}));
    const { body } = await post(app, "/api/send", { content: "x" }, headers);
    await vi.waitFor(() => expect(app.stats().held).toBeGreaterThan(MI));
    await new Response(body).text();
    await gauge(app, "held", 0);
  });
});

describe("finished resumable streams", () => {
  it.each([
    ["of a principal", { maxFinished: 2 }],
    ["of all together", { maxTotalFinished: 2 }],
  ])("go above a number, the oldest first, and after `grace`: %s", async (_, limits) => {
    const { app } = gateway({ grace: 300, ...limits });
    const keys = [1, 2, 3].map(newKey);
    for (const [i, key] of keys.entries()) {
      const answer = await post(app, "/api/send", { content: "x" }, { [RESUME]: key });
      await answer.text();
      await gauge(app, "kept", Math.min(2, i + 1));
    }
    const joins = keys.map(async (key) => (await get(app, "/api/send", { [RESUME]: key })).status);
    expect(await Promise.all(joins)).toEqual([410, 200, 200]);
    await gauge(app, "kept", 0);
    await gauge(app, "logged", 0);
  });
});

/** An agent whose `prompt` hands out its session. */
function agent(more: ServeOptions) {
  const sessions: EmacsAgentSession[] = [];
  const reported: unknown[] = [];
  const handlers: Partial<EmacsAgentHandlers> = {
    prompt({ session_id, text }, call) {
      const session = call.session(session_id) as EmacsAgentSession;
      sessions.push(session);
      if (text === "send") session.send({ type: "agent.state", state: "idle" });
      return { status: "accepted", agent_state: "idle" };
    },
    endSession: () => ({ status: "closed", transcript_path: "x" }),
    async *events(_, { signal }) {
      yield { type: "agent.state", state: "idle" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  };
  const app = serve(emacsAgent, handlers, options({ ...more, onError: (error) => void reported.push(error) }));
  const prompt = (id: string, text = "send") => post(app, `/sessions/${id}/prompt`, { text });
  return { app, sessions, reported, prompt };
}
const need = { type: "tool.call", tool_call_id: "1", tool: "x", params: {}, requires_approval: true } as never;

describe("sessions", () => {
  it.each([
    [{ maxSessions: 2 }, 429, "maxSessions"],
    [{ maxTotalSessions: 2 }, 503, "maxTotalSessions"],
  ])("are limited in number: %o", async (limits, status, option) => {
    const { app, prompt } = agent(limits);
    for (const id of ["a", "b", "a"]) expect((await prompt(id)).status).toBe(200);
    await gauge(app, "sessions", 2);
    await isRefused(await prompt("c"), status, option);
    const reader = (await get(app, "/sessions/a/events")).body!.getReader();
    await reader.read();
    await gauge(app, "queued", JSON.stringify({ type: "agent.state", state: "idle" }).length);
    await reader.cancel();
    await gauge(app, "sessions", 1);
    expect((await prompt("c")).status).toBe(200);
  });

  it("drop messages that nobody reads after `unreadFor`, and say so", async () => {
    const { app, prompt, reported } = agent({ unreadFor: 20 });
    await prompt("secret");
    await prompt("secret");
    expect(app.stats().queued).toBeGreaterThan(0);
    await gauge(app, "sessions", 0);
    expect(app.stats()).toMatchObject({ queued: 0, held: 0, timers: 0 });
    expect(reported).toEqual([
      expect.objectContaining({
        code: "timeout",
        message: expect.stringMatching(/had no reader for 20 ms: 2 messages/),
      }),
    ]);
    expect(String(reported[0])).not.toContain("secret");
  });

  it("keep what is unread for as long as there is a reader", async () => {
    const { app, prompt, reported } = agent({ unreadFor: 30 });
    await prompt("a");
    const reader = (await get(app, "/sessions/a/events")).body!.getReader();
    await reader.read();
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect([app.stats().sessions, reported]).toEqual([1, []]);
    await reader.cancel();
  });

  it.each([
    [{ maxAsks: 1 }, 429],
    [{ maxTotalAsks: 1 }, 503],
  ])("have a limit of open asks, over all sessions: %o", async (limits, status) => {
    const { app, sessions, prompt } = agent(limits);
    for (const id of ["a", "b"]) await prompt(id, "ask");
    const first = sessions[0]!.ask(need);
    first.catch(() => {});
    await gauge(app, "asks", 1);
    await expect(sessions[1]!.ask(need)).rejects.toMatchObject({ name: "Refusal", status });
    expect(app.stats().sessions).toBe(1);
    await get(app, "/sessions/a", {}, "DELETE");
    await expect(first).rejects.toMatchObject({ name: "Disconnected" });
    await gauge(app, "asks", 0);
    await gauge(app, "sessions", 0);
  });

  it("share what may wait for readers", async () => {
    const KI = 1024;
    const { app, sessions, prompt } = agent({ maxHeld: 40 * KI });
    for (const id of ["a", "b"]) await prompt(id, "wait");
    const text = "x".repeat(30 * KI);
    const chunk = { type: "agent.text_delta", delta: text, text } as never;
    const send = (at: number) => sessions[at]!.send(chunk);
    const sizes = async () => {
      for (let i = 0; i < 10; i++) await send(i % 2);
    };
    await expect(sizes()).rejects.toMatchObject({ name: expect.stringMatching(/Disconnected|Violation/) });
    expect(app.stats().queued).toBeLessThan(150 * KI);
    for (const id of ["a", "b"]) await get(app, `/sessions/${id}`, {}, "DELETE");
    await gauge(app, "held", 0);
  });
});

/** A line whose handler sends what the test asks for. */
function line(more: ServeOptions) {
  const says: ((text: string) => Promise<void>)[] = [];
  const session: BasedHandlers["session"] = async (_, channel, { signal }) => {
    await channel.send({ type: "initial_state", files: [], activeFile: null });
    says.push((content) => channel.send({ type: "file_content", filename: "a", content } as never));
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  };
  const app = serve(based, { session }, options(more));
  const offer = async (key = newKey()) => {
    const answer = await get(app, "/ws", { [RESUME]: key });
    return ((await answer.json()) as { ticket: string }).ticket;
  };
  const open = async (ticket?: string): Promise<Port> => {
    const protocols = ticket === undefined ? [] : [formatTicket(ticket)];
    const opened = await app.webSocket("ws://localhost/ws", { headers: TOKEN, protocols, maxSize: 1e6 });
    if ("refused" in opened) throw new Error(`refused with ${opened.refused.status}`);
    opened.listen({ frame() {}, close() {} });
    return opened;
  };
  return { app, says, offer, open };
}

describe("channels", () => {
  it("without a socket have a ticket each, which is gone once it is used, or its channel is gone", async () => {
    const { app, offer, open } = line({ ticketLife: 2000, grace: 900 });
    const used = await offer();
    await offer();
    await gauge(app, "tickets", 2);
    const port = await open(used);
    await gauge(app, "tickets", 0);
    port.close(1000, "");
    await gauge(app, "channels", 0);
    expect(app.stats()).toMatchObject({ places: 0, held: 0, timers: 0 });
  });

  it("keep frames for a client that may come back, until they end", async () => {
    const { app, says, offer, open } = line({ grace: 100 });
    const port = await open(await offer());
    await vi.waitFor(() => expect(says).toHaveLength(1));
    for (let i = 0; i < 3; i++) await says[0]!("x".repeat(1000));
    expect(app.stats().held).toBeGreaterThan(2000);
    port.cut?.();
    port.close(1006, "");
    await gauge(app, "held", 0);
    await gauge(app, "channels", 0);
  });
});

describe("cancelled keys", () => {
  it("are kept for `tombstoneLife`, and up to a number", async () => {
    const { app } = gateway({ tombstoneLife: 900, maxTombstones: 3 });
    for (let i = 0; i < 5; i++)
      expect((await get(app, "/api/send", { [RESUME]: newKey() }, "DELETE")).status).toBe(404);
    await gauge(app, "tombstones", 3);
    await gauge(app, "tombstones", 0);
    expect(app.stats()).toMatchObject({ timers: 0, logged: 0 });
  });
});

describe("logged messages", () => {
  it("stay below the log's total, and are gone after `grace`", async () => {
    const { app } = gateway({ grace: 100, log: memoryLog({ maxTotal: 500 }) });
    for (let i = 0; i < 20; i++) await (await post(app, "/api/send", { content: "x" }, { [RESUME]: newKey() })).text();
    expect(app.stats().logged).toBeLessThanOrEqual(500);
    await gauge(app, "logged", 0);
  });
});
