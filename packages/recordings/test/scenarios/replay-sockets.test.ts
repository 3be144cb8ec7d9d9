import type { OpenSocket, Port } from "@parlance/wire";
import { pair } from "@parlance/wire/link";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Entry, formatLine, type Happening } from "../../src/recording.js";
import { type ReplayClientOptions, replayClient } from "../../src/replay/client.js";
import { loadRecording } from "../../src/replay/loaded.js";
import { formatProblem } from "../../src/replay/replay.js";

// How a recorded client compares a live server's WebSockets, streams and ends.

const header = { recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] };
const line = (c: number, from: "client" | "server", happening: Happening): Entry => ({ t: 0, c, from, ...happening });
const request = (c = 1, more: object = {}) =>
  line(c, "client", { kind: "request", method: "GET", target: `/${c}`, headers: [], ...more });
const response = (c: number, status: number, type?: string) =>
  line(c, "server", { kind: "response", status, headers: type === undefined ? [] : [["Content-Type", type]] });
const end = (c = 1) => line(c, "server", { kind: "end" });

const none = async (): Promise<Response> => {
  throw new TypeError("no request was expected");
};

async function replayed(entries: readonly Entry[], options: Partial<ReplayClientOptions>): Promise<string[]> {
  const text = [header, ...entries].map((one) => formatLine(one as Entry)).join("");
  const conversation = await loadRecording([new TextEncoder().encode(text)]);
  return (await replayClient(conversation, { fetch: none, ...options })).map(formatProblem);
}

/** Errors that nothing has caught. */
function uncaught(): unknown[] {
  const errors: unknown[] = [];
  const note = (error: unknown) => void errors.push(error);
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", note);
  onTestFinished(() => {
    process.off("unhandledRejection", note);
    for (const other of others) process.on("unhandledRejection", other);
  });
  return errors;
}

/** A server that opens each WebSocket, and what it was sent. */
function opening(serve: (port: Port, seen: unknown[]) => void = () => {}) {
  const seen: unknown[] = [];
  const webSocket: OpenSocket = async (url, { protocols }) => {
    seen.push([url, ...protocols]);
    const [near, far] = pair();
    far.listen({
      frame: (text) => void seen.push(text),
      close: (code, reason) => void seen.push([code, reason]),
    });
    serve(far, seen);
    return { ...near, cut: () => near.close(1006, "cut") };
  };
  return { webSocket, seen };
}
const settled = async () => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe("a WebSocket of a recorded client", () => {
  const socket = (more: object = {}) => request(1, { socket: true, ...more });
  const frame = (from: "client" | "server", text: string) => line(1, from, { kind: "frame", text });
  const close = (from: "client" | "server", code = 1000) => line(1, from, { kind: "close", code, reason: "bye" });
  const opened = [socket(), response(1, 101)];

  test("has the recorded frames of both sides, and the recorded close", async () => {
    for (const [code, sent] of [
      [4000, 4000],
      [1005, 1000],
      [1006, 1000],
    ] as const) {
      const { webSocket, seen } = opening((port) => port.send("hello"));
      const all = [...opened, frame("server", "hello"), frame("client", "hi"), close("client", code)];
      expect(await replayed(all, { webSocket })).toEqual([]);
      await settled();
      expect(seen).toEqual([["ws://localhost/1"], "hi", [sent, "bye"]]);
    }
  });

  test("that the recording leaves open is closed with 1000", async () => {
    const { webSocket, seen } = opening();
    expect(await replayed(opened, { webSocket, baseUrl: "https://a.test/b" })).toEqual([]);
    await settled();
    expect(seen).toEqual([["wss://a.test/b/1"], [1000, ""]]);
  });

  test("that was lost is cut", async () => {
    const { webSocket, seen } = opening();
    const lost = line(1, "server", { kind: "error", text: "lost" });
    expect(await replayed([...opened, lost], { webSocket })).toEqual([]);
    await settled();
    expect(seen[1]).toEqual([1006, "cut"]);
  });

  test.each<[string, (port: Port) => void, Entry[], string[]]>([
    ["closes as recorded", (port) => port.close(1000, "bye"), [close("server")], []],
    [
      "sends more before its close",
      (port) => {
        for (const text of ["one", "x".repeat(201)]) port.send(text);
        port.close(1000, "bye");
      },
      [close("server")],
      ["more: one on WebSocket /1", `more: ${"x".repeat(200)} on WebSocket /1`],
    ],
    [
      "does not close",
      () => {},
      [close("server")],
      [expect.stringMatching(/^left: the end of WebSocket \/1 was recorded and did not come: the end of .*30 ms/)],
    ],
    ["sends less", () => {}, [frame("server", "one")], ["left: frame on WebSocket /1 was recorded and did not come"]],
    ["sends another text", (port) => port.send("two"), [frame("server", "one")], ["differs: frame on WebSocket /1"]],
  ])("whose server %s is compared with it", async (_, serve, entries, problems) => {
    const { webSocket } = opening(serve);
    const found = await replayed([...opened, ...entries], { webSocket, wait: 30 });
    expect(found.map((one) => one.split("\n")[0])).toEqual(problems);
  });

  test("that is refused has the refusal as its answer, with its body", async () => {
    const refused =
      (status: number, body: string): OpenSocket =>
      async () => ({ refused: { status, body } });
    const recorded = [socket(), response(1, 403), line(1, "server", { kind: "body", text: "no" }), end()];
    expect(await replayed(recorded, { webSocket: refused(403, "no") })).toEqual([]);
    expect(await replayed(recorded, { webSocket: refused(404, "none") })).toEqual([
      "differs: the answer of WebSocket /1\n    status: recorded 403, came 404",
      expect.stringMatching(/^differs: body on WebSocket \/1\n/),
    ]);
    expect(await replayed(recorded, { webSocket: refused(403, "") })).toEqual([
      "left: body on WebSocket /1 was recorded and did not come",
    ]);
    expect(await replayed([socket(), response(1, 403), end()], { webSocket: refused(403, "more") })).toEqual([
      "more: more on WebSocket /1",
    ]);
  });

  test("that cannot be opened is reported once, also where its answer is compared later", async () => {
    const errors = uncaught();
    const fetch = async () => {
      await settled();
      return new Response("ok");
    };
    const between = [request(2), response(2, 200), line(2, "server", { kind: "body", text: "ok" }), end(2)];
    const webSocket = async () => Promise.reject(new Error("connect ECONNREFUSED"));
    // Nothing can follow it.
    const all = [
      socket(),
      ...between,
      response(1, 101),
      frame("client", "hi"),
      frame("server", "hello"),
      close("server"),
    ];
    expect(await replayed(all, { fetch, webSocket })).toEqual([
      "left: the answer of WebSocket /1: connect ECONNREFUSED",
    ]);
    expect(await replayed(all, { fetch })).toEqual([
      "left: the answer of WebSocket /1: the recording has a WebSocket: give the replay a `webSocket`",
    ]);
    await settled();
    expect(errors).toEqual([]);
  });
});

