import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Exchange } from "../tested.js";
import { type Trace, traced } from "../trace.js";
import { framesOf } from "./frames.js";

type Serve = (exchange: Exchange) => Promise<void>;

/** The suite as a server: answers requests as the case wants, right or wrong. */
export class Responder {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #wait: number;
  #serve: Serve = async (exchange) => exchange.cut();

  private constructor(trace: Trace, wait: number) {
    this.#wait = wait;
    this.#server = createServer();
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      // Listens for data, because the parser of Node otherwise takes the bytes from below the stream.
      socket.on("data", () => {});
      traced(socket, trace);
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("request", (incoming, outgoing) => void this.#handle(incoming, outgoing));
    this.#server.on(
      "upgrade",
      (incoming, socket: Socket, head) => void this.#handle(incoming, undefined, socket, head),
    );
  }

  static async listen(trace: Trace, wait: number): Promise<Responder> {
    const responder = new Responder(trace, wait);
    await new Promise<void>((resolve) => responder.#server.listen(0, "127.0.0.1", () => resolve()));
    return responder;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What answers the next requests. */
  set serve(serve: Serve) {
    this.#serve = serve;
  }

  /** Ends whatever a case has left open. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(incoming: IncomingMessage, outgoing?: ServerResponse, socket?: Socket, head?: Buffer): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      if (outgoing) for await (const chunk of incoming) chunks.push(chunk);
    } catch {
      return;
    }
    const gone = new Promise<void>((resolve) => void incoming.socket.once("close", () => resolve()));
    const plain = outgoing ? answering(outgoing) : refusing(socket!);
    await this.#serve({
      method: incoming.method!,
      target: incoming.url!,
      headers: Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
      body: Buffer.concat(chunks).toString(),
      bytes: Buffer.concat(chunks),
      isSocket: socket !== undefined,
      gone,
      ...plain,
      cut: () => void incoming.socket.destroy(),
      accept: () => {
        if (!socket) throw new TypeError("this request is no handshake");
        const key = `${incoming.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
        const accept = createHash("sha1").update(key).digest("base64");
        socket.write(
          `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
        );
        if (head && head.length > 0) socket.unshift(head);
        return framesOf(socket, "server", this.#wait);
      },
    });
  }
}

type Answering = Pick<Exchange, "answer" | "begin" | "write" | "end">;

function answering(outgoing: ServerResponse): Answering {
  outgoing.on("error", () => {});
  return {
    answer(status, type, body, headers) {
      outgoing.writeHead(status, { ...headers, ...(type !== undefined && { "Content-Type": type }) });
      outgoing.end(body);
    },
    begin(status, type, headers) {
      outgoing.writeHead(status, { ...headers, "Content-Type": type, "Cache-Control": "no-store" });
      outgoing.flushHeaders();
    },
    async write(bytes) {
      if (outgoing.destroyed) return;
      await new Promise<void>((resolve) => outgoing.write(bytes, () => resolve()));
      // The reader gets its turn: without a pause two writes are often read as one, and a split is none.
      await new Promise((resolve) => setTimeout(resolve, 2));
    },
    end: () => void outgoing.end(),
  };
}

function refusing(socket: Socket): Answering {
  const no = () => {
    throw new TypeError("this request is a handshake");
  };
  return {
    answer(status, type, body) {
      const head = `Connection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
      socket.end(
        `HTTP/1.1 ${status} Refused\r\n${type === undefined ? "" : `Content-Type: ${type}\r\n`}${head}\r\n${body}`,
      );
    },
    begin: no,
    write: async () => no(),
    end: no,
  };
}
