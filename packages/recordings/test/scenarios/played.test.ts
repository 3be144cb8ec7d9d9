import { pair } from "@parlance/wire/link";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Entry, formatLine, type Happening } from "../../src/recording.js";
import type { Arriving } from "../../src/replay/answering.js";
import { loadRecording } from "../../src/replay/loaded.js";
import { formatProblem, type ReplayOptions } from "../../src/replay/replay.js";
import { ReplayServer } from "../../src/replay/server.js";

// How a recorded server answers again, entry by entry.

const header = { recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] };
const say = (c: number, from: "client" | "server", happening: Happening, t = 0): Entry => ({
  t,
  c,
  from,
  ...happening,
});
const request = (c = 1, target = "/a", more: object = {}, t = 0) =>
  say(c, "client", { kind: "request", method: "GET", target, headers: [], ...more }, t);
const response = (status = 200, headers: readonly (readonly [string, string])[] = [], c = 1, t = 0) =>
  say(c, "server", { kind: "response", status, headers }, t);
const end = (c = 1, t = 0) => say(c, "server", { kind: "end" }, t);
const stream = [["Content-Type", "text/event-stream"]] as const;

async function replaying(entries: readonly Entry[], options: ReplayOptions = {}) {
  const lines = [header, ...entries].map((line) => formatLine(line as Entry)).join("");
  const server = new ReplayServer(await loadRecording([new TextEncoder().encode(lines)]), options);
  onTestFinished(() => void server.close());
  return server;
}
const asking = (target = "/a", more: Partial<Arriving> = {}): Arriving => ({
  method: "GET",
  target,
  headers: [],
  ...more,
});

/** An answer as a client gets it: what came before it waits, or was cut. */
async function answered(server: ReplayServer, asked = asking()) {
  const { status, headers, body } = await server.answer(asked);
  const left = new AbortController();
  const came: string[] = [];
  const reading = (async () => {
    try {
      for await (const bytes of body(left.signal)) came.push(new TextDecoder("latin1").decode(bytes));
      return "end";
    } catch (error) {
      return (error as Error).message;
    }
  })();
  const turns = (async () => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    return "waits";
  })();
  const how = await Promise.race([reading, turns]);
  left.abort();
  await reading;
  return { status, headers, came, how };
}

test.each<[string, readonly Entry[], object]>([
  [
    "a body, without the headers of its connection",
    [
      request(),
      response(201, [
        ["Content-Type", "a/b"],
        ["Connection", "close"],
        ["Keep-Alive", "1"],
        ["Transfer-Encoding", "chunked"],
        ["Content-Length", "9"],
        ["Date", "today"],
        ["Upgrade", "x"],
        ["Sec-WebSocket-Accept", "x"],
        ["X-Date", "kept"],
      ]),
      say(1, "server", { kind: "body", text: "hello" }),
      end(),
    ],
    {
      status: 201,
      headers: [
        ["Content-Type", "a/b"],
        ["X-Date", "kept"],
      ],
      came: ["hello"],
      how: "end",
    },
  ],
  [
    "bytes",
    [request(), response(), say(1, "server", { kind: "body", base64: "AP8=" }), end()],
    { came: ["\0\xff"], how: "end" },
  ],
  [
    "a stream with its comments, to the byte where it was recorded so",
    [
      request(),
      response(200, stream),
      say(1, "server", { kind: "comment", text: ":beat\n\n" }),
      say(1, "server", { kind: "event", event: "a", id: "1", text: "x" }),
      say(1, "server", { kind: "event", text: "y", raw: "data:y\n\n" }),
      end(),
    ],
    { headers: stream, came: [":beat\n\n", "event: a\nid: 1\ndata: x\n\n", "data:y\n\n"], how: "end" },
  ],
  [
    "a stream that is cut",
    [
      request(),
      response(200, stream),
      say(1, "server", { kind: "event", text: "x" }),
      say(1, "server", { kind: "error", text: "lost" }),
    ],
    { came: ["data: x\n\n"], how: "lost" },
  ],
  [
    "a stream that its client left, which waits",
    [
      request(),
      response(200, stream),
      say(1, "server", { kind: "event", text: "x" }),
      say(1, "client", { kind: "error", text: "gone" }),
    ],
    { came: ["data: x\n\n"], how: "waits" },
  ],
  [
    "no answer, because its client left",
    [request(), say(1, "client", { kind: "error", text: "gone" })],
    { status: 200, headers: [], came: [], how: "waits" },
  ],
  [
    "no answer, because the server was lost",
    [request(), say(1, "server", { kind: "error", text: "lost" })],
    { status: 502, headers: [], came: [], how: "end" },
  ],
  ["no answer, because the recording ends", [request()], { status: 200, came: [], how: "waits" }],
])("%s is played again", async (_, entries, expected) => {
  const server = await replaying(entries);
  expect(await answered(server)).toMatchObject(expected);
  expect(server.close().map(formatProblem)).toEqual([]);
});

