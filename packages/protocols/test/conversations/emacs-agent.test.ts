import { type EmacsAgentHandlers, type EventsMessage, emacsAgent } from "@parlance/protocols/emacs-agent";
import { Refusal, serve } from "@parlance/server";
import { expect, it } from "vitest";
import { aborted, all, deferred, hold, overEachCarrier } from "./carriers.js";

const session_id = "s/1 é";
const at = "2025-01-01T00:00:00Z";
const transcript = {
  session_id,
  project_path: "/p",
  model: "m",
  started_at: at,
  messages: [],
  tool_calls: [],
  file_changes: [],
};

/** The parts that every conversation has; a prompt says back its text, and then the agent is idle. */
const handlers: EmacsAgentHandlers = {
  createSession: () => ({ session_id, status: "active", created_at: at }),
  getSession: () => ({
    session_id,
    status: "active",
    project_path: "/p",
    model: "m",
    message_count: 0,
    started_at: at,
  }),
  endSession: () => ({ status: "closed", transcript_path: "t.org" }),
  prompt({ session_id, text }, call) {
    call.session(session_id).send({ type: "message.delta", content: text, role: "assistant" });
    return { status: "accepted", agent_state: "thinking" };
  },
  interrupt: () => ({ status: "interrupted", agent_state: "idle" }),
  approve({ tool_call_id }, call) {
    if (!call.ask) throw new Refusal(`nothing waits for ${tool_call_id}`, { code: "INVALID_TOOL_CALL" });
    return { status: "approved", tool_call_id };
  },
  reject({ tool_call_id }, call) {
    if (!call.ask) throw new Refusal(`nothing waits for ${tool_call_id}`, { code: "INVALID_TOOL_CALL" });
    return { status: "rejected", tool_call_id };
  },
  getTranscript: () => transcript,
  getTranscriptMarkdown: () => "# é\n",
  getTranscriptOrg: () => "#+TITLE: é\n",
  listTranscripts: ({ project }) => ({
    transcripts: [{ session_id, project_path: project ?? "none", started_at: at, message_count: 0, files_changed: [] }],
  }),
  resume: () => ({ status: "resumed", session_id, message_count: 0 }),
  async *events({ session_id }) {
    if (session_id === "unknown") throw new Refusal("no such session", { code: "SESSION_NOT_FOUND" });
    yield { type: "agent.state", state: "idle" };
  },
};
const call = (id: string): EventsMessage & { type: "tool.call" } => ({
  type: "tool.call",
  tool_call_id: id,
  tool: "edit_file",
  params: { path: "a" },
  requires_approval: true,
});

