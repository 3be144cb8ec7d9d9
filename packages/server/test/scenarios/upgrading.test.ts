import { EventEmitter } from "node:events";
import { Server as TlsServer } from "node:tls";
import { Scope } from "@parlance/wire/scope";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { closeWith } from "../../src/node/request.js";
import { onWebSocket, upgrade } from "../../src/node/socket.js";
import type { App } from "../../src/serve.js";

// Requests for another protocol, without a connection.

const WEBSOCKET = { upgrade: "websocket" };

function socketOf(server: EventEmitter | undefined) {
  return Object.assign(new EventEmitter(), {
    server,
    destroyed: false,
    readableLength: 0,
    unshift: vi.fn(),
    destroy: vi.fn(),
    isPaused: () => false,
    end: vi.fn(),
    write: vi.fn(),
    read: vi.fn(),
  });
}

function incomingOf({ method = "GET", headers = {} as object, raw = ["Host", "localhost"] } = {}) {
  return { method, url: "/ws?a=b", httpVersion: "1.1", headers, rawHeaders: raw };
}

describe("A request for another protocol", () => {
  test.each<[raw: readonly string[], lines: readonly string[]]>([
    [["Host", "a", "Connection", "Upgrade, HTTP2-Settings", "Upgrade", "h2c", "HTTP2-Settings", "AA"], ["Host: a"]],
    [
      ["Connection", "keep-alive, upgrade", "X", "1"],
      ["Connection: keep-alive", "X: 1"],
    ],
    [["connection", "Upgrade", "CONNECTION", "close"], ["CONNECTION: close"]],
    [
      ["Accept", "upgrade, other", "X-Upgrade", "y", "Upgrades", "z"],
      ["Accept: upgrade, other", "X-Upgrade: y", "Upgrades: z"],
    ],
  ])("comes again as a plain one, with all of its other headers: %j", (raw, lines) => {
    const server = new EventEmitter();
    const connected = vi.fn();
    server.on("connection", connected);
    const [socket, take] = [socketOf(server), vi.fn()];
    onWebSocket(take)(
      incomingOf({ headers: { upgrade: "h2c" }, raw: [...raw] }) as never,
      socket as never,
      Buffer.from("rest"),
    );
    const text = String(socket.unshift.mock.calls[0]![0]);
    expect(text).toBe(`GET /ws?a=b HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\nrest`);
    expect([connected.mock.calls, take.mock.calls, socket.destroy.mock.calls]).toEqual([[[socket]], [], []]);
  });

  test("over TLS is a new secure connection, and one of no server is none", () => {
    const tls = new TlsServer();
    const secure = vi.fn();
    tls.removeAllListeners("secureConnection").on("secureConnection", secure);
    const incoming = incomingOf({ headers: { upgrade: "h2c" } });
    const socket = socketOf(tls);
    onWebSocket(vi.fn())(incoming as never, socket as never, Buffer.alloc(0));
    expect(secure.mock.calls).toEqual([[socket]]);
    const alone = socketOf(undefined);
    onWebSocket(vi.fn())(incoming as never, alone as never, Buffer.alloc(0));
    expect([alone.destroy.mock.calls.length, alone.unshift.mock.calls]).toEqual([1, []]);
  });

  test.each([
    ["GET", "websocket", true],
    ["GET", "WebSocket", true],
    ["POST", "websocket", false],
    ["GET", "h2c", false],
    ["GET", undefined, false],
  ])("is one for a WebSocket, or not: %s %s %s", (method, protocol, is) => {
    const [take, head] = [vi.fn(), Buffer.alloc(0)];
    const [incoming, socket] = [incomingOf({ method, headers: { upgrade: protocol } }), socketOf(new EventEmitter())];
    onWebSocket(take)(incoming as never, socket as never, head);
    expect(take.mock.calls).toEqual(is ? [[incoming, socket, head]] : []);
    expect(socket.unshift.mock.calls.length).toBe(is ? 0 : 1);
  });
});

