import { type ConnectOptions, connect } from "@parlance/client";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import type { AnyContract } from "@parlance/wire";
import { afterEach, expect, test, vi } from "vitest";
import { peer } from "../peer.js";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test.each([
  ["http://x", "ws://x/"],
  ["https://x/api/", "wss://x/api/"],
])("a channel at %s opens its socket at %s, with the limit of its messages", async (baseUrl, start) => {
  const { webSocket } = peer({ mode: "base" });
  const asked: object[] = [];
  const options: ConnectOptions = {
    baseUrl,
    resume: false,
    maxMessageSize: 12_345,
    webSocket(url, init) {
      asked.push({ url, maxSize: init.maxSize, signal: init.signal?.aborted });
      return webSocket(url, init);
    },
  };
  const session = await connect(based, options).session();
  await session.close();
  expect(asked).toEqual([{ url: expect.stringMatching(`^${start}`), maxSize: 12_345, signal: false }]);
});

test("a request that failed is sent again after each of the waits, in seconds", async () => {
  const sent: number[] = [];
  const fetch = async () => {
    sent.push(Date.now());
    throw new TypeError("fetch failed");
  };
  const failing = (retryWaits: readonly number[]) => {
    const client = connect(foldGateway, { fetch, retryWaits, answerTimeout: 10_000 });
    return client.listAgents().catch((error: unknown) => error);
  };
  // The code of likely causes is loaded when it is first used.
  await failing([]);
  sent.length = 0;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  const began = Date.now();
  let error: unknown;
  failing([1, 2]).then((failure) => {
    error = failure;
  });
  for (let i = 0; i < 100 && error === undefined; i++) {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(500);
  }
  expect(error).toMatchObject({ name: "Disconnected", code: "unreachable" });
  expect(sent.map((at) => at - began)).toEqual([0, 1000, 3000]);
});

test("a stream that goes on to its final text after a message of failure has its text", async () => {
  const send = foldGateway.operations.send!;
  const stream = { ...send.answer.stream, end: ["done"], mayEnd: ["error"] };
  const contract = {
    ...foldGateway,
    operations: { ...foldGateway.operations, send: { ...send, answer: { ...send.answer, stream } } },
  } as unknown as typeof foldGateway;
  const error = 'event: error\ndata: {"error":"no"}\n\n';
  const done = 'event: done\ndata: {"full_response":"all"}\n\n';
  const saying = (text: string) => ({
    fetch: async () => new Response(text, { headers: { "Content-Type": "text/event-stream" } }),
    retryWaits: [],
  });
  expect(
    await connect(contract, saying(error + done))
      .send({ content: "x" })
      .text(),
  ).toBe("all");
  await expect(connect(contract, saying(error)).send({ content: "x" }).text()).rejects.toThrow("no");
});

test("a stream without a parameter of its path is refused at the call, before anything is sent", () => {
  const fetch = vi.fn();
  const { events } = connect(emacsAgent, { fetch });
  expect(() => events({} as { session_id: string })).toThrow(/session_id/);
  expect(fetch).not.toHaveBeenCalled();
});

const cut = { name: "Disconnected", code: "ended_early" };
test.each([
  ["its", 200, undefined],
  ["its", 500, cut],
  ["another", 200, cut],
])("a stream that stops while %s session is ended with %i has the error %j", async (whose, status, expected) => {
  let stop = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(
        new TextEncoder().encode('event: agent.state\ndata: {"type":"agent.state","state":"idle"}\n\n'),
      );
      stop = () => controller.close();
    },
  });
  const fetch = async ({ method }: Request) => {
    if (method === "DELETE") {
      stop();
      return status === 200 ? Response.json({ status: "closed" }) : new Response("no", { status });
    }
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  };
  const client = connect(emacsAgent, { fetch, retryWaits: [], resume: false });
  const session = { session_id: "s" };
  let ended: Promise<unknown> | undefined;
  let error: unknown;
  try {
    const ending = whose === "its" ? session : { session_id: "t" };
    for await (const _ of client.events(session)) ended = client.endSession(ending).catch(() => {});
  } catch (failure) {
    error = failure;
  }
  await ended;
  if (expected) expect(error).toMatchObject(expected);
  else expect(error).toBeUndefined();
});

/** An input with every parameter of a path. */
const inputOf = (path: string) => Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, key]) => [key, "x"]));

test.each([agentsmithy, based, emacsAgent, foldGateway, loco].map((contract) => contract as unknown as AnyContract))(
  "each operation of $name asks for its kind of answer, and calls its body JSON",
  async (contract) => {
    for (const [name, { method, path, body, answer }] of Object.entries(contract.operations)) {
      const sent: Request[] = [];
      const fetch = async (request: Request) => {
        sent.push(request);
        return new Response("no", { status: 404 });
      };
      const client = connect<Record<string, (input: object) => Promise<unknown> & { opened?: Promise<void> }>>(
        contract as never,
        { fetch, baseUrl: "http://x/base/", headers: { "X-Own": "own" }, resume: false },
      );
      const called = client[name]!(inputOf(path));
      await expect(called.opened ?? called).rejects.toMatchObject({ name: "Refusal", status: 404 });
      const [{ headers, url }] = sent as [Request];
      expect([name, sent[0]!.method, new URL(url).pathname]).toEqual([
        name,
        method,
        `/base${path.replace(/\{\w+\}/g, "x")}`,
      ]);
      expect([name, Object.fromEntries(headers)]).toEqual([
        name,
        {
          accept: answer.stream ? "text/event-stream" : (answer.text ?? "application/json"),
          ...(body && { "content-type": "application/json" }),
          ...(answer.stream && { "cache-control": "no-cache" }),
          "x-own": "own",
        },
      ]);
    }
  },
);

