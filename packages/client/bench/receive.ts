/**
 * Messages a second through the client of each protocol, beside its floor on the same bytes in the same run: eventsource-parser and
 * JSON.parse for streams, JSON.parse alone for channels. Of each protocol its deltas, beside the readers of other packages too, and the mix of
 * its transcripts. `tsx packages/client/bench/receive.ts [protocol] [--quick]`. All are of processor time, so read the ratios.
 */
import { existsSync } from "node:fs";
import { connect, type MessageStream, type OpenSocket } from "@parlance/client";
import { load } from "@parlance/language/load";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { createParser } from "eventsource-parser";
import { row } from "../../server/bench/row.js";

const quick = process.argv.includes("--quick");
/** `pnpm bench` gives each protocol a process, as a page speaks one: what V8 has learnt of another is not in its figures. */
const protocol = process.argv.slice(2).find((word) => !word.startsWith("--"));
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
  client(): Promise<AsyncIterable<object> & { batches?(): AsyncIterable<object[]> }>;
  bare(onMessage: (message: unknown) => void): Promise<void>;
  /** The answer of a stream, for the readers of other packages. */
  answer?(): Response;
}

type OpenStream = (options: { baseUrl: string; fetch: () => Promise<Response> }) => MessageStream<object>;

const deltas = (event: string, of: (text: string) => object): string[] =>
  texts(of).map((data) => `${event && `event: ${event}\n`}data: ${data}\n\n`);

