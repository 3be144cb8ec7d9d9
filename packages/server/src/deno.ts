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
import { answer, handshake } from "./web/answer.js";
import { type StandardSocket, standardPort } from "./web/port.js";

export type { PemListenOptions as ListenOptions, Served } from "./listening.js";

/** The part of Deno's API used here. */
interface Deno {
  serve(
    options: Readonly<Record<string, unknown>>,
    handle: (request: Request, info: { readonly completed: Promise<void> }) => Promise<Response>,
  ): { readonly addr: { readonly port: number; readonly hostname: string }; shutdown(): Promise<void> };
  upgradeWebSocket(
    request: Request,
    options: { readonly protocol?: string; readonly idleTimeout?: number },
  ): { readonly socket: StandardSocket; readonly response: Response };
}

/** Serves one app, or several with different paths, over HTTP and WebSocket on one port of Deno. */
export async function listen(app: Apps, options: PemListenOptions = {}): Promise<Served> {
  const { Deno: deno } = globalThis as unknown as { readonly Deno?: Deno };
  if (!deno) throw misuse("@parlance/server/deno is for Deno: use @parlance/server/node or /bun here");
  const list = placed(app);
  const apps = list.map((one) => one.app);
  const { host = "127.0.0.1", port = documentedPort(apps), tls } = options;
  checkListen(apps, host, options);
  const bound = hostInUrl(host);
  async function handle(request: Request, { completed }: { readonly completed: Promise<void> }): Promise<Response> {
    // Deno's request signal aborts after a complete answer too, and logs that.
    const left = new AbortController();
    completed.catch(() => left.abort());
    const arrival = { left: left.signal, bound };
    const shaken = await handshake(list, request, arrival);
    if (shaken === undefined) return answer(list, request, arrival);
    if (shaken instanceof Response) return shaken;
    const { limits } = shaken.app;
    // Deno pings a silent peer, and closes after this long without an answer.
    const { socket, response } = deno!.upgradeWebSocket(request, {
      ...(shaken.protocol !== undefined && { protocol: shaken.protocol }),
      idleTimeout: Math.ceil((2.5 * limits.heartbeat) / 1000),
    });
    const opened = standardPort(socket, limits.maxMessageSize);
    socket.addEventListener("open", () => shaken.run(opened));
    // A handshake that is never finished; once the conversation runs, its scope is its own.
    socket.addEventListener("error", () => shaken.call.close(gone()));
    return response;
  }
  let server: ReturnType<Deno["serve"]>;
  try {
    server = deno.serve({ port, hostname: host, ...tls, onListen() {} }, handle);
  } catch (error) {
    throw (error as { name?: string }).name === "AddrInUse" ? inUse(port, error) : error;
  }
  const { addr } = server;
  let closed: Promise<void> | undefined;
  return {
    url: `${tls ? "https" : "http"}://${hostInUrl(addr.hostname)}:${addr.port}`,
    port: addr.port,
    close() {
      // A shutdown of Deno has no timeout and cuts no connection: a peer that never finishes its body would block `close`.
      let giveUp = (): void => {};
      const given = new Promise<void>((resolve) => {
        giveUp = resolve;
      });
      closed ??= closeWithin(
        options.closeAfter ?? LISTEN_LIMITS.closeAfter,
        apps,
        () => Promise.race([server.shutdown(), given]),
        giveUp,
      );
      return closed;
    },
  };
}