test("an answer that was left out of a recording is reported, and its status and encoding are not claimed", async () => {
  const encoded = [
    ["Content-Encoding", "br"],
    ["A", "b"],
  ] as const;
  const server = await replaying([
    request(),
    response(200, encoded),
    say(1, "server", { kind: "body", size: 9, encoding: "br" }),
    end(),
  ]);
  expect(await answered(server)).toMatchObject({ status: 501, how: "end" });
  expect(server.close().map(formatProblem)).toEqual([
    "left: the answer of GET /a is not in the recording: 9 bytes, encoded: br",
  ]);
});

describe("a request", () => {
  const body = (c: number, text: string) => say(c, "client", { kind: "body", text });
  const answer = (c: number, text: string) => [response(200, [], c), say(c, "server", { kind: "body", text }), end(c)];

  test("gets the recorded answers of equal ones in their order, and then none", async () => {
    const server = await replaying([request(1), ...answer(1, "one"), request(2), ...answer(2, "two")]);
    for (const text of ["one", "two"]) expect((await answered(server)).came).toEqual([text]);
    const { status, came } = await answered(server);
    expect({ status, came }).toEqual({
      status: 501,
      came: ["replay: miss: nothing recorded is left for GET /a; the nearest is GET /a, which has been answered\n"],
    });
  });

  test("is compared by its method, path, query and body, and the nearest is reported with what differs", async () => {
    const post = (c: number, text: string) => [
      request(c, "/a?x=1", { method: "POST" }),
      body(c, text),
      ...answer(c, text),
    ];
    const server = await replaying([...post(1, '{"a":1}'), ...post(2, '{"a":2}'), request(3, "/b"), ...answer(3, "b")]);
    const asked = asking("/a?x=1", { method: "POST", body: '{"a":2}' });
    expect((await answered(server, asked)).came).toEqual(['{"a":2}']);
    const miss = (await answered(server, asking("/a?x=1", { method: "POST", body: '{"a":3}' }))).came;
    expect(miss).toEqual([
      "replay: miss: nothing recorded is left for POST /a?x=1; the nearest is POST /a?x=1\n    /a: recorded 1, came 3\n",
    ]);
    expect(
      server
        .close()
        .map(({ kind, message }) => `${kind}: ${message}`)
        .slice(1),
    ).toEqual([
      "left: POST /a?x=1 was recorded, and was not asked for",
      "left: GET /b was recorded, and was not asked for",
    ]);
    expect(server.close()).toBe(server.problems);
  });

  test("that resumes is another than one that does not, and a WebSocket another than a GET", async () => {
    const resuming = [["Last-Event-ID", "1"]] as const;
    const server = await replaying([
      request(1, "/a", { headers: resuming }),
      ...answer(1, "again"),
      request(2, "/a", { socket: true }),
      response(403, [], 2),
      say(2, "server", { kind: "body", text: "no" }),
      end(2),
    ]);
    expect((await answered(server)).status).toBe(501);
    expect((await answered(server, asking("/a", { headers: resuming }))).came).toEqual(["again"]);
    expect(await server.accept(asking())).toEqual({ refused: { status: 403, body: "no" } });
    expect(await server.accept(asking())).toMatchObject({
      refused: { status: 501, body: expect.stringMatching(/^replay: miss/) },
    });
  });

  test("of an empty recording is reported as one", async () => {
    const server = await replaying([]);
    expect((await answered(server)).came).toEqual(["replay: miss: nothing is recorded, and GET /a came\n"]);
  });
});

