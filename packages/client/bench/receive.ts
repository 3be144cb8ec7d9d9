/**
 * Messages a second through the client of each protocol, beside its floor on the same bytes in the same run: eventsource-parser and
 * JSON.parse for streams, JSON.parse alone for channels. `tsx packages/client/bench/receive.ts [--quick]`. Both are of processor time, so
 * read the ratio.
 */
import { connect, type OpenSocket } from "@parlance/client";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { createParser } from "eventsource-parser";

const quick = process.argv.includes("--quick");
const MESSAGES = quick ? 20_000 : 200_000;
const ROUNDS = quick ? 5 : 11;
const CHUNK = 64 * 1024;
/** Frames that a socket has at once. */
const FRAMES = 16;

const texts = (of: (text: string) => object): string[] =>
  Array.from({ length: MESSAGES }, (_, i) => JSON.stringify(of(`the ${i}th piece of an answer`)));

interface Case {
  readonly name: string;
  readonly bytes: number;
  /** The conversation through the client, until it has every message. */
  client(): Promise<AsyncIterable<object>>;
  bare(onMessage: (message: unknown) => void): Promise<void>;
}

/** A stream of one body, 64 KiB at a time. */
function stream(
  name: string,
  event: string,
  data: readonly string[],
  open: (options: { baseUrl: string; fetch: () => Promise<Response> }) => AsyncIterable<object>,
): Case {
  const line = event && `event: ${event}\n`;
  const bytes = new TextEncoder().encode(data.map((one) => `${line}data: ${one}\n\n`).join(""));
  function answer(): Response {
    let at = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at >= bytes.length) return controller.close();
        controller.enqueue(bytes.subarray(at, at + CHUNK));
        at += CHUNK;
      },
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }
  return {
    name,
    bytes: bytes.length,
    client: async () => open({ baseUrl: "http://localhost", fetch: async () => answer() }),
    async bare(onMessage) {
      const parser = createParser({ onEvent: ({ data }) => onMessage(JSON.parse(data)) });
      const decoder = new TextDecoder();
      const reader = answer().body!.getReader();
      for (let read = await reader.read(); !read.done; read = await reader.read())
        parser.feed(decoder.decode(read.value, { stream: true }));
    },
  };
}

/** A channel whose socket has some frames at a time. */
function channel(
  name: string,
  frames: readonly string[],
  open: (options: { baseUrl: string; resume: false; webSocket: OpenSocket }) => Promise<AsyncIterable<object>>,
): Case {
  async function deliver(onFrame: (frame: string) => void): Promise<void> {
    for (let at = 0; at < frames.length; at += FRAMES) {
      for (const frame of frames.slice(at, at + FRAMES)) onFrame(frame);
      await new Promise(setImmediate);
    }
  }
  const webSocket: OpenSocket = async () => ({
    send() {},
    close() {},
    listen: (events) => void deliver(events.frame),
  });
  return {
    name,
    bytes: frames.reduce((sum, frame) => sum + frame.length, 0),
    client: () => open({ baseUrl: "http://localhost", resume: false, webSocket }),
    bare: (onMessage) => deliver((frame) => onMessage(JSON.parse(frame))),
  };
}

const hello = JSON.stringify({
  type: "server.hello",
  protocol_version: 1,
  server_info: { name: "bench", version: "1" },
  session: { id: "s", created_at: "2026-11-22T00:00:00Z" },
});
const cases: readonly Case[] = [
  stream(
    "fold-gateway, text",
    "text",
    texts((text) => ({ text })),
    (options) => connect(foldGateway, options).send({ content: "hello" }),
  ),
  stream(
    "emacs-agent, message.delta",
    "message.delta",
    texts((content) => ({ type: "message.delta", content, role: "assistant" })),
    (options) => connect(emacsAgent, options).events({ session_id: "s" } as never),
  ),
  stream(
    "agentsmithy, content",
    "",
    texts((content) => ({ content })),
    (options) => connect(agentsmithy, options).chat({ messages: [] }),
  ),
  channel(
    "based, file_content",
    [
      JSON.stringify({ status: "success", action: "initial_state", files: [], activeFile: null }),
      ...texts((content) => ({ status: "success", action: "file_content", filename: "a.ts", content })).slice(1),
    ],
    (options) => connect(based, options).session(),
  ),
  channel(
    "loco, assistant.token",
    [hello, ...texts((token) => ({ type: "assistant.token", token })).slice(1)],
    (options) => connect(loco, options).stream({ session_id: "s" } as never, { open: {} } as never),
  ),
];

/** Messages a second of processor time: what else the machine does is in neither figure. */
async function rate(run: () => Promise<number>): Promise<number> {
  const start = process.cpuUsage();
  const messages = await run();
  if (messages !== MESSAGES) throw new Error(`${messages} messages arrived of ${MESSAGES}`);
  const { user, system } = process.cpuUsage(start);
  return (messages / (user + system)) * 1e6;
}

async function client(one: Case): Promise<number> {
  let messages = 0;
  for await (const _ of await one.client()) if (++messages === MESSAGES) break;
  return messages;
}

async function bare(one: Case): Promise<number> {
  let messages = 0;
  await one.bare(() => messages++);
  return messages;
}

const median = (all: number[]) => all.toSorted((a, b) => a - b)[all.length >> 1]!;
const thousands = (value: number) => `${Math.round(value / 1000).toLocaleString("en")}k/s`;
console.log("client (decode, parse, validate, untag, iterate)");
for (const one of cases) {
  const rates: { client: number[]; bare: number[] } = { client: [], bare: [] };
  for (let round = 0; round <= ROUNDS; round++) {
    const now = { client: await rate(() => client(one)), bare: await rate(() => bare(one)) };
    // The first round is warm-up.
    if (round === 0) continue;
    rates.client.push(now.client);
    rates.bare.push(now.bare);
  }
  const [ours, theirs] = [median(rates.client), median(rates.bare)];
  console.log(
    `  ${`${one.name}, ${Math.round(one.bytes / MESSAGES)} bytes`.padEnd(40)} parlance ${thousands(ours).padStart(7)}   bare ${thousands(theirs).padStart(7)}   ratio ${(ours / theirs).toFixed(2)}`,
  );
}
