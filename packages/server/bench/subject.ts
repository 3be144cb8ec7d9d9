/**
 * The server under test, a process of its own: Parlance, better-sse, or bare `node:http` and `ws`, which say the same messages to all who read one
 * session. Its parent reads, and says over the process's channel what is to be said: `Order`s, each answered.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as tick } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { createChannel, createEventBuffer, createSession } from "better-sse";
import { type WebSocket, WebSocketServer } from "ws";
import { type RawReader, readSocket, readStream } from "./raw.js";

export type Side = "parlance" | "better-sse" | "bare";
export type Carrier = "sse" | "websocket";

/** Says `events` messages, `together` in one tick, and stops while `window` of them are not acknowledged. */
export type Order =
  | { readonly say: number; readonly together: number; readonly window: number }
  | { readonly heard: number }
  | "cpu"
  | "memory";

export interface Memory {
  readonly rss: number;
  /** The heap that is in use, and what buffers hold outside of it. */
  readonly held: number;
}

export interface Subject {
  readonly port: number;
  order(order: Order): void;
  /** Microseconds of processor time since the last `say`. */
  cpu(): Promise<number>;
  memory(): Promise<Memory>;
  stop(): void;
}

export async function start(side: Side, carrier: Carrier): Promise<Subject> {
  const child = fork(fileURLToPath(import.meta.url), [side, carrier], {
    execArgv: [...process.execArgv, "--expose-gc"],
  });
  const port = await answer<number>(child);
  const ask = <Answer>(order: Order): Promise<Answer> => {
    child.send(order);
    return answer(child);
  };
  return {
    port,
    order: (order) => child.send(order),
    cpu: () => ask("cpu"),
    memory: () => ask("memory"),
    stop: () => child.kill("SIGKILL"),
  };
}

async function answer<Answer>(child: ChildProcess): Promise<Answer> {
  const [said] = await once(child, "message");
  return said;
}

/** A reader of the session. With headers, one that asks for more than the documents do. */
export function open(carrier: Carrier, port: number, headers: Record<string, string> = {}): Promise<RawReader> {
  if (carrier === "sse") return readStream({ port, path: "/api/sessions/s/events", headers });
  const client_info = { name: "bench", version: "1", capabilities: [] };
  const path = "/v1/sessions/s/stream";
  return readSocket({ port, path, headers }, JSON.stringify({ type: "client.hello", client_info }));
}

/** When it was sent, by the clock that all processes of a machine share, and its number: both of fixed width, so that messages are. */
const stamp = (number: number): string =>
  `${String(process.hrtime.bigint()).padStart(20, "0")} ${String(number).padStart(8, "0")}`;

/** When the last message in a text was sent, and its number. */
export function stampOf(text: string): { readonly at: bigint; readonly number: number } | undefined {
  const [, at, number] = /.*(\d{20}) (\d{8})/s.exec(text) ?? [];
  return at === undefined ? undefined : { at: BigInt(at), number: Number(number) };
}

/** Bytes of one message on the wire, framing left out. */
export function lengthOf(carrier: Carrier, side: Side = "bare"): number {
  const message = delta(stamp(0));
  if (side === "better-sse") return createEventBuffer().push(message, message.type).read().length;
  return carrier === "sse" ? block(message).length : JSON.stringify(token(stamp(0))).length;
}

const idle = { type: "agent.state", state: "idle" } as const;
const delta = (content: string) => ({ type: "message.delta", content, role: "assistant" }) as const;
const hello = { type: "server.hello", server_info: { version: "1" } } as const;
const token = (text: string) => ({ type: "assistant.token", token: text }) as const;
const block = (message: { type: string }) => `event: ${message.type}\ndata: ${JSON.stringify(message)}\n\n`;

/** A server that is up, and what says one message to all of its readers. */
interface Serving {
  readonly port: number;
  readonly say: (text: string) => void;
}

const servers: Record<Side, Partial<Record<Carrier, () => Promise<Serving>>>> = {
  parlance: {
    async sse() {
      let say = (_: string) => {};
      const handlers: Partial<EmacsAgentHandlers> = {
        async *events({ session_id }, call) {
          const session = call.session(session_id);
          say = (text) => session.send(delta(text));
          yield idle;
        },
      };
      const { port } = await listen(serve(emacsAgent, handlers, { partial: true }), { port: 0 });
      return { port, say: (text) => say(text) };
    },
    async websocket() {
      let say = (_: string) => {};
      const handlers: Partial<LoCoHandlers> = {
        async stream({ session_id }, channel, call) {
          const session = call.session(session_id);
          say = (text) => session.send(token(text));
          channel.send(hello);
          await channel.closed;
        },
      };
      const { port } = await listen(serve(loco, handlers, { partial: true, allowAnonymous: true }), { port: 0 });
      return { port, say: (text) => say(text) };
    },
  },
  "better-sse": {
    async sse() {
      const channel = createChannel();
      const server = createServer(async (request, response) => {
        const session = await createSession(request, response, { keepAlive: null, retry: null });
        session.push(idle, idle.type);
        channel.register(session);
      });
      await once(server.listen(0, "127.0.0.1"), "listening");
      const say = (text: string): void => void channel.broadcast(delta(text), "message.delta");
      return { port: (server.address() as AddressInfo).port, say };
    },
  },
  bare: {
    async sse() {
      const readers = new Set<ServerResponse>();
      const server = createServer((_, response) => {
        response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
        response.write(block(idle));
        readers.add(response);
        response.on("close", () => readers.delete(response));
      });
      await once(server.listen(0, "127.0.0.1"), "listening");
      const say = (text: string): void => {
        const said = block(delta(text));
        for (const reader of readers) reader.write(said);
      };
      return { port: (server.address() as AddressInfo).port, say };
    },
    async websocket() {
      const readers = new Set<WebSocket>();
      const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
      server.on("connection", (socket) => {
        socket.once("message", () => {
          socket.send(JSON.stringify(hello));
          readers.add(socket);
        });
        socket.on("close", () => readers.delete(socket));
      });
      await once(server, "listening");
      const say = (text: string): void => {
        const said = JSON.stringify(token(text));
        for (const reader of readers) reader.send(said);
      };
      return { port: (server.address() as AddressInfo).port, say };
    },
  },
};

async function obey({ port, say }: Serving): Promise<void> {
  let heard = 0;
  let wake = () => {};
  let began = process.cpuUsage();

  async function sayAll(events: number, together: number, window: number): Promise<void> {
    began = process.cpuUsage();
    heard = 0;
    for (let said = 1; said <= events; said++) {
      say(stamp(said));
      if (said % together !== 0) continue;
      while (said - heard >= window && said < events)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      await tick();
    }
  }

  process.on("message", (order: Order) => {
    if (order === "cpu") {
      const { user, system } = process.cpuUsage(began);
      process.send!(user + system);
    } else if (order === "memory") {
      globalThis.gc!();
      globalThis.gc!();
      const { rss, heapUsed, external } = process.memoryUsage();
      process.send!({ rss, held: heapUsed + external } satisfies Memory);
    } else if ("heard" in order) {
      heard = order.heard;
      wake();
    } else void sayAll(order.say, order.together, order.window);
  });
  process.on("disconnect", () => process.exit());
  process.send!(port);
}

const [, program, side, carrier] = process.argv;
if (program === fileURLToPath(import.meta.url)) await obey(await servers[side as Side][carrier as Carrier]!());
