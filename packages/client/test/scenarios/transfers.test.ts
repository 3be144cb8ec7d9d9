import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import type { AnyContract } from "@parlance/wire";
import { afterEach, describe, expect, test, vi } from "vitest";

afterEach(() => void vi.useRealTimers());

interface Client {
  call(options?: { signal?: AbortSignal; body?: unknown }): Promise<ReadableStream<Uint8Array>>;
}
const BYTES = "application/octet-stream";

/** A client of one operation with bytes. */
function client(
  declared: object,
  fetch: (request: Request) => Promise<Response>,
  options: object = {},
  checks: object = {},
): Client {
  const call = { method: "POST", path: "/call", transfer: true, ...declared };
  const plain = foldGateway as unknown as AnyContract;
  const contract = { ...plain, operations: { call }, checks: { ...plain.checks, ...checks } } as never;
  return connect<Client>(contract, { baseUrl: "http://x", retryWaits: [], fetch, ...options });
}

/** A body of some chunks that then ends, is cut or stays open, and notes why it was cancelled. */
function body(chunks: readonly unknown[], how: "end" | "cut" | "hold" = "end") {
  const cancel = vi.fn();
  let at = 0;
  const stream = new ReadableStream<unknown>(
    {
      pull(controller) {
        if (at < chunks.length) return controller.enqueue(chunks[at++]);
        if (how === "hold") return new Promise(() => {});
        if (how === "cut") controller.error(new Error("cut"));
        else controller.close();
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
  return { stream: stream as ReadableStream<Uint8Array>, cancel };
}
const bytes = new TextEncoder();
const answering = (stream: BodyInit | null) => async () => new Response(stream, { headers: { "Content-Type": BYTES } });
const download = { method: "GET", answer: { status: 200, binary: BYTES } };

describe("A download", () => {
  test("has every byte, and leaves no listener on its caller's signal", async () => {
    const { signal } = new AbortController();
    const listen = vi.spyOn(signal, "addEventListener");
    const forget = vi.spyOn(signal, "removeEventListener");
    const { stream } = body(["one ", "two"].map((text) => bytes.encode(text)));
    const found = await client(download, answering(stream)).call({ signal });
    expect(await new Response(found).text()).toBe("one two");
    expect(forget.mock.calls.length).toBe(listen.mock.calls.length);
    expect(await new Response(await client(download, answering(null)).call()).text()).toBe("");
  });

  test("that is refused leaves no listener on its caller's signal, and aborts its request with the refusal", async () => {
    const { signal } = new AbortController();
    const listen = vi.spyOn(signal, "addEventListener");
    const forget = vi.spyOn(signal, "removeEventListener");
    let sent: AbortSignal | undefined;
    const fetch = async (request: Request) => {
      sent = request.signal;
      return new Response("no", { status: 403 });
    };
    const error = await client(download, fetch)
      .call({ signal })
      .catch((error) => error);
    expect(error).toMatchObject({ name: "Refusal", status: 403 });
    expect(forget.mock.calls.length).toBe(listen.mock.calls.length);
    expect(sent).toMatchObject({ aborted: true, reason: error });
  });

  test("that is cut errors, and one that is silent for the idle time-out", async () => {
    const reading = (how: "cut" | "hold", options = {}) =>
      client(download, answering(body([bytes.encode("x")], how).stream), options)
        .call()
        .then((found) => new Response(found).text());
    await expect(reading("cut")).rejects.toMatchObject({
      name: "Disconnected",
      code: "ended_early",
      message: expect.stringMatching(/^[\w-]+\.\w+: the answer was cut$/),
      cause: { message: "cut" },
    });
    await expect(reading("hold", { idleTimeout: 5 })).rejects.toMatchObject({
      name: "Disconnected",
      code: "idle",
      message: expect.stringMatching(/^[\w-]+\.\w+: nothing came within 5 ms$/),
      retryable: false,
    });
  });

  test.each([
    ["7", undefined],
    [
      "many",
      {
        name: "Violation",
        code: "schema",
        protocol: "fold-gateway",
        side: "server",
        subject: "call",
        message: expect.stringContaining(" in the headers of call"),
      },
    ],
  ])("has the headers that the contract declares beside its bytes, checked: X-Total: %s", async (total, error) => {
    const check = ({ "X-Total": value }: { "X-Total"?: unknown }) => typeof value === "number";
    const declared = { ...download, answer: { ...download.answer, headers: { "X-Total": { type: "integer" } } } };
    const fetch = async () => new Response("bytes", { headers: { "Content-Type": BYTES, "X-Total": total } });
    const checks = { CallHeaders: Object.assign(check, { errors: null }) };
    const called = client(declared, fetch, {}, checks).call() as unknown as Promise<{
      headers: object;
      body: BodyInit;
    }>;
    if (error) return await expect(called).rejects.toMatchObject(error);
    const { headers, body } = await called;
    expect([headers, await new Response(body).text()]).toEqual([{ "X-Total": 7 }, "bytes"]);
  });

  test("that is cut aborts its request with the error that its reader gets", async () => {
    let signal: AbortSignal | undefined;
    const found = await client(download, async (request) => {
      signal = request.signal;
      return answering(body([bytes.encode("x")], "cut").stream)();
    }).call();
    const error = await new Response(found).text().catch((error) => error);
    expect(error).toMatchObject({ code: "ended_early" });
    expect(signal).toMatchObject({ aborted: true, reason: error });
  });

  test("of something that is not bytes errors", async () => {
    const response = Object.assign(new Response(null, { headers: { "Content-Type": BYTES } }));
    const { stream, cancel } = body(["a text"], "hold");
    Object.defineProperty(response, "body", { value: stream });
    const found = await client(download, async () => response).call();
    await expect(found.getReader().read()).rejects.toMatchObject({ code: "ended_early" });
    expect(cancel).toHaveBeenCalledOnce();
  });

  test.each([
    ["its reason", new Error("enough")],
    ["an AbortError", undefined],
  ])("that is cancelled cancels the body, and aborts its request with %s", async (_, reason) => {
    const { stream, cancel } = body([], "hold");
    let signal: AbortSignal | undefined;
    const found = await client(download, async (request) => {
      signal = request.signal;
      return answering(stream)();
    }).call();
    await found.cancel(reason);
    expect(cancel).toHaveBeenCalledExactlyOnceWith(reason);
    expect(signal).toMatchObject({ aborted: true });
    if (reason) expect(signal!.reason).toBe(reason);
    else expect(signal!.reason).toMatchObject({ name: "AbortError" });
  });

  test.each([
    ["GET", true],
    ["POST", false],
  ])("by %s that nobody answers may be repeated: %s", async (method, retryable) => {
    const aborted: unknown[] = [];
    const never = (request: Request) =>
      new Promise<never>(() => request.signal.addEventListener("abort", () => aborted.push(request.signal.reason)));
    const failing = client({ ...download, method }, never, { answerTimeout: 5 }).call();
    await expect(failing).rejects.toMatchObject({ name: "Disconnected", code: "timeout", retryable });
    expect(aborted).toHaveLength(1);
  });
});

describe("An upload", () => {
  const upload = { binary: "image/png", answer: { status: 204 } };
  const sources: [what: string, make: () => unknown][] = [
    ["bytes", () => bytes.encode("picture")],
    ["a blob", () => new Blob(["picture"])],
    ["a stream", () => body([bytes.encode("picture")]).stream],
  ];

  test.each(sources)("of %s has its media type and every byte", async (_, make) => {
    const sent: unknown[] = [];
    const fetch = async (request: Request) => {
      sent.push(request.headers.get("Content-Type"), await request.text());
      return new Response(null, { status: 204 });
    };
    expect(await client(upload, fetch).call({ body: make() })).toBeUndefined();
    expect(sent).toEqual(["image/png", "picture"]);
  });

  test.each(sources)("of %s that nobody answers ends after its client's time-out", async (_, make) => {
    const never = () => new Promise<never>(() => {});
    const failing = client(upload, never, { answerTimeout: 5 }).call({ body: make() });
    await expect(failing).rejects.toMatchObject({ name: "Disconnected", code: "timeout" });
  });

  test.each(sources)("of %s is repeated with a new token only where it is no stream", async (what, make) => {
    const sent: (string | null)[] = [];
    const fetch = async (request: Request) => {
      sent.push(request.headers.get("Authorization"));
      await request.text();
      return new Response(null, { status: sent.length === 1 ? 401 : 204 });
    };
    let made = 0;
    const calling = client(upload, fetch, { token: () => `t${++made}` }).call({ body: make() });
    if (what === "a stream") await expect(calling).rejects.toMatchObject({ name: "Refusal", status: 401 });
    else await calling;
    expect(sent).toEqual(what === "a stream" ? ["Bearer t1"] : ["Bearer t1", "Bearer t2"]);
  });

  test.each(sources)("of %s that was not sent is sent again only where it is no stream", async (what, make) => {
    let sent = 0;
    const fetch = async () => {
      sent++;
      throw Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } });
    };
    const calling = client(upload, fetch, { retryWaits: [0, 0] }).call({ body: make() });
    await expect(calling).rejects.toMatchObject({ name: "Disconnected", code: "unreachable" });
    expect(sent).toBe(what === "a stream" ? 1 : 3);
  });

  test.each([undefined, "a text", {}])("of %j is a mistake", async (given) => {
    const fetch = vi.fn();
    await expect(client(upload, fetch).call({ body: given })).rejects.toThrow("needs the option `body`");
    expect(fetch).not.toHaveBeenCalled();
  });
});

