import { getEventListeners } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { based } from "@parlance/protocols/based";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, bearer, Refusal, type ServeOptions, serve } from "@parlance/server";
import { clusterOn, memoryPubSub, type PubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { newKey, RESUME } from "@parlance/wire";
import { pair } from "@parlance/wire/link";
import { expect, test, vi } from "vitest";

// What was held too long, released too early, or shared with the wrong caller.

type Handlers = Partial<EmacsAgentHandlers>;

/** An agent whose `prompt` sends its text to the session, and whose `events` has no message of its own. */
function agent(options: ServeOptions = {}, handlers: Handlers = {}): App {
  const all: Handlers = {
    prompt({ session_id, text }, { session }) {
      session(session_id).send({ type: "message.delta", content: text, role: "assistant" });
      return { status: "accepted", agent_state: "thinking" };
    },
    async *events() {},
    ...handlers,
  };
  return serve(emacsAgent, all as EmacsAgentHandlers, { heartbeat: 0, ...options });
}

interface Asking {
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
  readonly method?: string;
}

function requestOf(path: string, { token, headers, ...init }: Asking = {}, body?: object): Request {
  return new Request(`http://localhost/api/sessions/s${path}`, {
    ...(body && { method: "POST", body: JSON.stringify(body) }),
    headers: {
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(body && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...init,
  });
}

const prompt = async (app: App, text: string, asking?: Asking) =>
  expect((await app.fetch(requestOf("/prompt", asking, { text }))).status).toBe(200);

/** A reader of the session's stream. */
async function reader(app: App, asking?: Asking) {
  const response = await app.fetch(requestOf("/events", asking));
  let text = "";
  const body = response.body!.getReader();
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for (let step = await body.read(); !step.done; step = await body.read()) text += decoder.decode(step.value);
  };
  read().catch(() => {});
  const contents = () => [...text.matchAll(/"content":"([^"]*)"/g)].map(([, content]) => content);
  return {
    response,
    id: () => [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1],
    contents,
    gets: (...wanted: string[]) => vi.waitFor(() => expect(contents()).toEqual(wanted), { timeout: 10_000 }),
    detach: () => body.cancel(),
  };
}

const principals = { authenticate: bearer({ a: "A", b: "B" }) };
const key = (value = newKey()) => ({ headers: { [RESUME]: value } });

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

test.each([
  ["joins the same stream", "same", "before"],
  ["begins another stream before the old one is over", "other", "before"],
  ["begins another stream after the old one is over", "other", "after"],
])(
  "messages of a session that a lost answer should have brought reach the next reader, which %s",
  async (_, which, when) => {
    const app = agent({ tombstoneLife: 60, grace: 60 });
    const { headers } = key();
    // The answer is there, and its connection is lost before a byte of it is written.
    const call = app.open();
    expect((await app.answer(requestOf("/events", { headers }), call)).status).toBe(200);
    call.close(new Error("the connection was lost"));
    await prompt(app, "1");
    const running = (count: number) => vi.waitFor(() => expect(app.stats().streams).toBe(count));
    if (when === "after") await running(0);
    const next = await reader(app, which === "same" ? { headers } : key());
    if (which === "other") await running(1);
    await next.gets("1");
    // The old stream's end takes nothing from the new one: its messages can be read again from their start.
    await prompt(app, "2");
    await next.gets("1", "2");
    const cursor = next.id()!.replace(/\d+$/, "1");
    await next.detach();
    if (which === "other") return;
    const again = await reader(app, { headers: { ...headers, "Last-Event-ID": cursor } });
    await again.gets("2");
    await again.detach();
  },
);

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

test("readers that join by key take places, call hooks.request, and may be refused by it", async () => {
  let refuse = false;
  const seen: string[] = [];
  const hooks = {
    request({ operation }: { operation: string }) {
      seen.push(operation);
      if (refuse) throw new Refusal("not now", { status: 429 });
    },
  };
  const app = agent({ ...principals, hooks, maxStreams: 2 });
  const { headers } = key();
  const token = "a";
  const first = await reader(app, { token, headers });
  const open = [first];
  for (let i = 0; i < 3; i++) open.push(await reader(app, { token, headers }));
  expect(seen).toEqual(Array(4).fill("events"));
  // Twice maxStreams readers: those that joined, beside the one that began the stream.
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) {
    const one = await reader(app, { token, headers });
    statuses.push(one.response.status);
    open.push(one);
  }
  expect(statuses).toContain(429);
  expect(statuses.at(-1)).toBe(429);
  for (const one of open) await one.detach();
  await vi.waitFor(() => expect(app.stats()).toMatchObject({ readers: 0, places: 1 }));
  refuse = true;
  expect((await app.fetch(requestOf("/events", { token, headers }))).status).toBe(429);
  expect(app.stats()).toMatchObject({ readers: 0, places: 1, calls: 0 });
  refuse = false;
  const back = await reader(app, { token, headers });
  expect(back.response.status).toBe(200);
  await back.detach();
});

test.each([
  ["before its session has ended", true],
  ["after its session has ended", false],
])("an ask whose signal aborts %s leaves the session's next reader alone", async (_, early) => {
  const asking = new AbortController();
  const settled: string[] = [];
  const app = agent(
    {},
    {
      interrupt({ session_id }, { session }) {
        const asked = { type: "tool.call", tool_call_id: "t", tool: "t", params: {}, requires_approval: true } as const;
        session(session_id)
          .ask(asked, { signal: asking.signal })
          .catch((error: Error) => settled.push(error.name));
        return { status: "interrupted", agent_state: "idle" };
      },
      endSession: () => ({ status: "closed", transcript_path: "s.org" }),
    },
  );
  expect((await app.fetch(requestOf("/interrupt", { method: "POST" }))).status).toBe(200);
  if (early) asking.abort();
  expect((await app.fetch(requestOf("", { method: "DELETE" }))).status).toBe(200);
  await vi.waitFor(() => expect(settled).toEqual([early ? "AbortError" : "Disconnected"]));
  expect(getEventListeners(asking.signal, "abort")).toHaveLength(0);
  const next = await reader(app);
  asking.abort();
  await prompt(app, "1");
  await next.gets("1");
  await next.detach();
  await vi.waitFor(() => expect(app.stats()).toMatchObject({ sessions: 0, asks: 0, queued: 0 }));
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

test("finished resumable streams keep no more than maxTotal together: the oldest go first, and their readers get a gap", async () => {
  const log = memoryLog({ maxTotal: 20_000 });
  const app = serve(
    foldGateway,
    {
      async *send() {
        yield { type: "text", text: "x".repeat(3000) };
        yield { type: "done", full_response: "" };
      },
    } as never,
    { log },
  );
  const ask = (headers: Record<string, string>, init: RequestInit = {}) =>
    app.fetch(new Request("http://localhost/api/send", { ...init, headers: { ...headers, ...init.headers } }));
  const ids: { readonly headers: Record<string, string>; readonly first: string }[] = [];
  for (let i = 0; i < 20; i++) {
    const { headers } = key();
    const response = await ask(headers, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"content":"x"}',
    });
    const text = await response.text();
    ids.push({ headers, first: /^id: (.*)$/m.exec(text)![1]! });
    expect(app.stats().logged).toBeLessThanOrEqual(20_000);
  }
  const statuses: number[] = [];
  for (const { headers, first } of ids) {
    const epoch = first.split(".")[0];
    const joined = await ask({ ...headers, "Last-Event-ID": `${epoch}.0` });
    statuses.push(joined.status);
    if (joined.status === 410) expect(joined.headers.get(RESUME)).toMatch(/^gap; after=0/);
    await joined.text();
  }
  const kept = statuses.filter((status) => status === 200).length;
  expect(kept).toBeGreaterThan(2);
  expect(statuses).toEqual([...Array(20 - kept).fill(410), ...Array(kept).fill(200)]);
});

test.each([
  ["plain", false],
  ["resumable", true],
])("a socket that is lost before its %s conversation begins gives its place back", async (_, resumable) => {
  const handlers = { session: async () => {} };
  const app = serve(based, handlers, { ...principals, grace: 20, maxStreams: 1 });
  const headers = { Authorization: "Bearer a" };
  for (let i = 0; i < 3; i++) {
    let protocols: string[] = [];
    if (resumable) {
      const offer = await app.fetch(new Request("http://localhost/ws", { headers: { ...headers, ...key().headers } }));
      expect(offer.status).toBe(200);
      protocols = [`parlance.${((await offer.json()) as { ticket: string }).ticket}`];
    }
    const accepted = await app.accept(new Request("http://localhost/ws", { headers }), protocols, app.open());
    if ("refused" in accepted) throw new Error(`refused with ${accepted.refused.status}`);
    const [, far] = pair();
    accepted.run({ ...far, listen: ({ close }) => close(1006, "") });
    await vi.waitFor(() => expect(app.stats()).toMatchObject({ places: 0, channels: 0, calls: 0 }));
  }
});
