import { getEventListeners } from "node:events";
import { type ConnectOptions, connect } from "@parlance/client";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import { type OpenSocket, type Port, parseResumable } from "@parlance/wire";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { peer } from "../peer.js";

// The code of streams, of channels and of what a server accepts is loaded when it is first used.
beforeAll(async () => {
  const { client } = losing();
  await (await client.stream({ session_id: "s" }, { open })).close();
  const handlers = { async *send() {} } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  await connect(foldGateway, { fetch: serve(foldGateway, handlers).fetch })
    .send({ content: "x" })
    .opened.catch(() => {});
});
beforeEach(
  () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] }),
);
afterEach(() => void vi.useRealTimers());

const open = { client_info: { name: "test", version: "1", capabilities: [] } };
const user = (message: string) => ({ type: "client.user_message", message }) as const;

/** The clock goes on until something has happened. Returns the seconds that it took. */
async function eventually(happened: () => boolean, most = 2000): Promise<number> {
  let seconds = 0;
  for (; !happened() && seconds < most; seconds++) {
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(1000);
  }
  return seconds;
}

/** How a promise ends. */
function outcomeOf(promise: Promise<unknown>) {
  const outcome: { value?: unknown; error?: unknown; over: boolean } = { over: false };
  promise.then(
    (value) => Object.assign(outcome, { value, over: true }),
    (error: unknown) => Object.assign(outcome, { error, over: true }),
  );
  return outcome;
}

/** A loco that notes what it receives, and sockets of which the first loses everything on demand, and is then cut by a close. */
function losing(options: ConnectOptions = {}) {
  const heard: string[] = [];
  const handlers = {
    async stream(_, channel) {
      channel.send({ type: "server.hello", server_info: { version: "1" } });
      for await (const message of channel) if (message.type === "client.user_message") heard.push(message.message);
    },
  } as Partial<LoCoHandlers> as LoCoHandlers;
  const app = serve(loco, handlers, { allowAnonymous: true });
  const network = { losing: false, online: true, sockets: 0 };
  const webSocket: OpenSocket = async (url, init) => {
    if (!network.online) throw new Error("offline");
    const first = ++network.sockets === 1;
    const port = (await app.webSocket(url, init)) as Port;
    if (!first) return port;
    return {
      ...port,
      send: (frame) => (network.losing ? undefined : port.send(frame)),
      close: (code, reason) => port.close(network.losing ? 1006 : code, reason),
    };
  };
  const fetch = async (request: Request) => {
    if (!network.online) throw new TypeError("offline");
    return app.fetch(request);
  };
  const client = connect(loco, { fetch, webSocket, random: () => 0.5, ...options });
  return { heard, network, client };
}

/** A channel that has heard its server, on which two messages are lost and then closed. */
async function closing(options?: ConnectOptions, offline = false) {
  const { heard, network, client } = losing(options);
  const session = await client.stream({ session_id: "s" }, { open });
  for await (const _message of session) break;
  network.losing = true;
  for (const text of ["one", "two"]) session.send(user(text));
  network.online = !offline;
  const outcome = outcomeOf(session.closed);
  void session.close();
  await eventually(() => outcome.over);
  return { heard, outcome };
}

describe("What is sent just before a channel is closed", () => {
  it("and is lost on its socket is delivered over the next one, where the server can resume", async () => {
    const { heard, outcome } = await closing();
    expect(heard).toEqual(["one", "two"]);
    expect(outcome).toEqual({ over: true, value: { code: 1000, reason: "" } });
  });

  it("is listed as unconfirmed where the server cannot resume", async () => {
    const { heard, outcome } = await closing({ resume: false });
    expect(heard).toEqual([]);
    expect(outcome.error).toMatchObject({
      name: "Disconnected",
      code: "closed",
      unconfirmed: [user("one"), user("two")],
    });
  });

  it("is listed as unconfirmed, with the cause, where the server is not reached again within the budget", async () => {
    const { heard, outcome } = await closing({ reconnectFor: 10_000 }, true);
    expect(heard).toEqual([]);
    expect(outcome.error).toMatchObject({
      name: "Disconnected",
      code: "closed",
      unconfirmed: [user("one"), user("two")],
      cause: { name: "Disconnected" },
    });
  });
});

