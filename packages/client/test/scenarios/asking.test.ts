import { getEventListeners } from "node:events";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import type { AnyContract } from "@parlance/wire";
import { Disconnected, Refusal } from "@parlance/wire/errors";
import { describe, expect, test, vi } from "vitest";
import { lifetime } from "../../src/lifetime.js";
import { operations } from "../../src/operation.js";
import type { ConnectOptions } from "../../src/options.js";
import { readText } from "../../src/read.js";
import { requests } from "../../src/request.js";

// One request, from its address to its answer, without the conversations that need it.

const contract = foldGateway as unknown as AnyContract;
const thrown = async (run: () => unknown) => {
  try {
    await run();
  } catch (error) {
    return error as Error & Record<string, unknown>;
  }
  throw new Error("nothing was thrown");
};

/** Requests, and what was sent: each is answered with the next of these, the last one again and again. */
function asking(answers: readonly (Response | Error)[], connection: ConnectOptions = {}) {
  const left = [...answers];
  const sent: Request[] = [];
  const fetch = async (request: Request) => {
    sent.push(request);
    if (sent.length > 10) throw new Error("it is sent again and again");
    const next = left.length > 1 ? left.shift()! : left[0]!;
    if (next instanceof Error) throw next;
    return next.body ? next.clone() : next;
  };
  const all = requests(contract, { baseUrl: "http://x/api/", fetch, ...connection });
  const ask = (init?: RequestInit, life = lifetime(), method = "GET", ours?: Record<string, string>) =>
    all.ask(method, "listAgents", {}, { "X-Own": "own" }, life, ours, init);
  return { all, sent, ask, tokens: () => sent.map(({ headers }) => headers.get("Authorization")) };
}
const ok = () => Response.json([]);
const refused = () => new Response("no", { status: 401 });
const counting = () => {
  let made = 0;
  return () => `t${++made}`;
};

