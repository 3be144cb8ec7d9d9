import { misuse } from "@parlance/wire";
import { type Apps, placed } from "./apps.js";
import { LISTEN_LIMITS } from "./limits.js";
import {
  checkListen,
  closeWithin,
  documentedPort,
  hostInUrl,
  inUse,
  type PemListenOptions,
  type Served,
} from "./listening.js";
import { gone } from "./reason.js";
import { answer, type Handshake, handshake } from "./web/answer.js";
import { portOf, type RuntimePort } from "./web/port.js";

export type { PemListenOptions as ListenOptions, Served } from "./listening.js";

/** A socket of Bun, with what was kept for it. */
interface BunSocket {
  readonly data: Opened;
  /** Returns 0 for a dropped frame. */
  send(frame: string): number;
  close(code: number, reason: string): void;
  getBufferedAmount(): number;
}

interface Opened extends Handshake {
  port?: RuntimePort | undefined;
}

interface BunServer {
  readonly port: number;
  readonly hostname: string;
  upgrade(request: Request, options: { readonly headers?: HeadersInit; readonly data: Opened }): boolean;
  /** Sets a request's idle timeout in seconds; 0 disables it. */
  timeout(request: Request, seconds: number): void;
  stop(cut?: boolean): Promise<void>;
}

/** The part of Bun's API used here. */
interface Bun {
  serve(options: Readonly<Record<string, unknown>>): BunServer;
}

/** Serves one app, or several with different paths, over HTTP and WebSocket on one port of Bun. */
export async function listen(app: Apps, options: PemListenOptions = {}): Promise<Served> {
  const { Bun: bun } = globalThis as unknown as { readonly Bun?: Bun };
  if (!bun) throw misuse("@parlance/server/bun is for Bun: use @parlance/server/node or /deno here");
  const list = placed(app);
  const apps = list.map((one) => one.app);
  const { host = "127.0.0.1", port = documentedPort(apps), tls } = options;
  checkListen(apps, host, options);
  const bound = hostInUrl(host);
  async function fetch(request: Request, server: BunServer): Promise<Response | undefined> {
    const arrival = { left: request.signal, bound };
    const shaken = await handshake(list, request, arrival);
    if (shaken instanceof Response) return shaken;
    if (shaken) {
      const { protocol } = shaken;
      const headers = protocol === undefined ? undefined : { "Sec-WebSocket-Protocol": protocol };
      if (server.upgrade(request, { data: shaken, ...(headers && { headers }) })) return undefined;
      shaken.call.close(gone());
      return new Response("bad handshake", { status: 400 });
    }
    // Bun closes a response after ten idle seconds; a stream's heartbeats are further apart.
    server.timeout(request, 0);
    return answer(list, request, arrival);
  }
  const websocket = {
    maxPayloadLength: Math.max(...apps.map(({ limits }) => limits.maxMessageSize)),
    // Bun pings a silent peer, and closes after this long without an answer.
    idleTimeout: Math.min(960, Math.ceil((2.5 * Math.max(...apps.map(({ limits }) => limits.heartbeat))) / 1000)),
    open(socket: BunSocket) {
      const { data } = socket;
      data.port = portOf(
        {
          send(frame) {
            if (socket.send(frame) === 0) throw new Error("the socket is closed, or its queue is full");
          },
          close: (code, reason) => socket.close(code, reason),
          buffered: () => socket.getBufferedAmount(),
        },
        data.app.limits.maxMessageSize,
      );
      data.run(data.port.port);
    },
    message: ({ data }: BunSocket, frame: unknown) => data.port?.receive(frame),
    close: ({ data }: BunSocket, code: number, reason: string) => data.port?.end(code, reason),
  };
  let server: BunServer;
  try {
    server = bun.serve({ port, hostname: host, ...(tls && { tls }), fetch, websocket });
  } catch (error) {
    throw (error as { code?: string }).code === "EADDRINUSE" ? inUse(port, error) : error;
  }
  let closed: Promise<void> | undefined;
  return {
    url: `${tls ? "https" : "http"}://${hostInUrl(host)}:${server.port}`,
    port: server.port,
    close() {
      closed ??= closeWithin(
        options.closeAfter ?? LISTEN_LIMITS.closeAfter,
        apps,
        () => server.stop(),
        () => void server.stop(true),
      );
      return closed;
    },
  };
}
