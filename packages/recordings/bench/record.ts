/**
 * What a recording proxy costs: the time of a message and of a JSON call without a proxy, through a bare one of `node:http` that pipes, and
 * through `record`; then the processor time of both proxies for a stream as fast as it goes. `tsx packages/recordings/bench/record.ts`.
 * Server, proxy and reader are a process each.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer, get, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Recorder } from "@parlance/recordings";
import { proxy, RecordingFile } from "@parlance/recordings/node";
import { interleave, median, quantile, quick } from "../../server/bench/measure.js";
import { row } from "../../server/bench/row.js";

const ROUNDS = quick ? 3 : 9;
/** Messages of a round, one on its way at a time. */
const PACED = quick ? 300 : 1000;
/** Messages of a round as fast as they go, 16 in a write. */
const RUSHED = quick ? 16_000 : 64_000;
const TOGETHER = 16;
const MESSAGE = `event: text\ndata: ${JSON.stringify({ type: "text", text: "a piece of an answer, as models say it" })}\n\n`;

const [, , part, target] = process.argv;
if (part === "server") await server();
else if (part === "bare") await bare(target!);
else if (part === "record") await record(target!);
else await measure();

/** A stream of `?count=` messages: all at once, or with `?paced` the next one when the reader asks for it. */
async function server(): Promise<void> {
  let next = () => {};
  const made = createServer(async (incoming, outgoing) => {
    const { pathname, searchParams } = new URL(incoming.url!, "http://bench");
    if (pathname === "/next") {
      next();
      return void outgoing.writeHead(200, { "Content-Type": "application/json" }).end('{"ok":true}');
    }
    const count = Number(searchParams.get("count"));
    outgoing.writeHead(200, { "Content-Type": "text/event-stream" });
    if (searchParams.has("paced")) {
      for (let sent = 0; sent < count; sent++) {
        outgoing.write(MESSAGE);
        await new Promise<void>((resolve) => {
          next = resolve;
        });
      }
    } else
      for (let sent = 0; sent < count; sent += TOGETHER)
        if (!outgoing.write(MESSAGE.repeat(TOGETHER))) await once(outgoing, "drain");
    outgoing.end();
  });
  await serve(made);
}

async function bare(to: string): Promise<void> {
  const { port } = new URL(to);
  const made = createServer((incoming, outgoing) => {
    const { method = "GET", url = "/", headers } = incoming;
    const upstream = request({ port, host: "127.0.0.1", method, path: url, headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(upstream);
  });
  await serve(made);
}

async function record(to: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "parlance-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "bench.jsonl");
  const file = new RecordingFile(path, (error) => {
    throw error;
  });
  const { url } = await proxy({ target: to, recorder: new Recorder(file.write) });
  report(url);
  process.on("disconnect", () => {
    if (statSync(path).size === 0) throw new Error("nothing was recorded");
    process.exit();
  });
}

async function serve(made: Server): Promise<void> {
  await once(made.listen(0, "127.0.0.1"), "listening");
  report(`http://127.0.0.1:${(made.address() as AddressInfo).port}`);
  process.on("disconnect", () => process.exit());
}

/** Says the address, and then the processor time whenever it is asked for. */
function report(url: string): void {
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send!(user + system);
  });
  process.send!(url);
}

async function started(...words: string[]): Promise<{ url: string; child: ChildProcess }> {
  const child = fork(fileURLToPath(import.meta.url), words);
  const [url] = await once(child, "message");
  return { url, child };
}

async function cpuOf(child: ChildProcess): Promise<number> {
  child.send("cpu");
  return (await once(child, "message"))[0];
}

/** Milliseconds from asking for a message until it is there. */
async function paced(url: string): Promise<number[]> {
  const times: number[] = [];
  const [answer] = await once(get(`${url}/stream?count=${PACED}&paced`), "response");
  let asked = performance.now();
  for await (const _ of answer) {
    times.push(performance.now() - asked);
    asked = performance.now();
    const [ok] = await once(get(`${url}/next`), "response");
    ok.resume();
  }
  if (times.length !== PACED) throw new Error(`${times.length} messages came of ${PACED}`);
  return times.slice(1);
}

async function rushed(url: string): Promise<void> {
  const [answer] = await once(get(`${url}/stream?count=${RUSHED}`), "response");
  let bytes = 0;
  for await (const chunk of answer) bytes += chunk.length;
  if (bytes !== RUSHED * MESSAGE.length) throw new Error(`${bytes} bytes came of ${RUSHED * MESSAGE.length}`);
}

async function measure(): Promise<void> {
  const upstream = await started("server");
  const proxies = { bare: await started("bare", upstream.url), record: await started("record", upstream.url) };
  const urls = { none: upstream.url, bare: proxies.bare.url, record: proxies.record.url };
  const sides = ["none", "bare", "record"] as const;

  const times = await interleave(sides, ROUNDS, (side) => paced(urls[side]));
  const middle = (side: (typeof sides)[number], q = 0.5) => median(times[side].map((all) => quantile(all, q)));
  console.log("a message and a JSON call, one at a time, p50/p99 in ms");
  for (const side of sides) console.log(`  ${side}: ${middle(side).toFixed(3)}/${middle(side, 0.99).toFixed(3)}`);
  const topic = "record beside no proxy and a bare one";
  const against = (name: string, value: number, aim?: number) =>
    row({ topic, name, value, less: true, ...(aim !== undefined && { aim }) });
  against("time of a message, beside a bare proxy", middle("record") / middle("bare"), 1.3);
  against("time of a message, beside no proxy", middle("record") / middle("none"));

  const cpu = await interleave(["bare", "record"] as const, ROUNDS, async (side) => {
    const before = await cpuOf(proxies[side].child);
    await rushed(urls[side]);
    return (await cpuOf(proxies[side].child)) - before;
  });
  const each = (side: "bare" | "record") => median(cpu[side]) / RUSHED;
  console.log(`processor time of the proxy for a message, ${TOGETHER} in a write, in µs`);
  console.log(`  bare: ${each("bare").toFixed(2)}, record: ${each("record").toFixed(2)}`);
  row({ topic, name: "processor time of record for a message", value: each("record"), unit: "µs", less: true });
  against("processor time of a rushed message, beside a bare proxy", each("record") / each("bare"));
  for (const { child } of [upstream, ...Object.values(proxies)]) child.disconnect();
}
