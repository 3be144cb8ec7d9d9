import { connect } from "@parlance/client";
import { type EmacsAgentHandlers, type EventsMessage, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { type ServeOptions, serve } from "@parlance/server";
import { describe, expect, onTestFinished, test, vi } from "vitest";

// A session may end, or be sent a message, before its stream has had a message of its own.

type Handlers = Partial<EmacsAgentHandlers>;
type Events = NonNullable<Handlers["events"]>;
const idle = { type: "agent.state", state: "idle" } as const;
const delta = (content: string) => ({ type: "message.delta", content, role: "assistant" }) as const;

/** An agent whose stream is made by `events`, and what its signals and its reader have seen. */
function start(events: Events, options: ServeOptions, resume: boolean) {
  const seen = { called: 0, aborted: 0, got: [] as EventsMessage[] };
  const handlers: Handlers = {
    events(input, call) {
      seen.called++;
      call.signal.addEventListener("abort", () => seen.aborted++);
      return events(input, call);
    },
    prompt({ session_id, text }, { session }) {
      session(session_id).send(delta(text));
      return { status: "accepted", agent_state: "thinking" };
    },
    endSession: () => ({ status: "closed", transcript_path: "session.org" }),
  };
  const app = serve(emacsAgent, handlers as EmacsAgentHandlers, options);
  const client = connect(emacsAgent, { fetch: app.fetch, resume });
  const left = new AbortController();
  const reading = (async () => {
    for await (const message of client.events({ session_id: "s" }, { signal: left.signal })) seen.got.push(message);
  })();
  return { app, client, seen, reading, detach: () => left.abort() };
}

const whenAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));

const kinds: Record<string, { readonly events: Events; readonly own: readonly EventsMessage[]; readonly done?: true }> =
  {
    "only waits": {
      // biome-ignore lint/correctness/useYield: it waits
      async *events(_, { signal }) {
        await whenAborted(signal);
      },
      own: [],
    },
    "never settles": {
      events: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }),
      own: [],
    },
    "has sent one message and waits": {
      async *events(_, { signal }) {
        yield idle;
        await whenAborted(signal);
      },
      own: [idle],
    },
    "has returned": { async *events() {}, own: [], done: true },
  };

describe.each([
  ["with resume", true],
  ["without resume", false],
])("%s,", (_, resume) => {
  test.each(Object.entries(kinds))(
    "the end of a session ends a stream whose handler %s, after what was sent before",
    async (_, { events, own, done }) => {
      const { app, client, seen, reading } = start(events, { heartbeat: 600_000 }, resume);
      await vi.waitFor(() => expect([seen.called, seen.got]).toEqual([1, own]));
      await client.prompt({ session_id: "s", text: "a" });
      await client.endSession({ session_id: "s" });
      await reading;
      expect(seen.got).toEqual([...own, delta("a")]);
      if (!done) expect(seen.aborted).toBe(1);
      app.close();
      expect(app.stats()).toMatchObject({ calls: 0, streams: 0, readers: 0, sessions: 0, places: 0 });
    },
  );

  test("without heartbeats the headers and messages of a session reach the reader of a handler that only waits", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { client, seen, reading, detach } = start(kinds["only waits"]!.events, { heartbeat: 0 }, resume);
    while (seen.called === 0) await new Promise(setImmediate);
    await client.prompt({ session_id: "s", text: "a" });
    await vi.advanceTimersByTimeAsync(5000);
    for (let turn = 0; seen.got.length === 0 && turn < 1000; turn++) await new Promise(setImmediate);
    expect(seen.got).toEqual([delta("a")]);
    detach();
    await reading.catch(() => {});
  });
});

test("the end of a session closes a channel whose handler has sent nothing yet", async () => {
  const handlers = {
    stream: (_, __, { signal }) => whenAborted(signal),
    deleteSession: () => ({ success: true }),
  } as Partial<LoCoHandlers> as LoCoHandlers;
  const app = serve(loco, handlers, { allowAnonymous: true });
  const client = connect(loco, { fetch: app.fetch, webSocket: app.webSocket, resume: false });
  const open = { client_info: { name: "test", version: "1", capabilities: [] } };
  const channel = await client.stream({ session_id: "s" }, { open });
  await vi.waitFor(() => expect(app.stats().channels).toBe(1));
  await client.deleteSession({ session_id: "s" });
  await vi.waitFor(() => expect(app.stats()).toMatchObject({ channels: 0, sessions: 0 }));
  await channel.closed.catch(() => {});
});
