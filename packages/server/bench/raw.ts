import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

/**
 * A reader that does as little as one can, so that the server is the limit: it skips over the framing of HTTP chunks or WebSocket
 * frames, counts the bytes between, and looks at nothing but the end of what it has read.
 */
export interface RawReader {
  readonly socket: Socket;
  /** Bytes of messages since the first one, which opened the stream. */
  bytes: number;
  /** The last characters of what was read. */
  tail: string;
  /** Called with the messages' bytes of each read. */
  onBytes?: ((bytes: number) => void) | undefined;
  /** Rejects when the connection ends: a bench that waits for more would wait for ever. */
  readonly lost: Promise<never>;
}

export interface RawRequest {
  readonly port: number;
  readonly path: string;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Carrier {
  readonly status: number;
  /** Sent once the answer's head is there. */
  readonly hello: Uint8Array;
  /** How a message ends. */
  readonly end: string;
  /** Skips the framing. `answer` sends what the framing itself asks for. */
  readonly unframe: (take: (piece: Buffer) => void, answer: (bytes: Uint8Array) => void) => (bytes: Buffer) => void;
}

/** Characters at the end that are kept: a stamp, a number and what closes the message. */
const TAIL = 96;

/** Opens a stream of Server-Sent Events; resolves once its first event is there. */
export function readStream({ body, headers, ...asked }: RawRequest): Promise<RawReader> {
  const about: Record<string, string> =
    body === undefined ? {} : { "Content-Type": "application/json", "Content-Length": String(body.length) };
  const carrier = { status: 200, hello: new Uint8Array(), end: "\n\n", unframe: chunks };
  return read({ ...asked, body: body ?? "", headers: { ...about, ...headers } }, carrier);
}

/** Opens a WebSocket and says `hello`; resolves once that is answered. */
export function readSocket({ headers, ...asked }: RawRequest, hello: string): Promise<RawReader> {
  const handshake = {
    Upgrade: "websocket",
    Connection: "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
  };
  // A text frame under a mask of zeros (RFC 6455, section 5.3): its payload is the text itself.
  const frame = Buffer.concat([
    Buffer.from([0x81, 0xfe, hello.length >> 8, hello.length & 255, 0, 0, 0, 0]),
    Buffer.from(hello),
  ]);
  const carrier = { status: 101, hello: frame, end: "}", unframe: frames };
  return read({ ...asked, headers: { ...handshake, ...headers } }, carrier);
}

function read(
  { port, path, method = "GET", headers = {}, body = "" }: RawRequest,
  { status, hello, end, unframe }: Carrier,
): Promise<RawReader> {
  return new Promise((resolve, reject) => {
    let head = "";
    let opened = false;
    let lose = (_: Error): void => {};
    const lost = new Promise<never>((_, fail) => {
      lose = fail;
    });
    lost.catch(() => {});
    const fail = (error: Error): void => {
      reject(error);
      lose(error);
    };

    /** The head, and then the first message. */
    function open(chunk: Buffer): void {
      if (reader.bytes === 0 && !head.includes("\r\n\r\n")) {
        head += chunk.toString("latin1");
        const at = head.indexOf("\r\n\r\n");
        if (at < 0) return;
        if (!head.startsWith(`HTTP/1.1 ${status} `)) return reject(new Error(`${path} answered ${head}`));
        socket.write(hello);
        push(Buffer.from(head.slice(at + 4), "latin1"));
      } else push(chunk);
      if (!reader.tail.endsWith(end)) return;
      opened = true;
      reader.bytes = 0;
      resolve(reader);
    }

    function take(piece: Buffer): void {
      reader.bytes += piece.length;
      const end = piece.toString("latin1", Math.max(0, piece.length - TAIL));
      reader.tail = end.length < TAIL ? (reader.tail + end).slice(-TAIL) : end;
    }
    const push = unframe(take, (bytes) => socket.write(bytes));

    // One buffer for all readers: reading allocates nothing.
    const socket = connect({
      port,
      host: "127.0.0.1",
      noDelay: true,
      onread: {
        buffer: BUFFER,
        callback(length) {
          const chunk = BUFFER.subarray(0, length);
          if (!opened) open(chunk);
          else {
            const before = reader.bytes;
            push(chunk);
            reader.onBytes?.(reader.bytes - before);
          }
          return true;
        },
      },
    });
    const reader: RawReader = { socket, bytes: 0, tail: "", lost };
    socket.on("error", fail);
    socket.on("close", () => fail(new Error(`${path} was closed`)));
    socket.on("connect", () => {
      const said = { Host: `127.0.0.1:${port}`, ...headers };
      const lines = Object.entries(said).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
    });
  });
}

const BUFFER = Buffer.allocUnsafeSlow(256 * 1024);

/** Chunked transfer coding (RFC 9112, section 7.1). */
function chunks(take: (piece: Buffer) => void): (bytes: Buffer) => void {
  let size = 0;
  /** Bytes to come of a chunk and of the line end behind it. */
  let left = 0;
  return (bytes) => {
    for (let at = 0; at < bytes.length; ) {
      if (left > 2) {
        const length = Math.min(left - 2, bytes.length - at);
        take(bytes.subarray(at, at + length));
        at += length;
        left -= length;
      } else if (left > 0) {
        at++;
        left--;
      } else {
        const byte = bytes[at++]!;
        if (byte === 10) {
          left = size + 2;
          size = 0;
        } else if (byte !== 13) size = size * 16 + (byte < 58 ? byte - 48 : (byte | 32) - 87);
      }
    }
  };
}

const TEXT = 0x81;
const PING = 0x89;
/** An empty pong under a mask of zeros: a server cuts a peer that answers none of its pings. */
const PONG = Uint8Array.of(0x8a, 0x80, 0, 0, 0, 0);

/** Frames as a server sends them (RFC 6455, section 5.2): whole messages without a mask. Pings have no payload, and are answered. */
function frames(take: (piece: Buffer) => void, answer: (bytes: Uint8Array) => void): (bytes: Buffer) => void {
  let kind = 0;
  /** Bytes to come of the length field, 0 outside of it; of a short frame's it is the 7 bits. */
  let field = 0;
  let left = 0;
  let begun = false;
  return (bytes) => {
    for (let at = 0; at < bytes.length; ) {
      if (field > 0) {
        left = left * 256 + bytes[at++]!;
        field--;
      } else if (left > 0) {
        const length = Math.min(left, bytes.length - at);
        if (kind === TEXT) take(bytes.subarray(at, at + length));
        at += length;
        left -= length;
      } else if (!begun) {
        kind = bytes[at++]!;
        begun = true;
      } else {
        const length = bytes[at++]!;
        begun = false;
        field = length === 126 ? 2 : length === 127 ? 8 : 0;
        left = field > 0 ? 0 : length;
        if (kind === PING) answer(PONG);
      }
    }
  };
}
