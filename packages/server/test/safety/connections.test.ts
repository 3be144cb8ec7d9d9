import type { Socket } from "node:net";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { bearer, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { dial, ended, framesOf, reset, speak, statusesOf, until } from "./bytes.js";
import { frameFaults } from "./frames.js";
import { expectRest, LARGE, type Served, serving, TOKEN, WAIT } from "./serving.js";

const SMALL = { stall: 200, bodyWithin: 200, socketWithin: 200, maxMessageSize: 2000, authenticate: undefined };
const HEADERS = "Host: localhost\r\n";
const BODY = JSON.stringify({ content: WAIT });
const JSON_TYPE = "Content-Type: application/json\r\n";
const BEARER = `Authorization: Bearer ${TOKEN}\r\n`;
const waiting = `POST /api/send HTTP/1.1\r\n${HEADERS}${BEARER}${JSON_TYPE}Content-Length: ${BODY.length}\r\n\r\n${BODY}`;
const handshake = (path: string, more = "") =>
  `GET ${path} HTTP/1.1\r\n${HEADERS}${more}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;

let served: Served;
const start = async (...options: Parameters<typeof serving>) => {
  served = await serving(...options);
};
afterEach(() => served.close());

const ends: readonly (readonly [how: string, end: (socket: Socket) => void])[] = [
  ["FIN", (socket) => socket.end()],
  ["RST", reset],
  ["FIN of both ways", (socket) => void socket.destroy()],
];

describe("Pipelined requests:", () => {
  beforeEach(() => start({ authenticate: bearer({ [TOKEN]: "ann" }) }));

  it.each(ends)("64 streams in one write are all aborted by %s, and their places are free again", async (_, end) => {
    for (let round = 0; round < 2; round++) {
      const socket = await dial(served.port);
      socket.write(waiting.repeat(64));
      await until(() => served.running() === 64);
      expect(served.apps[0]!.stats().places).toBe(64);
      end(socket);
      await expectRest(served);
      socket.destroy();
    }
    expect(served.called).toHaveLength(128);
  });

  it.each(ends)("64 operations in one write, of which 32 have their turn, are all aborted by %s", async (_, end) => {
    const socket = await dial(served.port);
    socket.write(`GET /health/ready HTTP/1.1\r\n${HEADERS}${BEARER}\r\n`.repeat(64));
    await until(() => served.running() === 32);
    end(socket);
    await expectRest(served);
    expect(served.called).toHaveLength(32);
    socket.destroy();
  });

  it.each([
    ["a WebSocket", handshake("/ws", BEARER)],
    ["h2c", `GET /health HTTP/1.1\r\n${HEADERS}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n`],
  ])(
    "an upgrade to %s behind an unanswered request ends the connection: two answers must not mix",
    async (_, bytes) => {
      const received = await speak(served.port, waiting + bytes);
      expect(statusesOf(received)).not.toContain(101);
      expect(statusesOf(received).length).toBeLessThan(2);
      expect(served.called).not.toContain("session");
      await expectRest(served);
    },
  );
});

describe("Slow peers:", () => {
  // The intervals in which node:http looks for slow requests are its own.
  beforeEach(() => start(SMALL, { headersTimeout: 100, requestTimeout: 500, connectionsCheckingInterval: 20 }));

  it.each([
    ["a request line that never ends", "GET /hea"],
    ["a head that never ends", `GET /health HTTP/1.1\r\n${HEADERS}X-A: `],
    ["a handshake that never ends", handshake("/ws").slice(0, -2)],
  ])("%s is answered with 408", async (_, bytes) => {
    expect(statusesOf(await speak(served.port, bytes))).toEqual([408]);
    await expectRest(served);
  });

  it.each([
    ["with a length", `Content-Length: 100\r\n\r\n{"con`],
    ["without its first byte", "Content-Length: 100\r\n\r\n"],
    ["in chunks", 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"con\r\n'],
    ["in a request for h2c", 'Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 100\r\n\r\n{"con'],
  ])("a body %s that stops is answered with 408, and the connection ends", async (_, rest) => {
    const received = await speak(served.port, `POST /api/send HTTP/1.1\r\n${HEADERS}${JSON_TYPE}${rest}`);
    expect(statusesOf(received)).toEqual([408]);
    expect(served.called).toEqual([]);
    await expectRest(served);
  });

  it("a body that comes byte by byte ends with the request's own limit", async () => {
    const socket = await dial(served.port);
    socket.write(`POST /api/send HTTP/1.1\r\n${HEADERS}${JSON_TYPE}Content-Length: 1000\r\n\r\n`);
    const drip = setInterval(() => socket.write(" "), 20);
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    await ended(socket);
    clearInterval(drip);
    expect(statusesOf(received)).toEqual([408]);
    await expectRest(served);
  });

  it.each([
    ["a plain JSON answer", `GET /api/agents HTTP/1.1\r\n${HEADERS}\r\n`],
    ["the answers of pipelined requests", `GET /api/agents HTTP/1.1\r\n${HEADERS}\r\n`.repeat(4)],
  ])("a peer that never reads %s is cut after `stall`", async (_, bytes) => {
    const socket = await dial(served.port);
    socket.pause();
    socket.write(bytes);
    await until(() => served.called.length > 0);
    await expectRest(served);
    socket.resume();
    let received = 0;
    socket.on("data", (chunk) => {
      received += chunk.length;
    });
    await ended(socket);
    socket.destroy();
    expect(received).toBeLessThan(LARGE);
  });

  it("an answer that waits for the one before it is not taken for one that nobody reads", async () => {
    const socket = await dial(served.port);
    // The second one is ready long before the first.
    socket.write(`GET /health/ready HTTP/1.1\r\n${HEADERS}\r\nGET /health HTTP/1.1\r\n${HEADERS}\r\n`);
    await until(() => served.running() === 1);
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    // As long as a peer that reads nothing is left.
    await new Promise((resolve) => setTimeout(resolve, 2 * SMALL.stall));
    served.release();
    await until(() => statusesOf(received).length === 2);
    expect(statusesOf(received)).toEqual([200, 200]);
    socket.destroy();
  });
});

