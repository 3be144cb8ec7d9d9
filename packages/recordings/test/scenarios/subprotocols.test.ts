import { once } from "node:events";
import { based } from "@parlance/protocols/based";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { mock } from "../../src/mock/mock.js";
import { listenReplay } from "../../src/node/listen.js";
import type { Answering } from "../../src/replay/answering.js";
import { loadRecording } from "../../src/replay/loaded.js";
import { ReplayServer } from "../../src/replay/server.js";

// Browsers and `ws` fail a handshake that selects none of the subprotocols which they offer.

const head = { c: 1, t: 0 } as const;
const offering = (offered: string | undefined, chosen: string | undefined) => {
  const headers = (value: string | undefined) => (value === undefined ? [] : [["Sec-WebSocket-Protocol", value]]);
  return loadRecording([
    new TextEncoder().encode(
      [
        { recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] },
        {
          ...head,
          from: "client",
          kind: "request",
          method: "GET",
          target: "/ws",
          headers: headers(offered),
          socket: true,
        },
        { ...head, from: "server", kind: "response", status: 101, headers: headers(chosen) },
      ]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(""),
    ),
  ]);
};
const open = async (server: Answering, offered: string[]) => {
  const { url, close } = await listenReplay(server);
  onTestFinished(close);
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws`, offered);
  const [how] = await Promise.race([
    once(socket, "open").then(() => [socket.protocol]),
    once(socket, "error") as Promise<[Error]>,
  ]);
  socket.terminate();
  return how instanceof Error ? how.message : how;
};

it.each<[recorded: string | undefined, chosen: string | undefined, offered: string[], selected: string]>([
  ["chat", "chat", ["chat"], "chat"],
  ["v1, v2", "v2", ["v1", "v2"], "v2"],
  // The token differs, and its place does not.
  ["bearer, __redacted_1__", "__redacted_1__", ["bearer", "live"], "live"],
  ["bearer, __redacted_1__", "bearer", ["bearer", "live"], "bearer"],
  ["parlance.__redacted_1__", "parlance.__redacted_1__", ["parlance.live"], "parlance.live"],
  // The recorded client offered none.
  [undefined, undefined, ["chat", "other"], "chat"],
  [undefined, undefined, ["bearer", "parlance.live"], "parlance.live"],
  [undefined, undefined, [], ""],
  // The recorded server selected none.
  ["chat", undefined, ["chat"], "Server sent no subprotocol"],
])(
  "answers a recorded offer of %j and choice of %j by selecting, of %j, %j",
  async (recorded, chosen, offered, one) => {
    expect(await open(new ReplayServer(await offering(recorded, chosen)), offered)).toBe(one);
    expect(await open(mock(based, { from: await offering(recorded, chosen) }), offered)).toBe(one);
  },
);

it.each<[string[], string]>([
  [["bearer", "secret"], "bearer"],
  [["chat", "parlance.x"], "parlance.x"],
  [[], ""],
])("selects for a mock by its examples, of %j, %j", async (offered, one) => {
  expect(await open(mock(based), offered)).toBe(one);
});
