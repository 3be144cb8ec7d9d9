import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { Scope } from "@parlance/wire/scope";
import { endWith, isClosing } from "./linger.js";
import { leave } from "./request.js";

// Node's own deadlines are timers, and timers run before data is read that arrived while the process stood still (a stopped container, a long
// computation). Here each connection is read before it is given up.

/** What Node answers when it gives up a connection, by the code of its error; 400 for any other. */
const ANSWERS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** Reads a connection before it is closed as idle, or its request is refused as too slow. `spare` is how long a request may then still take. */
export function readBeforeDeadlines(server: Server, spare: number): void {
  const latest = new WeakMap<Socket, IncomingMessage>();
  const note = (incoming: IncomingMessage) => void latest.set(incoming.socket, incoming);
  server.on("request", note).on("checkContinue", note);
  server.on("timeout", (socket: Socket) => afterReading(socket, (wasSilent) => wasSilent && socket.destroy()));
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code !== "ERR_HTTP_REQUEST_TIMEOUT") return giveUp(socket, error);
    const last = latest.get(socket);
    // After a request that is complete it is the head of the next one.
    const isHead = !last || last.complete;
    const isLate = () => latest.get(socket) === last && (isHead || !last.complete);
    afterReading(socket, (wasSilent) => {
      if (!isLate()) return;
      if (wasSilent) return giveUp(socket, error);
      const waiting = Scope.open(() => {});
      waiting.timeout(spare, () => {
        waiting.close();
        if (isLate()) giveUp(socket, error);
      });
      socket.once("close", () => waiting.close());
    });
  });
}

/** Decides once everything that had arrived is read. */
function afterReading(socket: Socket, decide: (wasSilent: boolean) => void): void {
  const before = socket.bytesRead;
  // A turn reads, and the next one decrypts and parses.
  setImmediate(() => setImmediate(() => socket.destroyed || decide(socket.bytesRead === before)));
}

function giveUp(
  socket: Socket & { readonly _httpMessage?: { readonly headersSent: boolean } },
  error: NodeJS.ErrnoException,
): void {
  if (!socket.writable || socket._httpMessage?.headersSent) return void socket.destroy(error);
  // Its last answer is decided, and closes it.
  if (isClosing(socket)) return;
  leave(socket);
  const answer = ANSWERS[error.code ?? ""] ?? "400 Bad Request";
  endWith(socket, `HTTP/1.1 ${answer}\r\nConnection: close\r\n\r\n`);
}
