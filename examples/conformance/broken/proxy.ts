import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { encodeFrame } from "../../../packages/conformance/src/node/frames.js";

// A proxy that breaks what passes: it makes a broken peer of a good one.

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

export interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
  readonly fin: boolean;
}

/** What a proxy does to the traffic. */
export interface Breaks {
  /** Whether a refusal becomes a success. */
  readonly accepts?: (asked: Asked, status: number) => boolean;
  readonly status?: (status: number, asked: Asked) => number;
  readonly type?: string;
  /** Of a whole body, or of each block of a stream. */
  readonly body?: (text: string, status: number) => string;
  readonly buffers?: boolean;
  /** Never ends a stream. */
  readonly endless?: boolean;
  /** Keeps a call although its caller has gone. */
  readonly keeps?: boolean;
  /** The frames in place of one, or an answer to it; "close" refuses it with 1008, and what follows is still passed on. */
  readonly frame?: (
    frame: Frame,
    from: "client" | "server",
  ) => readonly Frame[] | { readonly answer: string } | "close";
}

export async function proxy(target: string, breaks: Breaks) {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    return socket;
  };
  const server = createServer(async (incoming, outgoing) => {
    const bytes = await bytesOf(incoming).catch(() => Buffer.alloc(0));
    const asked = { method: incoming.method!, url: incoming.url!, headers: incoming.headers, body: bytes.toString() };
    const upstream = request({
      hostname,
      port,
      method: asked.method,
      path: asked.url,
      headers: pairs(incoming),
      agent: false,
    });
    upstream.on("socket", track);
    upstream.on("error", () => {
      if (breaks.accepts?.(asked, 0) && !outgoing.headersSent) outgoing.writeHead(200).end();
      else outgoing.destroy();
    });
    outgoing.on("close", () => breaks.keeps || upstream.destroy());
    outgoing.on("error", () => {});
    upstream.on("response", async (answer) => {
      const accepted = breaks.accepts?.(asked, answer.statusCode!);
      const status = accepted ? 200 : (breaks.status?.(answer.statusCode!, asked) ?? answer.statusCode!);
      const { "content-length": _, "transfer-encoding": __, ...headers } = answer.headers;
      if (breaks.type && status < 300) headers["content-type"] = breaks.type;
      outgoing.writeHead(status, headers);
      outgoing.flushHeaders();
      const change = (text: string) => breaks.body?.(text, status) ?? text;
      // Bytes pass as they are.
      if (/octet-stream/.test(answer.headers["content-type"] ?? "")) return void answer.pipe(outgoing);
      answer.setEncoding("utf8");
      const isStream = headers["content-type"]?.includes("event-stream") || breaks.type;
      let held = "";
      try {
        for await (const chunk of answer) {
          if (isStream && !breaks.buffers) outgoing.write(change(chunk));
          else held += chunk;
        }
      } catch {
        return void outgoing.destroy();
      }
      if (held !== "") outgoing.write(change(held));
      if (!(breaks.endless && isStream)) outgoing.end();
    });
    upstream.end(bytes);
  });
  server.on("connection", track);
  server.on("upgrade", (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    track(socket);
    const asked = { method: "GET", url: incoming.url!, headers: incoming.headers, body: "" };
    const key = `${incoming.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const opened = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${createHash("sha1").update(key).digest("base64")}\r\n\r\n`;
    const upstream = track(connect(Number(port), hostname));
    const lines = pairs(incoming).flatMap((value, at, all) => (at % 2 === 0 ? [`${value}: ${all[at + 1]}\r\n`] : []));
    upstream.write(`GET ${incoming.url} HTTP/1.1\r\n${lines.join("")}\r\n`);
    let text = "";
    const onHead = (chunk: Buffer) => {
      text += chunk.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) return;
      upstream.off("data", onHead);
      const status = Number(text.split(" ")[1]);
      if (status !== 101) {
        if (breaks.accepts?.(asked, status)) return void socket.write(opened);
        socket.end(Buffer.from(text, "latin1"));
        return;
      }
      socket.write(text.slice(0, end + 4), "latin1");
      const down = pass(upstream, socket, "server", breaks);
      pass(socket, upstream, "client", breaks)(head);
      down(Buffer.from(text.slice(end + 4), "latin1"));
    };
    upstream.on("data", onHead);
    upstream.on("close", () => socket.end());
    socket.on("close", () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function bytesOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function pairs({ rawHeaders }: IncomingMessage): string[] {
  return rawHeaders.flatMap((name, at) =>
    at % 2 === 0 && !/^transfer-encoding$/i.test(name) ? [name, rawHeaders[at + 1]!] : [],
  );
}

/** Passes frames on, one by one. */
function pass(from: Socket, to: Socket, side: "client" | "server", { frame }: Breaks): (chunk: Buffer) => void {
  let held = Buffer.alloc(0);
  const take = (chunk: Buffer) => {
    held = Buffer.concat([held, chunk]);
    for (let next = frameIn(held); next; next = frameIn(held)) {
      held = held.subarray(next.size);
      const made = frame?.(next.frame, side) ?? [next.frame];
      if (made === "close") {
        from.write(encodeFrame(8, Buffer.from([3, 240]), true, side === "server"));
        continue;
      }
      if ("answer" in made) {
        from.write(encodeFrame(1, Buffer.from(made.answer), true, side === "server"));
        continue;
      }
      for (const one of made) to.write(encodeFrame(one.opcode, one.payload, one.fin, side === "client"));
    }
  };
  from.on("data", take);
  return take;
}

function frameIn(bytes: Buffer): { readonly frame: Frame; readonly size: number } | undefined {
  if (bytes.length < 2) return undefined;
  const masked = bytes[1]! >= 128;
  let length = bytes[1]! & 127;
  let at = 2;
  if (length === 126 || length === 127) {
    const wide = length === 126 ? 2 : 8;
    if (bytes.length < at + wide) return undefined;
    length = wide === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    at += wide;
  }
  const mask = masked ? bytes.subarray(at, at + 4) : undefined;
  at += masked ? 4 : 0;
  if (bytes.length < at + length) return undefined;
  const raw = bytes.subarray(at, at + length);
  const payload = Buffer.from(mask ? raw.map((byte, index) => byte ^ mask[index % 4]!) : raw);
  return { frame: { opcode: bytes[0]! & 15, payload, fin: bytes[0]! >= 128 }, size: at + length };
}
