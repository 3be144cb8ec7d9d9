import { createServer, type Server, type ServerOptions } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { SecureContextOptions } from "node:tls";
import { isLoopback } from "./guard.js";
import { asList, handler } from "./node/http.js";
import { type SocketOptions, upgrade } from "./node/socket.js";
import type { App } from "./serve.js";

export type { GuardOptions } from "./guard.js";
export { handler, type SocketOptions, upgrade };

export interface ListenOptions extends SocketOptions {
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** The loopback interface unless told. Any other needs `authenticate` in every app. */
  readonly host?: string;
  /** Lets everybody on the network run your agent: binds beyond loopback without `authenticate`. */
  readonly dangerouslyAllowEverybody?: boolean;
  /** Certificate and key for https and wss. */
  readonly tls?: SecureContextOptions;
  /** Connections at a time: 10,000 unless told. */
  readonly maxConnections?: number;
  /** Milliseconds that `close` leaves running answers: 5,000 unless told. */
  readonly closeAfter?: number;
}

export interface Listening {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  /**
   * Takes no more calls (503), closes channels with 1001 and streams that have no end of their own, leaves the rest `closeAfter`
   * to finish, and resolves when the last connection is closed. For SIGTERM: `process.once("SIGTERM", () => server.close())`.
   */
  close(): Promise<void>;
}

/** Bytes and time that a request's headers may take; a peer that dawdles is cut. */
const LIMITS: ServerOptions = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5000,
};

/** Serves one app, or several with different paths, over HTTP and WebSocket on one port. */
export async function listen(app: App | readonly App[], options: ListenOptions = {}): Promise<Listening> {
  const apps = asList(app);
  const { host = "127.0.0.1", port = 0, tls, closeAfter = 5000, maxConnections = 10_000 } = options;
  const open = apps.find((one) => !one.authenticates);
  if (!isLoopback(host) && open && !options.dangerouslyAllowEverybody)
    throw new TypeError(
      `${open.contract.name} would be open to everybody who reaches ${host}: give it \`authenticate\`, listen on loopback, or set \`dangerouslyAllowEverybody\``,
    );
  const server = tls ? (createTlsServer({ ...LIMITS, ...tls }) as unknown as Server) : createServer(LIMITS);
  server.maxHeadersCount = 100;
  server.maxConnections = maxConnections;
  const sockets = new Set<Duplex>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const guarded = isLoopback(host) ? options : { hosts: [host], ...options };
  server.on("request", handler(apps, guarded));
  server.on("upgrade", upgrade(apps, guarded));
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
      closed ??= close(server, apps, sockets, closeAfter);
      return closed;
    },
  };
}

function close(server: Server, apps: readonly App[], sockets: ReadonlySet<Duplex>, closeAfter: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => {
      for (const app of apps) app.close();
      // The last words of what was cancelled have this tick to leave.
      setImmediate(() => {
        for (const socket of sockets) socket.destroy();
      });
    }, closeAfter);
    server.close(() => {
      clearTimeout(cut);
      for (const app of apps) app.close();
      resolve();
    });
    for (const app of apps) app.drain();
    server.closeIdleConnections();
  });
}
