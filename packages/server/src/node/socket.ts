import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type Port, parseTicket, Refusal } from "@parlance/wire";
import { socketPort } from "@parlance/wire/link";
import { type WebSocket, WebSocketServer } from "ws";
import { defer } from "../defer.js";
import { type GuardOptions, guard } from "../guard.js";
import { HEARTBEAT, MAX_MESSAGE_SIZE } from "../options.js";
import type { App } from "../serve.js";
import { asList, choose, toRequest } from "./http.js";

export interface SocketOptions extends GuardOptions {
  /** Bytes of one WebSocket message: 1 MiB unless told. */
  readonly maxMessageSize?: number;
  /** Milliseconds between pings: 15,000 unless told, 0 for none. A peer that has answered none for 2.5 of them is cut. */
  readonly heartbeat?: number;
}

/** Fragments of one message: more than a megabyte ever needs. */
const MAX_FRAGMENTS = 1024;

/** The listener of a server's `upgrade` event. */
export function upgrade(
  app: App | readonly App[],
  options: SocketOptions = {},
): (incoming: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void> {
  const { maxMessageSize = MAX_MESSAGE_SIZE, heartbeat = HEARTBEAT } = options;
  const apps = asList(app);
  const acceptor = new WebSocketServer({
    noServer: true,
    maxPayload: maxMessageSize,
    maxFragments: MAX_FRAGMENTS,
    perMessageDeflate: false,
    clientTracking: false,
    // Only a ticket of ours is selected; whoever offers something else gets the plain socket of the documents.
    handleProtocols: (protocols) => [...protocols].find((protocol) => parseTicket([protocol])) ?? false,
  });
  return async (incoming, socket, head) => {
    const cut = () => void socket.destroy();
    socket.on("error", cut);
    const request = toRequest(incoming, undefined);
    if (request === undefined) return cut();
    const chosen = choose(apps, request);
    const allowed = guard(request, options);
    const refused = allowed instanceof Refusal && chosen.refuse(request, allowed);
    const accepted = refused
      ? { refused: { ...refused, body: String(refused.body) } }
      : await chosen.accept(request, protocolsOf(incoming));
    if ("refused" in accepted) {
      const { status, headers, body } = accepted.refused;
      const lines = { ...headers, Connection: "close", "Content-Length": String(Buffer.byteLength(body)) };
      const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join("")}\r\n${body}`);
      return;
    }
    socket.off("error", cut);
    acceptor.handleUpgrade(incoming, socket, head, (opened: WebSocket) => {
      // The close event follows and says what there is to say.
      opened.on("error", () => {});
      if (heartbeat > 0) beat(opened, heartbeat);
      accepted.run(joined(socketPort(opened), socket));
    });
  };
}

/** Bytes that are written without waiting for the end of the tick. */
const FULL = 64 * 1024;
const corked: Duplex[] = [];

/** What is said within one tick is one write: sixteen joined frames cost a third of single ones. */
function joined(port: Port, socket: Duplex): Port {
  return {
    ...port,
    send(frame) {
      if (socket.writableCorked === 0) {
        socket.cork();
        if (corked.push(socket) === 1) defer(uncork);
      }
      port.send(frame);
      if (socket.writableLength > FULL) socket.uncork();
    },
  };
}

function uncork(): void {
  for (const socket of corked.splice(0)) socket.uncork();
}

/** Pings, and cuts a peer that is silent for 2.5 heartbeats. Any frame is a sign of life. */
function beat(socket: WebSocket, heartbeat: number): void {
  let heard = performance.now();
  const hear = () => {
    heard = performance.now();
  };
  socket.on("pong", hear);
  socket.on("message", hear);
  let ticks = 0;
  const timer = setInterval(() => {
    if (performance.now() - heard > 2.5 * heartbeat) socket.terminate();
    else if (ticks++ % 2 === 0) socket.ping();
  }, heartbeat / 2);
  timer.unref();
  socket.on("close", () => clearInterval(timer));
}

function protocolsOf({ headers }: IncomingMessage): string[] {
  return (headers["sec-websocket-protocol"] ?? "").split(",").map((protocol) => protocol.trim());
}