describe("a stream of a recorded client", () => {
  const type = "text/event-stream";
  const event = (name: string | undefined, text: string) =>
    line(1, "server", { kind: "event", ...(name !== undefined && { event: name }), text });
  const stream = (...blocks: string[]) => ({
    fetch: async () => new Response(blocks.join(""), { headers: { "content-type": type } }),
  });
  const recorded = [request(), response(1, 200, type), event("a", "1"), end()];

  test("is compared by the names of its events, their texts and its end", async () => {
    expect(await replayed(recorded, stream("event: a\ndata: 1\n\n"))).toEqual([]);
    expect(await replayed(recorded, stream("event: b\ndata: 2\n\n"))).toEqual([
      'differs: event a on GET /1\n    event: recorded "a", came "b"\n    the whole: recorded 1, came 2',
    ]);
    expect(await replayed(recorded, stream("data: 1\n\n"))).toEqual([
      'differs: event a on GET /1\n    event: recorded "a", came nothing',
    ]);
    expect(await replayed(recorded, stream("event: a\ndata: 1\n\n", "data: 7\n\n"))).toEqual(["more: 7 on GET /1"]);
    const unnamed = [request(), response(1, 200, type), event(undefined, "1"), end()];
    expect(await replayed(unnamed, stream())).toEqual(["left: event message on GET /1 was recorded and did not come"]);
  });

  test("that the recorded client left has no end to wait for", async () => {
    const left = line(1, "client", { kind: "error", text: "gone" });
    const all = [request(), response(1, 200, type), event("a", "1"), left, end()];
    const signals: AbortSignal[] = [];
    const fetch = async ({ signal }: Request) => {
      signals.push(signal);
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode("event: a\ndata: 1\n\n"));
          signal.addEventListener("abort", () => controller.error(signal.reason));
        },
      });
      return new Response(body, { headers: { "content-type": type } });
    };
    expect(await replayed(all, { fetch })).toEqual([]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("whose connection is lost is reported, and why", async () => {
    const fetch = async () => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode("event: a\ndata: 1\n\n"));
        },
        pull: (controller) => controller.error(new Error("socket hang up")),
      });
      return new Response(body, { headers: { "content-type": type } });
    };
    expect(await replayed(recorded, { fetch })).toEqual([
      "left: the end of GET /1 was recorded and did not come: socket hang up",
    ]);
  });
});

test("a request that is open at the end of a replay is aborted, and has the headers that are given in place of its own", async () => {
  const asked: Request[] = [];
  const fetch = (one: Request) => {
    asked.push(one);
    return new Promise<Response>(() => {});
  };
  const recorded = [request(1, { headers: [["Authorization", "theirs"]] })];
  await replayed(recorded, { fetch, wait: 10, headers: { authorization: "mine" } });
  expect(asked.map(({ headers, signal }) => [headers.get("authorization"), signal.aborted])).toEqual([["mine", true]]);
});

test("compares texts of another charset as texts", async () => {
  const type = "text/plain; charset=latin1";
  const answer = (byte: number) => async () => new Response(Uint8Array.of(byte), { headers: { "content-type": type } });
  const recorded = [request(), response(1, 200, type), line(1, "server", { kind: "body", base64: "5A==" }), end()];
  expect(await replayed(recorded, { fetch: answer(0xe4) })).toEqual([]);
  expect((await replayed(recorded, { fetch: answer(0xf6) })).join()).toContain('recorded "ä", came "ö"');
});
