import type { AddressInfo } from "node:net";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";

/** A stream of three messages, and a channel whose server's end sends three and closes on request. */
function open() {
  const gateway = serve(
    foldGateway,
    {
      async *send() {
        yield { type: "text", text: "a" };
        yield { type: "text", text: "b" };
        yield { type: "done", full_response: "ab" };
      },
    },
    { partial: true },
  );
  const agent = serve(based, {
    async session(_, channel) {
      channel.send({ type: "initial_state", files: [], activeFile: "a.based" });
      for (const name of ["1", "2"]) channel.send({ type: "file_list", files: [name] });
      for await (const message of channel) if (message.type === "list_files") break;
    },
  });
  onTestFinished(() => {
    gateway.close();
    agent.close();
  });
  return {
    stream: (resume = true) => connect(foldGateway, { fetch: gateway.fetch, resume }).send({ content: "x" }),
    channel: () => connect(based, { fetch: agent.fetch, webSocket: agent.webSocket }).session(),
  };
}

async function all(messages: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of messages) count++;
  return count;
}

const pairs: Readonly<Record<string, () => Promise<readonly [AsyncIterable<unknown>, () => Promise<unknown>]>>> = {
  "two loops over a stream": async () => {
    const stream = open().stream();
    return [stream, () => all(stream)];
  },
  "two loops over an open stream": async () => {
    const stream = open().stream(false);
    await stream.opened;
    return [stream, () => all(stream)];
  },
  "a loop and text()": async () => {
    const stream = open().stream();
    return [stream, () => stream.text()];
  },
  "a loop and batches()": async () => {
    const stream = open().stream();
    return [stream, () => all(stream.batches())];
  },
  "two loops over batches()": async () => {
    const stream = open().stream();
    return [stream.batches(), () => all(stream.batches())];
  },
  "two loops over a channel": async () => {
    const channel = await open().channel();
    return [channel, () => all(channel)];
  },
};

describe.each(Object.entries(pairs))("Of %s", (_, begin) => {
  test("the second is a TypeError that says so, and the first gets everything", async () => {
    const [source, second] = await begin();
    const read: unknown[] = [];
    let refused: unknown;
    for await (const messages of source) {
      refused ??= await second().catch((error: unknown) => error);
      read.push(...(Array.isArray(messages) ? messages : [messages]));
      // The channel's server goes on until it is asked.
      if (read.length === 3) break;
    }
    expect(read).toHaveLength(3);
    expect(refused).toMatchObject({
      name: "TypeError",
      code: "usage",
      message: expect.stringMatching(/^(fold-gateway\.send|based\.session) has a reader already/),
    });
  });
});

test("two loops over a stream that begin at once are told apart before the first message", async () => {
  const stream = open().stream();
  expect(await Promise.allSettled([all(stream), all(stream)])).toMatchObject([
    { status: "fulfilled", value: 3 },
    { status: "rejected", reason: { name: "TypeError" } },
  ]);
});

type Stream = ReturnType<ReturnType<typeof open>["stream"]>;
const reads: Readonly<Record<string, (stream: Stream) => Promise<unknown>>> = {
  "text()": (stream) => stream.text(),
  "a loop": (stream) => all(stream),
  "batches()": (stream) => all(stream.batches()),
};

describe.each(Object.entries(reads))("What %s gives", (name, read) => {
  // A loop ends without an error, as after `break`. A text would look whole.
  const ofCancelled = async (reading: Promise<unknown>) => {
    if (name === "text()") await expect(reading).rejects.toMatchObject({ name: "AbortError", code: "AbortError" });
    else await reading;
  };

  test.each([true, false])(
    "of a stream that was cancelled before is no text, and no message (resume: %s)",
    async (resume) => {
      for (const wait of [false, true]) {
        const stream = open().stream(resume);
        if (wait) await stream.opened;
        stream.cancel();
        await ofCancelled(read(stream));
        await ofCancelled(read(stream));
      }
    },
  );

  test("of a stream that is cancelled while it is read is no text", async () => {
    const turns = [() => {}, () => Promise.resolve(), (stream: Stream) => stream.opened];
    for (const turn of turns) {
      const stream = open().stream();
      const reading = ofCancelled(read(stream));
      await turn(stream);
      stream.cancel();
      await reading;
    }
  });

  test("of a stream whose loop was left is no text", async () => {
    const stream = open().stream();
    for await (const _ of stream) break;
    await ofCancelled(read(stream));
  });

  test.each(Object.entries(reads))("of a stream that was read to its end by %s is a TypeError", async (_, first) => {
    const stream = open().stream();
    await first(stream);
    const again = { name: "TypeError", code: "usage" };
    await expect(read(stream)).rejects.toMatchObject(again);
    // There is nothing left to cancel.
    stream.cancel();
    await expect(read(stream)).rejects.toMatchObject(again);
  });
});

test("a loop over a channel that is left does not close it: the next one goes on with the message after", async () => {
  const channel = await open().channel();
  const read: string[] = [];
  for (let turn = 0; turn < 3; turn++)
    for await (const message of channel) {
      read.push(message.type);
      break;
    }
  expect(read).toEqual(["initial_state", "file_list", "file_list"]);
  expect(await Promise.race([channel.closed, "open"])).toBe("open");
  await channel.close();
  expect(await all(channel)).toBe(0);
});

test("a channel whose reader has left is closed by its signal, on both sides", async () => {
  const closed: unknown[] = [];
  const app = serve(based, {
    async session(_, channel, { signal }) {
      channel.send({ type: "initial_state", files: [], activeFile: "a.based" });
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      closed.push("server");
    },
  });
  onTestFinished(() => app.close());
  const stop = new AbortController();
  const client = connect(based, { fetch: app.fetch, webSocket: app.webSocket, signal: stop.signal });
  const channel = await client.session();
  for await (const _ of channel) break;
  stop.abort();
  await channel.closed.catch(() => closed.push("client"));
  await expect.poll(() => [...closed].sort()).toEqual(["client", "server"]);
  await expect.poll(() => app.stats()).toMatchObject({ channels: 0, calls: 0 });
});

test("a stream's connection carries later requests once the stream has ended", async () => {
  const app = serve(
    foldGateway,
    {
      async *send({ content }) {
        yield { type: "text", text: content };
        yield { type: "done", full_response: content };
      },
    },
    { partial: true },
  );
  const server = await listen(app, { port: 0 });
  onTestFinished(() => server.close());
  let connections = 0;
  server.server.on("connection", () => connections++);
  const gateway = connect(foldGateway, { baseUrl: server.url });
  for (let i = 0; i < 8; i++) expect(await gateway.send({ content: `${i}` }).text()).toBe(`${i}`);
  // A body ends in a packet after that of its last message, so that the next request may come before it is free.
  expect(connections).toBeLessThan(4);
});

test("an awaited send rejects with the close when the server closes with 1008 meanwhile", async () => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  server.on("connection", (socket) => {
    const { pause, resume } = socket;
    socket.once("message", () => {
      // What comes after that waits in the network, until the client has no room.
      pause.call(socket);
      setImmediate(() => {
        resume.call(socket);
        socket.close(1008, "no");
      });
    });
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const session = await connect(based, { baseUrl, webSocket, resume: false }).session();
  const prompt = { type: "prompt", prompt: "x".repeat(500_000) } as never;
  const sending = (async () => {
    for (;;) await session.send(prompt);
  })();
  await expect(sending).rejects.toMatchObject({ name: "Disconnected", code: "closed" });
  await expect(session.closed).rejects.toMatchObject({ message: expect.stringContaining("1008 no") });
});
