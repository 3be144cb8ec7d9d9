import { connect } from "@parlance/client";
import { serve } from "@parlance/server";
import { describe, expect, it } from "vitest";
import { contract, rawClient, rawServer } from "../methods-fixture.js";

// biome-ignore lint/suspicious/noExplicitAny: handlers of every form
type Loose = any;

/** Our client and our server. */
async function both(server: Loose, client: Loose = {}, options: object = {}) {
  const app = serve(contract, { talk: server }, { partial: true, onError: false, ...options });
  const open = (handlers: Loose = client) =>
    connect(contract, { fetch: app.fetch, webSocket: app.webSocket }).talk(handlers);
  return { app, open, agent: await open() };
}

const untilAborted = ({ signal }: Loose) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

const text = (sessionId: string, text: string) => ({ sessionId, text });

describe("the loop over a call", () => {
  it("reads the notifications of its session, which the handler gets too", async () => {
    const heard: string[] = [];
    const turn = ({ sessionId, words }: Loose, call: Loose) => {
      for (const word of words) call.notify("turn/text", text(sessionId, word));
      return { reason: "over" };
    };
    const { app, agent } = await both(
      { "turn/ask": turn },
      { "turn/text": ({ sessionId, text }: Loose) => void heard.push(sessionId + text) },
    );
    const calls = ["a", "b"].map((sessionId) => agent.call("turn/ask", { sessionId, words: "12" }));
    const read = calls.map(async (call: Loose) => {
      const got: unknown[] = [];
      for await (const one of call) got.push(one);
      return [got, await call];
    });
    expect(await Promise.all(read)).toEqual([
      [[text("a", "1"), text("a", "2")], { reason: "over" }],
      [[text("b", "1"), text("b", "2")], { reason: "over" }],
    ]);
    expect(heard).toEqual(["a1", "a2", "b1", "b2"]);
    await app.close();
  });

  it("reads no notification from before the request or after it", async () => {
    const heard: string[] = [];
    const { raw, ours, close } = await rawServer({ "turn/text": ({ text }: Loose) => void heard.push(text) });
    raw.send({ method: "turn/text", params: text("s", "early") });
    const ping = ours.call("ping", {});
    raw.send({ id: (await raw.next()).id, result: {} });
    await ping;
    const call = ours.call("turn/ask", { sessionId: "s", words: "" });
    const { id } = await raw.next();
    raw.send({ method: "turn/text", params: text("s", "in") });
    raw.send({ method: "turn/text", params: text("other", "else") });
    raw.send({ id, result: { reason: "over" } });
    raw.send({ method: "turn/text", params: text("s", "late") });
    await call;
    const got: unknown[] = [];
    for await (const one of call) got.push(one);
    expect(got).toEqual([text("s", "in")]);
    expect(heard).toEqual(["early", "in", "else", "late"]);
    await close();
  });

  it("ends with the error of the request", async () => {
    const { raw, ours, close } = await rawServer();
    const call = ours.call("turn/ask", { sessionId: "s", words: "" });
    const { id } = await raw.next();
    raw.send({ method: "turn/text", params: text("s", "1") });
    raw.send({ id, error: { code: -32000, message: "gone" } });
    const got: unknown[] = [];
    const read = (async () => {
      for await (const one of call) got.push(one);
    })();
    await expect(read).rejects.toMatchObject({ code: "away" });
    expect(got).toEqual([text("s", "1")]);
    await close();
  });

  it("fails alone where more waits than the limit", async () => {
    const { raw, ours, close } = await rawServer({}, { maxQueued: 300 });
    const call = ours.call("turn/ask", { sessionId: "s", words: "" });
    const { id } = await raw.next();
    for (let at = 0; at < 9; at++) raw.send({ method: "turn/text", params: text("s", String(at)) });
    raw.send({ id, result: { reason: "over" } });
    expect(await call).toEqual({ reason: "over" });
    const read = (async () => {
      for await (const _ of call);
    })();
    await expect(read).rejects.toMatchObject({ name: "Disconnected", code: "slow_reader" });
    await close();
  });

  it("leaves the request open where it is left", async () => {
    const { raw, ours, close } = await rawServer();
    const call = ours.call("turn/ask", { sessionId: "s", words: "" });
    const { id } = await raw.next();
    raw.send({ method: "turn/text", params: text("s", "1") });
    for await (const _ of call) break;
    raw.send({ method: "turn/text", params: text("s", "2") });
    raw.send({ id, result: { reason: "over" } });
    expect(await call).toEqual({ reason: "over" });
    await close();
  });
});

