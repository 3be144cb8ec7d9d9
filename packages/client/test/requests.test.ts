import { type ConnectOptions, connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { afterEach, expect, test, vi } from "vitest";
import { peer } from "./peer.js";

afterEach(() => void vi.useRealTimers());

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

test.each([
  [200, undefined],
  [500, { name: "Disconnected", code: "ended_early" }],
])("a stream that stops while its session is ended with %i has the error %j", async (status, expected) => {
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
    for await (const _ of client.events(session)) ended = client.endSession(session).catch(() => {});
  } catch (failure) {
    error = failure;
  }
  await ended;
  if (expected) expect(error).toMatchObject(expected);
  else expect(error).toBeUndefined();
});
