import { createServer, type Server, type ServerOptions } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { SecureContextOptions } from "node:tls";
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
import { boundHandler } from "./http.js";
import { boundUpgrade } from "./socket.js";

export interface ListenOptions extends ListenBase {
  /** Certificate and key for https and wss. */
  readonly tls?: SecureContextOptions;
  /** Connections at a time. @default 10,000 */
  readonly maxConnections?: number;
}

export interface Listening extends Served {
  readonly server: Server;
}

/** The request reader counts headers, because Node silently drops those above its limit. */
const LIMITS: ServerOptions = {
  maxHeaderSize: LISTEN_LIMITS.maxHeaderSize,
  headersTimeout: LISTEN_LIMITS.headersWithin,
  requestTimeout: LISTEN_LIMITS.requestWithin,
  connectionsCheckingInterval: 5000,
};

/** Serves one app, or several with different paths, over HTTP and WebSocket on one port. */
export async function listen(app: Apps, options: ListenOptions = {}): Promise<Listening> {
  const apps = placed(app).map((one) => one.app);
  const { host = "127.0.0.1", tls } = options;
  checkListen(apps, host, options);
  const server = tls ? (createTlsServer({ ...LIMITS, ...tls }) as unknown as Server) : createServer(LIMITS);
  server.maxHeadersCount = 0;
  server.maxConnections = options.maxConnections ?? LISTEN_LIMITS.maxConnections;
  const sockets = new Set<Duplex>();
  server.on(tls ? "secureConnection" : "connection", (socket: Duplex) => {
    // A request for another protocol makes its connection new once more.
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const bound = hostInUrl(host);
  server.on("request", boundHandler(app, bound));
  server.on("checkContinue", boundHandler(app, bound, true));
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
      closed ??= close(server, apps, sockets, options.closeAfter ?? LISTEN_LIMITS.closeAfter);
      return closed;
    },
  };
}

function close(server: Server, apps: readonly App[], sockets: ReadonlySet<Duplex>, closeAfter: number): Promise<void> {
  const finish = () => new Promise((resolve) => server.close(resolve));
  const cut = () =>
    // Leaves this tick to send the last writes.
    setImmediate(() => {
      for (const socket of sockets) socket.destroy();
    });
  return closeWithin(closeAfter, apps, finish, cut);
}
