import { randomBytes } from "node:crypto";
import type { Duplex, Writable } from "node:stream";
import * as ws from "ws";
import { within } from "../case.js";
import type { Frame, Frames } from "../tested.js";

/** The frame parser of `ws`, which its types leave out. */
const { Receiver } = ws as unknown as {
  readonly Receiver: new (options: { readonly isServer: boolean; readonly maxPayload: number }) => Writable;
};

const CLOSE = 8;
const PONG = 10;

/** One end of an open WebSocket (RFC 6455), which sends any frame, right or wrong. `side` is that of the suite. */
export function framesOf(socket: Duplex, side: "client" | "server", wait: number): Frames {
  const receiver = new Receiver({ isServer: side === "server", maxPayload: 1 << 26 });
  const frames: Frame[] = [];
  let wake: (() => void) | undefined;
  let over = false;
  /** Whether the suite has sent its close frame. */
  let closing = false;
  const arrive = (frame: Frame) => {
    if (over) return;
    if ("close" in frame) over = true;
    frames.push(frame);
    wake?.();
  };
  receiver.on("message", (data: Buffer, isBinary: boolean) =>
    arrive(isBinary ? { binary: data.length } : { text: data.toString() }),
  );
  receiver.on("ping", (data: Buffer) => write(PONG, data, true));
  receiver.on("pong", (data: Buffer) => arrive({ pong: data.toString() }));
  receiver.on("conclude", (code: number) => {
    if (!closing) write(CLOSE, Buffer.from([3, 232]), true);
    // The server closes the connection first (RFC 6455, section 7.1.1).
    if (side === "server") socket.end();
    arrive({ close: code });
  });
  receiver.on("error", (error: Error) => {
    arrive({ text: `(frames that cannot be read: ${error.message})` });
    arrive({ close: 1006 });
  });
  socket.on("data", (chunk: Buffer) => void receiver.write(Buffer.from(chunk)));
  const lost = () => setImmediate(() => arrive({ close: 1006 }));
  // A server's socket stays open to send after its peer has gone.
  socket.on("end", () => socket.end());
  socket.on("close", lost);
  socket.on("error", lost);
  socket.resume();

  function write(opcode: number, payload: Buffer, fin: boolean): void {
    if (socket.destroyed) return;
    socket.write(encodeFrame(opcode, payload, fin, side === "client"));
  }

  return {
    async next() {
      const came = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (frames.length === 0) await within(wait, "a frame", came);
      return frames.shift()!;
    },
    send: (text) => write(1, Buffer.from(text), true),
    frame: (opcode, payload, fin = true) => write(opcode, Buffer.from(payload), fin),
    close(code = 1000) {
      closing = true;
      write(CLOSE, Buffer.from([code >> 8, code & 255]), true);
    },
    cut: () => void socket.destroy(),
  };
}

/** A frame (RFC 6455, section 5.2); a client's is masked. */
export function encodeFrame(opcode: number, payload: Buffer, fin: boolean, masked: boolean): Buffer {
  const { length } = payload;
  const size = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + size);
  head[0] = (fin ? 128 : 0) | opcode;
  head[1] = (masked ? 128 : 0) | (size === 0 ? length : size === 2 ? 126 : 127);
  if (size === 2) head.writeUInt16BE(length, 2);
  if (size === 8) head.writeBigUInt64BE(BigInt(length), 2);
  if (!masked) return Buffer.concat([head, payload]);
  const mask = randomBytes(4);
  return Buffer.concat([head, mask, payload.map((byte, at) => byte ^ mask[at % 4]!)]);
}
