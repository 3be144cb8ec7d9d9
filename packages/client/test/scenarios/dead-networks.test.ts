import { type ConnectOptions, connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { serve } from "@parlance/server";
import type { OpenSocket, Port, PortEvents } from "@parlance/wire";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] }));
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const BEAT = 1000;
const turns = async () => {
  for (let turn = 0; turn < 30; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** A join takes its turns, and a timer of no time. */
async function rejoined(): Promise<void> {
  await turns();
  await vi.advanceTimersByTimeAsync(1);
  await turns();
}

/** A network whose sockets can go silent: no frame and no close passes either way. Requests and new sockets always pass. */
function network(heartbeat: number, resume = true) {
  let sessions = 0;
  const app = serve(
    based,
    {
      async session(_, channel) {
        sessions++;
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const message of channel)
          if (message.type === "list_files") channel.send({ type: "file_list", files: [] });
      },
    },
    { heartbeat, resume, grace: 600_000 },
  );
  const sockets: { dead: boolean; frames: string[] }[] = [];
  const webSocket: OpenSocket = async (url, init) => {
    const port = await app.webSocket(url, init);
    if ("refused" in port) return port;
    const socket = { dead: false, frames: [] as string[] };
    sockets.push(socket);
    const on = ({ frame, close }: PortEvents): PortEvents => ({
      frame(text) {
        if (socket.dead) return;
        socket.frames.push(text);
        frame(text);
      },
      close: (...how) => socket.dead || close(...how),
    });
    return {
      send: (frame) => socket.dead || port.send(frame),
      close: (...how) => socket.dead || port.close(...how),
      cut: () => socket.dead || port.close(1006, ""),
      listen: (events) => port.listen(on(events)),
    } satisfies Port;
  };
  const die = () => {
    for (const socket of sockets) socket.dead = true;
  };
  return { app, webSocket, sockets, die, sessions: () => sessions };
}
type Network = ReturnType<typeof network>;

/** The global WebSocket of a page, over the network. */
function asPage({ app, webSocket }: Network): ConnectOptions {
  class PageSocket extends EventTarget {
    readonly bufferedAmount = 0;
    onopen?: () => void;
    onerror?: () => void;
    #port: Port | undefined;
    constructor(url: string, protocols: string[]) {
      super();
      webSocket(url, { headers: {}, protocols, maxSize: 1e6 }).then((port) => {
        if ("refused" in port) return this.onerror?.();
        this.#port = port;
        port.listen({
          frame: (data) => this.dispatchEvent(new MessageEvent("message", { data })),
          close: (code, reason) => this.dispatchEvent(Object.assign(new Event("close"), { code, reason })),
        });
        this.onopen?.();
      });
    }
    send(frame: string): void {
      this.#port!.send(frame);
    }
    close(code = 1000, reason = ""): void {
      this.#port!.close(code, reason);
    }
  }
  vi.stubGlobal("WebSocket", PageSocket);
  return { fetch: (request) => app.fetch(request), resume: true };
}

const kinds: Readonly<Record<string, (it: Network) => ConnectOptions>> = {
  "in Node": ({ app, webSocket }) => ({ fetch: app.fetch, webSocket }),
  "from a page": asPage,
};

/** A channel, and what became of an ask that was sent when the network was dead. */
async function open(it: Network, options: ConnectOptions) {
  const channel = await connect(based, { ...options, random: () => 0 }).session();
  let outcome: unknown;
  const ask = () =>
    channel.ask({ type: "list_files" }).then(
      ({ type }) => {
        outcome = type;
      },
      (error: unknown) => {
        outcome = error;
      },
    );
  return { channel, ask, outcome: () => outcome, sockets: it.sockets };
}

describe.each(Object.entries(kinds))("A channel %s", (_, make) => {
  it("whose network dies is resumed within 2.5 heartbeats, and its ask is answered", async () => {
    const net = network(BEAT);
    const { channel, ask, outcome } = await open(net, make(net));
    await turns();
    net.die();
    void ask();
    await vi.advanceTimersByTimeAsync(1.9 * BEAT);
    await turns();
    expect([outcome(), net.sockets.length]).toEqual([undefined, 1]);
    await vi.advanceTimersByTimeAsync(0.6 * BEAT);
    await rejoined();
    expect([outcome(), net.sockets.length, net.sessions()]).toEqual(["file_list", 2, 1]);
    await channel.close();
    await net.app.close();
  });

  it("that is silent on a network that lives goes on, for as long as it likes", async () => {
    const net = network(BEAT);
    const { channel, ask, outcome } = await open(net, make(net));
    await turns();
    for (let beats = 0; beats < 20; beats++) {
      await vi.advanceTimersByTimeAsync(BEAT);
      await turns();
    }
    expect(net.sockets).toHaveLength(1);
    await ask();
    expect(outcome()).toBe("file_list");
    await channel.close();
    await net.app.close();
  });

  it("whose network dies again on its next socket is resumed again", async () => {
    const net = network(BEAT);
    const { channel, ask, outcome } = await open(net, make(net));
    await turns();
    for (let deaths = 1; deaths <= 3; deaths++) {
      net.die();
      await vi.advanceTimersByTimeAsync(2.5 * BEAT);
      await rejoined();
      expect(net.sockets).toHaveLength(1 + deaths);
    }
    await ask();
    expect([outcome(), net.sessions()]).toEqual(["file_list", 1]);
    await channel.close();
    await net.app.close();
  });

  it("whose server sends no heartbeats, or does not resume, is not given up", async () => {
    for (const net of [network(0), network(BEAT, false)]) {
      const { channel, ask, outcome } = await open(net, make(net));
      await turns();
      net.die();
      void ask();
      await vi.advanceTimersByTimeAsync(100 * BEAT);
      await turns();
      expect([outcome(), net.sockets.length]).toEqual([undefined, 1]);
      net.sockets[0]!.dead = false;
      await channel.close();
      await net.app.close();
    }
  });

  it("sends frames of resume itself only to a server that resumes", async () => {
    const net = network(BEAT, false);
    const { channel } = await open(net, make(net));
    await turns();
    await vi.advanceTimersByTimeAsync(10 * BEAT);
    await turns();
    expect(net.sockets.flatMap(({ frames }) => frames.filter((frame) => !frame.startsWith("{")))).toEqual([]);
    await channel.close();
    await net.app.close();
  });
});

it("a page's second channel is watched from the moment it opens, and its ask fails where it cannot be resumed", async () => {
  const net = network(BEAT);
  const options = asPage(net);
  const first = await open(net, options);
  await turns();
  const second = await open(net, options);
  // The server's answer to the key is lost, so neither side knows what the other has.
  net.die();
  void second.ask();
  await vi.advanceTimersByTimeAsync(2.5 * BEAT);
  await rejoined();
  const outcome = second.outcome();
  expect(outcome === "file_list" || (outcome as { name?: string } | undefined)?.name === "Disconnected").toBe(true);
  await first.channel.close();
  await net.app.close();
});
