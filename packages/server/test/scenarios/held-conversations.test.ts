import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type EmacsAgentHandlers, type EmacsAgentSession, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type ServeOptions, serve } from "@parlance/server";
import { memoryLog } from "@parlance/server/resume";
import { formatTicket, newKey, type Port, RESUME } from "@parlance/wire";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { gateway, gauge, get, isRefused, options, post, TOKEN } from "../held-fixture.js";

// Time passes only where a test advances it: a slow machine would reach a limit before the test looks.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"] });
});
afterEach(() => void vi.useRealTimers());
const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

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
    await pass(300);
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
    await pass(19);
    expect(app.stats().queued).toBeGreaterThan(0);
    await pass(1);
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
    await pass(60);
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
    await gauge(app, "tickets", 1);
    await pass(900);
    await gauge(app, "tickets", 0);
    port.close(1000, "");
    await gauge(app, "channels", 0);
    expect(app.stats()).toMatchObject({ places: 0, held: 0, timers: 0 });
  });

  it("keep frames for a client that may come back, until they end", async () => {
    const { app, says, offer, open } = line({ grace: 100 });
    const port = await open(await offer());
    while (says.length === 0) await new Promise(setImmediate);
    for (let i = 0; i < 3; i++) await says[0]!("x".repeat(1000));
    expect(app.stats().held).toBeGreaterThan(2000);
    port.cut?.();
    port.close(1006, "");
    await pass(100);
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
    await pass(899);
    expect(app.stats().tombstones).toBe(3);
    await pass(1);
    await gauge(app, "tombstones", 0);
    expect(app.stats()).toMatchObject({ timers: 0, logged: 0 });
  });
});

describe("logged messages", () => {
  it("stay below the log's total, and are gone after `grace`", async () => {
    const { app } = gateway({ grace: 100, log: memoryLog({ maxTotal: 500 }) });
    for (let i = 0; i < 20; i++) await (await post(app, "/api/send", { content: "x" }, { [RESUME]: newKey() })).text();
    expect(app.stats().logged).toBeLessThanOrEqual(500);
    await pass(100);
    await gauge(app, "logged", 0);
  });
});
