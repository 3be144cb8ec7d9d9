import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { cutChunks, cutEvents } from "../../src/node/cutter.js";
import { Direction } from "../../src/node/direction.js";
import { forward } from "../../src/node/forward.js";
import { frames } from "../../src/node/frames.js";
import { type Connected, proxy } from "../../src/node/proxy.js";
import { Recorder } from "../../src/recorder.js";
import { type Entry, type Line, parseLine } from "../../src/recording.js";

// How a tool holds, slows, repeats and cuts what passes a proxy.

/** A direction of a connection that passes bytes on, and its outcome. */
function passing(cut = cutChunks) {
  const [from, to] = [new PassThrough(), new PassThrough()];
  const direction = new Direction();
  const shown: string[] = [];
  forward(from, to, (chunk) => shown.push(chunk.toString()), { direction, cut });
  const came: string[] = [];
  to.on("data", (chunk: Buffer) => came.push(chunk.toString()));
  const turn = async () => {
    for (let at = 0; at < 5; at++) await new Promise((resolve) => setImmediate(resolve));
  };
  return { from, to, direction, shown, came, turn };
}

describe("a direction", () => {
  test("holds what passes from a stall to its release", async () => {
    const { from, direction, came, shown, turn } = passing();
    from.write("a");
    await turn();
    direction.stall();
    expect(direction.flowing).toBe(false);
    from.write("b");
    await turn();
    expect([came, from.isPaused()]).toEqual([["a"], true]);
    direction.release();
    await turn();
    expect([came, shown, direction.flowing]).toEqual([["a", "b"], ["a", "b"], true]);
  });

  test("that stalls before its connection is open holds it from the first byte", async () => {
    const [from, to] = [new PassThrough(), new PassThrough()];
    const direction = new Direction();
    direction.stall();
    forward(from, to, () => {}, { direction, cut: cutChunks });
    // Neither listens for data on a paused source.
    expect(from.isPaused()).toBe(true);
    direction.release();
    expect(from.isPaused()).toBe(false);
  });

  test("that stalls does not go on when its sink has room again", () => {
    for (const stalls of [false, true]) {
      const [from, to] = [new PassThrough(), new PassThrough({ highWaterMark: 1 })];
      const direction = new Direction();
      forward(from, to, () => {}, { direction, cut: cutChunks });
      from.emit("data", Buffer.from("12345"));
      if (stalls) direction.stall();
      to.emit("drain");
      expect(from.isPaused()).toBe(stalls);
    }
  });

  test("sends a message of the tool's own at once where none passes, and only where there is a connection", async () => {
    expect(new Direction().inject(Buffer.from("x"))).toBe(false);
    const { from, direction, came, turn } = passing(cutEvents());
    expect(direction.inject(Buffer.from("mine"))).toBe(true);
    from.write("data: 1\n");
    await turn();
    expect(direction.inject(Buffer.from("later"))).toBe(true);
    await turn();
    expect(came).toEqual(["mine", "data: 1\n"]);
    from.write("\n");
    await turn();
    expect(came.join("")).toBe("minedata: 1\n\nlater");
  });

  test.each(["end", "close"])("sends the part of a message that it held when its source has its %s", async (how) => {
    const { from, direction, came, turn } = passing(cutEvents());
    direction.spoil("duplicate");
    from.write("data: 1\n");
    await turn();
    expect(came).toEqual([]);
    from.emit(how);
    await turn();
    expect(came).toEqual(["data: 1\n"]);
  });

  describe("that is slow", () => {
    beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
    afterEach(() => vi.useRealTimers());

    test("waits behind each chunk, until it is released", async () => {
      const { from, direction, came, turn } = passing();
      direction.slow(100);
      from.write("a");
      await turn();
      from.write("b");
      await turn();
      expect([came, direction.flowing, from.isPaused()]).toEqual([["a"], false, true]);
      vi.advanceTimersByTime(99);
      await turn();
      expect(came).toEqual(["a"]);
      vi.advanceTimersByTime(1);
      await turn();
      expect(came).toEqual(["a", "b"]);
      vi.advanceTimersByTime(100);
      expect(direction.flowing).toBe(true);
      direction.release();
      expect([vi.getTimerCount(), direction.flowing]).toEqual([0, true]);
      for (const one of ["c", "d"]) {
        from.write(one);
        await turn();
      }
      expect(came).toEqual(["a", "b", "c", "d"]);
    });

    test("does not go on in a stall, and keeps no timer at its end", async () => {
      const { from, direction, came, turn } = passing();
      direction.slow(100);
      from.write("a");
      await turn();
      direction.stall();
      vi.advanceTimersByTime(100);
      from.write("b");
      await turn();
      expect([came, from.isPaused()]).toEqual([["a"], true]);
      direction.release();
      direction.slow(50);
      await turn();
      expect([came, vi.getTimerCount()]).toEqual([["a", "b"], 1]);
      from.emit("close");
      expect(vi.getTimerCount()).toBe(0);
    });
  });
});

