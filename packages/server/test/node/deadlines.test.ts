import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { handler } from "@parlance/server/node";
import { formatTicket, newKey, RESUME } from "@parlance/wire";
import { expect, it, onTestFinished, vi } from "vitest";
import { readBeforeDeadlines } from "../../src/node/deadlines.js";
import { dial, ended, speak, statusesOf } from "../safety/bytes.js";

/** A server that checks its deadlines every 20 ms. */
async function start(limits: { headersTimeout: number; requestTimeout: number; keepAliveTimeout: number }, spare = 20) {
  const echo: RequestListener = async (incoming, outgoing) => {
    let size = 0;
    for await (const chunk of incoming) size += (chunk as Buffer).length;
    outgoing.end(String(size));
  };
  const server = createServer({ ...limits, connectionsCheckingInterval: 20 }, (...both) => {
    void (echo(...both) as unknown as Promise<void>).catch(() => {});
  });
  readBeforeDeadlines(server, spare);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Keeps the process from reading anything. */
function standStill(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

const body = "x".repeat(1000);
const head = `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n`;
const long = 60_000;

/** What a client has sent before the server stands still, and what meanwhile, beyond each deadline. */
const cases = {
  "the rest of a head": [{ headersTimeout: 50, requestTimeout: 50, keepAliveTimeout: long }, head, `\r\n${body}`],
  "a body": [{ headersTimeout: 50, requestTimeout: 50, keepAliveTimeout: long }, `${head}\r\n`, body],
  "a request on an idle connection": [
    { headersTimeout: long, requestTimeout: long, keepAliveTimeout: 50 },
    `${head}\r\n${body}`,
    `${head}\r\n${body}`,
  ],
} as const;

it.each(Object.entries(cases))(
  "answers %s that came while the server stood still",
  async (_, [limits, first, then]) => {
    const socket = await dial(await start(limits));
    let received = "";
    socket.on("data", (data) => {
      received += String(data);
    });
    socket.write(first);
    const isWhole = first.endsWith(body);
    while (isWhole && !received.includes("\r\n\r\n1000")) await once(socket, "data");
    received = "";
    await new Promise((resolve) => setTimeout(resolve, 10));
    // The kernel has it, and the timers are due before it is read.
    socket.write(then);
    await new Promise(process.nextTick);
    standStill(200);
    while (!received.includes("\r\n\r\n1000")) await once(socket, "data");
    expect(statusesOf(received)).toEqual([200]);
    socket.destroy();
  },
);

it.each([
  ["a head that is not finished", head, 408],
  ["a body that is not finished", `${head}\r\nxx`, 408],
  ["what is not HTTP", "nonsense\r\n\r\n", 400],
  ["a head that is too large", `${head}X: ${"x".repeat(100_000)}\r\n\r\n`, 431],
] as const)("still gives up %s", async (_, sent, status) => {
  const port = await start({ headersTimeout: 50, requestTimeout: 50, keepAliveTimeout: long });
  expect(statusesOf(await speak(port, sent))).toEqual([status]);
});

it("ends the call of a request that it gives up, though its client does not close", async () => {
  const app = serve(foldGateway, {}, { partial: true });
  const limits = { headersTimeout: 50, requestTimeout: 50, connectionsCheckingInterval: 20 };
  const server = createServer(limits, handler(app));
  readBeforeDeadlines(server, 20);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const socket = await dial((server.address() as AddressInfo).port);
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  socket.write(
    `POST /api/send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
  );
  const [answer] = await once(socket, "data");
  expect(statusesOf(String(answer))).toEqual([408]);
  await vi.waitFor(() => expect(app.stats().calls).toBe(0));
});

it("gives up a request that goes on slowly after its time", async () => {
  const port = await start({ headersTimeout: 50, requestTimeout: 50, keepAliveTimeout: long });
  const socket = await dial(port);
  let received = "";
  socket.on("data", (data) => {
    received += String(data);
  });
  socket.write(`${head}\r\n`);
  const drip = setInterval(() => socket.write("x"), 1);
  await ended(socket);
  clearInterval(drip);
  expect(statusesOf(received).slice(0, 1)).toEqual(received === "" ? [] : [408]);
});

it("closes an idle connection after its time", async () => {
  const port = await start({ headersTimeout: long, requestTimeout: long, keepAliveTimeout: 50 });
  expect(statusesOf(await speak(port, `${head}\r\n${body}`))).toEqual([200]);
});

it("takes a ticket for a socket whose handshake came while the server stood still", async () => {
  const app = serve(based, { async session() {} }, { ticketLife: 100 });
  onTestFinished(() => app.close());
  const ticketOf = async () => {
    const answer = await app.fetch(new Request("http://localhost/ws", { headers: { [RESUME]: newKey() } }));
    return formatTicket(((await answer.json()) as { ticket: string }).ticket);
  };
  const isTaken = async (ticket: string) =>
    "run" in (await app.accept(new Request("http://localhost/ws"), [ticket], app.open()));
  const ticket = await ticketOf();
  standStill(300);
  await new Promise((resolve) => setTimeout(resolve, 1));
  expect(await isTaken(ticket)).toBe(true);
  // It is good once, and for its time.
  expect(await isTaken(ticket)).toBe(false);
  const late = await ticketOf();
  const { timers } = app.stats();
  await vi.waitFor(() => expect(app.stats().timers).toBeLessThan(timers));
  expect(await isTaken(late)).toBe(false);
});
