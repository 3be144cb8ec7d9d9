import { getEventListeners } from "node:events";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { Refusal, serve } from "@parlance/server";
import { memoryLog } from "@parlance/server/resume";
import { RESUME } from "@parlance/wire";
import { pair } from "@parlance/wire/link";
import { expect, test, vi } from "vitest";
import { agent, key, principals, prompt, reader, requestOf } from "../lifetimes-fixture.js";

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
