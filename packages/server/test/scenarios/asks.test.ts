import { setImmediate as turn } from "node:timers/promises";
import { connect } from "@parlance/client";
import { type CovenHandlers, coven } from "@parlance/protocols/coven";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { type App, Refusal, type ServeOptions, serve } from "@parlance/server";
import { clusterOn, memoryPubSub } from "@parlance/server/cluster";
import { describe, expect, it, onTestFinished, vi } from "vitest";

// Some clients never answer what they are asked.

type Waiting = { readonly app: App; readonly answer: Promise<unknown>; readonly late: () => Promise<unknown> };
type Ask = (options: ServeOptions, signal?: AbortSignal) => Promise<Waiting>;

const open = { client_info: { name: "test", version: "1", capabilities: [] } };
const approval = {
  type: "tool.request_approval",
  request_id: "r",
  tool_name: "t",
  args: {},
  risk_level: "low",
} as const;
const response = { type: "client.approval_response", request_id: "r", approved: true, scope: "all" } as const;
const call = {
  type: "tool.call",
  tool_call_id: "c",
  tool: "edit_file",
  params: {},
  requires_approval: true,
} as const;
const toolApproval = { type: "tool_approval", id: "c", name: "write_file", input_json: "{}", request_id: "1" } as const;

/** The ask, once it is made. */
async function asking(asked: readonly Promise<unknown>[]): Promise<{ answer: Promise<unknown> }> {
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  return { answer: asked[0]! };
}

/** An ask of loco on the channel of a client that reads and says nothing. `by`: from its handler, or from another one. */
const onChannel =
  (by: "channel" | "session", resume: boolean): Ask =>
  async (options, signal) => {
    const asked: Promise<unknown>[] = [];
    const later: unknown[] = [];
    const handlers = {
      async stream(_, channel) {
        channel.send({ type: "server.hello", server_info: { version: "1" } });
        if (by === "channel") asked.push(channel.ask(approval, { signal: signal! }));
        for await (const message of channel) if (message.type !== "client.hello") later.push(message);
      },
      deleteSession(_, { session }) {
        asked.push(session("s").ask(approval, { signal: signal! }));
        return { success: true };
      },
    } as Partial<LoCoHandlers> as LoCoHandlers;
    const app = serve(loco, handlers, { allowAnonymous: true, ...options });
    const client = connect(loco, { fetch: app.fetch, webSocket: app.webSocket, resume });
    const channel = await client.stream({ session_id: "s" }, { open });
    if (by === "session") await connect(loco, { fetch: app.fetch }).deleteSession({ session_id: "other" });
    const { answer } = await asking(asked);
    return {
      app,
      answer,
      async late() {
        channel.send(response);
        await vi.waitFor(() => expect(later).toHaveLength(1));
        return later[0];
      },
    };
  };

/** An ask of emacs-agent on the stream of a session, which an operation answers. */
const onStream: Ask = async (options, signal) => {
  const asked: Promise<unknown>[] = [];
  const handlers = {
    async *events() {},
    prompt(_, { session }) {
      asked.push(session("s").ask(call, { signal: signal! }));
      return { status: "accepted", agent_state: "thinking" };
    },
    approve: ({ tool_call_id }) => ({ status: "approved", tool_call_id }),
  } as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
  const app = serve(emacsAgent, handlers, options);
  const client = connect(emacsAgent, { fetch: app.fetch });
  await client.prompt({ session_id: "s", text: "x" });
  const { answer } = await asking(asked);
  return { app, answer, late: () => client.approve({ session_id: "s", tool_call_id: "c" }) };
};

/** An ask of coven in the stream of a POST, which an operation answers. */
const inPost =
  (resume: boolean): Ask =>
  async (options, signal) => {
    const asked: Promise<unknown>[] = [];
    const handlers = {
      async send(_, call) {
        const answer = call.ask(toolApproval, { signal: signal! });
        answer.catch(() => {});
        asked.push(answer);
        await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
      },
      approveTool: ({ approved }) => ({ success: true, approved }),
    } as Partial<CovenHandlers> as CovenHandlers;
    const app = serve(coven, handlers, options);
    const client = connect(coven, { fetch: app.fetch, resume });
    const stream = client.send({ content: "x", sender: "me" });
    await stream.opened;
    onTestFinished(() => stream.cancel());
    const { answer } = await asking(asked);
    return { app, answer, late: () => client.approveTool({ agent_id: "1", tool_id: "c", approved: true }) };
  };

const asks: Record<string, [Ask, late: object]> = {
  "a handler's channel": [onChannel("channel", false), response],
  "a handler's channel that resumes": [onChannel("channel", true), response],
  "a session with a channel": [onChannel("session", false), response],
  "a session that an operation answers for": [onStream, { name: "Refusal", status: 409 }],
  "a POST's stream": [inPost(false), { name: "Refusal", status: 409 }],
  "a POST's stream that resumes": [inPost(true), { name: "Refusal", status: 409 }],
};

