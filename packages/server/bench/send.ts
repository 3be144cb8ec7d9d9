/**
 * Messages a second of processor time through the server to one reader on loopback, beside bare `response.write` of the same text in the same
 * run: `tsx packages/server/bench/send.ts`. Both wait for `drain`. The reader is a process of its own. The machine's load is in both
 * figures alike, so read the ratio.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as tick } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { row } from "./row.js";

const MESSAGES = 96_000;
const ROUNDS = 9;
const TEXT = "a piece of an answer, as models say it";

if (process.argv[2] === "reader") read();
else await measure();

async function measure(): Promise<void> {
  console.log(`server, one reader on loopback`);
  for (const together of [1, 16]) {
    const ours = await listen(
      serve(foldGateway, {
        health: () => "OK",
        ready: () => "OK",
        listAgents: () => [],
        async *send() {
          for (let sent = 1; sent < MESSAGES; sent++) {
            yield { type: "text", text: TEXT };
            if (sent % together === 0) await tick();
          }
          yield { type: "done", full_response: "" };
        },
      }),
      { port: 0 },
    );
    const bare = createServer(async (_, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      const say = (event: string, message: unknown) =>
        response.write(`event: ${event}\ndata: ${JSON.stringify(message)}\n\n`);
      for (let sent = 1; sent < MESSAGES; sent++) {
        if (!say("text", { text: TEXT })) await once(response, "drain");
        if (sent % together === 0) await tick();
      }
      say("done", { full_response: "" });
      response.end();
    });
    await once(bare.listen(0, "127.0.0.1"), "listening");
    const urls = { parlance: ours.url, bare: `http://127.0.0.1:${(bare.address() as AddressInfo).port}` };
    const rates = { parlance: [] as number[], bare: [] as number[] };
    const reader = fork(fileURLToPath(import.meta.url), ["reader"]);
    for (let round = 0; round <= ROUNDS; round++)
      for (const who of ["parlance", "bare"] as const) {
        const start = process.cpuUsage();
        reader.send(`${urls[who]}/api/send`);
        const [messages] = await once(reader, "message");
        if (messages !== MESSAGES) throw new Error(`${messages} messages arrived of ${MESSAGES}`);
        // The first round is warm-up.
        const { user, system } = process.cpuUsage(start);
        if (round > 0) rates[who].push((MESSAGES / (user + system)) * 1e6);
      }
    reader.disconnect();
    await ours.close();
    bare.close();
    const [mine, theirs] = [median(rates.parlance), median(rates.bare)];
    const aim = together > 1 ? 1.1 : 0.85;
    row({ topic: "one stream beside node:http", name: `${together} a tick`, value: mine / theirs, aim });
    console.log(
      `  ${String(together).padStart(2)} a tick: parlance ${thousands(mine)}   bare ${thousands(theirs)}   ratio ${(mine / theirs).toFixed(2)} (aim ${aim})`,
    );
  }
}

/** Counts the ends of events in the bytes: as little work as a reader can do. */
function read(): void {
  process.on("message", (url: string) => {
    const asking = request(url, { method: "POST", headers: { "Content-Type": "application/json" } }, (response) => {
      let messages = 0;
      let last = 0;
      response.on("data", (chunk: Buffer) => {
        for (const byte of chunk) {
          if (byte === 10 && last === 10) messages++;
          last = byte;
        }
      });
      response.on("end", () => process.send!(messages));
    });
    asking.end('{"content":"hello"}');
  });
}

function median(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[all.length >> 1]!;
}

function thousands(value: number): string {
  return `${Math.round(value / 1000).toLocaleString("en")}k/s`;
}
