import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { pipeline, Readable } from "node:stream";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import type { OpenSocket } from "@parlance/wire";
import { webStream } from "@parlance/wire/bytes";
import { socketPort } from "@parlance/wire/link";
import { WebSocket } from "ws";
import { parseRetryAfter } from "./retry-after.js";

export { type EnsuredServer, ensureServer, type ServerCommand } from "./ensure-server.js";

/** The only certificate authority to trust, in PEM. */
export interface Trust {
  readonly ca: string | Buffer | readonly (string | Buffer)[];
}

/** Opens sockets by the `ws` package, which can carry headers: the `webSocket` of `connect` in Node. */
export const webSocket: OpenSocket = openWith({});

/** Trusts a certificate authority of your own: `connect(loco, { baseUrl, ...trust({ ca }) })`. */
export function trust({ ca }: Trust): { fetch: (request: Request) => Promise<Response>; webSocket: OpenSocket } {
  const own = { ca: ca as Buffer[] };
  return { fetch: (request) => fetchWith(request, own), webSocket: openWith(own) };
}

/** Bytes kept of a refusal's body. */
const MAX_REFUSAL = 64 * 1024;

interface OwnTrust {
  readonly ca?: Buffer[];
}

function openWith(own: OwnTrust): OpenSocket {
  return (url, { headers, protocols, maxSize, signal }) =>
    new Promise((resolve, reject) => {
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

/** A `fetch` built on node:https, because Node's own accepts no certificate authority. */
function fetchWith(request: Request, own: OwnTrust): Promise<Response> {
  const send = request.url.startsWith("https:") ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = send(
      request.url,
      { method: request.method, headers: Object.fromEntries(request.headers), signal: request.signal, ...own },
      (answer) => {
        const headers = new Headers();
        for (const [name, value] of Object.entries(answer.headersDistinct))
          for (const one of value ?? []) headers.append(name, one);
        const status = answer.statusCode ?? 0;
        const empty = status === 204 || status === 304;
        if (empty) answer.resume();
        resolve(new Response(empty ? null : webStream(answer, () => answer.destroy()), { status, headers }));
      },
    );
    sent.on("error", reject);
    // Not `pipe`: an aborted request's body fails, and an error without a listener would end the process.
    if (request.body)
      pipeline(Readable.fromWeb(request.body as NodeReadableStream), sent, (error) => error && reject(error));
    else sent.end();
  });
}