describe("cancelling the requests of a session", () => {
  it("ends an aborted call in the protocol's result", async () => {
    const { app, agent } = await both({ "turn/ask": (_: unknown, call: Loose) => untilAborted(call) });
    const stop = new AbortController();
    const [one, other] = ["a", "b"].map((sessionId) =>
      agent.call("turn/ask", { sessionId, words: "" }, sessionId === "a" ? { signal: stop.signal } : {}),
    );
    stop.abort();
    expect(await one).toEqual({ reason: "stopped" });
    agent.notify("turn/stop", { sessionId: "b" });
    expect(await other).toEqual({ reason: "stopped" });
    await app.close();
  });

  it("takes the result of a handler that ends by itself", async () => {
    const { app, agent } = await both({
      "turn/ask": (_: unknown, call: Loose) => untilAborted(call).catch(() => ({ reason: "over" })),
    });
    const stop = new AbortController();
    const call = agent.call("turn/ask", { sessionId: "a", words: "" }, { signal: stop.signal });
    stop.abort();
    expect(await call).toEqual({ reason: "over" });
    await app.close();
  });

  it("gives a peer up that ignores it, and ignores its late answer", async () => {
    const { raw, ours, violations, close } = await rawServer({}, { answerTimeout: 20 });
    const stop = new AbortController();
    const call = ours.call("turn/ask", { sessionId: "a", words: "" }, { signal: stop.signal });
    const { id } = await raw.next();
    stop.abort();
    expect(await raw.next()).toEqual({ jsonrpc: "2.0", method: "turn/stop", params: { sessionId: "a" } });
    await expect(call).rejects.toMatchObject({ name: "Disconnected", code: "timeout" });
    raw.send({ id, result: { reason: "over" } });
    const next = ours.call("ping", {});
    raw.send({ id: (await raw.next()).id, result: {} });
    await next;
    expect(violations).toEqual([]);
    await close();
  });
});

describe("a question to a person", () => {
  const asking = {
    "turn/ask": async ({ sessionId }: Loose, call: Loose) => {
      const { yes } = await call.ask("turn/allow", { sessionId });
      return { reason: yes ? "over" : "stopped" };
    },
    "turn/load": () => ({}),
  };

  it("is answered by the client's handler", async () => {
    const { app, agent } = await both(asking, { "turn/allow": () => ({ yes: true }) });
    expect(await agent.call("turn/ask", { sessionId: "s", words: "" })).toEqual({ reason: "over" });
    await app.close();
  });

  it("is shown to every reader of the session: the first answer counts, and the others get a cancel", async () => {
    const { app, open, agent } = await both(asking, { "turn/allow": (_: unknown, call: Loose) => untilAborted(call) });
    const closed = new Promise<void>((resolve) => {
      void open({
        "turn/allow": (_: unknown, { signal }: Loose) =>
          new Promise((_, reject) => signal.addEventListener("abort", () => [resolve(), reject(signal.reason)])),
      }).then((other: Loose) => other.call("turn/load", { sessionId: "s" }));
    });
    const turn = agent.call("turn/ask", { sessionId: "s", words: "" });
    let answer!: (value: unknown) => void;
    const last = await open({
      "turn/allow": () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    });
    await last.call("turn/load", { sessionId: "s" });
    answer({ yes: true });
    expect(await turn).toEqual({ reason: "over" });
    await closed;
    await app.close();
  });

  it("outlives the reader that it was shown to first", async () => {
    let asked!: () => void;
    const shown = new Promise<void>((resolve) => {
      asked = resolve;
    });
    let done!: (value: unknown) => void;
    const outcome = new Promise((resolve) => {
      done = resolve;
    });
    const { app, open, agent } = await both(
      {
        ...asking,
        "turn/ask": ({ sessionId }: Loose, call: Loose) => {
          void call.session(sessionId).ask("turn/allow", { sessionId }).then(done);
          return { reason: "over" };
        },
      },
      {
        "turn/allow": () => {
          asked();
          return new Promise(() => {});
        },
      },
    );
    await agent.call("turn/ask", { sessionId: "s", words: "" });
    await shown;
    await agent.close();
    const next = await open({ "turn/allow": () => ({ yes: false }) });
    await next.call("turn/load", { sessionId: "s" });
    expect(await outcome).toEqual({ yes: false });
    await app.close();
  });

  it("is refused for a method that asks no person", async () => {
    let error: Loose;
    const { app, agent } = await both({
      "turn/ask": ({ sessionId }: Loose, call: Loose) =>
        call.ask("file/read", { sessionId }).catch((thrown: unknown) => {
          error = thrown;
          return { reason: "over" };
        }),
    });
    await agent.call("turn/ask", { sessionId: "s", words: "" });
    expect(error).toMatchObject({ name: "TypeError", code: "usage" });
    await app.close();
  });
});

