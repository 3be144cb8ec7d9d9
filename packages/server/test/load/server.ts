import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type App, bearer, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { type AnyContract, type AnyMessage, messageDecoder } from "@parlance/wire";
import type { AnyChannel } from "@parlance/wire/link";
import type { Handlers } from "../../src/call.js";
import type { AnySession } from "../../src/ports.js";
import { exampleHandlers } from "../../src/testing/examples.js";
import { CONTRACTS } from "./contracts.js";

// A server as a process of its own, with a small heap, whose handlers do what the header `Load` of a call says.

/** What a handler does: answers with an example or with a large one, waits until it is aborted, sends more than a reader may hold, or asks. */
export type Does = "answer" | "swell" | "wait" | "flood" | "ask";

/** How it is once the attacker is revoked. */
export interface Rest {
  /** Gauges that are not zero. */
  readonly held: Readonly<Record<string, number>>;
  /** Bytes of heap, after collection, and of the whole process. */
  readonly heap: number;
  readonly rss: number;
}

type Input = Readonly<Record<string, unknown>>;
interface Called {
  readonly request: Request;
  readonly signal: AbortSignal;
  session(key: string): AnySession;
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const LARGE = "x".repeat(64 * 1024);
const [name, length, access] = process.argv.slice(2) as [string, "long" | "short", "open" | "closed"];
/** Messages, of more than a server may queue for one reader, and the size of an answer that no network takes in one piece. */
const FLOOD = length === "long" ? 300 : 30;
const SWELL = length === "long" ? 128 : 16;
const contract = CONTRACTS.get(name)!;
const { large, ask } = await messagesOf(contract);
const app = serve(contract as never, handlersOf(contract) as never, {
  ...(access === "closed" && { authenticate: bearer({ mallory: "mallory", ann: "ann" }) }),
  allowAnonymous: true,
  tombstoneLife: 500,
  onError: false,
});
const server = await listen(app, { port: 0, closeAfter: 0, maxConnections: 12_000 });
process.on("message", async () => process.send!(await rest(app)));
process.on("disconnect", () => process.exit());
process.send!(server.port);

async function rest(app: App): Promise<Rest> {
  const held = () => Object.fromEntries(Object.entries(app.stats()).filter(([, count]) => count !== 0));
  const deadline = performance.now() + 20_000;
  // A busy machine reports the end of a connection late, and until then it holds its body and its answer.
  const connections = () => process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
  while ((Object.keys(held()).length > 0 || connections() > 0) && performance.now() < deadline) {
    // Again, because requests of closed connections may not have been read yet.
    if (access === "closed") app.revoke("mallory");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  for (let i = 0; i < 5; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { heapUsed, rss } = process.memoryUsage();
  return { held: held(), heap: heapUsed, rss };
}

function handlersOf(contract: AnyContract): Handlers {
  const examples = exampleHandlers(contract);
  const handlers = Object.entries(examples).map(([name, example]) => {
    const { answer } = contract.operations[name] ?? {};
    if (answer && !answer.stream)
      return [name, (input: Input, call: Called) => operate(input, call, () => example(input, call))] as const;
    if (!answer)
      return [
        name,
        async (input: Input, channel: AnyChannel, call: Called) => {
          const does = doing(call);
          // Begun first, because it sends the opening message.
          const conversing = Promise.resolve(example(input, channel, call));
          conversing.catch(() => {});
          if (does === "flood") await flood((message) => channel.send(message), call.signal);
          if (does === "ask" && ask) for (const message of asks()) channel.send(message);
          if (does === "wait") await aborted(call.signal);
          else await conversing;
        },
      ] as const;
    return [name, (input: Input, call: Called) => stream(call, () => example(input, call))] as const;
  });
  return Object.fromEntries(handlers) as Handlers;
}

const doing = ({ request }: Called): Does => (request.headers.get("Load") ?? "answer") as Does;

async function operate(input: Input, call: Called, example: () => unknown): Promise<unknown> {
  const does = doing(call);
  const key = contract.session === undefined ? undefined : input[contract.session];
  if (does === "wait") await aborted(call.signal);
  if (key !== undefined) {
    const session = call.session(String(key));
    if (does === "flood") flood((message) => session.send(message), call.signal).catch(() => {});
    if (does === "ask") for (const message of asks()) session.ask(message).catch(() => {});
  }
  const answer = await example();
  return does === "swell" ? swell(answer) : answer;
}

async function* stream(call: Called, example: () => unknown): AsyncGenerator<AnyMessage> {
  const does = doing(call);
  if (does === "flood" && large) for (let i = 0; i < FLOOD; i++) yield large;
  for await (const message of (await example()) as AsyncIterable<AnyMessage>) {
    yield message;
    if (does === "wait") await aborted(call.signal);
  }
}

async function flood(send: (message: AnyMessage) => unknown, signal: AbortSignal): Promise<void> {
  for (let i = 0; large && i < FLOOD && !signal.aborted; i++) void Promise.resolve(send(large)).catch(() => {});
}

/** A large answer. */
function swell(answer: unknown): unknown {
  if (typeof answer === "string") return answer + LARGE.repeat(SWELL);
  if (Array.isArray(answer))
    return Array(100 * SWELL)
      .fill(answer)
      .flat();
  return typeof answer === "object" && answer !== null ? { ...answer, padding: LARGE.repeat(SWELL) } : answer;
}

/** Asks of the server, each with a key of its own. */
function* asks(): Generator<AnyMessage> {
  if (ask) for (let i = 0; i < 20; i++) yield { ...ask.message, [ask.key]: crypto.randomUUID() } as AnyMessage;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** A message of 64 KiB, and one that asks, of the server. */
async function messagesOf(contract: AnyContract) {
  const { schemas } = (await (await contract.accepts()).examples!()).examples;
  const described = [
    ...Object.values(contract.operations).flatMap(({ answer }) => answer.stream ?? []),
    ...Object.values(contract.channels).map(({ server, text }) => ({ messages: server, text })),
  ];
  const { messages, text } = described[0]!;
  const read = (name: string, more: (example: Input) => Input): AnyMessage | undefined => {
    const { schema } = contract.messages[name]!;
    const data = JSON.stringify(more(schemas[schema] as Input));
    const { checks, reads } = contract;
    const decode = messageDecoder(contract, { side: "server", names: messages, checks, reads });
    try {
      const found = decode({ event: name, data });
      return "message" in found ? found.message : undefined;
    } catch {
      // The string has a form of its own.
      return undefined;
    }
  };
  /** Each string in turn, until the message is valid. */
  const swollen = messages.flatMap((name) => {
    const { fault, schema } = contract.messages[name]!;
    const example = schemas[schema] as Input | undefined;
    if (fault || !example) return [];
    const own = text?.append[name];
    const keys = own ? [own] : Object.keys(example).filter((key) => typeof example[key] === "string" && key !== "type");
    return keys.flatMap((key) => read(name, (one) => ({ ...one, [key]: LARGE })) ?? []);
  });
  const exchange = contract.exchanges?.find(({ by }) => by === "server");
  const message = exchange && read(exchange.ask, (one) => ({ ...one, ...exchange.when }));
  return {
    large: swollen.find((one) => JSON.stringify(one).length > LARGE.length),
    ask: message && { message, key: exchange!.key! },
  };
}
