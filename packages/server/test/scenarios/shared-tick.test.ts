import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { handler, upgrade } from "@parlance/server/node";
import { expect, test } from "vitest";

// What is sent to many connections within one tick is written by one loop, which none of them may end for the others.

const COUNT = 3;

function broken(): never {
  throw new Error("this connection is broken");
}

/** Each carrier: begins `COUNT` conversations, breaks the first connection, sends to all within one tick, and returns what each has received. */
const CARRIERS: Readonly<Record<string, () => Promise<readonly PromiseSettledResult<unknown>[]>>> = {
  async streams() {
    const waiting: (() => void)[] = [];
    const handlers = {
      async *send() {
        yield { type: "text", text: "first" };
        await new Promise<void>((resolve) => waiting.push(resolve));
        yield { type: "done", full_response: "all" };
      },
    } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
    const app = serve(foldGateway, handlers);
    const listener = handler(app);
    const responses: Parameters<RequestListener>[1][] = [];
    const server = createServer((incoming, outgoing) => {
      responses.push(outgoing);
      listener(incoming, outgoing);
    });
    const client = connect(foldGateway, { baseUrl: await urlOf(server.listen(0)), resume: false });
    const streams = [];
    for (let i = 0; i < COUNT; i++) {
      const stream = client.send({ content: "x" })[Symbol.asyncIterator]();
      await stream.next();
      streams.push(stream);
    }
    responses[0]!.write = broken;
    while (waiting.length < COUNT) await new Promise(setImmediate);
    for (const resolve of waiting) resolve();
    const received = await Promise.allSettled(streams.map((stream) => stream.next()));
    app.close();
    server.close();
    server.closeAllConnections();
    return received;
  },
  async channels() {
    const channels: Parameters<BasedHandlers["session"]>[1][] = [];
    const app = serve(based, {
      async session(_, channel, { signal }) {
        channels.push(channel);
        channel.send({ type: "initial_state", files: [], activeFile: null });
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    const sockets: Socket[] = [];
    const server = createServer(handler(app)).on("upgrade", (incoming, socket: Socket, head) => {
      sockets.push(socket);
      upgrade(app)(incoming, socket, head);
    });
    const client = connect(based, { baseUrl: await urlOf(server.listen(0)), webSocket, resume: false });
    const readers = [];
    for (let i = 0; i < COUNT; i++) {
      const reader = (await client.session())[Symbol.asyncIterator]();
      await reader.next();
      readers.push(reader);
    }
    sockets[0]!.write = broken;
    for (const channel of channels) channel.send({ type: "file_list", files: [] });
    const received = await Promise.allSettled(readers.map((reader) => reader.next()));
    app.close();
    server.close();
    return received;
  },
};

test.each(Object.entries(CARRIERS))(
  "of %s that are written in one tick only the one whose connection throws ends",
  async (_, run) => {
    const [first, ...others] = await run();
    expect(first).toMatchObject({ status: "rejected", reason: { name: "Disconnected" } });
    expect(others).toHaveLength(COUNT - 1);
    for (const other of others) expect(other).toMatchObject({ status: "fulfilled", value: { done: false } });
  },
);

async function urlOf(server: ReturnType<typeof createServer>): Promise<string> {
  await once(server, "listening");
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}
