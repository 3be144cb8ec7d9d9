/**
 * How long a client that was cut takes to catch up: 10,000 messages were sent while it was away, and the time runs from its first try to
 * come back until it has iterated the last of them. `tsx packages/server/bench/resume.ts`. The server has a process of its own. The
 * client's first wait, drawn by chance between 0 and 250 ms, is drawn as 0.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { type EventLog, memoryLog } from "@parlance/server/resume";
import { redisLog } from "@parlance/store-redis";
import { Redis } from "ioredis";
import { hasRedis, startRedis } from "../../store-redis/test/redis.js";
import { median, milliseconds, quick } from "./measure.js";
import { row } from "./row.js";

const MESSAGES = 10_000;
const ROUNDS = quick ? 3 : 9;
const TEXT = "a piece of an answer, as models say it";

if (process.argv[2] === "server") await beServer(process.argv[3]);
else await measure();

/** Sends the first message at once, the others on demand, and reports when the log has them all. */
async function beServer(redis: string | undefined): Promise<void> {
  const kept = redis === undefined ? memoryLog() : redisLog({ redis: new Redis(redis) });
  const said = () => void process.send!("said");
  const log: EventLog = {
    ...kept,
    async open(stream) {
      const writer = await kept.open(stream);
      return writer && { ...writer, close: () => writer.close().then(said) };
    },
  };
  const told = () => once(process, "message");
  const gateway: Partial<FoldGatewayHandlers> = {
    async *send() {
      yield { type: "text", text: `1 ${TEXT}` };
      await told();
      for (let i = 2; i < MESSAGES; i++) yield { type: "text", text: `${i} ${TEXT}` };
      yield { type: "done", full_response: "" };
    },
  };
  const agent: Partial<LoCoHandlers> = {
    async stream(_, channel) {
      channel.send({ type: "server.hello", server_info: { version: "1" } });
      await told();
      for (let i = 1; i < MESSAGES; i++) channel.send({ type: "assistant.token", token: `${i} ${TEXT}` });
      channel.send({ type: "assistant.message_final", message: "" });
      said();
      await channel.closed;
    },
  };
  const options = { log, maxQueued: 16 * 1024 * 1024 };
  const apps = [
    serve(foldGateway, gateway, { ...options, partial: true }),
    serve(loco, agent, { partial: true, ...options, allowAnonymous: true }),
  ];
  const { url } = await listen(apps, { port: 0 });
  process.on("disconnect", () => process.exit());
  process.send!(url);
}

async function measure(): Promise<void> {
  console.log(`resume: a client that was cut gets ${MESSAGES.toLocaleString("en")} messages`);
  await withServer([], async (server, url) => {
    console.log(`  memory log: SSE ${await several("memory log, SSE", 60, () => stream(server, url))}`);
    console.log(`  WebSocket ${await several("socket", 150, () => channel(server, url))}`);
  });
  if (!hasRedis) return console.log("  SKIPPED: Redis, for want of redis-server");
  const redis = await startRedis();
  try {
    await withServer([redis.path], async (server, url) => {
      console.log(`  Redis log: SSE ${await several("Redis log, SSE", undefined, () => stream(server, url))}`);
    });
  } finally {
    await redis.remove();
  }
}

async function withServer(args: readonly string[], run: (server: ChildProcess, url: string) => Promise<void>) {
  const server = fork(fileURLToPath(import.meta.url), ["server", ...args]);
  const [url] = await once(server, "message");
  await run(server, url);
  server.disconnect();
}

async function several(name: string, aim: number | undefined, run: () => Promise<number>): Promise<string> {
  await run();
  const times: number[] = [];
  while (times.length < ROUNDS) times.push(await run());
  row({ topic: "resume of 10,000 messages", name, value: median(times), unit: "ms", less: true, ...(aim && { aim }) });
  return `${milliseconds(median(times))}${aim ? ` (aim ${aim} ms)` : ""}`;
}

/** A network that is there, is cut, and comes back. */
function network() {
  const cutter = new AbortController();
  let back = () => {};
  const isBack = new Promise<void>((resolve) => {
    back = resolve;
  });
  return {
    cut: () => cutter.abort(),
    back,
    async fetch(request: Request) {
      if (!cutter.signal.aborted) return fetch(request, { signal: cutter.signal });
      await isBack;
      return fetch(request);
    },
  };
}

async function stream(server: ChildProcess, baseUrl: string): Promise<number> {
  const { cut, back, fetch } = network();
  const messages = connect(foldGateway, { baseUrl, fetch, random: () => 0 }).send({ content: "hello" });
  await messages.opened;
  cut();
  server.send("say");
  await once(server, "message");
  const start = performance.now();
  back();
  let next = 1;
  for await (const message of messages) next = follow(next, message.type === "text" ? message.text : undefined);
  if (next !== MESSAGES + 1) throw new Error(`message ${next} did not arrive`);
  return performance.now() - start;
}

async function channel(server: ChildProcess, baseUrl: string): Promise<number> {
  const { cut, back, fetch } = network();
  let terminate = () => {};
  const client = connect(loco, {
    baseUrl,
    fetch,
    random: () => 0,
    async webSocket(url, init) {
      const port = await webSocket(url, init);
      if (!("refused" in port)) terminate = () => port.cut!();
      return port;
    },
  });
  const client_info = { name: "bench", version: "1", capabilities: [] };
  const open = await client.stream({ session_id: "s" }, { open: { client_info } });
  const messages = open[Symbol.asyncIterator]();
  await messages.next();
  cut();
  terminate();
  server.send("say");
  await once(server, "message");
  const start = performance.now();
  back();
  for (let next = 1; next <= MESSAGES; ) {
    const { value, done } = await messages.next();
    if (done) throw new Error(`message ${next} did not arrive`);
    next = follow(next, value.type === "assistant.token" ? value.token : undefined);
  }
  const took = performance.now() - start;
  await open.close();
  return took;
}

/** The number of the next message, if this one has its own; the last message has none. */
function follow(next: number, text: string | undefined): number {
  if (text === undefined ? next !== MESSAGES : !text.startsWith(`${next} `))
    throw new Error(`message ${next} is ${JSON.stringify(text)}`);
  return next + 1;
}
