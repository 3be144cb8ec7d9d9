import { getEventListeners } from "node:events";
import { type ConnectOptions, connect } from "@parlance/client";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { totals } from "@parlance/wire/scope";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";

/** What a server that knows nothing of Parlance answers to one GET. */
type Answer = (request: Request) => Response | Promise<Response>;

const states = ["idle", "thinking", "tool_execution", "waiting_approval"] as const;
const ended = { status: "closed" };
const block = (i: number) => `data: {"type":"agent.state","state":"${states[i]}"}\n\n`;

/** A body that is cut, or ends, after its bytes. `hold`: it stays open. */
function body(text: string, how: "cut" | "end" | "hold" = "end"): ReadableStream<Uint8Array> {
  bodies++;
  let sent = false;
  return new ReadableStream(
    {
      pull(controller) {
        if (!sent && text) {
          sent = true;
          return controller.enqueue(new TextEncoder().encode(text));
        }
        if (how === "hold") return new Promise(() => {});
        bodies--;
        if (how === "cut") controller.error(new Error("cut"));
        else controller.close();
      },
      cancel: () => void bodies--,
    },
    { highWaterMark: 0 },
  );
}

const stream = (text: string, how?: "cut" | "end" | "hold"): Response =>
  new Response(body(text, how), { headers: { "Content-Type": "text/event-stream" } });

/** Bodies that the client has not let go of. */
let bodies = 0;
const caller = { signal: new AbortController().signal };
let abort = new AbortController();

/** A client whose further GETs are answered by the rest of the list; the last one answers every later one. */
function client(answers: readonly Answer[], options: ConnectOptions = {}) {
  const asked: string[] = [];
  const lost: string[] = [];
  let at = 0;
  const emacs = connect(emacsAgent, {
    random: () => 0.5,
    signal: caller.signal,
    fetch: async (request) => {
      asked.push(request.method);
      // A server of ours would be sent this when a stream is cancelled.
      if (request.method === "DELETE" && request.url.endsWith("/events")) return new Response(null, { status: 404 });
      return answers[Math.min(at++, answers.length - 1)]!(request);
    },
    ...options,
  });
  const events = emacs.events(
    { session_id: "s" },
    { signal: abort.signal, reopen: (error) => void lost.push(error.code) },
  );
  return { emacs, events, asked, lost };
}

/** Reads until so many messages have come, or to the end. */
async function read(events: ReturnType<typeof client>["events"], most = Number.POSITIVE_INFINITY): Promise<string[]> {
  const got: string[] = [];
  for await (const message of events) {
    if (message.type === "agent.state") got.push(message.state);
    if (got.length === most) break;
  }
  return got;
}

/** The clock goes on until a promise has settled. Returns how, and the seconds that it took. */
async function outcome(promise: Promise<unknown>): Promise<{ value?: unknown; error?: unknown; seconds: number }> {
  const how: { value?: unknown; error?: unknown } = {};
  promise.then(
    (value) => Object.assign(how, { value }),
    (error: unknown) => Object.assign(how, { error }),
  );
  let seconds = 0;
  for (; Object.keys(how).length === 0 && seconds < 1000; seconds++) {
    for (let i = 0; i < 6; i++) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(1000);
  }
  return { ...how, seconds };
}

// The code of streams is loaded when it is first used.
beforeAll(async () => {
  await read(client([() => stream(block(0), "hold")]).events, 1);
});
describe("a stream that is opened again has its client's options", () => {
  it.each<[option: string, ConnectOptions, Answer, wanted: object]>([
    [
      "maxMessageSize",
      { maxMessageSize: 10 },
      () => stream(block(0), "hold"),
      {
        name: "Violation",
        code: "too_large",
        message: "emacs-agent: an event is over the limit of 10 characters (from the server)",
      },
    ],
    ["idleTimeout", { idleTimeout: 20, reconnectFor: 1 }, () => stream("", "hold"), { code: "idle" }],
  ])("%s", async (_, option, answer, wanted) => {
    // Options of which the stream makes its own are there as well.
    const { events } = client([answer], { onUnknown() {}, ...option });
    await expect(read(events)).rejects.toMatchObject(wanted);
  });
});

/** Nothing takes time, and nothing is left at the end. */
function underAClockThatStands(): void {
  beforeEach(() => {
    abort = new AbortController();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] });
  });
  afterEach(async () => {
    for (let i = 0; i < 6; i++) await new Promise((resolve) => setImmediate(resolve));
    for (const signal of [caller.signal, abort.signal]) expect(getEventListeners(signal, "abort")).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(vi.getTimerCount()).toBe(0);
    expect(bodies).toBe(0);
    expect(Object.values(totals()).every((count) => count === 0)).toBe(true);
    vi.useRealTimers();
  });
}

