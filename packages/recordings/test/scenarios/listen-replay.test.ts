import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect as dial } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { listenReplay } from "../../src/node/listen.js";
import { frameSocket } from "../../src/node/socket.js";
import type { Answering, Arriving, Replayed } from "../../src/replay/answering.js";
import { replayClient } from "../../src/replay/client.js";
import { loadRecording } from "../../src/replay/loaded.js";
import { formatProblem, type Problem } from "../../src/replay/replay.js";
import { ReplayServer } from "../../src/replay/server.js";

// A replay or a mock on a port: what it is asked, and what comes of its answers.

async function listening(own: Partial<Answering> = {}, options = {}) {
  let closed = 0;
  const none: Answering = {
    answer: async () => Promise.reject(new Error("no answer")),
    accept: async () => Promise.reject(new Error("no WebSocket")),
    close: () => ++closed,
  };
  const server = await listenReplay({ ...none, ...own }, options);
  onTestFinished(() => server.close());
  return { ...server, closed: () => closed };
}

const answered = (more: Partial<Replayed> = {}): Replayed => ({
  status: 200,
  headers: [],
  async *body() {},
  ...more,
});

async function asking(url: string, options: object = {}) {
  const sent = request(url, { agent: false, ...options });
  sent.on("error", () => {});
  sent.end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const text = await answer.toArray().then(
    (chunks) => Buffer.concat(chunks).toString(),
    (error: Error) => error.message,
  );
  return { status: answer.statusCode, reason: answer.statusMessage, headers: answer.headers, text };
}

describe("a request", () => {
  const own = (url: string) => new URL(url).host;
  test.each<[what: string, headers: (url: string) => Record<string, string>, status: number]>([
    ["without an origin", () => ({}), 200],
    ["of its own page", (url) => ({ Origin: url }), 200],
    ["of its own page by another name", (url) => ({ Origin: url.replace("127.0.0.1", "localhost") }), 403],
    ["of a page on another port", () => ({ Origin: "http://127.0.0.1:1" }), 403],
    ["of a page elsewhere", () => ({ Origin: "https://evil.example" }), 403],
    ["of a page without an origin", () => ({ Origin: "null" }), 403],
    ["of another site", () => ({ "Sec-Fetch-Site": "cross-site" }), 403],
    ["of a page that has its name", (url) => ({ Host: `evil.example:${new URL(url).port}` }), 403],
    ["with its own name", (url) => ({ Host: own(url) }), 200],
  ])("%s is let in or refused, also one for a WebSocket", async (_, headers, status) => {
    const asked: string[] = [];
    const { url } = await listening({
      async answer({ target }) {
        asked.push(target);
        return answered();
      },
      async accept({ target }) {
        asked.push(target);
        return { refused: { status: 200, body: "" } };
      },
    });
    expect((await asking(url, { headers: headers(url), method: "POST" })).status).toBe(status);
    const upgrade = {
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": "x",
    };
    expect((await asking(url, { headers: { ...headers(url), ...upgrade } })).status).toBe(status);
    expect(asked.length).toBe(status === 200 ? 2 : 0);
  });

  test.each([
    [["http://localhost:5173"], "http://localhost:5173", true],
    [["http://localhost:5173"], "http://localhost:51730", false],
    [["http://localhost:*"], "http://localhost:1", true],
    [["http://localhost:*"], "http://localhost", false],
    [["http://localhost:*"], "http://localhost:1.evil.example/", false],
    [["https://a.b"], "https://axb", false],
    [["https://one.example", "vscode-webview://*"], "vscode-webview://0a1b", true],
    [["vscode-webview://*"], "https://evil.example", false],
    [["null"], "null", true],
  ])("of a page with the option %j from %s is let in or not: %s", async (origins, origin, isAllowed) => {
    const recorded = [["access-control-allow-origin", "https://recorded.example"]] as const;
    const { url } = await listening({ answer: async () => answered({ headers: recorded }) }, { origins });
    const preflight = {
      Origin: origin,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "authorization,x-own",
    };
    const asked = await asking(url, { method: "OPTIONS", headers: preflight });
    const { status, headers } = await asking(url, { method: "POST", headers: { Origin: origin } });
    expect([asked.status, status]).toEqual(isAllowed ? [204, 200] : [403, 403]);
    if (!isAllowed) return expect(headers).not.toHaveProperty("access-control-allow-origin");
    expect(asked.headers).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "authorization,x-own",
    });
    expect(headers).toMatchObject({ "access-control-allow-origin": origin, "access-control-expose-headers": "*" });
  });

  test.each(["localhost:5173", "*", "https://*.example", "https://a.example/path", ""])(
    "cannot be let in by the option %j",
    async (origin) => {
      await expect(listening({}, { origins: [origin] })).rejects.toThrow(`"${origin}" is not an origin: write it like`);
    },
  );

  test("over 16 MiB is refused before more of it is read", async () => {
    const { url } = await listening({ answer: async () => answered() });
    const sent = request(url, { method: "POST", agent: false });
    sent.on("error", () => {});
    const piece = Buffer.alloc(1024 * 1024);
    let pieces = 0;
    const more = () => {
      while (!sent.destroyed && ++pieces < 400) if (!sent.write(piece)) return void sent.once("drain", more);
    };
    more();
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    expect(answer.statusCode).toBe(413);
    expect(pieces).toBeLessThan(100);
    sent.destroy();
  });
});

