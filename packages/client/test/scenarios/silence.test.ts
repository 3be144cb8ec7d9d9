import { connect } from "@parlance/client";
import { type EmacsAgentHandlers, type EmacsAgentSession, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import { Refusal } from "@parlance/wire";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

// Every wait for a silent peer has a timeout. The clock is the test's.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] });
});
afterEach(() => void vi.useRealTimers());

/** What is not of the clock happens in its own time: code is loaded, bodies are read. The clock stands. */
async function until(happened: () => boolean): Promise<void> {
  while (!happened()) {
    await vi.advanceTimersByTimeAsync(0);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A fold-gateway whose handler thinks until the test decides. */
function thinking(heartbeat: number) {
  let decide!: (how: "speak" | "refuse") => void;
  const decision = new Promise<"speak" | "refuse">((resolve) => {
    decide = resolve;
  });
  const seen = { begun: false };
  const handlers = {
    async *send() {
      seen.begun = true;
      if ((await decision) === "refuse") throw new Refusal("no agent", { status: 503 });
      yield { type: "done", full_response: "at last" };
    },
  } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const app = serve(foldGateway, handlers, { heartbeat });
  const post = () =>
    app.fetch(
      new Request("http://localhost/api/send", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: '{"content":"x"}',
      }),
    );
  return { seen, decide, post };
}

it("a stream without a first message sends its headers and a comment after one heartbeat, not before", async () => {
  const { post, decide, seen } = thinking(15_000);
  let answer: Response | undefined;
  void post().then((it) => {
    answer = it;
  });
  await until(() => seen.begun);
  await vi.advanceTimersByTimeAsync(14_990);
  expect(answer).toBeUndefined();
  await vi.advanceTimersByTimeAsync(20);
  await until(() => answer !== undefined);
  expect(answer).toMatchObject({ status: 200 });
  const body = answer!.body!.pipeThrough(new TextDecoderStream()).getReader();
  expect(await body.read()).toEqual({ done: false, value: ": \n\n" });
  const next = body.read();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(await next).toEqual({ done: false, value: ": \n\n" });
  decide("speak");
  expect((await body.read()).value).toBe('event: done\ndata: {"full_response":"at last"}\n\n');
});

it("a handler that refuses before then has a status of its own; one that refuses later says it in the stream", async () => {
  const early = thinking(15_000);
  early.decide("refuse");
  expect((await early.post()).status).toBe(503);
  const late = thinking(15_000);
  const coming = late.post();
  await until(() => late.seen.begun);
  await vi.advanceTimersByTimeAsync(15_000);
  late.decide("refuse");
  const answer = await coming;
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain("event: error");
});

it("what others send to a session is heard while its events' handler has said nothing, and at once where it has returned", async () => {
  let session!: EmacsAgentSession;
  const never = new Promise<void>(() => {});
  const handlers = (silent: boolean) =>
    ({
      prompt({ session_id }, call) {
        session = call.session(session_id);
        return { status: "accepted", agent_state: "thinking" };
      },
      // biome-ignore lint/correctness/useYield: it sends nothing
      async *events() {
        if (!silent) await never;
      },
    }) as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
  for (const [silent, wait] of [
    [true, 0],
    [false, 15_000],
  ] as const) {
    const client = connect(emacsAgent, { fetch: serve(emacsAgent, handlers(silent)).fetch });
    const events = client.events({ session_id: "s" });
    const iterator = events[Symbol.asyncIterator]();
    const first = iterator.next();
    await client.prompt({ session_id: "s", text: "go" });
    await vi.advanceTimersByTimeAsync(wait);
    await events.opened;
    session.send({ type: "agent.state", state: "idle" });
    expect((await first).value).toEqual({ type: "agent.state", state: "idle" });
    events.cancel();
  }
});

it("a request that nobody answers is given up after the idle time-out, and its server told", async () => {
  const methods: string[] = [];
  const fetch = (request: Request) => {
    methods.push(request.method);
    return new Promise<Response>((_, reject) =>
      request.signal.addEventListener("abort", () => reject(request.signal.reason)),
    );
  };
  const reading = connect(foldGateway, { fetch }).send({ content: "x" })[Symbol.asyncIterator]().next();
  const refused = expect(reading).rejects.toMatchObject({ name: "Disconnected", code: "idle" });
  await until(() => methods.length === 1);
  await vi.advanceTimersByTimeAsync(299_000);
  expect(methods).toEqual(["POST"]);
  await vi.advanceTimersByTimeAsync(2000);
  await refused;
  expect(methods).toEqual(["POST", "DELETE"]);
});

it("a join that nobody answers is asked for anew after 30 s", async () => {
  let calls = 0;
  const handlers = {
    async *send() {
      yield { type: "text", text: "one" };
      yield { type: "text", text: "two" };
      yield { type: "done", full_response: "" };
    },
  } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const app = serve(foldGateway, handlers, { grace: 100_000 });
  const aborted: number[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    const call = ++calls;
    // The second and third attempts reach a peer that never answers.
    if (call === 2 || call === 3) {
      request.signal.addEventListener("abort", () => aborted.push(call));
      return new Promise(() => {});
    }
    const answer = await app.fetch(request);
    if (call > 1) return answer;
    const first = (await answer.body!.getReader().read()).value!;
    return new Response(first.subarray(0, new TextDecoder().decode(first).indexOf("\n\n") + 2), answer);
  };
  const stream = connect(foldGateway, { fetch, random: () => 0 }).send({ content: "x" });
  const got: string[] = [];
  const reading = (async () => {
    for await (const message of stream) got.push(message.type === "text" ? message.text : message.type);
  })();
  await until(() => got.length === 1);
  await until(() => calls === 2);
  await vi.advanceTimersByTimeAsync(29_000);
  expect([calls, got]).toEqual([2, ["one"]]);
  await vi.advanceTimersByTimeAsync(2000);
  await until(() => calls === 3);
  await vi.advanceTimersByTimeAsync(30_000);
  await reading;
  expect([calls, got]).toEqual([4, ["one", "two", "done"]]);
  expect(aborted).toEqual([2, 3]);
});

it("a cut stream whose server never answers again is given up after `reconnectFor`", async () => {
  let calls = 0;
  const handlers = {
    async *send() {
      yield { type: "text", text: "one" };
      await new Promise(() => {});
    },
  } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const app = serve(foldGateway, handlers, { grace: 100_000 });
  const fetch = async (request: Request): Promise<Response> => {
    if (++calls > 1) return new Promise(() => {});
    const answer = await app.fetch(request);
    return new Response((await answer.body!.getReader().read()).value, answer);
  };
  const iterator = connect(foldGateway, { fetch, random: () => 0 })
    .send({ content: "x" })
    [Symbol.asyncIterator]();
  await iterator.next();
  let outcome: unknown;
  iterator.next().catch((error: unknown) => {
    outcome = error;
  });
  for (let attempt = 1; attempt <= 4; attempt++) {
    await until(() => calls === 1 + attempt);
    expect(outcome).toBeUndefined();
    await vi.advanceTimersByTimeAsync(attempt < 4 ? 30_000 : 29_000);
    // What is set at once while the clock goes is due a millisecond later.
    await vi.advanceTimersByTimeAsync(1);
  }
  await vi.advanceTimersByTimeAsync(2000);
  expect(outcome).toMatchObject({ name: "Disconnected", code: "ended_early" });
});

const open = { client_info: { name: "test", version: "1", capabilities: [] } };
it("a handshake that nobody answers is given up after 30 s, by a `webSocket` that heeds no signal too", async () => {
  let sockets = 0;
  const webSocket = () => {
    sockets++;
    return new Promise<never>(() => {});
  };
  let outcome: unknown;
  connect(loco, { webSocket })
    .stream({ session_id: "s" }, { open })
    .catch((error: unknown) => {
      outcome = error;
    });
  await until(() => sockets === 1);
  await vi.advanceTimersByTimeAsync(29_000);
  expect(outcome).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1001);
  expect(outcome).toMatchObject({ name: "Disconnected", code: "timeout" });
});
