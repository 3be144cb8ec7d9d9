import type { OpenSocket, Port } from "@parlance/wire";
import { misuse } from "@parlance/wire/errors";
import { socketPort } from "@parlance/wire/link";
import type { WebSocket } from "ws";
import { parseRetryAfter } from "./response.js";

/** Bytes kept of a refusal's body. */
const MAX_REFUSAL = 64 * 1024;

export interface OwnTrust {
  readonly ca?: Buffer[];
}

/** Opens sockets by the `ws` package, each as the port that `portOf` makes of it. */
export function openWith(own: OwnTrust, portOf: (socket: WebSocket) => Port = socketPort): OpenSocket {
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
        resolve(portOf(socket));
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

/** Packages are loaded when they are first needed, so that a bundle without them starts. */
export const missing = (name: string, remedy: string) => (cause: unknown) => {
  throw Object.assign(misuse(`the package ${name} could not be loaded: ${remedy}`), { cause });
};