/** A proxy whose connections the test steers. */
async function steered(server: ReturnType<typeof createServer>) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const lines: Line[] = [];
  const connected: Connected[] = [];
  const between = await proxy({
    target: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    recorder: new Recorder((line) => void lines.push(parseLine(line) as Line)),
    onConnection: (one) => void connected.push(one),
  });
  onTestFinished(async () => {
    await between.close();
    server.closeAllConnections();
    server.close();
  });
  const entries = () => lines.slice(1) as Entry[];
  const recorded = async (kind: string) => {
    while (!entries().some((entry) => entry.kind === kind)) await new Promise((resolve) => setImmediate(resolve));
    return entries().find((entry) => entry.kind === kind)!;
  };
  return { ...between, connected, recorded };
}

test("a proxy's tool repeats an event, and cuts an answer", async () => {
  const server = createServer((_, outgoing) => {
    outgoing.writeHead(200, { "Content-Type": "text/event-stream" });
    outgoing.write("data: 1\n\n");
  });
  const { url, connected, recorded } = await steered(server);
  const asked = fetch(`${url}/a`);
  while (connected.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const [one] = connected;
  expect({ id: one!.id, socket: one!.socket }).toEqual({ id: 1, socket: false });
  one!.directions.server.spoil("duplicate");
  const reader = (await asked).body!.getReader();
  let text = "";
  while (text.length < 18) text += Buffer.from((await reader.read()).value!).toString();
  expect(text).toBe("data: 1\n\ndata: 1\n\n");
  one!.cut();
  await expect(reader.read()).rejects.toThrow();
  expect(await recorded("error")).toMatchObject({ from: "server", text: "the proxy has cut the connection" });
});

test("a proxy's tool sends a frame of its own, and cuts a WebSocket", async () => {
  const server = createServer();
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(String(data))));
  const { url, connected, recorded } = await steered(server);
  const socket = new WebSocket(url.replace("http", "ws"));
  await once(socket, "open");
  const [one] = connected;
  expect(one!.socket).toBe(true);
  const heard: string[] = [];
  socket.on("message", (data) => heard.push(String(data)));
  one!.directions.server.inject(Buffer.from([0x81, 4, ...Buffer.from("mine")]));
  socket.send("yours");
  while (heard.length < 2) await new Promise((resolve) => setImmediate(resolve));
  expect(heard).toEqual(["mine", "yours"]);
  one!.cut();
  expect((await once(socket, "close"))[0]).toBe(1006);
  expect(await recorded("error")).toMatchObject({ from: "server", text: "the proxy has cut the connection" });
});

test("frames that cannot be read are reported once, and no more of them are recorded", async () => {
  const lines: Line[] = [];
  const recorder = new Recorder((line) => void lines.push(parseLine(line) as Line));
  const read = frames("server", recorder.connection(), () => {});
  read(Buffer.from([0x81, 1, 0x61]));
  read(Buffer.from([0xff, 1, 0x61]));
  for (let again = 0; again < 2; again++) {
    await new Promise((resolve) => setImmediate(resolve));
    read(Buffer.from([0x81, 1, 0x62]));
  }
  expect(lines.slice(1)).toMatchObject([
    { kind: "frame", text: "a" },
    { kind: "error", from: "server", text: expect.stringMatching(/^frames cannot be read: ./) },
  ]);
});
