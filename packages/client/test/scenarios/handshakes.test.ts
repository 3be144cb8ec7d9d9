import { createHash } from "node:crypto";
import { getEventListeners } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type ConnectOptions, connect } from "@parlance/client";
import { trust, webSocket } from "@parlance/client/node";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from "vitest";

// A server that sends so many bytes of a right conversation, and then cuts the connection or says no more.
type How = "cut" | "stall";

/** What one connection has sent, and what is to be answered: undefined for nothing yet, "close" when it is over. */
type Answer = (sent: Buffer, connection: Connection) => string | Buffer | undefined | "close";

interface Connection {
  /** How many bytes of what was sent are answered. */
  read: number;
  upgraded: boolean;
}

/** Sends at most `allowance` bytes over all connections; what comes after the fault is answered whole. */
async function faulty(answer: Answer, allowance: number, how: How) {
  let left = allowance;
  /** The bytes that were sent before each part of an answer. */
  const seams: number[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    if (left === -1) {
      left = Number.POSITIVE_INFINITY;
      if (how === "cut") return socket.destroy();
      return socket.resume();
    }
    let sent = Buffer.alloc(0);
    let dead = false;
    const connection: Connection = { read: 0, upgraded: false };
    socket.on("data", (chunk: Buffer) => {
      sent = Buffer.concat([sent, chunk]);
      for (let next = answer(sent, connection); next !== undefined && !dead; next = answer(sent, connection)) {
        if (next === "close") return socket.end();
        const bytes = Buffer.from(next);
        for (const [at, byte] of bytes.entries()) if (at === 0 || byte === 10) seams.push(allowance - left + at);
        if (bytes.length > left) {
          dead = true;
          const part = bytes.subarray(0, left);
          left = Number.POSITIVE_INFINITY;
          if (how === "cut") socket.end(part, () => socket.destroy());
          else socket.write(part);
          return;
        }
        left -= bytes.length;
        socket.write(bytes);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => sockets.size,
    /** Bytes that were sent so far. */
    used: () => allowance - left,
    seams,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const NOT_FOUND = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";

/** An SSE answer to the first request. A join is answered that there is nothing to join. */
function streaming(blocks: readonly string[]): Answer {
  const whole = `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${blocks.map(chunk).join("")}0\r\n\r\n`;
  return (sent, connection) => {
    if (connection.read > 0 || !sent.includes("\r\n\r\n")) return undefined;
    if (sent.toString().startsWith("POST") && !sent.includes("}")) return undefined;
    connection.read = sent.length;
    return sent.includes("Last-Event-ID") || sent.toString().startsWith("DELETE") ? NOT_FOUND : whole;
  };
}

const frame = (opcode: number, payload: string | Buffer) => {
  const bytes = Buffer.from(payload);
  return Buffer.concat([
    bytes.length < 126
      ? Buffer.from([0x80 | opcode, bytes.length])
      : Buffer.from([0x80 | opcode, 126, bytes.length >> 8, bytes.length & 255]),
    bytes,
  ]);
};
const success = (action: string) => JSON.stringify({ status: "success", action, files: [], activeFile: null });
const CLOSE = Buffer.from([0x03, 0xe8]);

/** A server of based, with or without resume. It counts frames over all of its sockets, as a server with resume does. */
function conversing(resume: boolean): Answer {
  let received = 0;
  const outgoing: string[] = [];
  let missed: string[] = [];
  return (sent, connection) => {
    const rest = sent.subarray(connection.read);
    if (!connection.upgraded) {
      const end = rest.indexOf("\r\n\r\n");
      if (end < 0) return undefined;
      const head = rest.subarray(0, end).toString();
      connection.read += end + 4;
      if (head.startsWith("DELETE")) return NOT_FOUND;
      const key = /sec-websocket-key: (.*)/i.exec(head)?.[1];
      if (key === undefined && !resume) return NOT_FOUND;
      if (key === undefined) {
        const known = Number(/last-event-id: e1\.(\d+)/i.exec(head)?.[1] ?? 0);
        missed = outgoing.slice(known);
        const body = JSON.stringify({ ticket: "0".repeat(32), received });
        return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nParlance-Resume: e1; grace=30; beat=0\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
      }
      connection.upgraded = true;
      const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      const protocol = /sec-websocket-protocol: (.*)/i.exec(head)?.[1];
      const ticket = protocol === undefined ? "" : `Sec-WebSocket-Protocol: ${protocol}\r\n`;
      if (outgoing.length === 0) missed = [say("initial_state")];
      if (/^parlance-resume:/im.test(head)) missed.unshift("parlance.resume e1; grace=30; beat=0");
      return Buffer.concat([
        Buffer.from(
          `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n${ticket}\r\n`,
        ),
        ...missed.splice(0).map((text) => frame(1, text)),
      ]);
    }
    if (rest.length < 2) return undefined;
    const length = rest[1]! & 127;
    if (length > 125) throw new Error("a longer frame than this server reads");
    if (rest.length < 6 + length) return undefined;
    connection.read += 6 + length;
    const opcode = rest[0]! & 15;
    if (opcode === 8) return connection.read > 0 ? frame(8, CLOSE) : undefined;
    received++;
    return frame(1, say("file_list"));
  };

  function say(action: string): string {
    const text = success(action);
    outgoing.push(text);
    return text;
  }
}

interface Conversation {
  readonly name: string;
  readonly answer: () => Answer;
  readonly hold: (options: ConnectOptions, signal: AbortSignal) => Promise<void>;
  /** What may come of it, whole or not. */
  readonly outcomes: Readonly<Record<How, readonly string[]>>;
}

const post = ['event: text\ndata: {"text":"a"}\n\n', 'event: done\ndata: {"full_response":"a"}\n\n'];
const get = ["idle", "thinking"].map(
  (state) => `event: agent.state\ndata: {"type":"agent.state","state":"${state}"}\n\n`,
);

async function converse(options: ConnectOptions, signal: AbortSignal): Promise<void> {
  const session = await connect(based, options).session({ signal });
  await session.ask({ type: "list_files" }).catch((error: unknown) => session.closed.then(() => Promise.reject(error)));
  await session.close();
  await session.closed;
}

const conversations: readonly Conversation[] = [
  {
    name: "SSE on POST",
    answer: () => streaming(post),
    async hold(options, signal) {
      for await (const _message of connect(foldGateway, options).send({ content: "x" }, { signal }));
    },
    outcomes: { cut: ["unreachable", "ended_early"], stall: ["idle"] },
  },
  {
    name: "SSE on GET",
    answer: () => streaming(get),
    async hold(options, signal) {
      for await (const message of connect(emacsAgent, options).events({ session_id: "s" }, { signal }))
        if (message.type === "agent.state" && message.state === "thinking") return;
      throw new Error("the stream ended early");
    },
    outcomes: { cut: ["unreachable", "ended_early"], stall: ["idle"] },
  },
  {
    name: "a plain channel",
    answer: () => conversing(false),
    hold: (options, signal) => converse({ ...options, resume: false }, signal),
    // An open channel may be silent for as long as it likes: its caller ends it.
    outcomes: { cut: ["unreachable", "closed"], stall: ["timeout", "aborted"] },
  },
  {
    name: "a resumable channel",
    answer: () => conversing(true),
    hold: converse,
    // Where it is cut before its first frame, the server is asked by the key. The handshake has a limit, as that of a plain channel.
    outcomes: { cut: [], stall: ["timeout", "aborted"] },
  },
  {
    name: "a call over a certificate authority of one's own",
    answer: () => {
      const body = "[]";
      const whole = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      return (sent, connection) => {
        if (connection.read > 0 || !sent.includes("\r\n\r\n")) return undefined;
        connection.read = sent.length;
        return whole;
      };
    },
    async hold(options, signal) {
      await connect(foldGateway, { ...options, ...trust({ ca: [] }), retryWaits: [] }).listAgents({ signal });
    },
    outcomes: { cut: ["unreachable", "ended_early"], stall: ["timeout", "idle"] },
  },
];

const loose: unknown[] = [];
const onLoose = (error: unknown) => void loose.push(error);
process.on("unhandledRejection", onLoose);
afterAll(() => void process.off("unhandledRejection", onLoose));
afterEach(() => void vi.useRealTimers());
const reason = new Error("the caller's own reason");

/** Milliseconds after which the caller of a silent conversation ends it. */
const PATIENCE = 900_000;
/** Every byte is a place with PARLANCE_LONG. Without it, one of so many within a line or frame, where they are all alike. */
const isLong = Boolean(process.env.PARLANCE_LONG);
const STRIDE = 16;
/** Conversations at a time. */
const AT_ONCE = 8;

/** Holds a conversation with a server that stops after so many bytes. Returns its outcome, and how many bytes were sent. */
async function attempt({ answer, hold }: Conversation, allowance: number, how: How) {
  const server = await faulty(answer(), allowance, how);
  const whole = { connection: new AbortController(), call: new AbortController() };
  const options = {
    baseUrl: server.baseUrl,
    webSocket,
    random: () => 0,
    retryWaits: [],
    signal: whole.connection.signal,
  };
  const patience = setTimeout(() => whole.call.abort(reason), PATIENCE);
  const outcome = await hold(options, whole.call.signal).then(
    () => "done",
    (error) => (error === reason ? "aborted" : error.name === "Disconnected" ? String(error.code) : String(error)),
  );
  clearTimeout(patience);
  const listeners = Object.values(whole).map(({ signal }) => getEventListeners(signal, "abort").length);
  const used = server.used();
  await server.close();
  return { at: allowance, outcome, used, listeners, seams: server.seams };
}

/** Lets time go by until all is done, as fast as it can. */
async function hurry<T>(work: Promise<T>): Promise<T> {
  let over = false;
  const done = work.finally(() => {
    over = true;
  });
  done.catch(() => {});
  while (!over) {
    await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(500);
  }
  return done;
}

describe.each(conversations)("$name", (conversation) => {
  it.each(["cut", "stall"] as const)(
    "with a %s around each line and frame, and within them, ends as documented",
    async (how) => {
      const { outcome, used: total, seams } = await attempt(conversation, 1_000_000, "cut");
      expect([outcome, total > 50]).toEqual(["done", true]);
      if (how === "stall")
        vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] });
      onTestFinished(() => void vi.useRealTimers());
      const seen = new Map<string, number>();
      const near = new Set([0, total, ...seams].flatMap((at) => [at - 1, at, at + 1]));
      const every = Array.from({ length: total + 1 }, (_, i) => i - 1);
      const places = isLong ? every : every.filter((at) => near.has(at) || at % STRIDE === 0);
      for (let first = 0; first < places.length; first += AT_ONCE) {
        const attempts = Promise.all(places.slice(first, first + AT_ONCE).map((at) => attempt(conversation, at, how)));
        for (const { at, outcome, listeners } of await (how === "stall" ? hurry(attempts) : attempts)) {
          seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
          expect({ at, outcome, listeners }).toEqual({
            at,
            outcome: expect.toBeOneOf(["done", ...conversation.outcomes[how]]),
            listeners: [0, 0],
          });
        }
      }
      console.log(`${conversation.name}, ${how}: ${places.length} of ${total + 1} places,`, Object.fromEntries(seen));
      expect(loose).toEqual([]);
    },
    300_000,
  );
});
