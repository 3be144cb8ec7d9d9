/**
 * Messages a second that a client reads of a socket whose server writes 1 or 16 frames at a time, beside bare `ws` and `JSON.parse` on the same bytes
 * in the same run: `tsx packages/client/bench/sockets.ts 1 [--quick]`. The server has a process of its own; both figures are of this one's
 * processor time, so read the ratio.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { based } from "@parlance/protocols/based";
import { loco } from "@parlance/protocols/loco";
import { WebSocket, WebSocketServer } from "ws";
import { row } from "../../server/bench/row.js";

const quick = process.argv.includes("--quick");
/** Frames of one write. */
const TOGETHER = Number(process.argv.find((word) => /^\d+$/.test(word)) ?? 16);
const MESSAGES = (quick ? 40_960 : 163_840) / (TOGETHER === 1 ? 8 : 1);
const ROUNDS = quick ? 5 : 9;
/** Writes of one turn. */
const WRITES = TOGETHER === 1 ? 1 : 64;
/** Milliseconds between turns where each frame is to be a read of its own. */
const APART = TOGETHER === 1 ? 0.06 : 0;

const opening = {
  loco: {
    type: "server.hello",
    protocol_version: 1,
    server_info: { name: "bench", version: "1" },
    session: { id: "s", created_at: "2026-11-22T00:00:00Z" },
  },
  based: { status: "success", action: "initial_state", files: [], activeFile: null },
};
const piece = {
  loco: (text: string) => ({ type: "assistant.token", token: text }),
  based: (text: string) => ({ status: "success", action: "file_content", filename: "a.ts", content: text }),
};
type Name = keyof typeof piece;

if (process.argv[2] === "server") await beServer();
else await measure();

/** Answers a handshake with the opening message, and the first frame of the client with all others. */
async function beServer(): Promise<void> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
  server.on("connection", (socket, request) => {
    const name: Name = request.url!.includes("/ws") ? "based" : "loco";
    socket.send(JSON.stringify(opening[name]));
    socket.once("message", () => void speak(socket, (socket as unknown as { _socket: Socket })._socket, name));
  });
  await once(server, "listening");
  process.on("disconnect", () => process.exit());
  process.send!((server.address() as AddressInfo).port);
}

async function speak(socket: WebSocket, under: Socket, name: Name): Promise<void> {
  under.setNoDelay();
  const texts = Array.from({ length: TOGETHER * WRITES }, (_, i) =>
    JSON.stringify(piece[name](`the ${i}th piece of an answer`)),
  );
  for (let sent = 0; sent < MESSAGES; ) {
    const next = performance.now() + APART;
    for (let write = 0; write < WRITES; write++) {
      under.cork();
      for (let i = 0; i < TOGETHER; i++) socket.send(texts[(sent + i) % texts.length]!);
      sent += TOGETHER;
      under.uncork();
    }
    if (under.writableNeedDrain) await once(under, "drain");
    else
      do await new Promise(setImmediate);
      while (performance.now() < next);
  }
}

async function bare(name: Name, url: string): Promise<number> {
  const socket = new WebSocket(`${url.replace("http", "ws")}${name === "based" ? "/ws" : "/v1"}`, {
    perMessageDeflate: false,
  });
  let messages = -1;
  await new Promise<void>((resolve) => {
    socket.on("message", (data) => {
      JSON.parse(String(data));
      if (++messages === 0) socket.send("{}");
      if (messages === MESSAGES) resolve();
    });
  });
  socket.terminate();
  return messages;
}

async function ours(name: Name, baseUrl: string): Promise<number> {
  const options = { baseUrl, webSocket, resume: false } as const;
  let messages = -1;
  if (name === "based") {
    const channel = await connect(based, options).session();
    for await (const _ of channel) {
      if (++messages === 0) channel.send({ type: "list_files" });
      if (messages === MESSAGES) break;
    }
    await channel.close();
  } else {
    const client_info = { name: "bench", version: "1", capabilities: [] };
    const channel = await connect(loco, options).stream({ session_id: "s" }, { open: { client_info } });
    for await (const _ of channel) if (++messages === MESSAGES) break;
    await channel.close();
  }
  return messages;
}

/** Messages a second of processor time: what else the machine does is in neither figure. */
async function rate(run: () => Promise<number>): Promise<number> {
  const start = process.cpuUsage();
  const messages = await run();
  if (messages !== MESSAGES) throw new Error(`${messages} messages arrived of ${MESSAGES}`);
  const { user, system } = process.cpuUsage(start);
  return (messages / (user + system)) * 1e6;
}

interface Figure {
  readonly name: string;
  readonly parlance: number;
  readonly bare: number;
  readonly ratio: number;
}

async function measure(): Promise<void> {
  const server: ChildProcess = fork(fileURLToPath(import.meta.url), ["server", ...process.argv.slice(2)]);
  const [port] = await once(server, "message");
  const url = `http://127.0.0.1:${port}`;
  const rows: Figure[] = [];
  for (const name of ["loco", "based"] as const) {
    const rates: { parlance: number[]; bare: number[] } = { parlance: [], bare: [] };
    for (let round = 0; round <= ROUNDS; round++) {
      const now = { parlance: await rate(() => ours(name, url)), bare: await rate(() => bare(name, url)) };
      // The first round is warm-up.
      if (round === 0) continue;
      rates.parlance.push(now.parlance);
      rates.bare.push(now.bare);
    }
    const [parlance, bareRate] = [median(rates.parlance), median(rates.bare)];
    rows.push({ name, parlance, bare: bareRate, ratio: parlance / bareRate });
  }
  server.disconnect();
  const topic = `client, frames ${TOGETHER === 1 ? "one by one" : `corked by ${TOGETHER}`}, beside ws`;
  console.log(topic);
  const thousands = (value: number) => `${Math.round(value / 1000).toLocaleString("en")}k/s`.padStart(8);
  for (const { name, parlance, bare, ratio } of rows) {
    row({ topic, name, value: ratio, aim: TOGETHER === 1 ? 0.77 : 0.85 });
    console.log(
      `  ${name.padEnd(40)} parlance ${thousands(parlance)}   bare ${thousands(bare)}   ratio ${ratio.toFixed(2)}`,
    );
  }
}

function median(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[all.length >> 1]!;
}