describe("A request", () => {
  test.each([
    ["http://x", "http://x/api/agents"],
    ["http://x/", "http://x/api/agents"],
    ["http://x/a/b/", "http://x/a/b/api/agents"],
    ["HTTPS://X:444/a", "https://x:444/a/api/agents"],
  ])("to %s is sent to %s", async (baseUrl, address) => {
    const { ask, sent } = asking([ok()], { baseUrl });
    await ask();
    expect(sent.map(({ url }) => url)).toEqual([address]);
  });

  test.each(["x", "localhost:80", "ftp://x", ""])(
    "to an address that is none of HTTP is a mistake: %s",
    async (baseUrl) => {
      expect(await thrown(() => asking([], { baseUrl }))).toMatchObject({
        name: "TypeError",
        code: "usage",
        message: `add http:// to baseUrl "${baseUrl}"`,
      });
      expect(await thrown(() => asking([], { baseUrl: "http://" }))).toMatchObject({
        code: "usage",
        message: 'baseUrl "http://" is not a URL',
      });
    },
  );

  test("carries the connection's headers, then the caller's, then the token, and ours last", async () => {
    const headers = { "X-Own": "connection", "X-More": "more", Authorization: "own", Accept: "own" };
    const { ask, sent } = asking([ok()], { headers, token: "t" });
    await ask({ method: "GET" }, lifetime(), "GET", { Accept: "ours" });
    expect(Object.fromEntries(sent[0]!.headers)).toEqual({
      "x-own": "own",
      "x-more": "more",
      authorization: "Bearer t",
      accept: "ours",
    });
    const plain = asking([ok()], { headers: { Authorization: "own" } });
    await plain.ask();
    expect(plain.tokens()).toEqual(["own"]);
  });

  test.each<[what: string, answers: Response[], token: ConnectOptions["token"], sent: string[], status: number]>([
    ["an answer is sent once", [ok()], counting(), ["Bearer t1"], 200],
    ["another refusal is sent once", [new Response("", { status: 403 })], counting(), ["Bearer t1"], 403],
    ["a refused token is sent again with a new one", [refused(), ok()], counting(), ["Bearer t1", "Bearer t2"], 200],
    ["two refused ones is not sent a third time", [refused()], counting(), ["Bearer t1", "Bearer t2"], 401],
    ["a refused text is not sent again", [refused()], "t", ["Bearer t"], 401],
  ])("that gets %s", async (_, answers, token, sent, status) => {
    const { ask, tokens } = asking(answers, { token });
    expect((await ask()).status).toBe(status);
    expect(tokens()).toEqual(sent);
  });

  test("with a body that is a stream is not sent again, because it cannot be", async () => {
    const { ask, tokens } = asking([refused()], { token: counting() });
    const stream = { body: new ReadableStream({ start: (body) => body.close() }), duplex: "half" } as RequestInit;
    expect((await ask(stream, lifetime(), "POST")).status).toBe(401);
    expect(tokens()).toEqual(["Bearer t1"]);
    const text = asking([refused()], { token: counting() });
    await text.ask({ body: "text" }, lifetime(), "POST");
    expect(await Promise.all(text.sent.map((request) => request.text()))).toEqual(["text", "text"]);
  });

  test("drops the body of a refusal that it answers with a new token", async () => {
    const cancel = vi.fn();
    const body = () => new ReadableStream({ cancel });
    const answers = [new Response(body(), { status: 401 }), ok()];
    const { all } = asking([], { token: counting(), fetch: async () => answers.shift()! });
    await all.ask("GET", "listAgents", {}, undefined, lifetime(), undefined);
    expect(cancel).toHaveBeenCalledOnce();
  });

  test.each([
    ["GET", new TypeError("fetch failed"), true],
    ["PUT", new TypeError("fetch failed"), true],
    ["POST", new TypeError("fetch failed"), false],
    // Nothing was sent.
    ["POST", Object.assign(new Error("no"), { code: "ECONNREFUSED" }), true],
    [
      "POST",
      new TypeError("fetch failed", { cause: Object.assign(new Error("no"), { syscall: "getaddrinfo" }) }),
      true,
    ],
  ])("by %s that fails may be repeated or not: %s", async (method, failure, retryable) => {
    const { ask } = asking([failure]);
    const error = await thrown(() => ask({}, lifetime(), method));
    expect(error).toMatchObject({ name: "Disconnected", code: "unreachable", retryable, cause: failure });
    expect(error.message).toMatch(/^fold-gateway\.listAgents: no answer from http:\/\/x\/api\/api\/agents/);
  });

  test.each([undefined, {}, { status: 200 }, { status: 0, headers: new Headers() }, "text"])(
    "whose `fetch` gives no answer that can be read is one that failed: %j",
    async (answer) => {
      const { all } = asking([], { fetch: async () => answer as never });
      const error = await thrown(() => all.ask("GET", "listAgents", {}, undefined, lifetime(), undefined));
      expect(error).toMatchObject({ name: "Disconnected", code: "unreachable", cause: { name: "TypeError" } });
    },
  );

  test("whose answer is being read by another one is one that failed", async () => {
    const answer = new Response("text");
    answer.body!.getReader();
    const { all } = asking([], { fetch: async () => answer });
    const error = await thrown(() => all.ask("GET", "listAgents", {}, undefined, lifetime(), undefined));
    expect((error.cause as Error).message).toBe("`fetch` gave no Response that can be read");
  });

  test("that is aborted has that reason, whatever `fetch` does with the signal, and its answer is dropped", async () => {
    const reason = new Error("enough");
    for (const fails of [true, false]) {
      const life = lifetime();
      const cancel = vi.fn();
      const fetch = async () => {
        life.abort(reason);
        if (fails) throw new Error("aborted");
        return new Response(new ReadableStream({ cancel }));
      };
      const { all } = asking([], { fetch });
      expect(await thrown(() => all.ask("GET", "listAgents", {}, undefined, life, undefined))).toBe(reason);
      expect(cancel.mock.calls.length).toBe(fails ? 0 : 1);
    }
  });

  test("that cannot be made is the caller's mistake", async () => {
    const { ask, sent } = asking([ok()]);
    expect(await thrown(() => ask({ body: "text" }))).toMatchObject({ name: "TypeError", code: "usage" });
    expect(sent).toEqual([]);
  });
});

