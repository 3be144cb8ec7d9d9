import { isUtf8 } from "node:buffer";
import type { Writable } from "node:stream";
import * as ws from "ws";
import { MAX_CONTENT } from "../bodies.js";
import type { Seen } from "./afterwards.js";
import { headSize, payloadSize } from "./cutter.js";

/** The frame parser of `ws`, which its types leave out. */
const { Receiver } = ws as unknown as {
  readonly Receiver: new (options: {
    readonly isServer: boolean;
    readonly maxPayload: number;
    readonly skipUTF8Validation: boolean;
  }) => Writable;
};

const CONTROL = 8;
const LAST = 0x80;
const MASKED = 0x80;

/** Reads one direction of an open WebSocket for a recording. After a framing error it stops reading; bytes are still forwarded. */
export function frames(from: "client" | "server", seen: Seen, onClose: () => void): (chunk: Buffer) => void {
  const isClient = from === "client";
  const receiver = new Receiver({ isServer: isClient, maxPayload: MAX_CONTENT, skipUTF8Validation: true });
  /** The size of the next message, if its bytes were dropped. */
  let dropped: number | undefined;
  const within = messagesWithin(MAX_CONTENT, (size) => {
    dropped = size;
  });
  let readable = true;
  receiver.on("message", (data: Buffer, isBinary: boolean) => {
    // Decoded, other bytes would be lost.
    seen.frame(from, isBinary || !isUtf8(data) ? data : data.toString(), dropped);
    dropped = undefined;
  });
  receiver.on("ping", () => seen.beat(from, "ping"));
  receiver.on("pong", () => seen.beat(from, "pong"));
  receiver.on("conclude", (code: number, reason: Buffer) => {
    readable = false;
    seen.close(from, code, reason.toString());
    onClose();
  });
  receiver.on("error", (error: Error) => {
    readable = false;
    seen.error(from, `frames cannot be read: ${error.message}`);
  });
  return (chunk) => {
    if (!readable) return;
    // A client's frames are unmasked in place, and the chunk may not have been written yet.
    for (const bytes of within(isClient ? Buffer.from(chunk) : chunk)) if (readable) receiver.write(bytes);
  };
}

/** Passes frames on; of a message over the limit, only an empty last frame, after a call with the size. */
function messagesWithin(limit: number, onDrop: (size: number) => void): (chunk: Buffer) => Generator<Buffer> {
  let head: number[] = [];
  /** Bytes of the payload that have not come. */
  let left = 0;
  let isDropped = false;
  const message = { opcode: 0, size: 0, isBegun: false };

  function begin(): void {
    left = payloadSize(head);
    const opcode = head[0]! & 0x0f;
    isDropped = false;
    if (opcode >= CONTROL) return;
    if (opcode !== 0) Object.assign(message, { opcode, size: 0, isBegun: false });
    message.size += left;
    isDropped = message.size > limit;
    if (!isDropped) message.isBegun = true;
  }

  function* end(): Generator<Buffer> {
    const [first = 0, second = 0] = head;
    head = [];
    if (!isDropped || (first & LAST) === 0) return;
    onDrop(message.size);
    const mask = (second & MASKED) === 0 ? [] : [0, 0, 0, 0];
    yield Buffer.from([LAST | (message.isBegun ? 0 : message.opcode), second & MASKED, ...mask]);
  }

  return function* (chunk) {
    for (let at = 0; at < chunk.length; ) {
      if (left === 0) {
        head.push(chunk[at++]!);
        const size = headSize(head);
        if (size === undefined || head.length < size) continue;
        begin();
        if (!isDropped) yield Buffer.from(head);
      } else {
        const part = chunk.subarray(at, at + left);
        at += part.length;
        left -= part.length;
        if (!isDropped) yield part;
      }
      if (left === 0) yield* end();
    }
  };
}
