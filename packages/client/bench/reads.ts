/**
 * The time of a message through the client and through the clients of other packages, in the regimes of a reader's life: 1, 16 and 1,000
 * events a read, and the first 1,000 messages of a process. `tsx packages/client/bench/reads.ts [--quick]`. Each reads its own protocol without
 * a network, beside eventsource-parser with JSON.parse. All are of processor time, so read the ratios.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { connect } from "@parlance/client";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { createParser } from "eventsource-parser";
import { median, quick } from "../../server/bench/measure.js";
import { row } from "../../server/bench/row.js";

const ROUNDS = quick ? 7 : 15;
/** Rounds before those that count, after which V8 has compiled every reader. */
const WARM_UP = 6;
/** Messages of a conversation, by events a read: so many that a round takes a few hundredths of a second. */
const MESSAGES: Readonly<Record<number, number>> = { 1: 4000, 16: 16_000, 1000: 40_000 };
const FIRST = 1000;
/** Times of the floor. */
const AIMS: Readonly<Record<string, number>> = {
  "1 event a read": 1.5,
  "16 events a read": 2,
  "1,000 events a read": 2,
};

/** A client, and the events of a conversation of its protocol in which each text is one message. */
interface Reader {
  events(texts: readonly string[]): string[];
  read(answer: () => Response, most: number): Promise<number>;
}

const event = (value: object, name?: string) => `${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(value)}\n\n`;
const foldEvents = (texts: readonly string[]) => [
  ...texts.map((text) => event({ text }, "text")),
  event({ full_response: "" }, "done"),
];

const readers: Readonly<Record<string, Reader>> = {
  floor: {
    events: foldEvents,
    async read(answer) {
      let texts = 0;
      const parser = createParser({
        onEvent: ({ data }) => {
          if (JSON.parse(data).text !== undefined) texts++;
        },
      });
      const decoder = new TextDecoder();
      const reader = answer().body!.getReader();
      for (let read = await reader.read(); !read.done; read = await reader.read())
        parser.feed(decoder.decode(read.value, { stream: true }));
      return texts;
    },
  },
  "parlance, fold-gateway": {
    events: foldEvents,
    async read(answer) {
      let texts = 0;
      const client = connect(foldGateway, { baseUrl: "http://localhost", fetch: async () => answer() });
      for await (const { type } of client.send({ content: "x" })) if (type === "text") texts++;
      return texts;
    },
  },
  "parlance, agentsmithy": {
    events: (texts) => [...texts.map((content) => event({ content })), event({ done: true })],
    async read(answer) {
      let texts = 0;
      const client = connect(agentsmithy, { baseUrl: "http://localhost", fetch: async () => answer() });
      for await (const { type } of client.chat({ messages: [] })) if (type === "content") texts++;
      return texts;
    },
  },
  ...(await loadClients()),
};

/** The clients of other packages; none where `pnpm interop` has not installed them. */
async function loadClients(): Promise<Readonly<Record<string, Reader>>> {
  if (!existsSync(new URL("../../../interop/node_modules", import.meta.url))) return {};
  // Not a literal, because the compiler would need the packages too.
  const module: string = "../../../interop/bench/peers.js";
  return (await import(module)).clients;
}

/** Reads a conversation of so many messages, so many events a read, and returns the processor time in microseconds. */
function conversation({ events, read }: Reader, messages: number, together: number): () => Promise<number> {
  const all = events(Array.from({ length: messages }, (_, i) => `the ${i}th piece of an answer`));
  const encoder = new TextEncoder();
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < all.length; at += together) chunks.push(encoder.encode(all.slice(at, at + together).join("")));
  function answer(): Response {
    let at = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at >= chunks.length) return controller.close();
        controller.enqueue(chunks[at++]!);
      },
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }
  return async () => {
    const start = process.cpuUsage();
    const found = await read(answer, messages);
    const { user, system } = process.cpuUsage(start);
    if (found < messages) throw new Error(`${found} messages arrived of ${messages}`);
    return user + system;
  };
}

const names = Object.keys(readers);

/** Runs all readers once a round, in another order each time: the garbage of one is collected in the time of the next. */
async function rounds(
  warmUp: number,
  count: number,
  run: (name: string) => Promise<number>,
): Promise<Record<string, number[]>> {
  const times = Object.fromEntries(names.map((name): [string, number[]] => [name, []]));
  for (let round = 0; round < warmUp + count; round++)
    for (const name of names.toSorted(() => Math.random() - 0.5)) {
      const time = await run(name);
      if (round >= warmUp) times[name]!.push(time);
    }
  return times;
}

async function measureReads(together: number): Promise<void> {
  const messages = MESSAGES[together]!;
  const runs = new Map(names.map((name) => [name, conversation(readers[name]!, messages, together)]));
  const times = await rounds(WARM_UP, ROUNDS, (name) => runs.get(name)!());
  print(`${together.toLocaleString("en")} event${together > 1 ? "s" : ""} a read`, times, messages, "µs a message");
}

/** Each reader has processes of its own, and starts its clock once its modules are loaded. */
async function measureFirst(): Promise<void> {
  const times = await rounds(0, quick ? 5 : 15, async (name) => {
    const child = fork(fileURLToPath(import.meta.url), ["first", name]);
    const [time] = await once(child, "message");
    return time as number;
  });
  print("the first 1,000 messages of a process", times, 1000, "ms");
}

function print(regime: string, times: Readonly<Record<string, readonly number[]>>, unit: number, named: string): void {
  const floor = median(times.floor!);
  console.log(regime);
  for (const name of names) {
    const time = median(times[name]!);
    const aim = name.startsWith("parlance") ? (AIMS[regime] ?? 1.5) : undefined;
    const value = time / floor;
    const ratio = { topic: `${regime}, times the time of its floor`, name, value, less: true };
    if (name !== "floor") row({ ...ratio, ...(aim && { aim }) });
    console.log(`  ${name.padEnd(24)} ${(time / unit).toFixed(2).padStart(8)} ${named}   ${value.toFixed(2)}`);
  }
}

if (process.argv[2] === "first") {
  process.send!(await conversation(readers[process.argv[3]!]!, FIRST, 1)());
  process.exit();
}
for (const together of [1, 16, 1000]) await measureReads(together);
await measureFirst();
