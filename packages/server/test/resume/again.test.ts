import { connect } from "@parlance/client";
import { type EmacsAgentHandlers, type EventsMessage, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, Refusal, type ServeOptions, serve } from "@parlance/server";
import { newKey, RESUME } from "@parlance/wire";
import { expect, it, vi } from "vitest";

// A request that is sent again with its key comes as late as the network likes: also when the server has dropped the stream.

const SHORT = { grace: 20, tombstoneLife: 20, heartbeat: 20 };
/** Headers wait for the first message. */
const UNANSWERED = { ...SHORT, heartbeat: 60_000 };

/** An agent whose streams are of one message, or of none, and then wait for their signal; and how often it has begun one. */
function agent(says: "a message" | "nothing", options: ServeOptions = SHORT) {
  const begun = { count: 0 };
  async function* speak<T>(first: T, signal: AbortSignal): AsyncGenerator<T> {
    begun.count++;
    if (says === "a message") yield first;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  }
  const idle: EventsMessage = { type: "agent.state", state: "idle" };
  const emacs = {
    events: (_, { signal }) => speak(idle, signal),
  } as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
  const fold = {
    send: (_, { signal }) => speak({ type: "text", text: "x" }, signal),
  } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  return { begun, apps: { GET: serve(emacsAgent, emacs, options), POST: serve(foldGateway, fold, options) } };
}

const requests = {
  GET: () => new Request("http://localhost/api/sessions/s/events"),
  POST: () =>
    new Request("http://localhost/api/send", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"content":"x"}',
    }),
};

function keyed(request: Request, key: string, signal?: AbortSignal): Request {
  const headers = new Headers(request.headers);
  headers.set(RESUME, key);
  return new Request(request, { headers, ...(signal && { signal }) });
}

/** Until the server keeps nothing of any stream. */
const dropped = (app: App) =>
  vi.waitFor(() => {
    const { streams, readers, timers, logged } = app.stats();
    expect({ streams, readers, timers, logged }).toEqual({ streams: 0, readers: 0, timers: 0, logged: 0 });
  });

const leaves = {
  "nobody came back to": async (app: App, request: Request, key: string) => {
    const response = await app.fetch(keyed(request, key));
    await response.body!.cancel();
  },
  "was cancelled": async (app: App, request: Request, key: string) => {
    await app.fetch(keyed(request, key));
    const { status } = await app.fetch(keyed(new Request(request.url, { method: "DELETE" }), key));
    expect(status).toBe(204);
  },
};

async function loseCaller(app: App, request: Request, key: string): Promise<void> {
  const gone = new AbortController();
  const answer = app.fetch(keyed(request, key, gone.signal));
  await vi.waitFor(() => expect(app.stats().streams).toBe(1));
  gone.abort();
  await expect(answer).rejects.toThrow();
}

it.each(
  (["GET", "POST"] as const).flatMap((method) => [
    ...(["a message", "nothing"] as const).flatMap((says) =>
      Object.entries(leaves).map(([how, leave]) => ({ method, says, how, leave, options: SHORT })),
    ),
    {
      method,
      says: "nothing" as const,
      how: "lost its caller before it was answered",
      leave: loseCaller,
      options: UNANSWERED,
    },
  ]),
)("a $method of a stream that $how, after $says, does not begin it again", async ({ method, says, leave, options }) => {
  const { apps, begun } = agent(says, options);
  const [app, key] = [apps[method], newKey()];
  await leave(app, requests[method](), key);
  await dropped(app);
  const again = await app.fetch(keyed(requests[method](), key));
  expect(again.status).toBe(method === "GET" ? 410 : 409);
  const joined = await app.fetch(keyed(new Request(requests[method]().url), key));
  expect([joined.status, joined.headers.get(RESUME)]).toEqual([410, "gap; after=0"]);
  expect(begun.count).toBe(1);
});

it("a client whose GET is sent again after the grace period gets a gap", async () => {
  const { apps, begun } = agent("a message");
  let sent = 0;
  const fetch = async (request: Request) => {
    const answer = await apps.GET.fetch(request);
    if (sent++ > 0) return answer;
    await answer.body!.cancel();
    await dropped(apps.GET);
    throw new TypeError("the connection was lost");
  };
  const stream = connect(emacsAgent, { fetch, retryWaits: [0, 0, 0] }).events({ session_id: "s" });
  await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "gap", missing: { after: 0 } });
  expect({ sent, begun: begun.count }).toEqual({ sent: 2, begun: 1 });
});

it("a GET that lost its caller before it was answered is waited for as long as one after, and joins what it has begun", async () => {
  const { apps, begun } = agent("nothing", { ...UNANSWERED, grace: 60_000 });
  const key = newKey();
  await loseCaller(apps.GET, requests.GET(), key);
  await loseCaller(apps.POST, requests.POST(), newKey());
  await vi.waitFor(() => expect(apps.POST.stats().streams).toBe(0));
  const joined = await apps.GET.fetch(keyed(requests.GET(), key));
  expect(joined.status).toBe(200);
  expect(begun.count).toBe(2);
  const cancel = await apps.GET.fetch(keyed(new Request(requests.GET().url, { method: "DELETE" }), key));
  expect(cancel.status).toBe(204);
});

it("a request that was refused may begin with the same key later", async () => {
  let busy = true;
  const handlers = {
    async *events() {
      if (busy) throw new Refusal("busy", { status: 503 });
      yield { type: "agent.state", state: "idle" };
    },
  } as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
  const app = serve(emacsAgent, handlers, SHORT);
  const key = newKey();
  expect((await app.fetch(keyed(requests.GET(), key))).status).toBe(503);
  busy = false;
  const again = await app.fetch(keyed(requests.GET(), key));
  expect(again.status).toBe(200);
  await again.body!.cancel();
});
