import { createServer, type Server, type ServerOptions } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { SecureContextOptions } from "node:tls";
import { type Apps, placed } from "../apps.js";
import { isLoopback } from "../http/origin.js";
import { LISTEN_LIMITS } from "../limits.js";
import type { App } from "../serve.js";
import { boundHandler } from "./http.js";
import { boundUpgrade } from "./socket.js";

export interface ListenOptions {
  /**
   * 0 takes any free one. A port in use rejects with its cause, EADDRINUSE.
   *
   * @default the port of the first app's contract, such as 9420 of emacs-agent: where clients of it look
   */
  readonly port?: number;
  /** The address to bind. Any but a loopback address needs `authenticate` in every app. @default "127.0.0.1" */
  readonly host?: string;
  /** Lets anybody on the network run your agent: binds beyond loopback without `authenticate`. */
  readonly dangerouslyAllowEverybody?: boolean;
  /** Certificate and key for https and wss. */
  readonly tls?: SecureContextOptions;
  /** Connections at a time. @default 10,000 */
  readonly maxConnections?: number;
  /** Milliseconds that `close` leaves running answers. @default 5 s */
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

/** Headers are counted by the request reader: Node would drop those above its count without a word. */
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
  checkOptions(apps, host, options);
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
  const bound = host.includes(":") ? `[${host}]` : host;
  server.on("request", boundHandler(app, bound));
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

/** The port in the URL of the contract; a free one where it names none. */
function documentedPort([first]: readonly App[]): number {
  return Number(new URL(first!.contract.url).port);
}

function inUse(port: number, cause: Error): Error {
  return Object.assign(
    new Error(`port ${port} is in use: give \`listen\` another \`port\`, or 0 for any free one`, { cause }),
    {
      code: "EADDRINUSE",
    },
  );
}

function checkOptions(apps: readonly App[], host: string, options: ListenOptions): void {
  for (const moved of ["hosts", "origins", "heartbeat", "maxMessageSize"])
    if (moved in options) throw new TypeError(`${moved} is an option of serve, not of listen`);
  const open = apps.find((one) => !one.authenticates);
  if (!isLoopback(host) && open && !options.dangerouslyAllowEverybody)
    throw new TypeError(
      `${open.contract.name} would be open to everybody who reaches ${host}: give it \`authenticate\`, listen on loopback, or set \`dangerouslyAllowEverybody\``,
    );
}

function close(server: Server, apps: readonly App[], sockets: ReadonlySet<Duplex>, closeAfter: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => {
      for (const app of apps) app.close();
      // What was written last has this tick to leave.
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
