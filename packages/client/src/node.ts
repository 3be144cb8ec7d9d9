import type { OpenSocket } from "@parlance/wire";
import { misuse } from "@parlance/wire/errors";
import { socketPort } from "@parlance/wire/link";
import type { WebSocket } from "ws";
import { parseRetryAfter } from "./response.js";

export { type EnsuredServer, ensureServer, type ServerCommand } from "./ensure-server.js";
export { type ForwardOptions, forwardLines } from "./forward.js";
export { type Program, type ProgramOptions, program } from "./program.js";

/** The only certificate authority to trust, in PEM. */
export interface Trust {
  readonly ca: string | Buffer | readonly (string | Buffer)[];
}

/** Opens sockets by the `ws` package, which can carry headers: the `webSocket` of `connect` in Node. */
export const webSocket: OpenSocket = openWith({});

/**
 * Trusts a certificate authority of your own: `connect(loco, { baseUrl, ...trust({ ca }) })`.
 *
 * Requests need the package `undici` 7 beside this one, because Node's own `fetch` accepts no certificate authority.
 */
export function trust({ ca }: Trust): { fetch: (request: Request) => Promise<Response>; webSocket: OpenSocket } {
  const own = { ca: ca as Buffer[] };
  let sending: Promise<typeof fetch> | undefined;
  return {
    fetch(request) {
      sending ??= fetchWith(own);
      return sending.then((send) => send(request.url, initOf(request)));
    },
    webSocket: openWith(own),
  };
}

/** Bytes kept of a refusal's body. */
const MAX_REFUSAL = 64 * 1024;

interface OwnTrust {
  readonly ca?: Buffer[];
}

function openWith(own: OwnTrust): OpenSocket {
  return async (url, { headers, protocols, maxSize, signal }) => {
    const { WebSocket } = await import("ws").catch(
      missing("ws", "an ESM bundle has to give it a `require`, by the banner of docs/vscode.md"),
    );
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(url, [...protocols], {
        headers,
        maxPayload: maxSize,
        perMessageDeflate: false,
        ...own,
      });
      const abort = () => socket.terminate();
      signal?.addEventListener("abort", abort, { once: true });
      const settled = () => signal?.removeEventListener("abort", abort);
      watch(socket);
      socket.on("open", () => {
        settled();
        resolve(socketPort(socket));
      });
      // Without a listener a socket's error, even after opening, would end the process.
      socket.on("error", (error) => {
        settled();
        reject(error);
      });
      socket.on("unexpected-response", (request, response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size <= MAX_REFUSAL) chunks.push(chunk);
          else response.destroy();
        });
        response.on("error", () => {});
        response.on("close", () => {
          settled();
          request.destroy();
          const body = Buffer.concat(chunks).toString();
          resolve({
            refused: {
              status: response.statusCode ?? 0,
              body,
              retryAfter: parseRetryAfter(response.headers["retry-after"]),
            },
          });
        });
      });
    });
  };
}

/** Cuts a socket whose server has pinged and is silent for two and a half of its intervals. A server that never pings is left alone. */
function watch(socket: WebSocket): void {
  let pinged: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  socket.on("ping", () => {
    const now = performance.now();
    const interval = pinged === undefined ? undefined : now - pinged;
    pinged = now;
    clearTimeout(timer);
    if (interval !== undefined) timer = setTimeout(() => socket.terminate(), Math.max(interval, 1000) * 2.5);
  });
  socket.on("close", () => clearTimeout(timer));
}

/** A `fetch` that trusts these authorities alone. It follows redirects and decodes bodies as Node's own, which is built on the same package. */
async function fetchWith(own: OwnTrust): Promise<typeof fetch> {
  const { Agent, fetch: send } = await import("undici").catch(missing("undici", "npm install undici@7"));
  // Its time limits would end silent streams and slow answers, whose limits are those of `connect`.
  const dispatcher = new Agent({ connect: own, bodyTimeout: 0, headersTimeout: 0 });
  return (url, init) => send(url as string, { ...(init as object), dispatcher }) as unknown as Promise<Response>;
}

/** The request as its address and the options that every `fetch` takes, because a global `Request` is foreign to the package. */
function initOf({ method, headers, body, signal, redirect }: Request): RequestInit {
  const sent = body && ({ body, duplex: "half" } as RequestInit);
  return { method, headers: Object.fromEntries(headers), signal, redirect, ...sent };
}

/** Packages are loaded when they are first needed, so that a bundle without them starts. */
const missing = (name: string, remedy: string) => (cause: unknown) => {
  throw Object.assign(misuse(`the package ${name} could not be loaded: ${remedy}`), { cause });
};
