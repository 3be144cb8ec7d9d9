import { once } from "node:events";
import { connect as dial } from "node:net";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type ServeOptions, serve } from "@parlance/server";
import { type ListenOptions, listen } from "@parlance/server/node";
import { memoryLog } from "@parlance/server/resume";
import type { Port } from "@parlance/wire";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { cuttable } from "../../src/testing/cuts.js";

const state = { type: "initial_state" as const, files: [], activeFile: null };
const session: BasedHandlers["session"] = async (_, channel) => {
  channel.send(state);
  for await (const _ of channel);
};

async function listening(options: ServeOptions = {}, how: ListenOptions = {}) {
  const app = serve(based, { session }, options);
  const server = await listen(app, { port: 0, closeAfter: 0, ...how });
  onTestFinished(() => server.close());
  return { app, server };
}

test("refused hosts and origins are reported once each, a hundred of them at most", async () => {
  const onError = vi.fn();
  const app = serve(foldGateway, { health: () => "OK" } as never, { onError, partial: true });
  const ask = (host: string) => app.fetch(new Request(`http://${host}/health`));
  for (let i = 0; i < 120; i++)
    for (let twice = 0; twice < 2; twice++) expect((await ask(`h${i}.org`)).status).toBe(403);
  expect(onError).toHaveBeenCalledTimes(100);
  expect(onError.mock.calls[99]![0]).toMatchObject({ status: 403, message: expect.stringContaining("h99.org") });
  expect(onError.mock.calls[0]![1]).toEqual({ source: "the guard of Host and Origin" });
});

describe("A handshake", () => {
  const head = `GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${btoa("x".repeat(16))}\r\n\r\n`;

  test.each(["ends", "destroys"])("whose peer %s the connection before it is decided holds nothing", async (how) => {
    let asked = (): void => {};
    const asking = new Promise<void>((resolve) => (asked = resolve));
    const { app, server } = await listening({
      authenticate() {
        asked();
        return new Promise(() => {});
      },
    });
    const socket = dial(server.port, "127.0.0.1");
    socket.write(head);
    await asking;
    expect(app.stats().calls).toBe(1);
    if (how === "ends") socket.end();
    else socket.destroy();
    await vi.waitFor(() => expect(app.stats().calls).toBe(0));
    await vi.waitFor(async () => expect(await connectionsOf(server)).toBe(0));
  });

  test("may be followed at once by a frame, which is not lost", async () => {
    let go = (_: unknown): void => {};
    const { server } = await listening({ authenticate: () => new Promise((resolve) => (go = resolve)) });
    const socket = dial(server.port, "127.0.0.1");
    // A close frame, masked by nothing.
    socket.write(Buffer.concat([Buffer.from(head), Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8])]));
    await vi.waitFor(async () => expect(await connectionsOf(server)).toBe(1));
    await vi.waitFor(() => go("me"));
    let text = "";
    const answer = setInterval(() => go("me"), 1);
    for await (const chunk of socket) text += (chunk as Buffer).toString("latin1");
    clearInterval(answer);
    expect(text).toMatch(/^HTTP\/1\.1 101 /);
    expect(text.endsWith("\x88\x02\x03\xe8")).toBe(true);
  });
});

const connectionsOf = ({ server }: { readonly server: import("node:http").Server }) =>
  new Promise((resolve) => server.getConnections((_, count) => resolve(count)));

test("a message that is too long closes its socket before all of it has come", async () => {
  const { server } = await listening({ maxMessageSize: 1000 });
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws`);
  socket.on("error", () => {});
  await once(socket, "message");
  socket.send("x".repeat(1001), { fin: false });
  expect((await once(socket, "close"))[0]).toBe(1009);
});

test("a connection is one of the server's, also where it is a new one to Node once more", async () => {
  const { server } = await listening();
  let socket: import("node:net").Socket | undefined;
  server.server.on("connection", (one) => (socket = one));
  const peer = dial(server.port, "127.0.0.1");
  const listeners: number[] = [];
  for (let i = 0; i < 3; i++) {
    peer.write("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    expect(String((await once(peer, "data"))[0])).toMatch(/^HTTP\/1\.1 404 /);
    listeners.push(socket!.listeners("close").filter((listener) => /sockets\.delete/.test(String(listener))).length);
  }
  expect(listeners).toEqual([1, 1, 1]);
  peer.destroy();
});

test("an adapter's port that cannot be cut is closed with 1006 by a test's cut", async () => {
  const app = cuttable(serve(based, { session }));
  onTestFinished(() => app.close());
  const close = vi.fn();
  const port: Port = { send() {}, close, listen() {} };
  const accepted = await app.accept(new Request("http://localhost/ws"), [], app.open());
  if ("refused" in accepted) throw new Error("it is accepted");
  accepted.run(port);
  app.cut();
  expect(close.mock.calls[0]).toEqual([1006, ""]);
});

describe("A log in memory", () => {
  test("above its size keeps the newest three quarters, and one entry at least", async () => {
    const log = memoryLog({ maxSize: 8 });
    const writer = (await log.open("s"))!;
    for (let seq = 1; seq <= 4; seq++) void writer.append(seq, "ab");
    expect([(await log.read("s", 0)).map(({ seq }) => seq), log.size!()]).toEqual([[1, 2, 3, 4], 8]);
    void writer.append(5, "ab");
    expect([(await log.read("s", 0)).map(({ seq }) => seq), log.size!()]).toEqual([[3, 4, 5], 6]);
    expect(await log.state("s")).toMatchObject({ first: 3, last: 5 });
    void writer.append(6, "x".repeat(100));
    expect([(await log.read("s", 0)).map(({ seq }) => seq), log.size!()]).toEqual([[6], 100]);
    await writer.trim(6);
    expect([await log.read("s", 0), log.size!(), await log.state("s")]).toMatchObject([[], 0, { first: 7, last: 6 }]);
    await writer.drop();
  });

  test("above its total drops finished streams first, oldest first, then the others, down to three quarters", async () => {
    const log = memoryLog({ maxTotal: 12 });
    const writers = new Map<string, Awaited<ReturnType<typeof log.open>>>();
    for (const name of ["running", "old", "new"]) {
      writers.set(name, await log.open(name));
      for (let seq = 1; seq <= 2; seq++) void writers.get(name)!.append(seq, "ab");
    }
    for (const name of ["new", "old"]) await writers.get(name)!.close();
    const held = async () =>
      Object.fromEntries(
        await Promise.all([...writers.keys()].map(async (name) => [name, (await log.read(name, 0)).length])),
      );
    expect([await held(), log.size!()]).toEqual([{ running: 2, old: 2, new: 2 }, 12]);
    void writers.get("running")!.append(3, "ab");
    // Of 14 characters 9 may stay.
    expect([await held(), log.size!()]).toEqual([{ running: 3, old: 0, new: 1 }, 8]);
    for (let seq = 4; seq <= 6; seq++) void writers.get("running")!.append(seq, "ab");
    expect([await held(), log.size!()]).toEqual([{ running: 4, old: 0, new: 0 }, 8]);
    for (const writer of writers.values()) await writer!.drop();
    expect(log.size!()).toBe(0);
  });
});