describe("An operation with bytes or headers", () => {
  const asked = async (declared: object, answer: () => Response, input?: object) => {
    let seen: { accept: string | null; body: string } | undefined;
    const contract = {
      ...(foldGateway as unknown as AnyContract),
      operations: { call: { transfer: true, path: "/call", ...declared } },
    };
    const { call } = connect<{ call(input?: object): Promise<unknown> }>(
      contract as never,
      {
        baseUrl: "http://x",
        retryWaits: [],
        async fetch(request: Request) {
          seen = { accept: request.headers.get("Accept"), body: await request.text() };
          return answer();
        },
      } as never,
    );
    return { found: await (input ? call(input) : call()), ...seen };
  };

  test("sends its JSON where it has no bytes to send", async () => {
    const declared = { method: "POST", body: "Body", answer: { status: 204 } };
    const { body } = await asked(declared, () => new Response(null, { status: 204 }), { content: "x" });
    expect(JSON.parse(body!)).toEqual({ content: "x" });
  });

  test("asks for JSON where it has no answer: its refusals are JSON", async () => {
    const declared = { method: "POST", answer: { status: 204 } };
    expect(await asked(declared, () => new Response(null, { status: 204 }))).toMatchObject({
      accept: "application/json",
    });
  });

  test("has its text where its answer is one", async () => {
    const csv = () => new Response("a,b", { headers: { "Content-Type": "text/csv" } });
    const declared = { method: "GET", answer: { status: 200, text: "text/csv" } };
    expect(await asked(declared, csv)).toMatchObject({ found: "a,b", accept: "text/csv" });
  });
});