describe("a session of methods", () => {
  it("sends notifications of any handler to all of its readers", async () => {
    const { app, open, agent } = await both({
      "turn/load": () => ({}),
      "turn/ask": ({ sessionId, words }: Loose, call: Loose) => {
        call.session(sessionId).notify("turn/text", text(sessionId, words));
        return { reason: "over" };
      },
    });
    const heard = new Promise((resolve) => {
      void open({ "turn/text": resolve }).then(async (other: Loose) => {
        await other.call("turn/load", { sessionId: "s" });
        await agent.call("turn/ask", { sessionId: "s", words: "hi" });
      });
    });
    expect(await heard).toEqual(text("s", "hi"));
    await app.close();
  });
});

describe("a handler of methods", () => {
  it.each([
    [{ fly: () => ({}) }, "`fly` is not a method that talk answers"],
    [{ "turn/text": () => ({}) }, "`turn/text` is not a method that talk answers"],
    [{ ping: 7 }, "`ping` must be a function, not number"],
    [{ ping: () => ({}) }, "`hello` of talk is missing"],
  ])("is checked by serve: %j %s", (talk, message) => {
    expect(() => serve(contract, { talk }, { partial: false })).toThrow(message);
  });

  it("is checked by connect", async () => {
    await expect(rawServer({ fly: () => ({}) })).rejects.toThrow("calls has no method `fly` that a client answers");
    await expect(rawServer({ "turn/ask": () => ({}) })).rejects.toThrow("has no method `turn/ask`");
    await expect(rawServer({ ping: 7 })).rejects.toThrow("the handler `ping` of calls must be a function");
  });

  it("ends a client's channel where it fails on a notification", async () => {
    const { raw, ours } = await rawServer({
      "turn/text": () => {
        throw new Error("broken");
      },
    });
    raw.send({ method: "turn/text", params: text("s", "1") });
    await expect(ours.closed).rejects.toThrow("broken");
  });

  it("cannot send a result from a server that breaks the contract", async () => {
    const { raw, close } = await rawClient({ "turn/ask": () => ({ reason: "bored" }) });
    raw.send({ id: 1, method: "turn/ask", params: { sessionId: "s", words: "" } });
    expect(await raw.next()).toMatchObject({ id: 1, error: { code: -32603, message: "the server failed" } });
    await close();
  });

  it("is not called above the number of requests that may be open", async () => {
    const { raw, close } = await rawServer({ "turn/allow": () => new Promise(() => {}) });
    for (let id = 0; id < 1001; id++) raw.send({ id, method: "turn/allow", params: { sessionId: "s" } });
    expect(await raw.next()).toMatchObject({ id: 1000, error: { code: -32603 } });
    await close();
  });
});
