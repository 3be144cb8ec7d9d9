/**
 * What it costs that a stream can be joined again: the same handler to the same reader, with a key (each message has an id, is kept in
 * the memory log and read from it) and without. `tsx packages/server/bench/log.ts`. The server has a process of its own; what counts is
 * its processor time for a message, which the rest of the machine's work disturbs least.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setImmediate as tick } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { interleave, median, quick, thousands } from "./measure.js";
import { type RawReader, readStream } from "./raw.js";
import { row } from "./row.js";

const MESSAGES = quick ? 24_000 : 96_000;
const ROUNDS = quick ? 5 : 15;
const TEXT = "a piece of an answer, as models say it";
const SIDES = ["with", "without"] as const;

if (process.argv[2] === "server") await beServer(Number(process.argv[3]));
else await measure();

/** Sends as many messages as its parent asks for, `together` in a tick, and reports their processor time. The first one opens the stream. */
async function beServer(together: number): Promise<void> {
  let began = process.cpuUsage();
  const handlers: Partial<FoldGatewayHandlers> = {
    async *send() {
      yield { type: "thinking", text: "" };
      const [messages] = await once(process, "message");
      began = process.cpuUsage();
      for (let said = 1; said <= messages; said++) {
        yield { type: "text", text: TEXT };
        if (said % together === 0) await tick();
      }
      yield { type: "done", full_response: String(messages) };
    },
  };
  const { port } = await listen(serve(foldGateway, handlers, { partial: true }), { port: 0 });
  process.on("disconnect", () => process.exit());
  process.on("message", (order) => {
    const { user, system } = process.cpuUsage(began);
    if (order === "cpu") process.send!(user + system);
  });
  process.send!(port);
}

async function measure(): Promise<void> {
  console.log("the memory log, one reader on loopback");
  for (const together of [1, 16]) {
    const server = fork(fileURLToPath(import.meta.url), ["server", String(together)]);
    const [port] = await once(server, "message");
    const figures = await interleave(SIDES, ROUNDS, (side) => round(server, port, side === "with"));
    server.disconnect();
    const [kept, plain] = SIDES.map((side) => ({
      rate: median(figures[side].map(({ rate }) => rate)),
      cpu: median(figures[side].map(({ cpu }) => cpu)),
    })) as [Figure, Figure];
    const name = `${together} a tick, processor time beside none`;
    row({ topic: "a key", name, value: kept.cpu / plain.cpu, less: true, aim: 1.2 });
    const cost = `${Math.round((kept.cpu / plain.cpu - 1) * 100)} % more processor time (aim at most 20 %)`;
    const rates = `with ${thousands(kept.rate)}   without ${thousands(plain.rate)}`;
    console.log(`  ${String(together).padStart(2)} a tick: ${rates}   ${cost}`);
  }
}

interface Figure {
  /** Messages a second. */
  readonly rate: number;
  /** Microseconds of the server's processor time for a message. */
  readonly cpu: number;
}

async function round(server: ChildProcess, port: number, kept: boolean): Promise<Figure> {
  const headers: Record<string, string> = kept ? { "Parlance-Resume": crypto.randomUUID().replaceAll("-", "") } : {};
  const reader = await readStream({ port, path: "/api/send", method: "POST", headers, body: '{"content":"hello"}' });
  const begin = performance.now();
  server.send(MESSAGES);
  await Promise.race([arrived(reader, kept), reader.lost]);
  const seconds = (performance.now() - begin) / 1000;
  server.send("cpu");
  const [cpu] = await once(server, "message");
  reader.socket.destroy();
  return { rate: MESSAGES / seconds, cpu: cpu / MESSAGES };
}

/** Every byte of every message, and the last message last. */
function arrived(reader: RawReader, kept: boolean): Promise<void> {
  const expected = expectedBytes(kept);
  return new Promise((resolve, reject) => {
    const check = () => {
      if (reader.bytes < expected) return;
      if (reader.bytes === expected && reader.tail.endsWith(`data: {"full_response":"${MESSAGES}"}\n\n`)) resolve();
      else reject(new Error(`${reader.bytes} bytes arrived of ${expected}, the last are ${reader.tail}`));
    };
    reader.onBytes = check;
    check();
  });
}

function expectedBytes(kept: boolean): number {
  const text = `event: text\ndata: ${JSON.stringify({ text: TEXT })}\n\n`.length * MESSAGES;
  const done = `event: done\ndata: ${JSON.stringify({ full_response: String(MESSAGES) })}\n\n`.length;
  let ids = 0;
  // An epoch has eight characters; the first message, of sequence 1, has opened the stream.
  if (kept) for (let seq = 2; seq <= MESSAGES + 2; seq++) ids += `id: 01234567.${seq}\n`.length;
  return text + done + ids;
}
