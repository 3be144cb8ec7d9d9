import { type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Server as TlsServer } from "node:tls";
import { parseTicket } from "@parlance/wire";
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";
import { type Apps, choose, placed } from "../apps.js";
import { LISTEN_LIMITS } from "../limits.js";
import type { Accepted } from "../ports.js";
import type { App } from "../serve.js";
import { endWith } from "./linger.js";
import { ServerPort } from "./port.js";
import { closeWith, isBusy, NodeRequest, toRequest } from "./request.js";

/** Connections that are WebSockets now. */
const webSockets = new WeakSet<Duplex>();

/** Whether a connection has neither a request that is not answered nor a WebSocket: part of a request is nothing to wait for. */
export function isIdle(socket: Duplex): boolean {
  return !isBusy(socket as Socket) && !webSockets.has(socket);
}

/** The listener of a server's `upgrade` event. */
export function upgrade(app: Apps): (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void {
  return boundUpgrade(app, undefined);
}

/** `upgrade` for a server that listens on a known address. */
export function boundUpgrade(app: Apps, bound: string | undefined) {
  const apps = placed(app);
  const acceptors = new Map(apps.map(({ app }) => [app, acceptorFor(app)]));
  return (incoming: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on("error", destroy);
    // Pipelined behind a request: two parts of the program would answer on one connection, in any order.
    if (isBusy(socket as Socket)) return void socket.destroy();
    const arrived = isWebSocket(incoming) ? toRequest(incoming, false) : undefined;
    const found = arrived instanceof NodeRequest && choose(apps, arrived, (app, pathname) => app.isChannel(pathname));
    if (!found) return withoutUpgrade(incoming, socket, head);
    const { app: chosen, request } = found;
    const call = chosen.open();
    const stop = closeWith(socket as Socket, call);
    socket.on("end", destroy).on("readable", look);
    chosen
      .accept(request, protocolsOf(incoming), call, bound)
      .then((accepted) => {
        if (socket.destroyed) return;
        socket.off("end", destroy).off("readable", look);
        if ("refused" in accepted) return refuse(socket, accepted.refused);
        if (call.closed) return socket.destroy();
        // In one write with the first frame, which tells the client that its channel is resumed.
        socket.cork();
        acceptors.get(chosen)!.handleUpgrade(incoming, socket, head, (opened: WebSocket) => {
          webSockets.add(socket);
          // The socket's own close event follows, and tells more.
          stop();
          const port = new ServerPort(opened, socket);
          if (chosen.limits.heartbeat > 0) port.beat(chosen.limits.heartbeat, call);
          accepted.run(port);
          port.flush();
        });
        socket.uncork();
      })
      .catch(() => socket.destroy());
  };
}

// Module functions, because a closure in the listener above would keep the request as long as its socket.

/** Destroys a socket that failed, or that its peer has ended. Nothing else reads it between the handshake and the 101. */
function destroy(this: Duplex): void {
  this.destroy();
}

/** Lets the end event through with an empty read; early data stays in the buffer. */
function look(this: Duplex): void {
  if (this.readableLength === 0) this.read();
}

function acceptorFor({ limits }: App): WebSocketServer {
  const options = {
    noServer: true,
    maxPayload: limits.maxMessageSize,
    maxFragments: LISTEN_LIMITS.maxFragments,
    perMessageDeflate: false,
    clientTracking: false,
    // How long a peer may take to confirm a close frame. The option is newer than its type.
    closeTimeout: Math.min(limits.socketWithin, 2 ** 31 - 1),
    // Only our own tickets are selected; a client that offers something else gets the plain socket of the documents.
    handleProtocols: (protocols) => [...protocols].find((protocol) => parseTicket([protocol])) ?? false,
  } satisfies ServerOptions & { readonly closeTimeout: number };
  return new WebSocketServer(options);
}

/** A listener of a server's `upgrade` event that takes WebSockets alone: a request for another protocol (h2c) becomes a plain one. */
export function onWebSocket(
  take: (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void,
): (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void {
  return (incoming, socket, head) =>
    isWebSocket(incoming) ? take(incoming, socket, head) : withoutUpgrade(incoming, socket, head);
}

function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

/**
 * Answers a request for another protocol (h2c), or for a WebSocket where there is none, as a plain request: a server may ignore Upgrade
 * (RFC 9110, section 7.8). Node has stopped parsing the connection, so it is parsed anew from the request's head.
 */
function withoutUpgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { server } = socket as Duplex & { readonly server?: Server };
  if (!server) return void socket.destroy();
  const lines = [`${incoming.method} ${incoming.url} HTTP/${incoming.httpVersion}`];
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    const [name, value] = [incoming.rawHeaders[i]!, incoming.rawHeaders[i + 1]!];
    const kept = value.split(",").filter((option) => !/^\s*(upgrade|http2-settings)\s*$/i.test(option));
    if (/^connection$/i.test(name)) {
      if (kept.length > 0) lines.push(`${name}: ${kept.join(",")}`);
    } else if (!/^(upgrade|http2-settings)$/i.test(name)) lines.push(`${name}: ${value}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit(server instanceof TlsServer ? "secureConnection" : "connection", socket);
}

function refuse(
  socket: Duplex,
  { status, headers, body }: Extract<Accepted, { readonly refused: unknown }>["refused"],
): void {
  const lines = { ...headers, Connection: "close", "Content-Length": String(Buffer.byteLength(body)) };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  endWith(socket as Socket, `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join("")}\r\n${body}`);
}

function protocolsOf({ headers }: IncomingMessage): string[] {
  return (headers["sec-websocket-protocol"] ?? "").split(",").map((protocol) => protocol.trim());
}
