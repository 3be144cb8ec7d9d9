import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Opens a connection. Errors are ends like any other: a server may answer with a reset. */
export async function dial(port: number, host = "127.0.0.1"): Promise<Socket> {
  const socket = connect({ port, host, allowHalfOpen: true });
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Resolves when the server has ended the connection, with or without an error. */
export function ended(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed || socket.readableEnded) return resolve();
    socket.on("end", resolve);
    socket.on("close", () => resolve());
  });
}

/** Sends bytes as they are, and resolves with everything that is received until the server ends the connection. */
export async function speak(port: number, bytes: string | Buffer, host?: string): Promise<string> {
  const socket = await dial(port, host);
  const received: Buffer[] = [];
  socket.on("data", (chunk) => received.push(chunk));
  const over = ended(socket);
  socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
  await over;
  socket.destroy();
  return Buffer.concat(received).toString("latin1");
}

/** The status of each answer in what was received. */
export function statusesOf(received: string): readonly number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

/** Waits, a turn of the event loop at a time: the test's own time limit ends it. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Removes the connection with a reset. */
export function reset(socket: Socket): void {
  socket.resetAndDestroy();
}

export interface Frame {
  readonly opcode: number;
  readonly fin?: boolean;
  readonly rsv?: number;
  /** A client masks (RFC 6455, section 5.1). */
  readonly masked?: boolean;
  readonly payload?: Buffer | string;
  /** The length to declare, where it is not the payload's. */
  readonly length?: number;
}

/** A WebSocket frame, whether RFC 6455 allows it or not. */
export function frame({ opcode, fin = true, rsv = 0, masked = true, payload = "", length }: Frame): Buffer {
  const data = Buffer.from(payload);
  const size = length ?? data.length;
  const head =
    size < 126
      ? Buffer.from([0, size])
      : size < 65_536
        ? Buffer.from([0, 126, size >> 8, size & 255])
        : Buffer.concat([Buffer.from([0, 127]), bigEndian(size)]);
  head[0] = (fin ? 0x80 : 0) | (rsv << 4) | opcode;
  if (!masked) return Buffer.concat([head, data]);
  head[1] = head[1]! | 0x80;
  const mask = Buffer.from([1, 2, 3, 4]);
  return Buffer.concat([head, mask, data.map((byte, i) => byte ^ mask[i % 4]!)]);
}

function bigEndian(size: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(size));
  return bytes;
}

/** The frames of a server, which are not masked. */
export function framesOf(received: Buffer): { opcode: number; payload: Buffer }[] {
  const frames: { opcode: number; payload: Buffer }[] = [];
  for (let at = 0; at + 2 <= received.length; ) {
    let size = received[at + 1]! & 127;
    let head = 2;
    if (size === 126) {
      size = received.readUInt16BE(at + 2);
      head = 4;
    } else if (size === 127) {
      size = Number(received.readBigUInt64BE(at + 2));
      head = 10;
    }
    if (at + head + size > received.length) break;
    frames.push({ opcode: received[at]! & 15, payload: received.subarray(at + head, at + head + size) });
    at += head + size;
  }
  return frames;
}