describe.each(Object.entries(asks))("An ask on %s", (_, [ask, whenLate]) => {
  it("that is not answered ends after askWithin, and a later answer finds nothing open", async () => {
    const { answer, late } = await ask({ askWithin: 20 });
    await expect(answer).rejects.toMatchObject({
      name: "Disconnected",
      code: "timeout",
      message: expect.stringMatching(
        /^(loco|emacs-agent|coven): the answer to tool[._](request_approval|call|approval) did not finish within 20 ms$/,
      ),
    });
    expect(await late().catch((error: unknown) => error)).toMatchObject(whenLate);
  });

  it.each([0, Number.POSITIVE_INFINITY])("has no limit with askWithin %s", async (askWithin) => {
    const limited = await ask({ heartbeat: 0 });
    const free = await ask({ heartbeat: 0, askWithin });
    await turn();
    expect(limited.app.stats().timers - free.app.stats().timers).toBe(1);
    for (const { answer, late } of [limited, free]) {
      void late().catch(() => {});
      await answer;
    }
  });

  it("ends with the reason of its own signal", async () => {
    const caller = new AbortController();
    const { answer } = await ask({}, caller.signal);
    caller.abort(new Error("enough"));
    await expect(answer).rejects.toThrow("enough");
  });
});

it("a session whose ask a channel has answered holds nothing after its last reader", async () => {
  let asked: Promise<unknown> | undefined;
  const handlers = {
    async stream(_, channel) {
      channel.send({ type: "server.hello", server_info: { version: "1" } });
      for await (const _message of channel);
    },
    deleteSession(_, { session }) {
      asked = session("s").ask(approval);
      return { success: true };
    },
  } as Partial<LoCoHandlers> as LoCoHandlers;
  const app = serve(loco, handlers, { allowAnonymous: true });
  const client = connect(loco, { fetch: app.fetch, webSocket: app.webSocket, resume: false });
  const channel = await client.stream({ session_id: "s" }, { open });
  await client.deleteSession({ session_id: "other" });
  for await (const message of channel) {
    if (message.type === "server.hello") continue;
    expect(message.type).toBe(approval.type);
    channel.send(response);
    break;
  }
  expect(await asked).toMatchObject({ approved: true });
  expect(app.stats()).toMatchObject({ sessions: 1, asks: 0 });
  await channel.close();
  await vi.waitFor(() => expect(app.stats()).toMatchObject({ sessions: 0 }));
});

/** A session with an open ask, and decisions about it whose handler waits until the test lets it answer. */
async function deciding(options: ServeOptions, fails: boolean) {
  const decided: string[] = [];
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  async function decide(what: "approved" | "rejected", tool_call_id: string) {
    decided.push(what);
    await finished;
    if (fails && decided.length === 1) throw new Refusal("not now", { status: 503 });
    return { status: what, tool_call_id };
  }
  const asked: Promise<{ type: string }>[] = [];
  const handlers = {
    async *events() {},
    prompt(_, { session }) {
      asked.push(session("s").ask(call));
      return { status: "accepted", agent_state: "thinking" };
    },
    approve: ({ tool_call_id }) => decide("approved", tool_call_id),
    reject: ({ tool_call_id }) => decide("rejected", tool_call_id),
  } as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
  const app = serve(emacsAgent, handlers, options);
  const client = connect(emacsAgent, { fetch: app.fetch, retryWaits: [] });
  await client.prompt({ session_id: "s", text: "x" });
  const { answer } = await asking(asked);
  const decision = { session_id: "s", tool_call_id: "c" };
  return { client, decision, decided, finish, answer };
}

describe.each([
  ["one server", {}],
  ["a server of several", { cluster: clusterOn(memoryPubSub()) }],
] as const)("Two decisions about one ask at a time, on %s", (_, options) => {
  it("run one handler: the other is refused before its own", async () => {
    const { client, decision, decided, finish, answer } = await deciding(options, false);
    const approved = client.approve(decision);
    await vi.waitFor(() => expect(decided).toEqual(["approved"]));
    await expect(client.reject({ ...decision, reason: "no" })).rejects.toMatchObject({ name: "Refusal", status: 409 });
    finish();
    await approved;
    expect(await answer).toMatchObject({ type: "approve" });
    expect(decided).toEqual(["approved"]);
  });

  it("where the first one's handler fails, a later one decides", async () => {
    const { client, decision, decided, finish, answer } = await deciding(options, true);
    finish();
    await expect(client.approve(decision)).rejects.toMatchObject({ status: 503 });
    await client.reject({ ...decision, reason: "no" });
    expect(await answer).toMatchObject({ type: "reject" });
    expect(decided).toEqual(["approved", "rejected"]);
  });
});
