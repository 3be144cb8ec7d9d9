import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { type EmacsAgentSession, type EventsMessage, emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type Disconnected, Refusal, type ServeOptions, serve } from "@parlance/server";
import { clusterOn, type PubSub } from "@parlance/server/cluster";
import type { EventLog } from "@parlance/server/resume";
import type { Port } from "@parlance/wire";
import { expect, test, vi } from "vitest";

/** One pubSub and one log as two servers have them. */
export interface Pair {
  readonly pubSubs: readonly [PubSub, PubSub];
  readonly logs: readonly [EventLog, EventLog];
  stop(): void;
}

const never = () => {
  throw new Error("not used here");
};

/** An emacs-agent server, whose `prompt` hands its session to the test, and its client. */
export function agentOn(pubSub: PubSub, log: EventLog, options: ServeOptions = {}) {
  const prompted: EmacsAgentSession[] = [];
  const app = serve(
    emacsAgent,
    {
      createSession: never,
      getSession: never,
      interrupt: never,
      getTranscript: never,
      getTranscriptMarkdown: never,
      getTranscriptOrg: never,
      listTranscripts: never,
      resume: never,
      endSession: () => ({ status: "closed", transcript_path: "session.org" }),
      prompt({ session_id }, call) {
        prompted.push(call.session(session_id));
        return { status: "accepted", agent_state: "thinking" };
      },
      approve({ tool_call_id }, call) {
        if (!call.ask) throw new Refusal("no such tool call", { code: "INVALID_TOOL_CALL" });
        return { status: "approved", tool_call_id };
      },
      reject({ tool_call_id }, call) {
        // A handler may settle the ask itself.
        call.ask?.settle({ type: "reject", tool_call_id } as { type: string });
        return { status: "rejected", tool_call_id };
      },
      async *events() {
        yield { type: "agent.state", state: "idle" };
      },
    },
    { cluster: clusterOn(pubSub), log, heartbeat: 0, ...options },
  );
  const client = connect(emacsAgent, { fetch: app.fetch });
  return {
    app,
    client,
    async session(session_id: string): Promise<EmacsAgentSession> {
      await client.prompt({ session_id, text: "go" });
      return prompted.pop()!;
    },
    async reader(session_id: string) {
      const left = new AbortController();
      const events = client.events({ session_id }, { signal: left.signal });
      const iterator = events[Symbol.asyncIterator]();
      await iterator.next();
      return {
        detach: () => left.abort(),
        /** How the stream ends. */
        end: () =>
          iterator.next().then(
            ({ done }) => (done ? "done" : "goes on"),
            (error: Disconnected) => error.code,
          ),
        async take(count: number) {
          const contents: string[] = [];
          while (contents.length < count) contents.push(wordOf((await iterator.next()).value));
          return contents;
        },
      };
    },
  };
}

/** Resolves once a reader has confirmed every message: later readers do not get them. */
const confirmed = ({ app }: ReturnType<typeof agentOn>) =>
  vi.waitFor(() => expect(app.stats().queued).toBe(0), { interval: 5, timeout: 10_000 });

export const say = (content: string) => ({ type: "message.delta", content, role: "assistant" }) as const;
export const call = (tool_call_id: string) =>
  ({ type: "tool.call", tool_call_id, tool: "edit_file", params: {}, requires_approval: true }) as const;
const wordOf = (message: EventsMessage | undefined): string =>
  message?.type === "message.delta"
    ? message.content
    : message?.type === "tool.call"
      ? message.tool_call_id
      : `${message?.type}`;
export const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => String(from + i));