test.each([
  ["GET", true],
  ["POST", false],
])("a %s that nobody answers in time may be repeated: %s", async (method, retryable) => {
  const agents = { ...foldGateway.operations.listAgents, method };
  const contract = {
    ...foldGateway,
    operations: { ...foldGateway.operations, listAgents: agents },
  } as typeof foldGateway;
  const client = connect(contract, { fetch: () => new Promise<never>(() => {}), answerTimeout: 5 });
  await expect(client.listAgents()).rejects.toMatchObject({ name: "Disconnected", code: "timeout", retryable });
});

test("an answer is read whole, wherever its bytes are cut", async () => {
  const agents = [{ id: "1", name: "ä€😀", capabilities: ["\u2028"] }];
  const bytes = new TextEncoder().encode(JSON.stringify(agents));
  for (let at = 0; at <= bytes.length; at++) {
    const body = new ReadableStream({
      start(controller) {
        for (const part of [bytes.slice(0, at), bytes.slice(at)]) controller.enqueue(part);
        controller.close();
      },
    });
    const fetch = async () => new Response(body, { headers: { "Content-Type": "application/json" } });
    expect(await connect(foldGateway, { fetch }).listAgents()).toEqual(agents);
  }
});

test("an answer may have as many characters as the limit, and one more is refused with its body cancelled", async () => {
  const text = JSON.stringify([{ id: "1", name: "a", capabilities: [] }]);
  const asked = async (maxMessageSize: number) => {
    const cancel = vi.fn();
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
      pull: (controller) => void (maxMessageSize >= text.length && controller.close()),
      cancel,
    });
    const fetch = async () => new Response(body, { headers: { "Content-Type": "application/json" } });
    const found = await connect(foldGateway, { fetch, maxMessageSize })
      .listAgents()
      .catch((error) => error.code);
    return [found, cancel.mock.calls.length];
  };
  expect(await asked(text.length)).toEqual([JSON.parse(text), 0]);
  expect(await asked(text.length - 1)).toEqual(["too_large", 1]);
});

test("an event over the limit breaks the contract: the error names the operation", async () => {
  const fetch = async () =>
    new Response(`event: text\ndata: {"text":"${"x".repeat(100)}"}\n\n`, {
      headers: { "Content-Type": "text/event-stream" },
    });
  const stream = connect(foldGateway, { fetch, maxMessageSize: 50 }).send({ content: "x" });
  await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    name: "Violation",
    code: "too_large",
    protocol: "fold-gateway",
    side: "server",
    subject: "send",
  });
});

test("a call that is aborted before its failure is reported fails with the reason of the abort", async () => {
  for (let turns = 0; turns < 20; turns++) {
    const abort = new AbortController();
    let aborted = false;
    const fetch = async () => {
      void (async () => {
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        aborted = true;
        abort.abort(new Error("enough"));
      })();
      throw new TypeError("fetch failed");
    };
    const error = await connect(foldGateway, { fetch, retryWaits: [], signal: abort.signal })
      .listAgents()
      .catch((failure) => failure);
    if (aborted) expect([turns, error.message]).toEqual([turns, "enough"]);
  }
});

test("a token function that fails after its call was aborted is no unhandled rejection", async () => {
  const abort = new AbortController();
  const token = () => {
    abort.abort(new Error("enough"));
    return Promise.reject(new Error("no token"));
  };
  const client = connect(foldGateway, { fetch: vi.fn(), token, signal: abort.signal });
  await expect(client.listAgents()).rejects.toThrow("enough");
});

test.each([
  ["the server's own", "http://host:9420", "http://host:9420/api/sessions"],
  ["the document's", "http://host:9420/api", "http://host:9420/api/sessions"],
  ["the document's with a slash", "http://host:9420/api/", "http://host:9420/api/sessions"],
  ["one behind a proxy's path", "http://host/agent", "http://host/agent/api/sessions"],
  ["the document's behind a proxy's path", "http://host/agent/api", "http://host/agent/api/sessions"],
  ["one whose path only ends like it", "http://host/myapi", "http://host/myapi/api/sessions"],
])("emacs-agent's base URL may be %s", async (_, baseUrl, url) => {
  const asked: string[] = [];
  const fetch = async (request: Request) => {
    asked.push(request.url);
    return Response.json({ session_id: "s", status: "active", created_at: "2025-11-14T10:30:00Z" }, { status: 201 });
  };
  await connect(emacsAgent, { baseUrl, fetch }).createSession({ project_path: "/p" });
  expect(asked).toEqual([url]);
});

test.each([
  ["http://desktop:3199", true],
  ["http://192.168.0.7:3199", true],
  ["http://localhost.example.com", true],
  ["http://127.example.com", true],
  ["https://desktop:3199", false],
  ["http://localhost:3199", false],
  ["http://agent.localhost", false],
  ["http://127.0.0.1:3199", false],
  ["http://[::1]:3199", false],
])("a token for %s is warned about: %s", async (baseUrl, warns) => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const contract = { ...loco };
  connect(contract, { baseUrl });
  expect(warn).not.toHaveBeenCalled();
  for (let i = 0; i < 2; i++) connect(contract, { baseUrl, token: "t" });
  const { origin } = new URL(baseUrl);
  const warning = `loco: the token for ${origin} is sent in plain text. Use https; http to another host is for development only.`;
  // The warning is loaded where it may be needed.
  await import("../../src/unusual.js");
  await new Promise((resolve) => setImmediate(resolve));
  expect(warn.mock.calls).toEqual(warns ? [[warning]] : []);
});
