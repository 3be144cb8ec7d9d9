import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { AddressInfo } from "node:net";
import { type Duplex, finished } from "node:stream";
import { onWebSocket } from "@parlance/server/node";
import { WebSocketServer } from "ws";
import { MAX_CONTENT } from "../bodies.js";
import { type Answering, type Arriving, carried } from "../replay/answering.js";
import { flat, pairs, sendHead } from "./headers.js";
import { type Guard, guard } from "./pages.js";
import { framePort } from "./socket.js";

export interface ListeningReplay {
  readonly url: string;
  close(): Promise<void>;
}

export interface ListenReplayOptions {
  /** @default a free one */
  readonly port?: number | undefined;
  /** @default "127.0.0.1" */
  readonly host?: string | undefined;
  /** Origins of pages that may call, beside the server's own. `*` stands for any host or any port: `http://localhost:*`. @default none */
  readonly origins?: readonly string[] | undefined;
}

/**
 * Serves a replay or a mock on a port. As `serve` does, it refuses pages of other origins, on a loopback address any name but a loopback one,
 * and a body over 16 MiB.
 *
 * @throws `TypeError` for an entry of `origins` that is no origin
 */
export async function listenReplay(
  replay: Answering,
  { port = 0, host = "127.0.0.1", origins = [] }: ListenReplayOptions = {},
): Promise<ListeningReplay> {
  const pages = guard(host, origins);
  const server = createServer();
  const sockets = new Set<Duplex>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("request", (incoming, outgoing) => {
    const refused = pages.refusalOf(incoming.headers);
    if (refused !== undefined) return void outgoing.writeHead(403, { Connection: "close" }).end(`${refused}\n`);
    const preflight = pages.preflight(incoming.method, incoming.headers);
    if (preflight) return void outgoing.writeHead(204, flat(preflight)).end();
    void answer(replay, incoming, outgoing, pages).catch(() => cut(outgoing));
  });
  const onUpgrade = onWebSocket(async (incoming, socket, head) => {
    socket.on("error", () => {});
    if (pages.refusalOf(incoming.headers) !== undefined)
      return void socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n");
    try {
      const accepted = await replay.accept(arriving(incoming));
      if ("refused" in accepted) {
        const { status, body } = accepted.refused;
        const lines = `Connection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
        return void socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines}`);
      }
      const acceptor = new WebSocketServer({
        noServer: true,
        maxPayload: MAX_CONTENT,
        perMessageDeflate: false,
        handleProtocols: () => accepted.protocol ?? false,
      });
      acceptor.handleUpgrade(incoming, socket, head, (opened) => accepted.run(framePort(opened)));
    } catch {
      socket.destroy();
    }
  });
  server.on("upgrade", onUpgrade);
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

async function answer(
  replay: Answering,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  pages: Guard,
): Promise<void> {
  const chunks: Buffer[] = [];
  let size = 0;
  // The answer still goes out where the rest is not read.
  for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > MAX_CONTENT) {
      const text = `a body has at most ${MAX_CONTENT} bytes\n`;
      outgoing.writeHead(413, { "Content-Length": text.length }).write(text);
      // A connection that closes with unread bytes is reset, and the client loses the answer: the rest is read, and dropped.
      finished(incoming.resume(), () => outgoing.end());
      return;
    }
    chunks.push(chunk);
  }
  const whole = carried(new Uint8Array(Buffer.concat(chunks)), incoming.headers["content-type"]);
  const { status, headers, body } = await replay.answer({ ...arriving(incoming), ...whole });
  const left = new AbortController();
  outgoing.on("close", () => left.abort());
  outgoing.on("error", () => {});
  outgoing.writeHead(status, flat(pages.headersFor(incoming.headers, headers)));
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
  // The page has been checked here, and the app of a mock knows of none.
  const headers = pairs(rawHeaders).filter(([name]) => !/^(origin|sec-fetch-.*)$/i.test(name));
  return { method: method!, target: url!, headers };
}