/** What two servers behind a balancer must do, whatever joins them. */
export function testCluster(make: () => Promise<Pair>): void {
  async function agents() {
    const { pubSubs, logs, stop } = await make();
    const [a, b] = [agentOn(pubSubs[0], logs[0]), agentOn(pubSubs[1], logs[1])];
    // Apps first: what they let go of, they tell their stores.
    const close = (): void => {
      for (const { app } of [a, b]) app.close();
      stop();
    };
    return { a, b, pubSubs, [Symbol.dispose]: close };
  }

  test("what an agent sends on one server is read on another, in order: what waited, and what comes", async () => {
    using cluster = await agents();
    const { a, b } = cluster;
    const session = await a.session("s");
    for (const word of numbers(1, 50)) session.send(say(word));
    const reader = await b.reader("s");
    expect(await reader.take(50)).toEqual(numbers(1, 50));
    for (const word of numbers(51, 100)) session.send(say(word));
    expect(await reader.take(50)).toEqual(numbers(51, 100));
    reader.detach();
  });

  test("readers on both servers get everything, also from an agent that comes after them", async () => {
    using cluster = await agents();
    const { a, b } = cluster;
    const far = await b.reader("s");
    const session = await a.session("s");
    session.send(say("1"));
    expect(await far.take(1)).toEqual(["1"]);
    await confirmed(a);
    const near = await a.reader("s");
    session.send(say("2"));
    expect([await near.take(1), await far.take(1)]).toEqual([["2"], ["2"]]);
    const back = await b.session("s");
    back.send(say("3"));
    expect([await near.take(1), await far.take(1)]).toEqual([["3"], ["3"]]);
    near.detach();
    far.detach();
  });

  test("sessions of different names do not meet", async () => {
    using cluster = await agents();
    const { a, b } = cluster;
    const [one, two] = [await b.reader("one"), await b.reader("two")];
    for (const key of ["one", "two"]) (await a.session(key)).send(say(key));
    expect([await one.take(1), await two.take(1)]).toEqual([["one"], ["two"]]);
    one.detach();
    two.detach();
  });

  test("an approval that lands on another server reaches the agent; the first decision wins and late ones get 409", async () => {
    using cluster = await agents();
    const { a, b } = cluster;
    const session_id = "s";
    const session = await a.session(session_id);
    const reader = await b.reader(session_id);
    for (const decide of [b.client.approve, b.client.reject, a.client.approve]) {
      const tool_call_id = crypto.randomUUID();
      const asked = session.ask(call(tool_call_id));
      expect(await reader.take(1)).toEqual([tool_call_id]);
      await decide({ session_id, tool_call_id });
      expect((await asked).type).toBe(decide === b.client.reject ? "reject" : "approve");
      for (const late of [a.client.approve, b.client.approve, a.client.reject, b.client.reject])
        expect(await statusOf(late({ session_id, tool_call_id }))).toBe(409);
    }
    reader.detach();
  });

  test("of decisions that come to both servers at once, exactly one counts", async () => {
    using cluster = await agents();
    const { a, b } = cluster;
    const session_id = "s";
    const session = await a.session(session_id);
    const reader = await b.reader(session_id);
    for (let round = 0; round < 20; round++) {
      const tool_call_id = `t${round}`;
      const asked = session.ask(call(tool_call_id));
      await reader.take(1);
      const input = { session_id, tool_call_id };
      const decisions = [b.client.approve, a.client.approve, b.client.reject, b.client.approve, a.client.reject];
      const statuses = await Promise.all(decisions.map((decide) => statusOf(decide(input))));
      expect([...statuses].sort()).toEqual([200, 409, 409, 409, 409]);
      expect((await asked).type).toBe(
        statuses.indexOf(200) === 2 || statuses.indexOf(200) === 4 ? "reject" : "approve",
      );
    }
    reader.detach();
  });

  test("a fresh reader on any server is shown what is still open, and not what is decided", async () => {
    using cluster = await agents();
    const { a, b } = cluster;
    const session_id = "s";
    const session = await a.session(session_id);
    const first = await b.reader(session_id);
    const asks = ["t1", "t2"].map((id) => session.ask(call(id)));
    expect(await first.take(2)).toEqual(["t1", "t2"]);
    first.detach();
    await b.client.approve({ session_id, tool_call_id: "t1" });
    await asks[0];
    for (const server of [a, b]) {
      const reader = await server.reader(session_id);
      expect(await reader.take(1)).toEqual(["t2"]);
      reader.detach();
    }
    await b.client.reject({ session_id, tool_call_id: "t2" });
    expect((await asks[1]!).type).toBe("reject");
  });

  test("a tool call that nobody has is refused by the handler's own code", async () => {
    using cluster = await agents();
    const { a, b } = cluster;
    await a.session("s").then((session) => session.send(say("1")));
    for (const session_id of ["s", "nobody"]) {
      const refused = await b.client.approve({ session_id, tool_call_id: "t9" }).catch((error) => error);
      expect(refused).toMatchObject({ code: "INVALID_TOOL_CALL" });
    }
  });

  test("a session that is ended on one server ends on all: its streams, and what is asked", async () => {
    using cluster = await agents();
    const { a, b } = cluster;
    const session = await a.session("s");
    const readers = [await a.reader("s"), await b.reader("s")];
    const asked = session.ask(call("t1")).catch((error) => error);
    for (const reader of readers) expect(await reader.take(1)).toEqual(["t1"]);
    await b.client.endSession({ session_id: "s" });
    expect(await asked).toMatchObject({ code: "closed" });
    // A client that has not ended the session itself cannot tell this end from a cut: the protocol has no word for it.
    expect([await readers[0]!.end(), await readers[1]!.end()]).toEqual(["ended_early", "done"]);
  });

  test("what was on the way to a server that is gone waits for the next reader", async () => {
    using cluster = await agents();
    const { a, b, pubSubs } = cluster;
    const session = await a.session("s");
    const reader = await b.reader("s");
    session.send(say("1"));
    expect(await reader.take(1)).toEqual(["1"]);
    await confirmed(a);
    // As if B were killed: nothing that is sent to it arrives.
    for (const unsubscribe of heldBy(pubSubs[1])) unsubscribe();
    for (const word of numbers(2, 20)) session.send(say(word));
    const next = await a.reader("s");
    expect(await next.take(19)).toEqual(numbers(2, 20));
    next.detach();
    reader.detach();
  });

  test("a channel crosses servers: its socket may be on another one, and is cut again and again; nothing is lost and nothing done twice", async () => {
    const pair = await make();
    const { seen, servers, client, cut } = uploaders(pair, 20_000);
    try {
      const session = await client.session();
      const names = numbers(1, 60);
      const answers: string[] = [];
      for (const [i, filename] of names.entries()) {
        const answer = session.ask({ type: "upload_file", filename, content: "" });
        // Before its answer can be there, and between two.
        if (i % 7 === 3) cut();
        answers.push(`${((await answer) as { filename?: string }).filename}`);
        if (i % 7 === 5) cut();
      }
      expect(answers).toEqual(names);
      expect(seen.heard).toEqual(names);
      expect(seen.sessions).toBe(1);
      // Asked of one server, opened on the other.
      expect(seen.asked.slice(0, 3)).toEqual(["socket A", "GET A", "socket B"]);
      expect(new Set(seen.asked)).toEqual(new Set(["GET A", "socket B", "GET B", "socket A"]));
      await session.close();
      expect(await session.closed).toMatchObject({ code: 1000 });
      while (seen.reasons.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      expect(seen.reasons).toMatchObject([{ name: "AbortError" }]);
    } finally {
      for (const server of servers) server.close();
      pair.stop();
    }
  });

  test("frames that both sides of a far channel send at once arrive in order, whatever their number", async () => {
    const pair = await make();
    const { seen, servers, client, cut } = uploaders(pair, 20_000);
    try {
      const session = await client.session();
      await session.ask({ type: "upload_file", filename: "0", content: "" });
      cut();
      const names = numbers(1, 2000);
      const answers = Promise.all(names.map((filename) => session.ask({ type: "upload_file", filename, content: "" })));
      expect((await answers).map((answer) => "filename" in answer && answer.filename)).toEqual(names);
      expect(seen.heard).toEqual(["0", ...names]);
      expect(seen.asked).toEqual(["socket A", "GET A", "socket B"]);
      await session.close();
    } finally {
      for (const server of servers) server.close();
      pair.stop();
    }
  });

  test("a channel whose server is gone ends in a gap, and its far socket does not stay open", async () => {
    const pair = await make();
    const { servers, client, seen, cut } = uploaders(pair, 600, { interruptedFor: 500 });
    try {
      const session = await client.session();
      await session.ask({ type: "upload_file", filename: "0", content: "" });
      cut();
      await session.ask({ type: "upload_file", filename: "1", content: "" });
      expect(seen.asked).toEqual(["socket A", "GET A", "socket B"]);
      // As if A were killed: it sends nothing, and nothing that is sent to it arrives.
      for (const unsubscribe of heldBy(pair.pubSubs[0])) unsubscribe();
      const unconfirmed = ["2", "3"].map((filename) => ({ type: "upload_file", filename, content: "" }) as const);
      for (const message of unconfirmed) session.send(message).catch(() => {});
      await expect(session.closed).rejects.toMatchObject({ name: "Disconnected", code: "gap", unconfirmed });
    } finally {
      for (const server of servers) server.close();
      pair.stop();
    }
  });

  test("a stream that began on one server goes on as long as it is read on another, and is cancelled from there", async () => {
    const { pubSubs, logs, stop } = await make();
    const grace = 1000;
    let aborted = () => {};
    const cancelled = new Promise<void>((resolve) => (aborted = resolve));
    let next = () => {};
    const servers = pubSubs.map((pubSub, i) =>
      serve(
        foldGateway,
        {
          health: never,
          ready: never,
          listAgents: never,
          async *send(_, { signal }) {
            signal.addEventListener("abort", () => {
              aborted();
              next();
            });
            for (let i = 1; ; i++) {
              yield { type: "text", text: String(i) };
              if (signal.aborted) return;
              // The next is not said before this one is read: the run is never ahead.
              await new Promise<void>((resolve) => (next = resolve));
            }
          },
        },
        { cluster: clusterOn(pubSub), log: logs[i]!, grace, heartbeat: 0 },
      ),
    );
    const seen: string[] = [];
    let cut = () => {};
    const gateway = connect(foldGateway, {
      random: () => 0,
      async fetch(request) {
        seen.push(`${request.method} ${seen.length === 0 ? "A" : "B"}`);
        const response = await servers[seen.length === 1 ? 0 : 1]!.fetch(request);
        if (seen.length > 1 || !response.body) return response;
        const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
        const broken = new AbortController();
        cut = () => broken.abort(new TypeError("cut"));
        response.body.pipeTo(writable, { signal: broken.signal }).catch(() => {});
        return new Response(readable, response);
      },
    });
    try {
      let count = 0;
      let until = Number.POSITIVE_INFINITY;
      for await (const message of gateway.send({ content: "go" })) {
        expect(message).toEqual({ type: "text", text: String(++count) });
        if (count === 5) {
          cut();
          until = Date.now() + 2.5 * grace;
        }
        if (Date.now() > until) break;
        next();
      }
      await cancelled;
      expect(seen).toEqual(["POST A", "GET B", "DELETE B"]);
      expect(count).toBeGreaterThan(5);
    } finally {
      for (const server of servers) server.close();
      stop();
    }
  });
}

const TURNS = [0, 0, 1, 1];

/** An uploader on both servers, and a client that is sent to the one and the other: begins at A, asks A, goes on at B, asks B, goes on at A. */
function uploaders({ pubSubs, logs }: Pair, grace: number, options: ServeOptions = {}) {
  const seen = { sessions: 0, heard: [] as string[], reasons: [] as unknown[], asked: [] as string[] };
  const servers = pubSubs.map((pubSub, i) =>
    serve(
      based,
      {
        async session(_, channel, { signal }) {
          seen.sessions++;
          signal.addEventListener("abort", () => seen.reasons.push(signal.reason));
          channel.send({ type: "initial_state", files: [], activeFile: null });
          for await (const message of channel) {
            if (message.type !== "upload_file") continue;
            seen.heard.push(message.filename);
            channel.send({ type: "file_uploaded", filename: message.filename, files: [] });
          }
        },
      },
      { cluster: clusterOn(pubSub), log: logs[i]!, grace, ...options },
    ),
  );
  let turn = 0;
  const sockets: Port[] = [];
  const client = connect(based, {
    random: () => 0,
    fetch: (request) => {
      const at = TURNS[turn++ % 4]!;
      seen.asked.push(`${request.method} ${"AB"[at]}`);
      return servers[at]!.fetch(request);
    },
    async webSocket(url, init) {
      const at = TURNS[turn++ % 4]!;
      seen.asked.push(`socket ${"AB"[at]}`);
      const port = await servers[at]!.webSocket(url, init);
      if (!("refused" in port)) sockets.push(port);
      return port;
    },
  });
  return { seen, servers, client, cut: () => sockets.at(-1)!.close(1006, "") };
}

export async function statusOf(answer: Promise<unknown>): Promise<number> {
  return answer.then(
    () => 200,
    ({ status }: Refusal) => status ?? 0,
  );
}

/** What a pubSub that was made by `tracked` listens to. */
const held = new WeakMap<PubSub, Set<() => void>>();
const heldBy = (pubSub: PubSub) => held.get(pubSub) ?? [];

/** A pubSub whose subscriptions a test can cut, as a killed server's are. */
export function tracked(pubSub: PubSub): PubSub {
  const subscriptions = new Set<() => void>();
  const made: PubSub = {
    publish: (topic, text) => pubSub.publish(topic, text),
    async subscribe(topic, hear, onMissed) {
      const unsubscribe = await pubSub.subscribe(topic, hear, onMissed);
      subscriptions.add(unsubscribe);
      return unsubscribe;
    },
  };
  held.set(made, subscriptions);
  return made;
}
