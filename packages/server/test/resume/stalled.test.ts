import { once } from "node:events";
import type { Socket } from "node:net";
import { connect } from "@parlance/client";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { type ServeOptions, serve } from "@parlance/server";
import { type Listening, listen } from "@parlance/server/node";
import type { OpenSocket } from "@parlance/wire";
import { socketPort } from "@parlance/wire/link";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";

const CAP = 1024 * 1024;
const long = process.env.PARLANCE_LONG !== undefined;
/** Far more than the operating system keeps for two sockets. */
const COUNT = 400;
const padding = "x".repeat(32 * 1024);

afterEach(() => void vi.useRealTimers());

/** What a handler has said, and what of it has left the server's process on the connection that carries it. */
interface Meter {
  readonly server: Listening;
  /** Called at each message: notes how much is queued. */
  say(bytes: number): void;
  readonly said: number;
  readonly most: number;
  /** The connection is closed on this side. */
  readonly gone: boolean;
  /** Resolves when the reader's connection takes nothing any more. */
  full(): Promise<void>;
  /** Resolves when that connection is closed. */
  cut(): Promise<void>;
}

function metered(listening: Listening): Meter {
  let carrier: Socket | undefined;
  let [said, most] = [0, 0];
  const sockets: Socket[] = [];
  listening.server.on("connection", (socket: Socket) => sockets.push(socket));
  onTestFinished(() => listening.close());
  // `bytesWritten` counts queued bytes as well.
  const left = (socket: Socket) => socket.bytesWritten - socket.writableLength;
  return {
    server: listening,
    get said() {
      return said;
    },
    get most() {
      return most;
    },
    get gone() {
      return carrier?.destroyed ?? false;
    },
    say(bytes) {
      // What is sent after the cut goes another way.
      if (!carrier?.destroyed) {
        carrier = sockets.reduce((most, socket) => (left(socket) > left(most) ? socket : most));
        most = Math.max(most, said - left(carrier));
      }
      said += bytes;
    },
    async full() {
      let before = -1;
      await vi.waitFor(
        () => {
          const now = said + (carrier ? left(carrier) : 0);
          const steady = now === before && carrier!.writableLength > 0;
          before = now;
          expect(steady).toBe(true);
        },
        { timeout: 60_000, interval: 100 },
      );
    },
    async cut() {
      await vi.waitFor(() => expect(carrier).toBeDefined());
      if (!carrier!.closed) await once(carrier!, "close");
    },
  };
}

async function streaming(options: ServeOptions): Promise<Meter> {
  const handlers = {
    async *send() {
      for (let i = 0; i < COUNT; i++) {
        const text = `${i} ${padding}`;
        meter.say(text.length);
        yield { type: "text", text };
      }
      yield { type: "done", full_response: "" };
    },
  } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const meter = metered(await listen(serve(foldGateway, handlers, options), { port: 0, closeAfter: 0 }));
  return meter;
}

it.each([
  ["a stream that can be joined again", true],
  ["a stream as documented", false],
])(
  "%s waits for a reader that stops, in no more than a megabyte, and cuts it after 30 s",
  async (_, resume) => {
    if (!long) vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const meter = await streaming({ resume, grace: 60_000 });
    const { url } = meter.server;
    const reader = connect(foldGateway, { baseUrl: url, random: () => 0 })
      .send({ content: "x" })
      [Symbol.asyncIterator]();
    const got = [(await reader.next()).value];
    await meter.full();
    const { said } = meter;
    expect(said).toBeLessThan((COUNT * padding.length) / 2);
    expect(meter.most).toBeLessThan(CAP * 1.1);
    if (!long) await vi.advanceTimersByTimeAsync(29_000);
    await meter.full();
    expect(meter.said).toBe(said);
    // With PARLANCE_LONG it is a real minute: 30 s until the cut, and as long after it.
    if (!long) await vi.advanceTimersByTimeAsync(1500);
    await meter.cut();
    expect(meter.said).toBe(said);
    vi.useRealTimers();
    const read = async () => {
      for (let step = await reader.next(); !step.done; step = await reader.next()) got.push(step.value);
    };
    if (resume) await read();
    else await expect(read()).rejects.toMatchObject({ name: "Disconnected", code: "ended_early" });
    const texts = got.flatMap((message) => (message.type === "text" ? [message.text.split(" ")[0]] : []));
    expect(texts).toEqual(Array.from({ length: resume ? COUNT : texts.length }, (_, i) => String(i)));
  },
  180_000,
);