describe("A handshake", () => {
  function shaking(accept: () => Promise<unknown>) {
    const root = Scope.open(() => {});
    onTestFinished(() => root.close());
    const call = root.child("calls");
    const asked = vi.fn((..._: unknown[]) => accept());
    const app = {
      limits: { maxMessageSize: 1000, socketWithin: 1000, heartbeat: 0 },
      isChannel: (pathname: string) => pathname === "/ws",
      open: () => call,
      accept: asked,
    } as unknown as App;
    const server = new EventEmitter();
    const socket = socketOf(server);
    const shake = (more: object = {}) =>
      upgrade(app)({ ...incomingOf({ headers: WEBSOCKET }), ...more } as never, socket as never, Buffer.alloc(0));
    return { shake, socket, call, asked, root };
  }
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

  test("that is refused has its answer, with a length, and its connection ends after it", async () => {
    const refused = { status: 401, headers: { A: "b" }, type: "text/plain", body: "é" };
    const { shake, socket } = shaking(async () => ({ refused }));
    shake();
    await turn();
    expect(socket.write.mock.calls).toEqual([
      ["HTTP/1.1 401 Unauthorized\r\nA: b\r\nConnection: close\r\nContent-Length: 2\r\n\r\né"],
    ]);
    // Drops the rest of the peer's bytes until it ends its side.
    expect([socket.end.mock.calls.length, socket.destroy.mock.calls]).toEqual([1, []]);
    const listeners = ["data", "end", "readable", "error"].map((event) => socket.listenerCount(event));
    expect(listeners).toEqual([1, 0, 0, 1]);
    socket.emit("close");
  });

  test("is decided with its protocols", async () => {
    for (const [header, protocols] of [
      ["one, two", ["one", "two"]],
      [undefined, [""]],
    ] as const) {
      const { shake, asked } = shaking(() => new Promise(() => {}));
      shake({ headers: { ...WEBSOCKET, "sec-websocket-protocol": header } });
      expect(asked.mock.calls[0]![1]).toEqual(protocols);
    }
  });

  test("that cannot be decided, or whose request is gone, ends its connection", async () => {
    const failing = shaking(() => Promise.reject(new Error("defect")));
    failing.shake();
    await turn();
    expect(failing.socket.destroy).toHaveBeenCalledOnce();
    const late = shaking(async () => ({ run() {} }));
    late.call.close();
    late.shake();
    await turn();
    expect([late.socket.destroy.mock.calls.length, late.socket.write.mock.calls]).toEqual([1, []]);
  });

  test("whose connection is gone is not answered", async () => {
    const { shake, socket } = shaking(async () => ({ refused: { status: 401, headers: {}, body: "" } }));
    shake();
    socket.destroyed = true;
    await turn();
    expect([socket.write.mock.calls, socket.end.mock.calls]).toEqual([[], []]);
  });

  test("of which the peer ends the connection, or the connection fails, is over", () => {
    for (const event of ["end", "error"]) {
      const { shake, socket } = shaking(() => new Promise(() => {}));
      shake();
      socket.emit("readable");
      expect(socket.read).toHaveBeenCalledOnce();
      // Early data stays where it is.
      socket.readableLength = 5;
      socket.emit("readable");
      expect(socket.read).toHaveBeenCalledOnce();
      socket.emit(event);
      expect(socket.destroy).toHaveBeenCalledOnce();
    }
    const { shake, socket, call } = shaking(() => new Promise(() => {}));
    shake();
    socket.emit("close");
    expect(call.reason).toMatchObject({ message: "the caller has gone" });
  });

  test("behind a request that is not answered yet ends the connection", () => {
    const { shake, socket, asked, root } = shaking(() => new Promise(() => {}));
    closeWith(socket as never, root.child());
    shake();
    expect([socket.destroy.mock.calls.length, asked.mock.calls]).toEqual([1, []]);
  });

  test("at a path that is no channel's, or that cannot be read, is a plain request", () => {
    for (const more of [{ url: "/other" }, { rawHeaders: ["Host", "a/b"] }]) {
      const { shake, socket, asked } = shaking(() => new Promise(() => {}));
      shake(more);
      expect([socket.unshift.mock.calls.length, asked.mock.calls]).toEqual([1, []]);
    }
  });
});
