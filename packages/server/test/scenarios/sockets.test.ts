import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { based } from "@parlance/protocols/based";
import { Refusal, serve } from "@parlance/server";
import { type Listening, listen, upgrade } from "@parlance/server/node";
import { afterEach, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";

// A plain WebSocket, as a peer without Parlance has it.
let server: Listening;
let refused: unknown[];
let reason: unknown;
let left: Promise<void>;
beforeEach(async () => {
  let markLeft = () => {};
  refused = [];
  left = new Promise((resolve) => {
    markLeft = resolve;
  });
  const app = serve(
    based,
    {
      async session(_, channel, { signal }) {
        signal.addEventListener("abort", () => {
          reason = signal.reason;
          markLeft();
        });
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const message of channel)
          if (message.type === "read_file")
            channel.send({ type: "file_content", filename: message.filename, content: "" });
          else channel.send({ type: "file_list", files: [] });
      },
    },
    {
      hooks: {
        message(_, message, from) {
          if (from === "client" && "filename" in message && message.filename === "too much")
            throw new Refusal("too many messages", { status: 429, retryAfter: 1 });
        },
        refuse: (_, { status, message }, cause) => void refused.push([status, message, (cause as Error).name]),
      },
    },
  );
  server = await listen(app, { port: 0, closeAfter: 0 });
});
afterEach(() => server.close());

async function opened(): Promise<{ socket: WebSocket; heard: string[] }> {
  const heard: string[] = [];
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws`);
  socket.on("message", (data) => heard.push(String(data)));
  await once(socket, "message");
  return { socket, heard };
}

it("a socket that is cut without a close aborts the handler's signal", async () => {
  const { socket } = await opened();
  socket.terminate();
  await left;
});

it("a binary frame closes the socket with 1003", async () => {
  const { socket } = await opened();
  socket.send(Buffer.from("{}"), { binary: true });
  expect((await once(socket, "close"))[0]).toBe(1003);
  await left;
});

it("a frame of invalid UTF-8 closes the socket with 1007", async () => {
  const { socket } = await opened();
  socket.on("error", () => {});
  socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
  expect((await once(socket, "close"))[0]).toBe(1007);
  await left;
});

it("actions that a peer pipelines are answered in their order", async () => {
  const { socket, heard } = await opened();
  const names = Array.from({ length: 50 }, (_, i) => `${i}`);
  for (const filename of names) socket.send(JSON.stringify({ action: "read_file", filename }));
  while (heard.length < 51) await once(socket, "message");
  expect(heard.slice(1).map((text) => JSON.parse(text).filename)).toEqual(names);
  socket.close();
  await left;
});

it("a server that closes says so with 1001", async () => {
  const { socket } = await opened();
  const closed = once(socket, "close");
  await server.close();
  expect((await closed)[0]).toBe(1001);
});

it("a message that a hook refuses is answered with the protocol's fault, does not reach the handler, and the channel goes on", async () => {
  const { socket, heard } = await opened();
  for (const filename of ["too much", "a"]) socket.send(JSON.stringify({ action: "read_file", filename }));
  while (heard.length < 3) await once(socket, "message");
  expect(heard.slice(1).map((text) => JSON.parse(text))).toMatchObject([
    { status: "error", error: "too many messages" },
    { status: "success", action: "file_content", filename: "a" },
  ]);
  expect(refused).toEqual([[429, "too many messages", "Refusal"]]);
  socket.close();
  await left;
});

it("a page that is left (1001) leaves the channel, and a cut does not look like that", async () => {
  const { socket } = await opened();
  socket.close(1001, "the page was left");
  await left;
  expect(reason).toMatchObject({ name: "AbortError" });
  const { socket: cut } = await opened();
  cut.terminate();
  while (reason === undefined || (reason as Error).name === "AbortError")
    await new Promise((resolve) => setImmediate(resolve));
  expect(reason).toMatchObject({ name: "Disconnected", code: "closed" });
});

it("the frames of one tick leave in one write, and all of a tick that says much", async () => {
  const frames = [16, 2000];
  const app = serve(based, {
    async session(_, channel) {
      channel.send({ type: "initial_state", files: [], activeFile: null });
      for await (const _ of channel)
        for (let left = frames.shift() ?? 0; left > 0; left--)
          channel.send({ type: "file_content", filename: String(left), content: "x".repeat(100) });
    },
  });
  let writes = 0;
  const plain = createServer().on("upgrade", upgrade(app));
  plain.on("connection", (socket) => {
    const { _write, _writev } = socket;
    socket._write = (...args) => [writes++, _write.apply(socket, args)];
    socket._writev = (...args) => [writes++, _writev!.apply(socket, args)];
  });
  await once(plain.listen(0, "127.0.0.1"), "listening");
  const socket = new WebSocket(`ws://127.0.0.1:${(plain.address() as AddressInfo).port}/ws`);
  let heard = 0;
  const until = (count: number) =>
    new Promise<void>((resolve) => {
      const check = () => heard === count && resolve();
      socket.on("message", check);
      check();
    });
  socket.on("message", () => heard++);
  await until(1);
  const before = writes;
  socket.send('{"action":"list_files"}');
  await until(17);
  expect(writes - before).toBe(1);
  socket.send('{"action":"list_files"}');
  await until(2017);
  socket.terminate();
  plain.close();
});
