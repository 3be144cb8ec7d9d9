import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, type Refusal } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { disconnected } from "@parlance/wire/errors";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { judge } from "../../src/rejoin.js";

// Each place that reads Retry-After, over the forms that servers write.

let after = "";
const server = createServer((_, response) => response.writeHead(503, { "Retry-After": after }).end());
beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 10, 22, 12) });
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => {
  vi.useRealTimers();
  server.close();
});

const neither = [
  "soon",
  "May 5",
  "Sun 5",
  "2026-11-22",
  "1.2.3",
  "1,5",
  "1, 2",
  "-1",
  "+1",
  "1e3",
  "0x10",
  "Infinity",
  "1 s",
];
const forms: readonly (readonly [text: string, seconds: number | undefined])[] = [
  ["0", 0],
  ["120", 120],
  ["007", 7],
  ["2026", 2026],
  ["1.5", 1.5],
  ["0.5", 0.5],
  ["Sun, 22 Nov 2026 12:01:00 GMT", 60],
  ["Sunday, 22-Nov-26 12:01:00 GMT", 60],
  ["Sun Nov 22 12:01:00 2026", 60],
  ["Sun, 06 Nov 1994 08:49:37 GMT", 0],
  ["Sun, 99 Nov 2026 12:01:00 GMT", undefined],
  ...neither.map((text) => [text, undefined] as const),
  ["9".repeat(99), undefined],
];

test.each(forms)("Retry-After %j is %s seconds in a refused call, join and socket", async (text, seconds) => {
  after = text;
  const answer = () => new Response("no", { status: 503, headers: { "Retry-After": text } });
  const call = await connect(foldGateway, { fetch: async () => answer(), retryWaits: [] })
    .listAgents()
    .catch((refusal: Refusal) => refusal.retryAfter);
  const join = judge(answer(), disconnected("the stream was cut", "ended_early", true));
  const { port } = server.address() as AddressInfo;
  const socket = await webSocket(`ws://127.0.0.1:${port}`, { headers: {}, protocols: [], maxSize: 1000 });
  expect({ call, join, ...socket }).toMatchObject({
    call: seconds,
    join: (seconds ?? 0) * 1000,
    refused: { retryAfter: seconds },
  });
});