describe("A stream that is opened again", () => {
  underAClockThatStands();
  const whole = block(0) + block(1);
  it.each(["cut", "end"] as const)("goes on with the next one, at whatever byte it is %s", async (how) => {
    for (let bytes = 0; bytes <= whole.length; bytes++) {
      const { events, lost, asked } = client([
        () => stream(whole.slice(0, bytes), how),
        () => stream(block(2) + block(3), "hold"),
      ]);
      const before = [block(0).length, whole.length].filter((complete) => complete <= bytes).length;
      const { value, error } = await outcome(read(events, before + 2));
      expect(error).toBeUndefined();
      expect(value).toEqual([...states.slice(0, before), "tool_execution", "waiting_approval"]);
      expect(lost).toEqual(["ended_early"]);
      expect(asked).toEqual(["GET", "GET"]);
    }
  });

  it.each([false, true])(
    "asks for each next one with a key of its own where its client resumes: %s",
    async (resume) => {
      const keys: (string | null)[] = [];
      const noted =
        (answer: Answer): Answer =>
        (request) => {
          keys.push(request.headers.get("Parlance-Resume"));
          return answer(request);
        };
      const answers = [() => stream(block(0)), () => stream(block(1)), () => stream(block(2), "hold")];
      const { events } = client(answers.map(noted), { resume });
      await outcome(read(events, 3));
      expect(new Set(keys).size).toBe(resume ? 3 : 1);
      expect(keys).toEqual(Array(3).fill(resume ? expect.any(String) : null));
    },
  );

  const refused = () => Promise.reject(new TypeError("refused", { cause: { code: "ECONNREFUSED" } }));
  const passing: Record<string, Answer> = {
    "is not there": refused,
    "loses the connection": () => Promise.reject(new TypeError("reset")),
    "never answers": () => new Promise<Response>(() => {}),
    "is behind a proxy that answers 502": () => new Response("bad gateway", { status: 502 }),
    "answers 503 and when to come again": () => new Response("", { status: 503, headers: { "Retry-After": "7" } }),
    "ends the stream at once": () => stream(""),
  };
  it.each(Object.entries(passing))("waits for a server that %s", async (_, fault) => {
    const { events, asked } = client([() => stream(block(0)), fault, fault, () => stream(block(1), "hold")]);
    const { value, seconds } = await outcome(read(events, 2));
    expect(value).toEqual(["idle", "thinking"]);
    expect(asked.filter((method) => method === "GET")).toHaveLength(4);
    expect(seconds).toBeLessThan(120);
  });

  it("is asked for no earlier than the server has asked, by Retry-After or by retry:", async () => {
    const later = () => new Response("", { status: 503, headers: { "Retry-After": "20" } });
    const first = client([() => stream(block(0)), later, () => stream(block(1), "hold")]);
    expect((await outcome(read(first.events, 2))).seconds).toBeGreaterThan(19);
    const second = client([() => stream(`retry: 20000\n${block(0)}`), () => stream(block(1), "hold")]);
    expect((await outcome(read(second.events, 2))).seconds).toBeGreaterThan(19);
  });

  const final: Record<string, [Answer, object]> = {
    "refuses it": [() => Response.json({}, { status: 404 }), { name: "Refusal", status: 404 }],
    "has failed": [() => new Response("", { status: 500 }), { name: "Refusal", status: 500 }],
    "answers with a page": [
      () => new Response("<html>", { headers: { "Content-Type": "text/html" } }),
      { name: "Violation", code: "content_type" },
    ],
  };
  it.each(Object.entries(final))("ends where the server %s", async (_, [answer, expected]) => {
    const { events, asked } = client([() => stream(block(0)), answer]);
    expect((await outcome(read(events))).error).toMatchObject(expected);
    expect(asked).toEqual(["GET", "GET"]);
  });

  it.each(["is not there", "never answers", "ends the stream at once"])(
    "ends in its loss when the budget is spent on a server that %s",
    async (fault) => {
      const { events } = client([() => stream(block(0)), passing[fault]!], { reconnectFor: 40_000 });
      const { error, seconds } = await outcome(read(events));
      expect(error).toMatchObject({ name: "Disconnected", code: "ended_early" });
      expect(seconds).toBeLessThanOrEqual(45);
    },
  );

  it("has its whole budget again after each message, and after half a minute of silence", async () => {
    const quiet: Answer = () => {
      setTimeout(() => gone.abort(), 60_000);
      const gone = new AbortController();
      return new Response(
        new ReadableStream({
          start: (controller) => gone.signal.addEventListener("abort", () => controller.close()),
        }),
        { headers: { "Content-Type": "text/event-stream" } },
      );
    };
    const chatty = Array.from({ length: 30 }, () => () => stream(block(0)));
    const silent = Array.from({ length: 12 }, () => quiet);
    const { events, lost } = client([...chatty, ...silent, () => stream(block(1), "hold")], { reconnectFor: 2000 });
    expect((await outcome(read(events, 31))).value).toHaveLength(31);
    expect(lost).toHaveLength(42);
  });

  it("ends normally when this client has ended its session, also while it was lost", async () => {
    const { emacs, events, asked } = client([
      () => stream(block(0)),
      (request) => (request.method === "GET" ? Promise.reject(new TypeError("away")) : Response.json(ended)),
    ]);
    const reading = outcome(read(events));
    for (let i = 0; i < 6; i++) await new Promise((resolve) => setImmediate(resolve));
    void emacs.endSession({ session_id: "s" }).catch(() => {});
    const { value, error } = await reading;
    expect(error).toBeUndefined();
    expect(value).toEqual(["idle"]);
    expect(asked).toContain("DELETE");
  });

  it.each([
    ["its signal", () => abort.abort(new Error("enough"))],
    ["cancel()", ({ events }: ReturnType<typeof client>) => events.cancel()],
  ] as const)("is stopped by %s, while it is open and while it is lost", async (name, stop) => {
    for (const next of [() => stream("", "hold"), refused, () => new Promise<Response>(() => {})]) {
      abort = new AbortController();
      const given = client([() => stream(block(0)), next]);
      const reading = outcome(read(given.events));
      await vi.advanceTimersByTimeAsync(3000);
      for (let i = 0; i < 6; i++) await new Promise((resolve) => setImmediate(resolve));
      stop(given);
      const { value, error } = await reading;
      if (name === "cancel()") expect(value).toEqual(["idle"]);
      else expect(error).toMatchObject({ message: "enough" });
    }
  });

  it("has no messages after cancel(), also of those that have arrived", async () => {
    const { events } = client([() => stream(block(0) + block(1), "hold")]);
    const reader = events[Symbol.asyncIterator]();
    expect((await reader.next()).value).toMatchObject({ state: "idle" });
    events.cancel();
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  });

  it("ends with what the function that gets the loss throws or rejects with", async () => {
    for (const reopen of [
      () => {
        throw new Error("no more");
      },
      () => Promise.reject(new Error("no more")),
    ]) {
      const emacs = connect(emacsAgent, { fetch: async () => stream(block(0)) });
      const events = emacs.events({ session_id: "s" }, { reopen });
      expect((await outcome(read(events))).error).toMatchObject({ message: "no more" });
    }
  });
});