overEachCarrier("emacs-agent", (carrier) => {
  it("every operation, with a session id that needs escaping", async () => {
    const { client } = await hold(carrier, emacsAgent, handlers);
    expect(await client.createSession({ project_path: "/p" })).toMatchObject({ session_id });
    expect(await client.getSession({ session_id })).toMatchObject({ session_id });
    expect(await client.prompt({ session_id, text: "hi" })).toEqual({ status: "accepted", agent_state: "thinking" });
    expect(await client.interrupt({ session_id })).toMatchObject({ status: "interrupted" });
    expect(await client.getTranscript({ session_id })).toEqual(transcript);
    expect(await client.getTranscript({ session_id, format: "json" } as never)).toEqual(transcript);
    expect(await client.getTranscriptMarkdown({ session_id })).toBe("# é\n");
    expect(await client.getTranscriptOrg({ session_id })).toBe("#+TITLE: é\n");
    expect((await client.listTranscripts()).transcripts[0]?.project_path).toBe("none");
    expect((await client.listTranscripts({ project: "/a b&c" })).transcripts[0]?.project_path).toBe("/a b&c");
    expect(await client.resume({ session_id })).toMatchObject({ status: "resumed" });
    expect(await client.endSession({ session_id })).toMatchObject({ status: "closed" });
  });

  it("a prompt in one request speaks in another, and ending the session ends the stream normally", async () => {
    const { client, seen } = await hold(carrier, emacsAgent, handlers);
    const events = client.events({ session_id });
    await events.opened;
    await client.prompt({ session_id, text: "hi" });
    const heard: EventsMessage[] = [];
    for await (const message of events) {
      heard.push(message);
      if (message.type === "message.delta") await client.endSession({ session_id });
    }
    expect(heard).toEqual([
      { type: "agent.state", state: "idle" },
      { type: "message.delta", content: "hi", role: "assistant" },
    ]);
    expect(seen).toContain("close events done");
  });

  it("what is sent before anybody reads waits for the reader", async () => {
    const { client } = await hold(carrier, emacsAgent, handlers);
    for (const text of ["1", "2", "3"]) await client.prompt({ session_id, text });
    const texts: string[] = [];
    for await (const message of client.events({ session_id })) {
      if (message.type === "message.delta") texts.push(message.content);
      if (texts.length === 3) break;
    }
    expect(texts).toEqual(["1", "2", "3"]);
  });

  it("two sessions do not hear each other", async () => {
    const { client } = await hold(carrier, emacsAgent, handlers);
    const ids = ["a", "b"];
    const streams = ids.map((session_id) => client.events({ session_id }));
    await Promise.all(streams.map(({ opened }) => opened));
    const reading = streams.map((stream) => stream.text());
    for (const session_id of ids) await client.prompt({ session_id, text: `for ${session_id}` });
    for (const session_id of ids) await client.endSession({ session_id });
    expect(await Promise.all(reading)).toEqual(["for a", "for b"]);
  });

  it("two listeners of one session hear the same", async () => {
    const { client } = await hold(carrier, emacsAgent, handlers);
    const streams = [client.events({ session_id }), client.events({ session_id })];
    await Promise.all(streams.map(({ opened }) => opened));
    await client.prompt({ session_id, text: "both" });
    const reading = streams.map((stream) => stream.text());
    await client.endSession({ session_id });
    expect(await Promise.all(reading)).toEqual(["both", "both"]);
  });

  it.each([
    ["approve", { type: "approve", session_id, tool_call_id: "t1" }],
    ["reject", { type: "reject", session_id, tool_call_id: "t1", reason: "no" }],
  ] as const)("a tool call is answered by %s, and the answer's input reaches who asked", async (operation, answer) => {
    const answered = deferred<unknown>();
    const { client } = await hold(carrier, emacsAgent, {
      ...handlers,
      prompt({ session_id }, { session }) {
        session(session_id).ask(call("t1")).then(answered.resolve);
        return { status: "accepted", agent_state: "thinking" };
      },
    });
    const events = client.events({ session_id });
    await client.prompt({ session_id, text: "go" });
    for await (const message of events) {
      if (message.type !== "tool.call") continue;
      const { type, ...input } = answer;
      expect(await client[operation](input)).toMatchObject({ tool_call_id: "t1" });
      break;
    }
    expect(await answered.promise).toEqual(answer);
    // Nobody reads the session any more, and a late decision is refused all the same.
    await expect(client[operation]({ session_id, tool_call_id: "t1" })).rejects.toMatchObject({
      status: 409,
      code: "CONFLICT",
    });
    await expect(client[operation]({ session_id, tool_call_id: "t9" })).rejects.toMatchObject({
      code: "INVALID_TOOL_CALL",
    });
  });

  it("open tool calls are answered by their own id, in any order, and by their own session only", async () => {
    const answered: string[] = [];
    const all = deferred();
    const { client } = await hold(carrier, emacsAgent, {
      ...handlers,
      prompt({ session_id }, { session }) {
        for (const id of ["t1", "t2", "t3"])
          session(session_id)
            .ask(call(id))
            .then((answer) => {
              answered.push(`${id} ${answer.type}`);
              if (answered.length === 3) all.resolve();
            });
        return { status: "accepted", agent_state: "thinking" };
      },
    });
    await client.prompt({ session_id, text: "go" });
    const unknown = { name: "Refusal", code: "INVALID_TOOL_CALL" };
    await expect(client.approve({ session_id: "other", tool_call_id: "t1" })).rejects.toMatchObject(unknown);
    await expect(client.approve({ session_id, tool_call_id: "t4" })).rejects.toMatchObject(unknown);
    await client.approve({ session_id, tool_call_id: "t3" });
    await client.reject({ session_id, tool_call_id: "t1" });
    await client.approve({ session_id, tool_call_id: "t2" });
    await all.promise;
    expect(answered).toEqual(["t3 approve", "t1 reject", "t2 approve"]);
  });

  it("a pending approval outlives the reader of its stream", async () => {
    const answered = deferred<unknown>();
    const asked = deferred();
    const { client } = await hold(carrier, emacsAgent, {
      ...handlers,
      prompt({ session_id }, { session }) {
        session(session_id).ask(call("t1")).then(answered.resolve);
        return { status: "accepted", agent_state: "thinking" };
      },
    });
    const events = client.events({ session_id });
    await client.prompt({ session_id, text: "go" });
    for await (const message of events) {
      if (message.type !== "tool.call") continue;
      asked.resolve();
      break;
    }
    await asked.promise;
    await client.approve({ session_id, tool_call_id: "t1" });
    expect(await answered.promise).toMatchObject({ type: "approve" });
  });

  it("ending a session fails what was still asked", async () => {
    const failed = deferred<unknown>();
    const { client } = await hold(carrier, emacsAgent, {
      ...handlers,
      prompt({ session_id }, { session }) {
        session(session_id).ask(call("t1")).catch(failed.resolve);
        return { status: "accepted", agent_state: "thinking" };
      },
    });
    await client.prompt({ session_id, text: "go" });
    await client.endSession({ session_id });
    expect(await failed.promise).toMatchObject({ name: "Disconnected", code: "closed" });
  });

  it("a failure behind the stream is an `error` message, and the stream goes on", async () => {
    const { client } = await hold(carrier, emacsAgent, {
      ...handlers,
      prompt({ session_id }, { session }) {
        session(session_id).send({ type: "error", message: "the model is gone", code: "LLM_API_ERROR" });
        session(session_id).send({ type: "message.delta", content: "back", role: "assistant" });
        return { status: "accepted", agent_state: "thinking" };
      },
    });
    await client.prompt({ session_id, text: "go" });
    const types: string[] = [];
    for await (const { type } of client.events({ session_id })) {
      types.push(type);
      if (type === "message.delta") break;
    }
    expect(types).toEqual(["agent.state", "error", "message.delta"]);
  });

  it.each([
    ["SESSION_NOT_FOUND", 404],
    ["INVALID_TOOL_CALL", 404],
    ["PERMISSION_DENIED", 500],
    ["LLM_API_ERROR", 500],
    ["RATE_LIMITED", 429],
    ["BACKEND_NOT_READY", 503],
  ])("a refusal with %s goes over with status %i and its details", async (code, status) => {
    const { client } = await hold(carrier, emacsAgent, {
      ...handlers,
      getSession() {
        throw new Refusal("no", { code, details: { session_id: "x" } });
      },
    });
    const refused = client.getSession({ session_id });
    await expect(refused).rejects.toMatchObject({
      code,
      status,
      details: { session_id: "x" },
      message: "no",
    });
  });

  it("the stream of an unknown session is refused before it begins", async () => {
    const { client } = await hold(carrier, emacsAgent, handlers);
    await expect(client.events({ session_id: "unknown" }).opened).rejects.toMatchObject({
      name: "Refusal",
      code: "SESSION_NOT_FOUND",
    });
  });

  it("leaving the events tells the handler that waits", async () => {
    const left = deferred();
    const { client } = await hold(carrier, emacsAgent, {
      ...handlers,
      async *events(_, { signal }) {
        yield { type: "agent.state", state: "idle" };
        await aborted(signal);
        left.resolve();
      },
    });
    for await (const _ of client.events({ session_id })) break;
    await left.promise;
  });

  it("a wrong token is refused with 401, and a function is asked for a fresh one", async () => {
    let tokens = 0;
    const served = {
      authenticate: ({ headers }: Request) => (headers.get("Authorization") === "Bearer 2" ? { id: "me" } : undefined),
    };
    const { client } = await hold(carrier, emacsAgent, handlers, { served, connected: { token: "1" } });
    await expect(client.getSession({ session_id })).rejects.toMatchObject({ status: 401, code: "UNAUTHORIZED" });
    await expect(client.events({ session_id }).opened).rejects.toMatchObject({ status: 401 });
    const asking = await hold(carrier, emacsAgent, handlers, {
      served,
      connected: { token: async () => `${++tokens}` },
    });
    expect(await asking.client.getSession({ session_id })).toMatchObject({ status: "active" });
    expect(tokens).toBe(2);
  });

  it("what handlers send at once arrives in the order in which it was sent", async () => {
    const sent: string[] = [];
    const { client } = await hold(carrier, emacsAgent, {
      ...handlers,
      async prompt({ session_id, text }, { session }) {
        for (let turns = 5 - Number(text); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
        sent.push(text);
        session(session_id).send({ type: "message.delta", content: text, role: "assistant" });
        return { status: "accepted", agent_state: "thinking" };
      },
    });
    const events = client.events({ session_id });
    await events.opened;
    await Promise.all(["0", "1", "2", "3", "4"].map((text) => client.prompt({ session_id, text })));
    await client.endSession({ session_id });
    const heard = (await all(events)).flatMap((message) => (message.type === "message.delta" ? [message.content] : []));
    expect(sent).toHaveLength(5);
    expect(heard).toEqual(sent);
  });
});

it.each([
  ["a name of the network", "http://agent.example/api/transcripts", {}],
  ["a name that only begins like localhost", "http://localhost.example/api/transcripts", {}],
  ["a page of another site", "http://localhost/api/transcripts", { origin: "https://evil.example" }],
])(
  "a server for itself answers nobody who addresses it by another name than localhost: %s",
  async (_, url, headers) => {
    const handlers = {
      listTranscripts: () => ({ transcripts: [] }),
    } as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
    const app = serve(emacsAgent, handlers, { partial: true });
    expect((await app.fetch(new Request("http://localhost/api/transcripts"))).status).toBe(200);
    expect((await app.fetch(new Request(url, { headers }))).status).toBe(403);
  },
);
