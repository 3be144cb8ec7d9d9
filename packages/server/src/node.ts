import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type Duplex, Readable } from "node:stream";
import type { SecureContextOptions } from "node:tls";
import { parseTicket } from "@parlance/wire";
import { socketPort } from "@parlance/wire/link";
import { type WebSocket, WebSocketServer } from "ws";
import type { Sink } from "./feed.js";
import { MAX_MESSAGE_SIZE } from "./options.js";
import type { Answer } from "./reply.js";
import type { App } from "./serve.js";

export interface ListenOptions {
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** The loopback interface unless told. */
  readonly host?: string;
  /** Certificate and key for https and wss. */
  readonly tls?: SecureContextOptions;
  /** Bytes of one WebSocket message: 1 MiB unless told. */
  readonly maxMessageSize?: number;
  /** Milliseconds that `close` leaves running answers: 5,000 unless told. */
  readonly closeAfter?: number;
}

export interface Listening {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  /** Takes no more requests, ends what runs, and resolves when the last connection is closed. */
  close(): Promise<void>;
}

/** Serves one app, or several with different paths, over HTTP and WebSocket on one port. */
export async function listen(app: App | readonly App[], options: ListenOptions = {}): Promise<Listening> {
  const apps = asList(app);
  const { host = "127.0.0.1", port = 0, tls, closeAfter = 5000 } = options;
  const server = tls ? (createTlsServer(tls) as unknown as Server) : createServer();
  const sockets = new Set<Duplex>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("request", handler(apps));
  server.on("upgrade", upgrade(apps, options));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  let closed: Promise<void> | undefined;
  return {
    url: `${tls ? "https" : "http"}://${name}:${address.port}`,
    port: address.port,
    server,
    close: () => {
      closed ??= new Promise((resolve) => {
        const cut = setTimeout(() => {
          for (const one of apps) one.close();
          // The last words of what was cancelled have this tick to leave.
          setImmediate(() => {
            for (const socket of sockets) socket.destroy();
          });
        }, closeAfter);
        server.close(() => {
          clearTimeout(cut);
          for (const one of apps) one.close();
          resolve();
        });
        for (const one of apps) one.drain();
        server.closeIdleConnections();
      });
      return closed;
    },
  };
}

/** A plain request listener: for a server of your own, or for Express and its friends (before any body parser). */
export function handler(app: App | readonly App[]): RequestListener {
  const apps = asList(app);
  return (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.on("close", () => {
      if (!outgoing.writableFinished) gone.abort(new DOMException("the caller has gone", "AbortError"));
    });
    const request = toRequest(incoming, gone.signal);
    if (request === undefined) {
      outgoing.writeHead(400, { "Content-Type": "text/plain", Connection: "close" }).end("bad request target");
      return;
    }
    choose(apps, request)
      .answer(request, gone.signal)
      .then((answer) => write(answer, outgoing))
      .catch((error) => outgoing.destroy(error as Error));
  };
}

/** The listener of a server's `upgrade` event. */
export function upgrade(
  app: App | readonly App[],
  { maxMessageSize = MAX_MESSAGE_SIZE }: Pick<ListenOptions, "maxMessageSize"> = {},
) {
  const apps = asList(app);
  const acceptor = new WebSocketServer({
    noServer: true,
    maxPayload: maxMessageSize,
    perMessageDeflate: false,
    clientTracking: false,
    // Only a ticket of ours is selected; whoever offers something else gets the plain socket of the documents.
    handleProtocols: (protocols) => [...protocols].find((protocol) => parseTicket([protocol])) ?? false,
  });
  return async (incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const cut = () => void socket.destroy();
    socket.on("error", cut);
    const request = toRequest(incoming, undefined);
    if (request === undefined) return cut();
    const accepted = await choose(apps, request).accept(request, protocolsOf(incoming));
    if ("refused" in accepted) {
      const { status, headers, body } = accepted.refused;
      const lines = Object.entries({
        ...headers,
        Connection: "close",
        "Content-Length": String(Buffer.byteLength(body)),
      });
      socket.end(
        `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
      );
      return;
    }
    socket.off("error", cut);
    acceptor.handleUpgrade(incoming, socket, head, (opened: WebSocket) => {
      // The close event follows and says what there is to say.
      opened.on("error", () => {});
      accepted.run(socketPort(opened));
    });
  };
}

function protocolsOf({ headers }: IncomingMessage): string[] {
  return (headers["sec-websocket-protocol"] ?? "").split(",").map((protocol) => protocol.trim());
}

function asList(app: App | readonly App[]): readonly App[] {
  return Array.isArray(app) ? app : [app as App];
}

function choose(apps: readonly App[], request: Request): App {
  const { pathname } = new URL(request.url);
  return apps.find((app) => app.knows(pathname)) ?? apps[0]!;
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal | undefined): Request | undefined {
  const { method = "GET", url = "/", headersDistinct } = incoming;
  const headers = new Headers();
  try {
    for (const [name, values] of Object.entries(headersDistinct))
      for (const value of values ?? []) headers.append(name, value);
    const body = method === "GET" || method === "HEAD" ? null : (Readable.toWeb(incoming) as ReadableStream);
    return new Request(`http://${headers.get("host") ?? "localhost"}${url}`, {
      method,
      headers,
      body,
      signal,
      duplex: "half",
    } as RequestInit);
  } catch {
    return undefined;
  }
}

async function write({ status, headers, body }: Answer, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(status, { ...headers });
  if (typeof body === "string") {
    outgoing.end(body);
    return;
  }
  outgoing.on("close", () => body.stop());
  outgoing.flushHeaders();
  const sink: Sink = {
    write: (text) => (outgoing.write(text) ? undefined : new Promise((resolve) => outgoing.once("drain", resolve))),
    end: () => outgoing.end(),
  };
  await body.run(sink);
}
