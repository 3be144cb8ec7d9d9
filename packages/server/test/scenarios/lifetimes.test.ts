import { getEventListeners } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type ServeOptions, serve } from "@parlance/server";
import { clusterOn, memoryPubSub, type PubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { expect, test, vi } from "vitest";
import { agent, key, principals, prompt, reader, requestOf } from "../lifetimes-fixture.js";

test("no kind of call leaves a listener on its request's signal", async () => {
  const fold = serve(foldGateway, {
    health: () => "OK",
    async *send() {
      yield { type: "done", full_response: "" };
    },
  } as never);
  const send = (headers: Record<string, string> = {}, body = '{"content":"x"}') => ({
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body,
  });
  const calls: [path: string, init: RequestInit][] = [
    ["/health", {}],
    ["/api/send", send()],
    ["/api/send", send(key().headers)],
    ["/api/send", send({}, "not JSON")],
    ["/nowhere", {}],
  ];
  for (const [path, init] of calls) {
    const left = new AbortController();
    const request = new Request(`http://localhost${path}`, { ...init, signal: left.signal });
    await (await fold.fetch(request)).text();
    await vi.waitFor(() => expect(fold.stats().calls).toBe(0));
    expect([path, getEventListeners(request.signal, "abort").length]).toEqual([path, 0]);
  }
});

test("a handler that closes its app and then fails leaves nothing behind", async () => {
  const app = agent(
    {},
    {
      async getSession() {
        app.close();
        await turn();
        throw new Error("too late");
      },
    },
  );
  expect((await app.fetch(requestOf(""))).status).toBe(503);
  // An unhandled rejection would come now, and fail this test.
  await turn();
});

/** A request whose body is cut when the test says so. */
function cutLater(path: string) {
  let cut = () => {};
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"text":'));
      cut = () => controller.error(new Error("the body was cut"));
    },
  });
  const headers = { "Content-Type": "application/json" };
  const request = new Request(`http://localhost${path}`, {
    method: "POST",
    headers,
    body,
    duplex: "half",
  } as RequestInit);
  return { request, cut };
}

const gateway = (options: ServeOptions) => serve(foldGateway, { async *send() {} }, { ...options, partial: true });
test.each(
  ["an operation", "a stream"].flatMap((kind) =>
    ["before it is read", "while its caller is authenticated", "while its body is read"].map(
      (when) => [kind, when] as const,
    ),
  ),
)("a call of %s whose connection is cut %s leaves no rejection behind", async (kind, when) => {
  const [make, path] =
    kind === "a stream" ? ([gateway, "/api/send"] as const) : ([agent, "/api/sessions/s/prompt"] as const);
  const app = make({
    onError: false,
    ...(when.includes("authenticated") && { authenticate: () => turn().then(() => "me") }),
  });
  const { request, cut } = cutLater(path);
  const call = app.open();
  const lose = () => {
    call.close(new Error("gone"));
    cut();
  };
  if (when.includes("before")) lose();
  const answer = app.answer(request, call);
  if (when.includes("body")) await turn();
  lose();
  expect((await answer).status).toBe(499);
  await turn();
});

test("a handler may copy its call, and take it apart", async () => {
  const heard: object[] = [];
  const app = agent(
    { hooks: { request: (called) => void heard.push({ ...called }) } },
    {
      prompt(_, call) {
        const { session } = call;
        heard.push({ ...call });
        session("s").send({ type: "message.delta", content: "", role: "assistant" });
        return { status: "accepted", agent_state: "thinking" };
      },
    },
  );
  await prompt(app, "hi");
  const request = expect.any(Request);
  expect(heard).toMatchObject([
    { operation: "prompt", input: { session_id: "s", text: "hi" }, request },
    { request, signal: expect.any(AbortSignal), session: expect.any(Function) },
  ]);
});

test("a message that breaks its schema is its sender's error, and is not kept for the session's readers", async () => {
  const app = agent(
    { onError: false },
    {
      prompt({ text }, { session }) {
        session("s").send({
          type: "message.delta",
          content: text === "wrong" ? (7 as never) : text,
          role: "assistant",
        });
        return { status: "accepted", agent_state: "thinking" };
      },
    },
  );
  const first = await reader(app);
  const { status } = await app.fetch(requestOf("/prompt", undefined, { text: "wrong" }));
  expect([status, app.stats().queued]).toEqual([500, 0]);
  await prompt(app, "1");
  await first.gets("1");
  await first.detach();
});

test.each([
  [false, []],
  [true, ["for a"]],
])("principals share sessions of one key only with sharedSessions (%s)", async (sharedSessions, seen) => {
  const app = agent({ ...principals, sharedSessions });
  const [a, b] = [await reader(app, { token: "a" }), await reader(app, { token: "b" })];
  await prompt(app, "for a", { token: "a" });
  await a.gets("for a");
  await prompt(app, "for b", { token: "b" });
  await b.gets(...seen, "for b");
  expect(a.contents()).toEqual(["for a", ...(sharedSessions ? ["for b"] : [])]);
  await Promise.all([a.detach(), b.detach()]);
});

test("a reader that comes while pub/sub is down is served once it is back", async () => {
  const inner = memoryPubSub();
  let down = false;
  const pubSub: PubSub = {
    publish: (topic, text) => (down ? Promise.reject(new Error("down")) : inner.publish(topic, text)),
    subscribe: (topic, receive, on) =>
      down ? Promise.reject(new Error("down")) : inner.subscribe(topic, (text) => down || receive(text), on),
  };
  const log = memoryLog();
  const [a, b] = [
    agent({ cluster: clusterOn(pubSub), log, onError: false }),
    agent({ cluster: clusterOn(pubSub), log, onError: false }),
  ];
  down = true;
  const far = await reader(b);
  for (let i = 0; i < 50; i++) await turn();
  down = false;
  await prompt(a, "1");
  await far.gets("1");
  await far.detach();
});