/** Sockets that can be told to read no more. */
function pausable(): { open: OpenSocket; sockets: WebSocket[] } {
  const sockets: WebSocket[] = [];
  const open: OpenSocket = async (url, { headers, protocols }) => {
    const socket = new WebSocket(url, [...protocols], { headers, perMessageDeflate: false });
    sockets.push(socket);
    const port = socketPort(socket);
    await once(socket, "open");
    return port;
  };
  return { open, sockets };
}

/** A channel on which `more` messages are sent after its socket was cut for want of a reader. */
async function speaking(resume: boolean, more: number) {
  let failed: unknown;
  let go = () => {};
  const asked = new Promise<void>((resolve) => {
    go = resolve;
  });
  const handlers = {
    async stream(_, channel) {
      channel.send({ type: "server.hello", server_info: { version: "1" } });
      await asked;
      let i = 0;
      const speak = () => {
        const token = `${i++} ${padding}`;
        meter.say(token.length);
        return channel.send({ type: "assistant.token", token });
      };
      try {
        while (!meter.gone) {
          await speak();
          await new Promise(setImmediate);
        }
        for (let left = more; left > 0; left--) void speak();
        channel.send({ type: "assistant.message_final", message: String(i) });
      } catch (error) {
        failed = error;
      }
      for await (const _message of channel);
    },
  } as Partial<LoCoHandlers> as LoCoHandlers;
  const meter = metered(
    await listen(serve(loco, handlers, { heartbeat: 0, stall: 500, allowAnonymous: true }), { port: 0, closeAfter: 0 }),
  );
  const { open, sockets } = pausable();
  const options = { baseUrl: meter.server.url, webSocket: open, random: () => 0, resume };
  const opening = { client_info: { name: "t", version: "1", capabilities: [] } };
  const session = await connect(loco, options).stream({ session_id: "s" }, { open: opening });
  const got: string[] = [];
  let count: number | undefined;
  async function read(): Promise<void> {
    for await (const message of session) {
      if (message.type === "assistant.token") got.push(message.token.split(" ")[0]!);
      if (message.type !== "assistant.message_final") continue;
      count = Number(message.message);
      await session.close();
    }
  }
  sockets[0]!.pause();
  go();
  await meter.cut();
  const { most } = meter;
  sockets[0]!.resume();
  const error = await read().then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(got).toEqual(Array.from(got, (_, i) => String(i)));
  expect(most).toBeGreaterThan(CAP * 0.9);
  expect(most).toBeLessThan(CAP * 1.1);
  return { got, count, error, failed };
}

it("a channel whose reader stops makes its sender wait at a megabyte, is cut, and goes on when it comes back", async () => {
  const { got, count, error } = await speaking(true, 3);
  expect(error).toBeUndefined();
  expect(got).toHaveLength(count!);
});

it("a channel whose reader stops until more is sent than is kept ends in a gap that names it", async () => {
  const { got, error } = await speaking(true, 400);
  const missing = { after: got.length + 1, first: expect.any(Number) };
  expect(error).toMatchObject({ name: "Disconnected", code: "gap", missing });
});

it("a channel as documented whose reader stops makes its sender wait at a megabyte, is cut, and its handler is aborted", async () => {
  const { error, failed } = await speaking(false, 1);
  expect(error).toMatchObject({ name: "Disconnected", code: "closed" });
  expect(failed).toMatchObject({ name: "Disconnected", code: "slow_reader" });
});
