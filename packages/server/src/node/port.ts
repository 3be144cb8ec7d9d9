import type { Duplex } from "node:stream";
import type { Port, PortEvents } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import type { WebSocket } from "ws";
import { defer } from "../stream/writer.js";

/** Characters that are written without waiting for the end of the tick. */
const FULL = 64 * 1024;

/** A close frame without a code (RFC 6455, section 7.1.5). */
const NO_CODE = 1005;

/** Frames as one text of bytes. */
interface Joined {
  readonly frames: readonly string[];
  readonly bytes: Buffer;
}

const NONE: string[] = [];

/** Ports with frames of this tick. */
const due: ServerPort[] = [];

/** Sockets with the same frames share one encoding: each gets the last one to reuse. */
function flushAll(): void {
  let last: Joined | undefined;
  for (const port of due.splice(0)) last = port.flush(last);
}

/** A WebSocket of the `ws` package and the connection under it, as a port. Queues events until `listen`. */
export class ServerPort implements Port {
  readonly #opened: WebSocket;
  readonly #socket: Duplex;
  /** Frames of this tick, and their characters. */
  #frames = NONE;
  #size = 0;
  #on: PortEvents | undefined;
  #early: string[] | undefined;
  #over: { readonly code: number; readonly reason: string } | undefined;
  /** Whether a frame came since the last check. */
  #heard = false;
  #stopLooking: (() => void) | undefined;

  constructor(opened: WebSocket, socket: Duplex) {
    this.#opened = opened;
    this.#socket = socket;
    opened.on("message", (data, isBinary) => {
      this.#heard = true;
      if (this.#over) return;
      if (!isBinary) return this.#receive(String(data));
      this.close(1003, "text frames only");
      // A peer that sends such frames may not confirm the close either.
      this.#end(1003, "text frames only");
    });
    // At the first frame that breaks RFC 6455, `ws` sends a close frame and waits for the peer to end the connection: the handler need not.
    opened.on("error", () => this.#end(1006, "the peer broke the framing"));
    opened.on("close", (code, reason) => {
      this.#stopLooking?.();
      this.#end(code, String(reason));
    });
  }

  /** Pings once a heartbeat, and cuts a peer that is silent for 2.5 heartbeats. */
  beat(heartbeat: number, call: Scope): void {
    let looks = 0;
    let silent = 0;
    this.#opened.on("pong", () => {
      this.#heard = true;
    });
    this.#stopLooking = call.interval(heartbeat / 2, () => {
      silent = this.#heard ? 0 : silent + 1;
      this.#heard = false;
      if (silent >= 5) this.#opened.terminate();
      else if (looks++ % 2 === 0) this.#opened.ping();
    });
  }

  /** All frames of one tick are one write: sixteen together cost a third of single ones. */
  send(frame: string): void {
    if (this.#frames === NONE) {
      this.#frames = [frame];
      if (due.push(this) === 1) defer(flushAll);
    } else this.#frames.push(frame);
    this.#size += frame.length;
    if (this.#size > FULL) this.flush();
  }

  /** Writes the frames of this tick. A connection that throws on a write ends, and no other. */
  flush(last?: Joined): Joined | undefined {
    const frames = this.#frames;
    if (frames === NONE) return last;
    this.#frames = NONE;
    this.#size = 0;
    // After a close frame none may follow.
    if (this.#opened.readyState !== this.#opened.OPEN) return last;
    const joined = last && isSame(last.frames, frames) ? last : { frames, bytes: encodeFrames(frames) };
    try {
      this.#socket.write(joined.bytes);
    } catch (error) {
      this.#socket.destroy(error as Error);
    }
    return joined;
  }

  close(code: number, reason: string): void {
    this.flush();
    Reflect.deleteProperty(this.#opened, "close");
    try {
      if (code === NO_CODE) this.#opened.close();
      else this.#opened.close(code, reason);
    } catch {
      // A code that must not be sent (RFC 6455, section 7.4).
      this.#opened.close(4000 + (code % 1000), reason);
    }
  }

  buffered(): number {
    return this.#size + this.#opened.bufferedAmount;
  }

  cut(): void {
    this.#frames = NONE;
    this.#size = 0;
    this.#opened.terminate();
  }

  listen(on: PortEvents): void {
    this.#on = on;
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const frame of early) on.frame(frame);
    if (on.closing) this.#deferAnswer(on.closing);
    if (this.#over) on.close(this.#over.code, this.#over.reason);
  }

  /** `ws` answers a close frame by calling the socket's own `close`. */
  #deferAnswer(closing: (code: number, reason: string) => void): void {
    this.#opened.close = (code = NO_CODE, reason = "") => {
      Reflect.deleteProperty(this.#opened, "close");
      closing(code, String(reason));
    };
  }

  #receive(frame: string): void {
    if (this.#on) return this.#on.frame(frame);
    this.#early ??= [];
    this.#early.push(frame);
  }

  #end(code: number, reason: string): void {
    if (this.#over) return;
    this.#over = { code, reason };
    this.#on?.close(code, reason);
  }
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((frame, i) => frame === others[i]);
}

/** A text frame, whole and without a mask, as a server sends it (RFC 6455, section 5.2). */
const TEXT = 0x81;

/** Encodes texts as frames in one buffer, because a buffer for each header and text costs a write of its own. */
export function encodeFrames(texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + headerOf(length) + length, 0));
  let at = 0;
  for (const [i, length] of lengths.entries()) {
    bytes[at] = TEXT;
    const header = headerOf(length);
    bytes[at + 1] = header === 2 ? length : header === 4 ? 126 : 127;
    if (header === 4) bytes.writeUInt16BE(length, at + 2);
    if (header === 10) bytes.writeBigUInt64BE(BigInt(length), at + 2);
    at += header;
    at += bytes.write(texts[i]!, at);
  }
  return bytes;
}

/** The size of a frame's header, by the length of its text in bytes. */
function headerOf(length: number): number {
  return length < 126 ? 2 : length < 65_536 ? 4 : 10;
}
