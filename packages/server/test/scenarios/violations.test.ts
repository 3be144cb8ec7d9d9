import { connect as dial } from "node:net";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { type App, bearer, type ServeOptions, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { newKey, type Port, RESUME } from "@parlance/wire";
import { describe, expect, onTestFinished, test, vi } from "vitest";

describe("A client that breaks the contract of a channel", () => {
  const basedHandlers: BasedHandlers = {
    async session(_, channel) {
      channel.send({ type: "initial_state", files: [], activeFile: null });
      for await (const message of channel)
        if (message.type === "list_files") channel.send({ type: "file_list", files: [] });
    },
  };
  const locoHandlers = {
    async stream(_, channel) {
      channel.send({ type: "server.hello", server_info: { version: "1" } });
      for await (const _ of channel);
    },
  } as Partial<LoCoHandlers> as LoCoHandlers;

  /** A channel of plain frames, and what its client hears. */
  async function opened(make: (options: ServeOptions) => App, path: string, more: ServeOptions = {}) {
    const refused: unknown[] = [];
    const hooks: ServeOptions["hooks"] = {
      refuse: (_, { status }, cause, operation) =>
        void refused.push([status, (cause as { code?: string }).code, operation]),
    };
    const app = make({ hooks, maxMessageSize: 200, ...more });
    const port = (await app.webSocket(`ws://localhost${path}`, { headers: {}, protocols: [], maxSize: 1e6 })) as Port;
    const heard: { type?: string; close?: number; text: string }[] = [];
    port.listen({
      frame(text) {
        const { action, type, error } = JSON.parse(text);
        heard.push({ type: type ?? (error ? "error" : action), text });
      },
      close: (close, text) => void heard.push({ close, text }),
    });
    const kinds = (count: number) =>
      vi.waitFor(() => {
        expect(heard.length).toBeGreaterThanOrEqual(count);
        return heard.map(({ type, close }) => type ?? close);
      });
    return { port, heard, refused, kinds };
  }
  const openBased = () => opened((options) => serve(based, basedHandlers, options), "/ws");
  const openLoco = () =>
    opened((options) => serve(loco, locoHandlers, { ...options, allowAnonymous: true }), "/v1/sessions/s/stream");

  test.each([
    ["no JSON", "{", "malformed_json"],
    ["no object", "[]", "not_an_object"],
    ["a wrong message", '{"action":"read_file"}', "schema"],
  ])("is refused, and may go on: %s", async (_, frame, code) => {
    const { port, refused, kinds } = await openBased();
    await kinds(1);
    port.send(frame);
    port.send('{"action":"list_files"}');
    const [first, fault, next] = await kinds(3);
    expect([first, next]).toEqual(["initial_state", "file_list"]);
    expect(fault).toBe("error");
    expect(refused).toEqual([[400, code, "session"]]);
    port.close(1000, "");
  });

  test.each([
    ["no JSON", "{", "malformed_json"],
    ["no object", "[]", "not_an_object"],
    ["a wrong message", '{"action":"read_file"}', "schema"],
  ])("is closed where the channel has no message that reports it: %s", async (_, frame, code) => {
    const { fault: _fault, ...session } = based.channels.session!;
    const silent = { ...based, channels: { session } } as unknown as typeof based;
    const { port, refused, kinds } = await opened((options) => serve(silent, basedHandlers, options), "/ws");
    await kinds(1);
    port.send(frame);
    expect(await kinds(2)).toEqual(["initial_state", 1008]);
    expect(refused).toEqual([[400, code, "session"]]);
  });

  test("is closed without a word where its message is too long", async () => {
    const { port, refused, kinds, heard } = await openBased();
    await kinds(1);
    port.send(JSON.stringify({ action: "list_files", more: "x".repeat(200) }));
    expect(await kinds(2)).toEqual(["initial_state", 1009]);
    expect([refused, heard[1]!.text]).toEqual([[[413, "too_large", "session"]], "too_large"]);
  });

  test("is refused and closed where it has not opened the channel", async () => {
    const { port, refused, kinds } = await openLoco();
    await kinds(1);
    port.send("{");
    expect(await kinds(3)).toEqual(["server.hello", "server.error", 1008]);
    expect(refused).toEqual([[400, "malformed_json", "stream"]]);
  });

  test("may go on once it has opened the channel", async () => {
    const { port, kinds } = await openLoco();
    await kinds(1);
    const client_info = { name: "t", version: "0", capabilities: [] };
    port.send(JSON.stringify({ type: "client.hello", client_info }));
    for (let i = 0; i < 2; i++) port.send("{");
    expect(await kinds(3)).toEqual(["server.hello", "server.error", "server.error"]);
    port.close(1000, "");
    expect((await kinds(4))[3]).toBe(1000);
  });
});

describe("A request that is refused", () => {
  const fold = { health: () => "OK" } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const ask = async (app: App, method: string, path: string, headers = {}) => {
    const answer = await app.fetch(new Request(`http://localhost${path}`, { method, headers }));
    return { status: answer.status, headers: answer.headers, body: await answer.json() };
  };

  test("for its method names those that there are", async () => {
    const found = await ask(serve(foldGateway, fold), "PUT", "/health");
    expect([found.status, found.headers.get("Allow"), found.headers.get("Content-Type")]).toEqual([
      405,
      "GET, HEAD",
      "application/json",
    ]);
    expect(found.body).toEqual({ error: "/health is for GET, not PUT" });
  });

  test("for a channel without a WebSocket names what to upgrade to, whatever its key", async () => {
    const app = serve(based, { async session() {} });
    for (const headers of [{}, { [RESUME]: "x" }]) {
      const found = await ask(app, "GET", "/ws", headers);
      expect([found.status, found.headers.get("Upgrade")]).toEqual([426, "websocket"]);
      expect(found.body).toMatchObject({ error: "/ws is a WebSocket: ask for an upgrade" });
    }
    const offered = await ask(app, "GET", "/ws", { [RESUME]: newKey() });
    expect([offered.status, offered.headers.get("Upgrade")]).toEqual([200, null]);
  });

  test("for its path names that", async () => {
    const found = await ask(serve(foldGateway, fold), "GET", "/nothing");
    expect([found.status, found.headers.get("Allow"), found.body]).toEqual([
      404,
      null,
      { error: "there is nothing at GET /nothing" },
    ]);
  });

  test("by a server that is closing may come again in a second", async () => {
    const app = serve(foldGateway, fold);
    app.drain();
    const found = await ask(app, "GET", "/health");
    expect([found.status, found.headers.get("Retry-After"), found.body]).toEqual([
      503,
      "1",
      { error: "the server is closing" },
    ]);
    void app.close();
    expect(await ask(app, "GET", "/health")).toMatchObject({ status: 503, body: { error: "the server is closing" } });
  });
});

test("what a handler and a hook are given can be copied whole", async () => {
  const copies: object[] = [];
  const health: FoldGatewayHandlers["health"] = (_, call) => {
    copies.push({ ...call });
    return "OK";
  };
  const app = serve(foldGateway, { health } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers, {
    hooks: { request: (called) => void copies.push({ ...called }) },
  });
  const request = new Request("http://localhost/health");
  expect((await app.fetch(request)).status).toBe(200);
  const [called, call] = copies as [Record<string, unknown>, Record<string, unknown>];
  expect(called).toMatchObject({ request, operation: "health", input: {} });
  expect(call).toMatchObject({ request, signal: expect.any(AbortSignal), session: expect.any(Function) });
  expect(Object.keys(called)).toContain("principal");
  expect("ask" in call).toBe(false);
});

/** Sends these bytes to a server, and returns all that comes until it closes the connection. */
async function speak(bytes: string, app?: App): Promise<string> {
  const fold = { health: () => "OK" } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const server = await listen(app ?? serve(foldGateway, fold), { port: 0 });
  onTestFinished(() => server.close());
  const socket = dial(server.port, "127.0.0.1");
  socket.write(bytes);
  let text = "";
  for await (const chunk of socket) text += chunk;
  return text;
}

test.each(["", "Connection: keep-alive\r\n"])(
  "an answer to HTTP/1.0 ends with its connection, whatever its client asks for: %j",
  async (header) => {
    const text = await speak(`GET /health HTTP/1.0\r\nHost: localhost\r\n${header}\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text).toMatch(/\r\nConnection: close\r\n/i);
    expect(text).toMatch(/\r\n\r\nOK$/);
  },
);

test.each([
  ["TRACE /health HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "bad request"],
  ["GET /health HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "bad request target or Host"],
  [
    `GET /health HTTP/1.1\r\nHost: localhost\r\n${"X: y\r\n".repeat(100)}\r\n`,
    431,
    "a request has at most 100 headers",
  ],
])("a request that no web request could be is refused, and its connection ends", async (bytes, status, body) => {
  const text = await speak(bytes);
  expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(text).toMatch(/\r\nContent-Type: text\/plain\r\n/i);
  expect(text).toMatch(/\r\nConnection: close\r\n/i);
  expect(text.split("\r\n\r\n")[1]).toContain(body);
});

test("a handshake that is refused is answered as a request is, and its connection ends", async () => {
  const app = serve(based, { async session() {} }, { authenticate: bearer({ secret: "me" }) });
  const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
  const key = `Sec-WebSocket-Key: ${btoa("x".repeat(16))}\r\n`;
  const text = await speak(`GET /ws HTTP/1.1\r\nHost: localhost\r\n${upgrade}${key}\r\n`, app);
  const [head, body] = text.split("\r\n\r\n") as [string, string];
  const [status, ...lines] = head.split("\r\n");
  expect(status).toBe("HTTP/1.1 401 Unauthorized");
  expect(lines.sort()).toEqual([
    "Connection: close",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Content-Type: application/json",
    'WWW-Authenticate: Bearer realm="parlance"',
  ]);
  expect(JSON.parse(body)).toMatchObject({ error: "a bearer token is needed: Authorization: Bearer …" });
});