describe("An operation", () => {
  const operating = (answers: readonly (Response | Error)[], connection: ConnectOptions = {}) => {
    const options = { retryWaits: [], ...connection };
    const it = asking(answers, options);
    return { ...it, ...operations(contract, { ...options }, it.all) };
  };
  const agents = [{ id: "1", name: "a", capabilities: [] }];

  test("asks for its kind of answer, with what else it is to carry", async () => {
    const { send, sent } = operating([Response.json(agents)]);
    await send("listAgents", {}, { "X-Own": "own" }, lifetime(), { "X-Ours": "ours" });
    expect(Object.fromEntries(sent[0]!.headers)).toEqual({
      accept: "application/json",
      "x-own": "own",
      "x-ours": "ours",
    });
  });

  test("leaves no listener on its caller's signals, however it ends", async () => {
    for (const answer of [
      Response.json(agents),
      Response.json("no list"),
      new Response("no", { status: 500 }),
      new Error("no"),
    ]) {
      const [own, all] = [new AbortController(), new AbortController()];
      const { call } = operating([answer], { signal: all.signal });
      await call("listAgents", {}, { signal: own.signal }).catch(() => {});
      expect([own, all].map(({ signal }) => getEventListeners(signal, "abort"))).toEqual([[], []]);
    }
  });

  test.each<[what: string, answer: () => Response, error: object]>([
    [
      "breaks its schema",
      () => Response.json([{ id: 7 }]),
      {
        name: "Violation",
        code: "schema",
        side: "server",
        subject: "listAgents",
        message: expect.stringContaining(" in the answer of listAgents"),
      },
    ],
    [
      "is no JSON",
      () => new Response("{", { headers: { "Content-Type": "application/json" } }),
      { name: "Violation", code: "malformed_json", subject: "listAgents" },
    ],
    [
      "is of another type",
      () => new Response("text"),
      { name: "Violation", code: "content_type", protocol: "fold-gateway", side: "server", subject: "listAgents" },
    ],
    [
      "is a refusal",
      () => Response.json({ error: "busy" }, { status: 503, headers: { "Retry-After": "7" } }),
      { name: "Refusal", status: 503, message: "busy", retryAfter: 7 },
    ],
  ])("whose answer %s fails, and aborts its request with its error", async (_, answer, error) => {
    const { call, sent } = operating([answer()]);
    const found = await thrown(() => call("listAgents", {}, {}));
    expect(found).toMatchObject(error);
    expect(sent[0]!.signal).toMatchObject({ aborted: true, reason: found });
  });

  test("quotes an answer of another type, up to 200 characters", async () => {
    const body = "x".repeat(300);
    const { call } = operating([new Response(body, { headers: { "Content-Type": "Text/CSV; charset=utf-8" } })]);
    const error = await thrown(() => call("listAgents", {}, {}));
    expect(error.message).toContain(
      `listAgents is answered with text/csv, "${"x".repeat(200)}…", where application/json is declared`,
    );
    expect(error).toMatchObject({ details: { body } });
  });

  test.each([
    {
      retryWaits: [0, 0],
      answers: [new TypeError("1"), new TypeError("2"), Response.json(agents)],
      sent: 3,
      fails: false,
    },
    { retryWaits: [0], answers: [new TypeError("1"), new TypeError("2"), Response.json(agents)], sent: 2, fails: true },
    { retryWaits: [0, 0], answers: [new Response("", { status: 503 })], sent: 1, fails: true },
  ])(
    "is tried again only after a failure that allows it, as often as it may be: %o",
    async ({ answers, retryWaits, sent, fails }) => {
      const it = operating(answers, { retryWaits });
      const value = await it.call("listAgents", {}, {}).catch((error: unknown) => error);
      if (fails) expect(value instanceof Disconnected || value instanceof Refusal).toBe(true);
      else expect(value).toEqual(agents);
      expect(it.sent).toHaveLength(sent);
    },
  );
});

describe("The text of an answer", () => {
  const text = (pieces: readonly (string | Uint8Array)[], connection: ConnectOptions = {}, quote?: boolean) => {
    const cancel = vi.fn();
    const left = pieces.map((piece) => (typeof piece === "string" ? new TextEncoder().encode(piece) : piece));
    const body = new ReadableStream({
      pull: (controller) => (left.length > 0 ? controller.enqueue(left.shift()) : controller.close()),
      cancel,
    });
    const { all } = asking([], connection);
    return { cancel, read: () => readText(all, new Response(body), "listAgents", lifetime(), quote) };
  };

  test("may have as many characters as its limit, and a quote is cut there", async () => {
    expect(await text(["12345", "67890"], { maxMessageSize: 10 }).read()).toBe("1234567890");
    const over = text(["12345", "678901", "more"], { maxMessageSize: 10 });
    expect(await thrown(over.read)).toMatchObject({
      name: "Violation",
      code: "too_large",
      protocol: "fold-gateway",
      side: "server",
      subject: "listAgents",
      message: "fold-gateway: the answer is over the limit of 10 characters (from the server)",
    });
    expect(over.cancel).toHaveBeenCalledOnce();
    expect(await text(["12345", "678901"], { maxMessageSize: 10 }, true).read()).toBe("12345678901");
    const long = text(["x".repeat(64 * 1024), "y", "more"], {}, true);
    expect((await long.read()).length).toBe(64 * 1024 + 1);
    expect(long.cancel).toHaveBeenCalledOnce();
  });

  test("is empty where there is none, and whole where a character is in two pieces", async () => {
    const { all } = asking([]);
    expect(await readText(all, new Response(null), "listAgents", lifetime())).toBe("");
    const bytes = new TextEncoder().encode("aé");
    expect(await text([bytes.slice(0, 2), bytes.slice(2)]).read()).toBe("aé");
    expect(await text([bytes.slice(0, 2)]).read()).toBe("a\ufffd");
  });

  test("that is cut is a loss, or what there is of a quote", async () => {
    const { all } = asking([]);
    const cut = () => {
      let left = 1;
      return new Response(
        new ReadableStream({
          pull: (body) =>
            left-- > 0 ? body.enqueue(new TextEncoder().encode("some")) : body.error(new Error("reset")),
        }),
      );
    };
    expect(await thrown(() => readText(all, cut(), "listAgents", lifetime()))).toMatchObject({
      name: "Disconnected",
      code: "ended_early",
      retryable: false,
      message: "fold-gateway.listAgents: the answer was cut",
      cause: { message: "reset" },
    });
    expect(await readText(all, cut(), "listAgents", lifetime(), true)).toBe("some");
  });
});