describe("WebSocket frames:", () => {
  beforeEach(() => start(SMALL));

  it.each(frameFaults)("$what: the channel closes with $code", async ({ bytes, code }) => {
    const socket = await dial(served.port);
    socket.write(handshake("/ws"));
    let received = Buffer.alloc(0);
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
    });
    await until(() => received.includes("initial_state"));
    const over = ended(socket);
    socket.write(bytes);
    await over;
    const frames = framesOf(received.subarray(received.indexOf("\r\n\r\n") + 4));
    const last = frames.at(-1)!;
    expect(last.opcode).toBe(8);
    expect(last.payload.length === 0 ? 1005 : last.payload.readUInt16BE(0)).toBe(code);
    socket.destroy();
    await expectRest(served);
    expect(served.called).toEqual(["session"]);
  });

  it("a peer that breaks the framing and keeps its side open holds nothing", async () => {
    const socket = await dial(served.port);
    socket.write(handshake("/ws"));
    socket.resume();
    await until(() => served.running() === 1);
    const over = ended(socket);
    socket.write(Buffer.alloc(64));
    await over;
    // Its side of the connection is open still.
    await expectRest(served);
    socket.destroy();
  });
});

describe("Addresses:", () => {
  it("a server on 127.0.0.2 answers to its own address, also as a whole URL", async () => {
    await start();
    const app = serve(foldGateway, { health: () => "OK" } as never);
    const server = await listen(app, { port: 0, host: "127.0.0.2", closeAfter: 0 });
    try {
      expect(server.url).toBe(`http://127.0.0.2:${server.port}`);
      for (const target of ["/health", `${server.url}/health`]) {
        const bytes = `GET ${target} HTTP/1.1\r\nHost: 127.0.0.2:${server.port}\r\nConnection: close\r\n\r\n`;
        expect(statusesOf(await speak(server.port, bytes, "127.0.0.2"))).toEqual([200]);
      }
    } finally {
      await server.close();
    }
  });
});
