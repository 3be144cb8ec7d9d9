import { getEventListeners } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { trust, webSocket } from "@parlance/client/node";
import type { Port } from "@parlance/wire";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";

afterEach(() => void vi.useRealTimers());

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const answering = (answer: (request: IncomingMessage, response: ServerResponse) => void) =>
  listening(createServer(answer));

const init = { headers: {}, protocols: [], maxSize: 1000 };

test("A socket asks with its headers and protocols, and for no extension", async () => {
  let asked: IncomingMessage["headers"] = {};
  const at = await answering(({ headers }, response) => {
    asked = headers;
    response.writeHead(403).end();
  });
  await webSocket(`ws://${at}`, { ...init, headers: { "X-Own": "1" }, protocols: ["a", "b"] });
  expect(asked).toMatchObject({ "x-own": "1", "sec-websocket-protocol": "a,b", "sec-websocket-version": "13" });
  // Compression costs much memory and time for each connection.
  expect(asked).not.toHaveProperty("sec-websocket-extensions");
});

test("A handshake leaves no listener on its signal, however it ends", async () => {
  const { signal } = new AbortController();
  const refusing = await answering((_, response) => void response.writeHead(403).end());
  const server = createServer();
  new WebSocketServer({ server }).on("connection", (socket) => socket.close());
  const opening = await listening(server);
  const dead = await listening(createTcpServer((socket) => void socket.destroy()));
  for (const at of [refusing, opening, dead]) {
    await webSocket(`ws://${at}`, { ...init, signal }).catch(() => {});
    expect(getEventListeners(signal, "abort")).toEqual([]);
  }
});

describe("A socket that a server refuses", () => {
  const refused = async (answer: (response: ServerResponse) => void) => {
    const at = await answering((_, response) => answer(response));
    return (await webSocket(`ws://${at}`, init)) as { refused: { status: number; body: string; retryAfter?: number } };
  };

  test.each([{}, { "Retry-After": "7" }])("with %o has its status and its body", async (headers) => {
    const found = await refused((response) => response.writeHead(503, headers).end("no, späte"));
    const retryAfter = "Retry-After" in headers ? 7 : undefined;
    expect(found).toEqual({ refused: { status: 503, body: "no, späte", retryAfter } });
  });

  test("at length has the start of its body, and the rest is not read", async () => {
    const part = "x".repeat(16_000);
    let cut = false;
    const { body } = (
      await refused((response) => {
        response.writeHead(400).on("close", () => {
          cut = !response.writableFinished;
        });
        const write = () => {
          while (!response.destroyed && response.write(part));
        };
        response.on("drain", write);
        write();
      })
    ).refused;
    expect(body.length).toBeLessThanOrEqual(64 * 1024);
    expect(body.length).toBeGreaterThan(32 * 1024);
    await expect.poll(() => cut).toBe(true);
  });
});

test("an aborted signal ends a socket that is opening, and leaves an open one alone", async () => {
  const left = vi.fn();
  let enter = () => {};
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  const deaf = await listening(createTcpServer((socket) => socket.on("close", left).resume()).on("connection", enter));
  const { signal, abort } = aborting();
  const opening = webSocket(`ws://${deaf}`, { ...init, signal });
  await entered;
  abort();
  await expect(opening).rejects.toThrow();
  await expect.poll(() => left.mock.calls.length).toBe(1);

  const later = aborting();
  const { port, peer } = await open(later.signal);
  const closed = vi.fn();
  port.listen({ frame() {}, close: closed });
  later.abort();
  await pinged(peer);
  expect(closed).not.toHaveBeenCalled();
});

function aborting() {
  let controller = new AbortController();
  return {
    get signal() {
      controller = new AbortController();
      return controller.signal;
    },
    abort: () => controller.abort(),
  };
}

/** An open socket, and the server's end of it. */
async function open(signal?: AbortSignal): Promise<{ port: Port; peer: WebSocket }> {
  const http = createServer();
  const server = new WebSocketServer({ server: http });
  const connected = new Promise<WebSocket>((resolve) => server.on("connection", resolve));
  const at = await listening(http);
  const port = (await webSocket(`ws://${at}`, { ...init, signal })) as Port;
  const peer = await connected;
  onTestFinished(() => peer.terminate());
  return { port, peer };
}

test("a socket takes messages up to its limit, and is over with the first that is longer", async () => {
  const { port, peer } = await open();
  const told: unknown[] = [];
  port.listen({ frame: (text) => void told.push(text.length), close: () => void told.push("closed") });
  peer.send("x".repeat(1000));
  peer.send("x".repeat(1001));
  await expect.poll(() => told).toEqual([1000, "closed"]);
});

/** A ping and its pong: what was sent before has arrived. */
async function pinged(peer: WebSocket): Promise<void> {
  const answered = new Promise((resolve) => peer.once("pong", resolve));
  peer.ping();
  await answered;
}

describe("A server that pings", () => {
  test.each([
    [100, 2500],
    [4000, 10_000],
  ])("every %d ms is given up after %d ms of silence, and each ping starts them again", async (interval, limit) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const { port, peer } = await open();
    const closed = vi.fn();
    port.listen({ frame() {}, close: closed });
    await pinged(peer);
    vi.advanceTimersByTime(interval);
    await pinged(peer);
    vi.advanceTimersByTime(interval);
    await pinged(peer);
    // One, not that of the ping before as well.
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(limit - 1);
    expect(peer.readyState).toBe(1);
    vi.advanceTimersByTime(2);
    await expect.poll(() => closed.mock.calls).toEqual([[1006, ""]]);
  });

  test("once is never given up", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const { port, peer } = await open();
    const closed = vi.fn();
    port.listen({ frame() {}, close: closed });
    await pinged(peer);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("A request of `trust`", () => {
  const { fetch } = trust({ ca: "no certificate" });

  test("has its method, headers and body, and its answer's status, headers and body", async () => {
    const at = await answering((request, response) => {
      response.writeHead(201, {
        "X-Method": request.method,
        "X-Own": request.headers["x-own"],
        "Set-Cookie": ["a=1", "b=2"],
      });
      request.pipe(response);
    });
    const request = (body?: string) =>
      fetch(
        new Request(`http://${at}`, {
          method: body ? "PUT" : "GET",
          headers: { "X-Own": "own" },
          ...(body && { body }),
        }),
      );
    for (const [body, method] of [
      ["said", "PUT"],
      [undefined, "GET"],
    ] as const) {
      const answer = await request(body);
      expect([answer.status, answer.headers.get("X-Method"), answer.headers.get("X-Own")]).toEqual([
        201,
        method,
        "own",
      ]);
      expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
      expect(await answer.text()).toBe(body ?? "");
    }
  });

  test.each([204, 304])(
    "that is answered with %d has no body, and leaves its connection to the next",
    async (status) => {
      let connections = 0;
      const server = createServer((_, response) => response.writeHead(status).end());
      const at = await listening(server.on("connection", () => connections++));
      for (let request = 0; request < 3; request++) {
        expect(await fetch(new Request(`http://${at}`))).toMatchObject({ status, body: null });
        // undici frees a connection in a later turn than its answer.
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(connections).toBe(1);
    },
  );

  test("fails where its answer, or its own body, is cut", async () => {
    const at = await answering((_, response) => response.destroy());
    await expect(fetch(new Request(`http://${at}`))).rejects.toThrow();
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error("cut")) });
    const deaf = await answering(() => {});
    const upload = new Request(`http://${deaf}`, { method: "POST", body, duplex: "half" } as RequestInit);
    await expect(fetch(upload)).rejects.toMatchObject({ cause: { message: "cut" } });
  });
});