/** A stream of one body, 64 KiB at a time. */
function stream(name: string, events: readonly string[], open: OpenStream): Case {
  const bytes = new TextEncoder().encode(events.join(""));
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
    answer,
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

type OpenChannel = (options: {
  baseUrl: string;
  resume: false;
  webSocket: OpenSocket;
}) => Promise<AsyncIterable<object>>;

/** A channel whose socket has some frames at a time. */
function channel(name: string, all: readonly string[], open: OpenChannel): Case {
  const frames = all.slice(0, MESSAGES);
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
/** What a protocol's server writes in its transcripts, over and over; not the messages with which a stream is over. */
async function mix(name: string, ends: readonly string[] = []): Promise<string[]> {
  const { transcripts } = await load(`schemas/${name}`);
  const wires = Object.values(transcripts)
    .flat()
    .flatMap((line) =>
      "wire" in line && line.from === "server" && line.message && !ends.includes(line.message.type as string)
        ? [line.wire as string]
        : [],
    );
  return Array.from({ length: MESSAGES }, (_, i) => wires[i % wires.length]!);
}

const openFold: OpenStream = (options) => connect(foldGateway, options).send({ content: "hello" });
const openEmacs: OpenStream = (options) => connect(emacsAgent, options).events({ session_id: "s" });
const openSmithy: OpenStream = (options) => connect(agentsmithy, options).chat({ messages: [] });
const openBased: OpenChannel = (options) => connect(based, options).session();
const openLoco: OpenChannel = (options) =>
  connect(loco, options).stream({ session_id: "s" } as never, { open: {} } as never);
const opened = JSON.stringify({ status: "success", action: "initial_state", files: [], activeFile: null });

const cases: Readonly<Record<string, () => Promise<readonly Case[]>>> = {
  "fold-gateway": async () => [
    stream(
      "fold-gateway, text",
      deltas("text", (text) => ({ text })),
      openFold,
    ),
    stream("fold-gateway, mix", await mix("fold-gateway", ["done", "error"]), openFold),
  ],
  "emacs-agent": async () => [
    stream(
      "emacs-agent, message.delta",
      deltas("message.delta", (content) => ({ type: "message.delta", content, role: "assistant" })),
      openEmacs,
    ),
    stream("emacs-agent, mix", await mix("emacs-agent"), openEmacs),
  ],
  agentsmithy: async () => [
    stream(
      "agentsmithy, content",
      deltas("", (content) => ({ content })),
      openSmithy,
    ),
    stream("agentsmithy, mix", await mix("agentsmithy", ["done"]), openSmithy),
  ],
  based: async () => [
    channel(
      "based, file_content",
      [opened, ...texts((content) => ({ status: "success", action: "file_content", filename: "a.ts", content }))],
      openBased,
    ),
    channel("based, mix", [opened, ...(await mix("based"))], openBased),
  ],
  loco: async () => [
    channel("loco, assistant.token", [hello, ...texts((token) => ({ type: "assistant.token", token }))], openLoco),
    channel("loco, mix", [hello, ...(await mix("loco"))], openLoco),
  ],
};

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

async function batches(one: Case): Promise<number> {
  let messages = 0;
  for await (const batch of (await one.client()).batches!()) {
    messages += batch.length;
    if (messages === MESSAGES) break;
  }
  return messages;
}

async function bare(one: Case): Promise<number> {
  let messages = 0;
  await one.bare(() => messages++);
  return messages;
}

const median = (all: number[]) => all.toSorted((a, b) => a - b)[all.length >> 1]!;
const thousands = (value: number) => `${Math.round(value / 1000).toLocaleString("en")}k/s`;

async function measure(one: Case): Promise<void> {
  const { bare: floor, ...ours } = await rates(one, {
    bare,
    client,
    ...("batches" in (await one.client()) && { batches }),
  });
  print(one, floor!, ours);
  const { answer } = one;
  if (!answer || one.name.endsWith(", mix")) return;
  const others = Object.entries(await loadPeers()).map(([name, read]) => [name, () => read(answer(), MESSAGES)]);
  // Afterwards: their garbage would slow the floor to less than half.
  print(one, floor!, await rates(one, Object.fromEntries(others)));
}

/** Reads an answer until it has so many messages, parsed. */
type Peer = (answer: Response, most: number) => Promise<number>;

/** What other packages read a stream with; none where `pnpm interop` has not installed them. */
async function loadPeers(): Promise<Readonly<Record<string, Peer>>> {
  if (!existsSync(new URL("../../../interop/node_modules", import.meta.url))) return {};
  // Not a literal, because the compiler would need the packages too.
  const module: string = "../../../interop/bench/peers.js";
  return (await import(module)).peers;
}

/** The median of each reader. */
async function rates(
  one: Case,
  readers: Readonly<Record<string, (one: Case) => Promise<number>>>,
): Promise<Record<string, number>> {
  const all = Object.fromEntries(Object.keys(readers).map((name): [string, number[]] => [name, []]));
  for (let round = 0; round <= ROUNDS; round++)
    for (const [name, read] of Object.entries(readers)) {
      const now = await rate(() => read(one));
      // The first round is warm-up.
      if (round > 0) all[name]!.push(now);
    }
  return Object.fromEntries(Object.entries(all).map(([name, rates]) => [name, median(rates)]));
}

/** Of deltas: message by message, and in batches. */
const AIMS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  "fold-gateway, text": { client: 0.68, batches: 0.8 },
  "emacs-agent, message.delta": { client: 0.58, batches: 0.7 },
  "agentsmithy, content": { client: 0.5, batches: 0.6 },
  "based, file_content": { client: 0.5 },
  "loco, assistant.token": { client: 0.5 },
};

function print(one: Case, floor: number, figures: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(figures)) {
    const aim = AIMS[one.name]?.[name];
    const ratio = { topic: "client, beside its floor", name: `${one.name}, ${name}`, value: value / floor };
    row({ ...ratio, ...(aim && { aim }) });
  }
  const shown = Object.entries(figures).map(
    ([name, value]) => `${name} ${thousands(value).padStart(7)} ${(value / floor).toFixed(2)}`,
  );
  const about = `${one.name}, ${Math.round(one.bytes / MESSAGES)} bytes`.padEnd(40);
  console.log(`  ${about} floor ${thousands(floor).padStart(7)}   ${shown.join("   ")}`);
}

console.log("client (decode, parse, validate, untag, iterate)");
for (const [name, of] of Object.entries(cases))
  if (protocol === undefined || protocol === name) for (const one of await of()) await measure(one);