test("an event waits for the requests before it, and what did not come in time is reported", async () => {
  const other = request(2, "/b");
  const entries = [request(), response(200, stream), other, say(1, "server", { kind: "event", text: "x" }), end()];
  const waiting = await replaying(entries, { wait: 30 });
  const { body } = await waiting.answer(asking());
  const read = async (chunks: AsyncIterable<Uint8Array>) => {
    for await (const _ of chunks);
  };
  await expect(read(body(new AbortController().signal))).rejects.toThrow("the client");
  expect(waiting.problems.map(formatProblem)).toEqual([
    "left: the client's GET /b was recorded before the server's event x, and did not come",
  ]);
  // A replay that closes meanwhile has no more to say of it.
  const closed = await replaying(entries);
  const { body: chunks } = await closed.answer(asking());
  const reading = expect(read(chunks(new AbortController().signal))).rejects.toThrow();
  closed.close();
  await reading;
  expect(closed.problems.map(formatProblem)).toEqual(["left: GET /b was recorded, and was not asked for"]);
});

test("a value that is given for a secret stands in no problem", async () => {
  const values = { __redacted_1__: "correct-horse-battery", other: "another-horse-battery" };
  const server = await replaying([request()], { values });
  await server.answer(asking("/correct-horse-battery/another-horse-battery"));
  const [problem] = server.problems.map(formatProblem);
  expect(problem).toContain("/another-horse-battery");
  expect(problem).not.toContain("correct-horse-battery");
});

describe("a WebSocket", () => {
  const opened = [request(1, "/a", { socket: true }), response(101)];
  const frame = (from: "client" | "server", text: string) => say(1, from, { kind: "frame", text });

  async function talk(entries: readonly Entry[], sends: readonly string[], options: ReplayOptions = {}) {
    const server = await replaying([...opened, ...entries], options);
    const accepted = await server.accept(asking());
    if ("refused" in accepted) return { server, heard: [accepted.refused] };
    const [near, far] = pair();
    const heard: unknown[] = [];
    near.listen({ frame: (text) => void heard.push(text), close: (code, reason) => void heard.push([code, reason]) });
    accepted.run(far);
    for (const text of sends) near.send(text);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    return { server, heard };
  }
  const close = say(1, "server", { kind: "close", code: 1001, reason: "bye" });

  test("says what was recorded, each thing after what the client sent before it", async () => {
    const all = [frame("server", "one"), frame("client", "go"), frame("server", "two"), close];
    expect((await talk(all, [])).heard).toEqual(["one"]);
    const { heard, server } = await talk(all, ["go"]);
    expect(heard).toEqual(["one", "two", [1001, "bye"]]);
    expect(server.close()).toEqual([]);
  });

  test.each([
    [1005, 1000],
    [1006, 1000],
    [4000, 4000],
  ])("that was closed with %i is closed with %i", async (code, sent) => {
    const { heard } = await talk([say(1, "server", { kind: "close", code, reason: "" })], []);
    expect(heard).toEqual([[sent, ""]]);
  });

  test("reports what its client sent and was not recorded, in part where it is long", async () => {
    const { server } = await talk([frame("client", "go"), close], ["go", "more", "x".repeat(201)]);
    expect(server.close().map(formatProblem)).toEqual([
      "more: the client sent more on WebSocket /a",
      `more: the client sent ${"x".repeat(200)} on WebSocket /a`,
    ]);
  });

  test("tells a message that differs, and goes on", async () => {
    const { heard, server } = await talk([frame("client", '{"a":1}'), frame("server", "two"), close], ['{"a":2}']);
    expect(heard).toEqual(["two", [1001, "bye"]]);
    expect(server.close().map(formatProblem)).toEqual([
      expect.stringMatching(/^differs: .*\n {4}\/a: recorded 1, came 2$/),
    ]);
  });

  test("that was refused, or lost before it was open, is so again", async () => {
    const refused = await replaying([
      request(1, "/a", { socket: true }),
      say(1, "server", { kind: "error", text: "lost" }),
    ]);
    expect(await refused.accept(asking())).toEqual({ refused: { status: 502, body: "" } });
  });
});

describe("the pauses of a recording", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  test.each([
    [0, [0, 0]],
    [1, [100, 300]],
    [2, [50, 150]],
  ])("at the speed %i come after %j ms", async (speed, times) => {
    const entries = [
      request(),
      response(200, stream, 1, 100),
      say(1, "server", { kind: "event", text: "x" }, 300),
      end(1, 300.5),
    ];
    const server = await replaying(entries, { speed });
    const began = Date.now();
    const seen: number[] = [];
    const reading = (async () => {
      const { body } = await server.answer(asking());
      seen.push(Date.now() - began);
      for await (const _ of body(new AbortController().signal)) seen.push(Date.now() - began);
    })();
    await vi.advanceTimersByTimeAsync(1000);
    await reading;
    expect(seen).toEqual(times);
  });
});
