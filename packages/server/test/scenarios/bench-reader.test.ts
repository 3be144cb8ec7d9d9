import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { readSocket } from "../../bench/raw.js";

test("the reader of the benches answers pings, and tells of a lost connection, so that no bench waits for ever", async () => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  const opened = once(server, "connection");
  const reading = readSocket({ port: (server.address() as AddressInfo).port, path: "/" }, "{}");
  const [socket] = await opened;
  await once(socket, "message");
  socket.send("{}");
  const reader = await reading;
  socket.ping();
  await once(socket, "pong");
  socket.terminate();
  await expect(reader.lost).rejects.toThrow("/ was closed");
  server.close();
});