describe("A server that accepts each join and cuts it at once", () => {
  const stream = (ids: readonly string[]) =>
    new Response(ids.map((id) => `id: ${id}\nevent: text\ndata: {"text":"a"}\n\n`).join(""), {
      headers: { "Content-Type": "text/event-stream", "Parlance-Resume": "e1; grace=30; beat=15" },
    });

  it.each([
    ["without a message", [], 0.5],
    ["without a message", [], 0],
    ["after a message that is known already", ["e1.1"], 0.5],
    ["after a message that is known already", ["e1.1"], 0],
  ])("%s is asked with backoff, until the budget is spent (%j, random %d)", async (_, again, random) => {
    let requests = 0;
    const fetch = async () => (++requests === 1 ? stream(["e1.1"]) : stream(again));
    const reading = (async () => {
      for await (const _message of connect(foldGateway, { fetch, random: () => random }).send({ content: "x" }));
    })();
    const outcome = outcomeOf(reading);
    const early = await eventually(() => outcome.over, 10);
    if (random > 0) expect([early, requests < 12]).toEqual([10, true]);
    await eventually(() => outcome.over);
    expect(outcome.error).toMatchObject({ name: "Disconnected", code: "ended_early" });
    expect(requests).toBeLessThan(random > 0 ? 30 : 1300);
  });

  it("on a channel is asked with backoff too", async () => {
    const served = peer({ mode: "resume" });
    let sockets = 0;
    const webSocket: OpenSocket = async (url, init) => {
      const port = (await served.webSocket(url, init)) as Port;
      if (++sockets > 1) port.close(1006, "");
      return port;
    };
    const session = await connect(based, { fetch: served.fetch, webSocket, random: () => 0.5 }).session();
    for await (const _message of session) break;
    session.send({ type: "list_files" });
    for await (const _message of session) break;
    const outcome = outcomeOf(session.closed);
    await (session as unknown as { send(message: object): void }).send({ type: "list_files" });
    served.cut();
    await eventually(() => outcome.over);
    expect(outcome.error).toMatchObject({ name: "Disconnected", code: "closed", retryable: true });
    expect(sockets).toBeLessThan(30);
  });
});

it("a server that refuses to upgrade after a cut is asked three times, and the channel ends with its refusal", async () => {
  const served = peer({ mode: "resume", cutSocket: true });
  let handshakes = 0;
  const webSocket: OpenSocket = async (...init) =>
    handshakes++ === 0 ? served.webSocket(...init) : { refused: { status: 426, body: "Upgrade Required" } };
  const session = await connect(based, { fetch: served.fetch, webSocket }).session();
  const outcome = outcomeOf(session.closed);
  const seconds = await eventually(() => outcome.over);
  expect(outcome.error).toMatchObject({
    name: "Disconnected",
    cause: { name: "Refusal", status: 426, message: expect.stringMatching(/^Upgrade Required \(/) },
  });
  expect(handshakes).toBe(4);
  expect(seconds).toBeLessThan(5);
});

it("a channel whose sockets cannot be opened says why", async () => {
  const served = peer({ mode: "resume" });
  const webSocket: OpenSocket = async () => Promise.reject(new Error("no route"));
  const outcome = outcomeOf(connect(based, { fetch: served.fetch, webSocket }).session());
  await eventually(() => outcome.over);
  expect(outcome.error).toMatchObject({
    name: "Disconnected",
    code: "unreachable",
    cause: { code: "unreachable", cause: { message: "no route" } },
  });
});

it.each([1, 2])(
  "a cut and %d unanswered joins lose nothing, within a server's default grace period",
  async (unanswered) => {
    const handlers = {
      async *send() {
        yield { type: "text", text: "one" };
        yield { type: "done", full_response: "one" };
      },
    } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
    const app = serve(foldGateway, handlers);
    let calls = 0;
    const fetch = async (request: Request): Promise<Response> => {
      if (++calls > 1 && calls <= 1 + unanswered) return new Promise(() => {});
      const answer = await app.fetch(request);
      if (calls > 1) return answer;
      const bytes = (await answer.body!.getReader().read()).value!;
      return new Response(bytes.subarray(0, new TextDecoder().decode(bytes).indexOf("\n\n") + 2), answer);
    };
    const got: string[] = [];
    const reading = (async () => {
      for await (const { type } of connect(foldGateway, { fetch, random: () => 0 }).send({ content: "x" }))
        got.push(type);
    })();
    const outcome = outcomeOf(reading);
    await eventually(() => outcome.over);
    expect([got, outcome.error]).toEqual([["text", "done"], undefined]);
  },
);

describe("A time that a hostile server names", () => {
  it.each(["99999999999", "1e9", "9".repeat(400), "0", ".", "1.2.3", "..5"])("%s overflows no timer", (number) => {
    const told = parseResumable(`e1; grace=${number}; beat=${number}`);
    for (const seconds of told ? [told.grace, told.beat] : []) {
      expect(seconds).toBeGreaterThanOrEqual(0);
      expect(seconds * 2500).toBeLessThan(2 ** 31);
    }
  });

  it("does not make a silent stream idle at once", async () => {
    const body = new ReadableStream({
      start: (controller) =>
        controller.enqueue(new TextEncoder().encode('id: e1.1\nevent: text\ndata: {"text":"a"}\n\n')),
    });
    const headers = {
      "Content-Type": "text/event-stream",
      "Parlance-Resume": "e1; grace=99999999999; beat=99999999999",
    };
    let requests = 0;
    const fetch = async () => {
      requests++;
      return new Response(body, { headers });
    };
    const stream = connect(foldGateway, { fetch }).send({ content: "x" });
    const iterator = stream[Symbol.asyncIterator]();
    await iterator.next();
    const outcome = outcomeOf(iterator.next());
    await eventually(() => outcome.over, 60);
    expect([requests, outcome.over]).toEqual([1, false]);
    stream.cancel();
  });
});

describe("An ask with a signal", () => {
  /** A based that answers on demand. */
  async function asking() {
    const seen: string[] = [];
    const handlers: BasedHandlers = {
      async session(_, channel) {
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const message of channel) {
          seen.push(message.type);
          if (message.type === "list_files") channel.send({ type: "file_list", files: [], activeFile: null } as never);
        }
      },
    };
    const app = serve(based, handlers);
    const session = await connect(based, { fetch: app.fetch, webSocket: app.webSocket }).session();
    return { session, seen };
  }
  const read = { type: "read_file", filename: "a" } as const;
  type Asking = Awaited<ReturnType<typeof asking>>["session"];
  const endings: Readonly<Record<string, (session: Asking, caller: AbortController) => Promise<unknown>>> = {
    "that is answered": (session, { signal }) => session.ask({ type: "list_files" }, { signal }),
    "that is aborted": (session, caller) => {
      const answer = session.ask(read, { signal: caller.signal });
      caller.abort(new Error("enough"));
      return answer;
    },
    "that waits for another one and is aborted": (session, caller) => {
      void session.ask(read).catch(() => {});
      const answer = session.ask(read, { signal: caller.signal });
      caller.abort(new Error("enough"));
      return answer;
    },
    "whose channel is closed": (session, { signal }) => {
      const answer = session.ask(read, { signal });
      void session.close();
      return answer;
    },
    "on a closed channel": async (session, { signal }) => {
      await session.close();
      return session.ask(read, { signal });
    },
  };

  it.each(Object.keys(endings))("%s leaves no listener on it", async (name) => {
    const { session } = await asking();
    const caller = new AbortController();
    const outcome = outcomeOf(endings[name]!(session, caller));
    await eventually(() => outcome.over);
    if (caller.signal.aborted) expect(outcome.error).toBe(caller.signal.reason);
    else if (name !== "that is answered") expect(outcome.error).toMatchObject({ name: "Disconnected", code: "closed" });
    expect(getEventListeners(caller.signal, "abort")).toEqual([]);
    await session.close();
  });

  it("that is aborted already is not sent", async () => {
    const { session, seen } = await asking();
    const why = new Error("too late");
    await expect(session.ask(read, { signal: AbortSignal.abort(why) })).rejects.toBe(why);
    await session.ask({ type: "list_files" });
    expect(seen).toEqual(["list_files"]);
    await session.close();
  });
});

