import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { encodeFrames } from "../../src/node/port.js";

const LENGTHS = [0, 1, 125, 126, 127, 65_535, 65_536, 70_000];

test("frames are read by `ws` as the texts that they were made of, around each length of the header", async () => {
  const texts = LENGTHS.flatMap((length) => ["x".repeat(length), `${"€".repeat(length / 3)}😀`]);
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  new WebSocketServer({ server }).on("connection", (socket, { socket: under }) => {
    (under as Socket).write(encodeFrames(texts));
    socket.close();
  });
  await once(server, "listening");
  const reader = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const read: string[] = [];
  reader.on("message", (data) => void read.push(String(data)));
  await once(reader, "close");
  expect(read).toEqual(texts);
});
