/**
 * Messages a second through the client, beside bare eventsource-parser and JSON.parse on the same bytes in the same run:
 * `tsx packages/client/bench/receive.ts`. What else the machine does slows both alike, so read the ratio.
 */
import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { createParser } from "eventsource-parser";

const MESSAGES = 200_000;
const ROUNDS = 11;
const CHUNK = 64 * 1024;

const bytes = new TextEncoder().encode(
  `${Array.from({ length: MESSAGES - 1 }, (_, i) => `event: text\ndata: ${JSON.stringify({ text: `the ${i}th piece of an answer` })}\n\n`).join("")}event: done\ndata: {"full_response":""}\n\n`,
);

/** The answer of a server: the bytes, 64 KiB at a time. */
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

const gateway = connect(foldGateway, { baseUrl: "http://localhost", fetch: async () => answer() });

async function client(): Promise<number> {
  let messages = 0;
  let characters = 0;
  for await (const message of gateway.send({ content: "hello" })) {
    messages++;
    if (message.type === "text") characters += message.text.length;
  }
  if (characters === 0) throw new Error("no text");
  return messages;
}

async function bare(): Promise<number> {
  let messages = 0;
  let characters = 0;
  const parser = createParser({
    onEvent({ event, data }) {
      const message = JSON.parse(data);
      messages++;
      if (event === "text") characters += message.text.length;
    },
  });
  const decoder = new TextDecoder();
  const reader = answer().body!.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read())
    parser.feed(decoder.decode(read.value, { stream: true }));
  if (characters === 0) throw new Error("no text");
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

const rates: { client: number[]; bare: number[] } = { client: [], bare: [] };
for (let round = 0; round <= ROUNDS; round++) {
  const now = { client: await rate(client), bare: await rate(bare) };
  // The first round is warm-up.
  if (round === 0) continue;
  rates.client.push(now.client);
  rates.bare.push(now.bare);
}
const median = (all: number[]) => all.toSorted((a, b) => a - b)[all.length >> 1]!;
const [ours, theirs] = [median(rates.client), median(rates.bare)];
const thousands = (value: number) => `${Math.round(value / 1000).toLocaleString("en")}k/s`;
console.log(
  `client, messages of ${Math.round(bytes.length / MESSAGES)} bytes (decode, parse, validate, untag, iterate)`,
);
console.log(
  `  parlance ${thousands(ours)}   bare ${thousands(theirs)}   ratio ${(ours / theirs).toFixed(2)} (aim 0.8)`,
);