describe("A body that nobody reads to its end is cancelled:", () => {
  const endless = (headers: Record<string, string>, status = 200) => {
    const seen = { cancelled: false };
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode("x".repeat(1000))),
      cancel: () => {
        seen.cancelled = true;
      },
    });
    return { seen, answer: new Response(body, { headers, status }) };
  };
  const json = { "Content-Type": "application/json" };
  const html = { "Content-Type": "text/html" };
  it.each([
    ["an answer over the limit", json, 200, { name: "Violation", code: "too_large" }],
    ["an answer of another content type", html, 200, { name: "Violation", code: "content_type" }],
    ["a refusal", html, 502, { name: "Refusal", status: 502 }],
    ["a refused token's", html, 401, { name: "Refusal", status: 401 }],
  ])("%s", async (_, headers, status, expected) => {
    const bodies: { cancelled: boolean }[] = [];
    const fetch = async () => {
      const { seen, answer } = endless(headers, status);
      bodies.push(seen);
      return answer;
    };
    const options = { fetch, maxMessageSize: 10_000, retryWaits: [], token: () => "t" };
    await expect(connect(foldGateway, options).listAgents()).rejects.toMatchObject(expected);
    const streamed = headers === json ? 0 : 1;
    if (streamed)
      await expect(connect(foldGateway, options).send({ content: "x" }).opened).rejects.toMatchObject(expected);
    await eventually(() => bodies.every(({ cancelled }) => cancelled), 5);
    expect(bodies.map(({ cancelled }) => cancelled)).toEqual(bodies.map(() => true));
    // A refused token is replaced once, for a call and for a stream.
    expect(bodies.length).toBe((status === 401 ? 2 : 1) * (1 + streamed));
  });
});

it("a body that stays open after its stream's end is left a second later", async () => {
  let cancelled = false;
  const last = 'event: done\ndata: {"full_response":"a"}\n\n';
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(last)),
    cancel: () => {
      cancelled = true;
    },
  });
  const fetch = async () => new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  for await (const { type } of connect(foldGateway, { fetch }).send({ content: "x" })) expect(type).toBe("done");
  await vi.advanceTimersByTimeAsync(999);
  expect(cancelled).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(cancelled).toBe(true);
});

it("a stream that nobody reads is ended on its server as soon as its caller aborts", async () => {
  const served = peer({ mode: "resume", hold: true });
  const caller = new AbortController();
  const stream = connect(foldGateway, served).send({ content: "x" }, { signal: caller.signal });
  await stream.opened;
  caller.abort();
  await eventually(() => served.methods.length > 1, 5);
  expect(served.methods).toEqual(["POST", "DELETE"]);
  expect(served.open.bodies).toBe(0);
});
