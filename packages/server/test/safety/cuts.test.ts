import { randomBytes } from "node:crypto";
import { bearer, Refusal } from "@parlance/server";
import { type EventLog, memoryLog } from "@parlance/server/resume";
import { afterEach, describe, expect, it } from "vitest";
import { dial, ended, reset, speak, statusesOf, until } from "./bytes.js";
import { handshakes } from "./handshakes.js";
import { expectRest, type Served, serving, TOKEN, WAIT } from "./serving.js";

let served: Served;
afterEach(() => served.close());

const newKey = (): string => randomBytes(16).toString("hex");
/** Every byte is a place with PARLANCE_LONG. Without it, one of so many within a line, where they are all alike. */
const isLong = Boolean(process.env.PARLANCE_LONG);
const STRIDE = 8;
/** Connections at a time: fewer than a principal has places. */
const TOGETHER = 16;
const authenticate = bearer({ [TOKEN]: "ann" });

async function ticketOf(path: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${served.port}${path}`, {
    headers: { Authorization: `Bearer ${TOKEN}`, "Parlance-Resume": newKey() },
  });
  return ((await answer.json()) as { ticket: string }).ticket;
}

/** Sends bytes, and ends the connection when the server has read them all; where they are complete, when it has done something. */
async function cut(bytes: Buffer, how: "FIN" | "RST", complete: boolean): Promise<void> {
  const socket = await dial(served.port);
  socket.resume();
  const over = ended(socket);
  if (bytes.length > 0) socket.write(bytes);
  // A reset takes back what was not read.
  const { localPort = 0 } = socket;
  const read = () =>
    served.read(localPort) >= bytes.length && (!complete || socket.bytesRead > 0 || served.running() > 0);
  await Promise.race([over, until(() => socket.destroyed || read())]);
  if (how === "RST") reset(socket);
  else socket.end();
  await over;
  socket.destroy();
}

describe.each(["FIN", "RST"] as const)("By %s", (how) => {
  it.each(handshakes)(
    "$what is cut around each line, and within them, and nothing is held afterwards",
    async ({ bytes, asks, ticketFor }) => {
      // A ticket has to be good until its socket is open, and its channel has a place as long.
      served = await serving({ authenticate, ...(ticketFor !== undefined && { grace: 2000, maxStreams: 1000 }) });
      const whole = bytes(newKey(), newKey());
      const isPlace = (at: number) =>
        isLong ||
        at >= whole.length - 1 ||
        at % STRIDE === 0 ||
        whole.subarray(Math.max(0, at - 2), at + 2).includes(10);
      const lengths = Array.from({ length: whole.length + 1 }, (_, i) => i).filter(isPlace);
      const worker = async (): Promise<void> => {
        for (let length = lengths.shift(); length !== undefined; length = lengths.shift()) {
          const ticket = ticketFor === undefined ? "" : await ticketOf(ticketFor);
          const all = bytes(newKey(), ticket);
          await cut(all.subarray(0, length), how, length === all.length);
        }
      };
      await Promise.all(Array.from({ length: TOGETHER }, worker));
      expect(served.called.length > 0).toBe(!asks);
      await expectRest(served);
    },
    120_000,
  );
});

const BODY = JSON.stringify({ content: WAIT });
const requests: readonly (readonly [what: string, head: string])[] = [
  ["an operation", `GET /health/ready HTTP/1.1\r\n`],
  ["a stream", `POST /api/send HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n`],
  [
    "a resumable stream",
    `POST /api/send HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\nParlance-Resume: ${"a".repeat(32)}\r\n`,
  ],
  [
    "a resumable stream that is joined",
    `GET /api/send HTTP/1.1\r\nParlance-Resume: ${"b".repeat(32)}\r\nLast-Event-ID: e.1\r\n`,
  ],
  ["a resumable stream that is cancelled", `DELETE /api/send HTTP/1.1\r\nParlance-Resume: ${"c".repeat(32)}\r\n`],
  ["the request for a resumable channel", `GET /ws HTTP/1.1\r\nParlance-Resume: ${"d".repeat(32)}\r\n`],
  [
    "a channel",
    "GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
  ],
];
const cases = requests.flatMap(([what, head]) =>
  (["FIN", "RST"] as const).flatMap((how) =>
    (["accepts", "refuses", "fails", "never settles"] as const).map((then) => ({
      what,
      how,
      then,
      bytes: `${head}Host: localhost\r\n\r\n${head.startsWith("POST") ? BODY : ""}`,
    })),
  ),
);

describe("While authenticate is waited for,", () => {
  it.each(cases)(
    "$what is cut by $how, then it $then: nothing is held, no handler runs",
    async ({ bytes, how, then }) => {
      let settle = () => {};
      let asked = 0;
      const decided = new Promise<void>((resolve) => {
        settle = resolve;
      });
      served = await serving({
        async authenticate() {
          if (asked++ > 0) return "ann";
          await decided;
          if (then === "refuses") throw new Refusal("no", { status: 401 });
          if (then === "fails") throw new Error("the store of tokens is down");
          return "ann";
        },
      });
      const socket = await dial(served.port);
      socket.write(bytes);
      await until(() => asked === 1);
      if (how === "RST") reset(socket);
      else socket.end();
      await until(() => served.apps.every((app) => app.stats().calls === 0));
      if (then !== "never settles") settle();
      await expectRest(served);
      expect(served.called).toEqual([]);
      socket.destroy();
    },
  );
});

describe("A log whose `open`", () => {
  const failing = (open: EventLog["open"]): EventLog => ({ ...memoryLog(), open });
  const post = `POST /api/send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\nConnection: close\r\n`;

  const logs: readonly (readonly [how: string, open: EventLog["open"], status: number])[] = [
    ["rejects", async () => Promise.reject(new Error("the log is full")), 503],
    [
      "throws",
      () => {
        throw new Error("the log is full");
      },
      503,
    ],
    ["finds the name taken", async () => undefined, 409],
    ["never settles", () => new Promise(() => {}), 503],
  ];
  it.each(logs)("%s refuses 100 resumable streams, and takes no place", async (_, open, status) => {
    served = await serving({ authenticate: () => "ann", log: failing(open), storeWithin: 50 });
    const statuses = await Promise.all(
      Array.from({ length: 100 }, async () =>
        statusesOf(await speak(served.port, `${post}Parlance-Resume: ${newKey()}\r\n\r\n${BODY}`)),
      ),
    );
    const allowed = status === 503 ? [status, 429] : [status];
    for (const answered of statuses) expect(allowed).toContain(answered[0]);
    expect(statuses.flat()).toContain(status);
    expect(served.called).toEqual([]);
    served.errors.length = 0;
    await expectRest(served);
  });
});
