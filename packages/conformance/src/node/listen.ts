import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { onWebSocket } from "@parlance/server/node";
import { socketPort } from "@parlance/wire/link";
import { WebSocketServer } from "ws";
import { MAX_CONTENT } from "../bodies.js";
import type { HeaderList } from "../recording.js";
import { type Answering, type Arriving, carried } from "../replay/answering.js";
import { selected } from "../replay/server.js";
import { sendHead } from "./headers.js";

export interface ListeningReplay {
  readonly url: string;
  close(): Promise<void>;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?|.*\.localhost)$/i;

const nameIn = (host = "") => host.replace(/:\d+$/, "");

/** Serves a replay or a mock on a port. On a loopback address it answers to loopback names only, so that no page reaches it by a name of its own. */
export async function listenReplay(replay: Answering, { port = 0, host = "127.0.0.1" } = {}): Promise<ListeningReplay> {
  const server = createServer();
  const sockets = new Set<Duplex>();
  const acceptor = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_CONTENT,
    perMessageDeflate: false,
    handleProtocols: selected,
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const isKnown = ({ headers }: IncomingMessage) => !LOOPBACK.test(host) || LOOPBACK.test(nameIn(headers.host));
  server.on("request", (incoming, outgoing) => {
    if (!isKnown(incoming)) return void outgoing.writeHead(403).end("this server answers to loopback names only\n");
    void answer(replay, incoming, outgoing).catch(() => cut(outgoing));
  });
  const takeSocket = onWebSocket(async (incoming, socket, head) => {
    socket.on("error", () => {});
    if (!isKnown(incoming)) return void socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n");
    try {
      const accepted = await replay.accept(arriving(incoming));
      if ("refused" in accepted) {
        const { status, body } = accepted.refused;
        const lines = `Connection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
        return void socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines}`);
      }
      acceptor.handleUpgrade(incoming, socket, head, (opened) => accepted.run(socketPort(opened as never)));
    } catch {
      socket.destroy();
    }
  });
  server.on("upgrade", takeSocket);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve());
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    async close() {
      replay.close();
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function answer(replay: Answering, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const whole = carried(new Uint8Array(Buffer.concat(chunks)));
  const { status, headers, body } = await replay.answer({ ...arriving(incoming), ...whole });
  const left = new AbortController();
  outgoing.on("close", () => left.abort());
  outgoing.on("error", () => {});
  outgoing.writeHead(status, headers.flat() as unknown as Record<string, string>);
  sendHead(outgoing);
  for await (const bytes of body(left.signal)) {
    if (outgoing.destroyed) return;
    if (!outgoing.write(bytes)) await hasRoom(outgoing);
  }
  outgoing.end();
}

/** Cuts an answer after what was written of it, which Node writes to the socket in a later tick. */
function cut(outgoing: ServerResponse): void {
  setImmediate(() => {
    if (outgoing.socket) outgoing.socket.destroySoon();
    else outgoing.destroy();
  });
}

/** Waits for room, or for the end of the connection. */
function hasRoom(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      outgoing.off("drain", go).off("close", go);
      resolve();
    };
    outgoing.on("drain", go).on("close", go);
  });
}

function arriving({ method, url, rawHeaders }: IncomingMessage): Arriving {
  const headers: HeaderList = Array.from(
    { length: rawHeaders.length / 2 },
    (_, at) => [rawHeaders[at * 2]!, rawHeaders[at * 2 + 1]!] as const,
  );
  return { method: method!, target: url!, headers };
}
