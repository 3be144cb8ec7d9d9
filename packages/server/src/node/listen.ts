import { createServer, type Server, type ServerOptions } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SecureContextOptions } from "node:tls";
import { Scope, until } from "@parlance/wire/scope";
import { type Apps, placed } from "../apps.js";
import { LISTEN_LIMITS } from "../limits.js";
import {
  checkListen,
  closeWithin,
  documentedPort,
  hostInUrl,
  inUse,
  type ListenBase,
  type Served,
} from "../listening.js";
import type { App } from "../serve.js";
import { readBeforeDeadlines } from "./deadlines.js";
import { boundHandler } from "./http.js";
import { boundUpgrade, isIdle } from "./socket.js";

export interface ListenOptions extends ListenBase {
  /** Certificate and key for https and wss. */
  readonly tls?: SecureContextOptions | undefined;
  /** Connections at a time. @default 10,000 */
  readonly maxConnections?: number | undefined;
  /**
   * Milliseconds that an idle connection is kept, above what proxies and balancers keep theirs: a request that meets the close is lost.
   * Google's keep theirs for 600 s. @default 2.5 min, above nginx and AWS (60 s), Traefik (90 s) and Caddy (120 s)
   */
  readonly keepAlive?: number | undefined;
}

export interface Listening extends Served {
  readonly server: Server;
}

/** Milliseconds between Node's checks for slow requests. */
const CHECKED_EVERY = 5000;

/** Milliseconds that a closing server still takes the calls which arrive on its connections, each of which it ends with the answer. */
const LINGER = 250;

/** The request reader counts headers, because Node silently drops those above its limit. */
const LIMITS: ServerOptions = {
  maxHeaderSize: LISTEN_LIMITS.maxHeaderSize,
  headersTimeout: LISTEN_LIMITS.headersWithin,
  requestTimeout: LISTEN_LIMITS.requestWithin,
  connectionsCheckingInterval: CHECKED_EVERY,
};

/** Serves one app, or several with different paths, over HTTP and WebSocket on one port. */
export async function listen(app: Apps, options: ListenOptions = {}): Promise<Listening> {
  const apps = placed(app).map((one) => one.app);
  const { host = "127.0.0.1", tls, keepAlive = LISTEN_LIMITS.keepAlive } = options;
  checkListen(apps, host, options);
  const server = tls ? (createTlsServer({ ...LIMITS, ...tls }) as unknown as Server) : createServer(LIMITS);
  server.keepAliveTimeout = keepAlive;
  readBeforeDeadlines(server, CHECKED_EVERY);
  server.maxHeadersCount = 0;
  server.maxConnections = options.maxConnections ?? LISTEN_LIMITS.maxConnections;
  const sockets = new Set<Duplex>();
  track(server, sockets, tls !== undefined);
  const bound = hostInUrl(host);
  let leaving = false;
  const isLeaving = () => leaving;
  server.on("request", boundHandler(app, bound, { isLeaving }));
  server.on("checkContinue", boundHandler(app, bound, { isLeaving, expecting: true }));
  server.on("upgrade", boundUpgrade(app, bound));
  const port = options.port ?? documentedPort(apps);
  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error & { code?: string }): void =>
      reject(error.code === "EADDRINUSE" ? inUse(port, error) : error);
    server.once("error", fail);
    server.listen(port, host, () => {
      server.off("error", fail);
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
      leaving = true;
      closed ??= close(server, apps, sockets, options.closeAfter ?? LISTEN_LIMITS.closeAfter);
      return closed;
    },
  };
}

/**
 * Keeps the connections of a server: one of TLS by its own socket once its handshake is done, and by the socket under it before, because
 * Node waits for those that have not finished it.
 */
function track(server: Server, sockets: Set<Duplex>, isTls: boolean): void {
  const handshakes = new Map<string, Duplex>();
  const peerOf = ({ localAddress, remoteAddress, remotePort }: Socket) =>
    `${localAddress} ${remoteAddress} ${remotePort}`;
  const add = (socket: Duplex) => {
    // A request for another protocol makes its connection new once more.
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  };
  server.on("connection", (socket: Socket) => {
    add(socket);
    if (!isTls) return;
    const peer = peerOf(socket);
    handshakes.set(peer, socket);
    socket.on("close", () => handshakes.get(peer) === socket && handshakes.delete(peer));
  });
  server.on("secureConnection", (socket: Socket) => {
    const under = handshakes.get(peerOf(socket));
    if (under) sockets.delete(under);
    add(socket);
  });
}

async function close(
  server: Server,
  apps: readonly App[],
  sockets: ReadonlySet<Duplex>,
  closeAfter: number,
): Promise<void> {
  await emptied(sockets, Math.min(LINGER, closeAfter / 2));
  const finish = () => {
    const closed = new Promise((resolve) => server.close(resolve));
    // Node waits for those that have sent part of a request, or nothing yet.
    for (const socket of sockets) if (isIdle(socket)) socket.destroy();
    return closed;
  };
  const cut = () =>
    // Leaves this tick to send the last writes.
    setImmediate(() => {
      for (const socket of sockets) socket.destroy();
    });
  return closeWithin(closeAfter, apps, finish, cut);
}

/** Resolves when these connections are closed, or after a time. */
async function emptied(sockets: ReadonlySet<Duplex>, within: number): Promise<void> {
  if (sockets.size === 0 || within === 0) return;
  const closed = [...sockets].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
  await until(
    Scope.open(() => {}),
    within,
    Promise.all(closed),
  );
  // Reads what came meanwhile: a request on a connection that is closed as idle would be lost.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}
