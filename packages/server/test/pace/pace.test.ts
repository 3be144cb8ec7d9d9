import { once } from "node:events";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type ServeOptions, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import type { OpenSocket } from "@parlance/wire";
import { socketPort } from "@parlance/wire/link";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { begin, type Sending, WAYS, type Way } from "./ways.js";

const MI = 1024 * 1024;
const PIECE = "x".repeat(64 * 1024);
/** Many times what may wait, 50 MB with PARLANCE_LONG; and as many pieces as may wait where nobody awaits `send`. */
const [MANY, CAP] = process.env.PARLANCE_LONG === undefined ? [160, 60] : [800, 60];
const limits = { maxBuffered: 4 * MI };

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `${i} ${PIECE}`);
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

/** The numbers of the messages, as many as there are or as are wanted. */
async function numbersOf(texts: AsyncIterable<string>, wanted = Number.POSITIVE_INFINITY): Promise<number[]> {
  const numbers: number[] = [];
  for await (const text of texts) if (numbers.push(Number.parseInt(text, 10)) === wanted) break;
  return numbers;
}

const pacing: (count: number) => Sending = (count) => async (send) => {
  for (const text of numbered(count)) await send(text);
};
const bursting: (count: number) => Sending = (count) => (send) => {
  for (const text of numbered(count)) void send(text);
};

describe.each(Object.entries<Way>(WAYS))("%s", (_, way) => {
  it("brings a healthy reader any number of messages whose sender awaits each `send`", async () => {
    const { texts } = await begin(way, pacing(MANY), limits);
    expect(await numbersOf(texts, MANY)).toEqual(upTo(MANY));
  });

  it("brings a healthy reader as much as may wait, sent in one tick", async () => {
    const { texts } = await begin(way, bursting(CAP), limits);
    expect(await numbersOf(texts, CAP)).toEqual(upTo(CAP));
  });
});

/** A socket that stops reading on demand. */
function pausable(): { open: OpenSocket; pause(): void; cut(): void } {
  let socket: WebSocket;
  return {
    pause: () => socket.pause(),
    cut: () => socket.terminate(),
    async open(url, { headers, protocols }) {
      socket = new WebSocket(url, [...protocols], { headers, perMessageDeflate: false });
      const port = socketPort(socket);
      await once(socket, "open");
      return port;
    },
  };
}

/** What a sender gets whose reader reads nothing from now on. */
function senderOf(way: Way, sending: Sending, options: ServeOptions): Promise<unknown> {
  const { open, pause, cut } = pausable();
  return new Promise((resolve, reject) => {
    const paused: Sending = async (send) => {
      pause();
      const done = (value: unknown): void => {
        resolve(value);
        cut();
      };
      await Promise.resolve(sending(send)).then(done, done);
    };
    begin(way, paused, options, open).catch(reject);
  });
}

it.each([
  ["a channel as documented", "the peer has taken none for 300 ms"],
  // Once it is cut, nobody reads the session.
  ["a session that is read over a channel", "has no reader"],
] as const)("%s: a reader that stops reading is cut after `stall`, and its sender told", async (name, message) => {
  const error = await senderOf(WAYS[name], pacing(MANY), { stall: 300 });
  expect(error).toMatchObject({ name: "Disconnected", code: "slow_reader", message: expect.stringContaining(message) });
});

it("a sender that outruns its reader gets `slow_reader` for what is not sent, and the channel goes on", async () => {
  let refused = 0;
  const sending: Sending = async (send) => {
    let room: Promise<void> | undefined;
    for (const text of numbered(MANY)) {
      try {
        room = send(text);
      } catch (error) {
        expect(error).toMatchObject({ name: "Disconnected", code: "slow_reader", retryable: true });
        refused++;
      }
    }
    await room;
    await send(`${MANY} last`);
  };
  const { texts } = await begin(WAYS["a channel as documented"], sending, { maxBuffered: 2 * MI });
  expect(await numbersOf(texts)).toEqual([...upTo(MANY - refused), MANY]);
  expect(refused).toBeGreaterThan(0);
});

it.each([true, false])(
  "a client sends any number of messages to a server, resumed where possible: %s",
  async (resume) => {
    const heard: number[] = [];
    const handlers: BasedHandlers = {
      async session(_, channel) {
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const message of channel)
          if (message.type === "upload_file") heard.push(Number.parseInt(message.content, 10));
      },
    };
    const server = await listen(serve(based, handlers, { resume }), { port: 0, closeAfter: 0 });
    onTestFinished(() => server.close());
    const session = await connect(based, { baseUrl: server.url, webSocket, resume, maxQueued: 4 * MI }).session();
    function* uploads() {
      for (const content of numbered(MANY)) yield { type: "upload_file", filename: "a", content } as const;
    }
    await session.sendAll(uploads());
    await session.close();
    await session.closed;
    expect(heard).toEqual(upTo(MANY));
  },
);