test("a request arrives whole, with its headers as they were sent", async () => {
  const came: Arriving[] = [];
  const answer = async (asked: Arriving) => {
    came.push(asked);
    return answered({
      status: 418,
      headers: [
        ["X-One", "1"],
        ["X-One", "2"],
      ],
    });
  };
  const { url } = await listening({ answer });
  const { status, headers } = await fetch(`${url}/a?b=c`, { method: "PUT", headers: { "X-A": "b" }, body: "text" });
  expect([status, headers.get("x-one")]).toEqual([418, "1, 2"]);
  expect(came).toMatchObject([{ method: "PUT", target: "/a?b=c", body: "text" }]);
  expect(came[0]!.headers).toContainEqual(["X-A", "b"]);
});

test("a large answer waits for its reader, and ends with it", async () => {
  const chunk = new Uint8Array(1 << 20);
  let given = 0;
  let left = false;
  const answer = async () =>
    answered({
      async *body(signal) {
        signal.addEventListener("abort", () => {
          left = true;
        });
        for (; given < 64; given++) yield chunk;
      },
    });
  const { url } = await listening({ answer });
  const whole = await (await fetch(url)).arrayBuffer();
  expect([whole.byteLength, left]).toEqual([64 << 20, true]);
  given = 0;
  left = false;
  const reader = dial(Number(new URL(url).port), "127.0.0.1").pause();
  reader.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await expect.poll(() => given).toBeGreaterThan(0);
  let seen = -1;
  for (let still = 0; still < 50; still++) {
    if (given !== seen) still = 0;
    seen = given;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(given).toBeLessThan(64);
  reader.destroy();
  await expect.poll(() => left).toBe(true);
});

test("an answer whose reader has left is over with its next part", async () => {
  let over = false;
  const answer = async () =>
    answered({
      async *body(signal) {
        try {
          yield new Uint8Array([1]);
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
          for (;;) yield new Uint8Array([2]);
        } finally {
          over = true;
        }
      },
    });
  const { url } = await listening({ answer });
  const reader = (await fetch(url)).body!.getReader();
  await reader.read();
  await reader.cancel();
  await expect.poll(() => over).toBe(true);
});

test.each<[string, Answering["answer"], string | undefined]>([
  ["that fails", async () => Promise.reject(new Error("no")), undefined],
  [
    "whose body fails",
    async () =>
      answered({
        async *body() {
          yield new TextEncoder().encode("a part");
          throw new Error("cut");
        },
      }),
    "a part",
  ],
])("an answer %s cuts the connection, after what was sent", async (_, answer, part) => {
  const { url } = await listening({ answer });
  const socket = dial(Number(new URL(url).port), "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const text = Buffer.concat(await socket.toArray()).toString();
  if (part === undefined) expect(text).toBe("");
  else expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n6\r\na part\r\n$/);
});

describe("a WebSocket", () => {
  test("that is refused gets the status and the body", async () => {
    const accept = async () => ({ refused: { status: 403, body: "nö" } });
    const { url } = await listening({ accept });
    const headers = { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Key": "eA==" };
    expect(await asking(url, { headers: { ...headers, "Sec-WebSocket-Version": "13" } })).toEqual({
      status: 403,
      reason: "Forbidden",
      headers: { connection: "close", "content-length": "3" },
      text: "nö",
    });
    const unknown = await listening({ accept: async () => ({ refused: { status: 499, body: "" } }) });
    expect(await asking(unknown.url, { headers: { ...headers, "Sec-WebSocket-Version": "13" } })).toMatchObject({
      status: 499,
      reason: "",
      text: "",
    });
  });

  test("that cannot be decided on is cut", async () => {
    const { url } = await listening();
    const socket = new WebSocket(url.replace("http", "ws"));
    const [error] = (await once(socket, "error")) as [Error];
    expect(error.message).toBe("socket hang up");
  });

  test("holds its conversation on the port, by the client's own subprotocol", async () => {
    const { url } = await listening({
      accept: async ({ target }) => ({
        protocol: "parlance.__redacted_1__",
        run: (port) => port.listen({ frame: (text) => port.send(`${target} ${text}`), close() {} }),
      }),
    });
    const socket = new WebSocket(`${url.replace("http", "ws")}/a`, ["parlance.__redacted_1__"]);
    await once(socket, "open");
    socket.send("hello");
    expect(String((await once(socket, "message"))[0])).toBe("/a hello");
    expect(socket.protocol).toBe("parlance.__redacted_1__");
    socket.close();
  });

  const head = { c: 1, t: 0 } as const;
  const talk = (client: string, server: string) => [
    { recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] },
    { ...head, from: "client", kind: "request", method: "GET", target: "/a", headers: [], socket: true },
    { ...head, from: "server", kind: "response", status: 101, headers: [] },
    { ...head, from: "client", kind: "frame", base64: client },
    { ...head, from: "server", kind: "frame", base64: server },
    { ...head, from: "server", kind: "frame", text: "after" },
    { ...head, from: "server", kind: "close", code: 1000, reason: "" },
    { end: { lines: 7, sha256: null } },
  ];
  const recordingOf = (client: string, server: string) =>
    loadRecording([
      new TextEncoder().encode(
        talk(client, server)
          .map((line) => `${JSON.stringify(line)}\n`)
          .join(""),
      ),
    ]);

  test("sends recorded binary frames as such", async () => {
    const replay = new ReplayServer(await recordingOf("AQ==", "AP8="));
    const { url, close } = await listenReplay(replay);
    const socket = new WebSocket(`${url.replace("http", "ws")}/a`);
    const came: unknown[] = [];
    socket.on("open", () => socket.send(Uint8Array.of(1)));
    socket.on("message", (data: Buffer, isBinary: boolean) => came.push(isBinary ? [...data] : String(data)));
    await once(socket, "close");
    expect(came).toEqual([[0, 255], "after"]);
    expect(replay.problems).toEqual([]);
    await close();
  });

  // As the client and as the server, over a socket: the one replays `client` and `server`, the other was recorded with [1] and [0, 255].
  test.each([
    ["AQ==", "AP8=", [], []],
    ["Ag==", "AP8=", ["differs: a message of the client"], []],
    ["AQ==", "AP4=", [], ["differs: frame on WebSocket /a"]],
    // Bytes that are UTF-8 are no text frame.
    ["MQ==", "AP8=", ["differs: a message of the client"], []],
  ])("plays binary frames on both sides: %s and %s", async (client, server, atServer, atClient) => {
    const replay = new ReplayServer(await recordingOf("AQ==", "AP8="));
    const { url, close } = await listenReplay(replay);
    const ours = { baseUrl: url, fetch, webSocket: frameSocket };
    const beginnings = (found: readonly Problem[], words: readonly string[]) =>
      found.map((problem, at) => formatProblem(problem).slice(0, words[at]?.length));
    const found = await replayClient(await recordingOf(client, server), ours);
    expect(beginnings(found, atClient)).toEqual(atClient);
    expect(beginnings(replay.problems, atServer)).toEqual(atServer);
    await close();
  });
});

test.each<[host: string, status: number]>([
  ["localhost", 200],
  ["LOCALHOST:1", 200],
  ["127.0.0.1:80", 200],
  ["127.8.9.10", 200],
  ["[::1]:80", 200],
  ["a.localhost", 200],
  ["evil.example", 403],
  ["127.0.0.1.evil.example", 403],
  ["localhost.evil.example", 403],
])("a request for the name %j is answered with %i", async (Host, status) => {
  const { url } = await listening({ answer: async () => answered() });
  const found = await asking(url, { headers: { Host } });
  expect(found.status).toBe(status);
  if (status === 403) expect(found.text).toBe("this server answers to loopback names only\n");
});

test("a request without a name is refused", async () => {
  const { url } = await listening({ answer: async () => answered() });
  const socket = dial(Number(new URL(url).port), "127.0.0.1");
  socket.write("GET / HTTP/1.0\r\n\r\n");
  expect(Buffer.concat(await socket.toArray()).toString()).toMatch(/^HTTP\/1\.1 403 /);
});

test("a server that closes closes its replay, and ends what is open", async () => {
  const { url, close, closed } = await listening({
    answer: async () =>
      answered({
        // The client has the head before there is a body.
        async *body(signal) {
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        },
      }),
  });
  const reader = (await fetch(url)).body!.getReader();
  await close();
  expect(closed()).toBe(1);
  await expect(reader.read()).rejects.toThrow();
});