describe("A stream is not opened again", () => {
  underAClockThatStands();
  it("when it could not be opened at first: that is an error", async () => {
    const { events, asked } = client([() => new Response("", { status: 502 })]);
    expect((await outcome(events.opened)).error).toMatchObject({ status: 502 });
    expect((await outcome(read(events))).error).toMatchObject({ status: 502 });
    expect(asked).toEqual(["GET"]);
  });

  it("unless it is asked for", async () => {
    let asked = 0;
    const emacs = connect(emacsAgent, { fetch: async () => stream(block(asked++)) });
    expect((await outcome(read(emacs.events({ session_id: "s" })))).error).toMatchObject({ code: "ended_early" });
    expect(asked).toBe(1);
  });

  it("where a POST asks for it: nothing is sent, and the compiler says so too", async () => {
    let asked = 0;
    const fetch = async () => {
      asked++;
      return stream("");
    };
    // @ts-expect-error a POST has no `reopen`
    const answer = connect(foldGateway, { fetch }).send({ content: "x" }, { reopen: true });
    const message = "fold-gateway.send is a POST: to open it again would do it twice. Call it again if that is meant";
    await expect(answer.opened).rejects.toMatchObject({ name: "TypeError", code: "usage", message });
    expect(asked).toBe(0);
  });

  it("as one text, which would have parts twice", async () => {
    const { events } = client([() => stream(block(0), "hold")]);
    await expect(events.text()).rejects.toThrow("may repeat its text");
    events.cancel();
  });
});

it("A server of ours that has lost its log ends a stream in a gap, and the next one begins anew", async () => {
  const begin = (state: (typeof states)[number]) =>
    serve(
      emacsAgent,
      {
        async *events(_: unknown, { signal }: { signal: AbortSignal }) {
          yield { type: "agent.state", state };
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        },
      } as never,
      { allowAnonymous: true },
    );
  let app = begin("idle");
  const lost: string[] = [];
  const emacs = connect(emacsAgent, { fetch: (request) => app.fetch(request), random: () => 0 });
  const got: string[] = [];
  for await (const message of emacs.events({ session_id: "s" }, { reopen: ({ code }) => void lost.push(code) })) {
    if (message.type === "agent.state") got.push(message.state);
    if (got.length === 2) break;
    const old = app;
    app = begin("thinking");
    void old.close();
  }
  expect(got).toEqual(["idle", "thinking"]);
  expect(lost).toHaveLength(1);
  await app.close();
});
