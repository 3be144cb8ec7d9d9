import type { Writable } from "node:stream";
import * as ws from "ws";
import { MAX_CONTENT } from "../bodies.js";
import type { Connection } from "../recorder.js";

/** The frame parser of `ws`, which its types leave out. */
const { Receiver } = ws as unknown as {
  readonly Receiver: new (options: {
    readonly isServer: boolean;
    readonly maxPayload: number;
    readonly skipUTF8Validation: boolean;
  }) => Writable;
};

/** Reads one direction of an open WebSocket for a recording. After a framing error it stops reading; bytes are still forwarded. */
export function frames(from: "client" | "server", seen: Connection, onClose: () => void): (chunk: Buffer) => void {
  const isClient = from === "client";
  const receiver = new Receiver({ isServer: isClient, maxPayload: MAX_CONTENT, skipUTF8Validation: true });
  let readable = true;
  receiver.on("message", (data: Buffer, isBinary: boolean) => seen.frame(from, isBinary ? data : data.toString()));
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
  // A client's frames are unmasked in place, and the chunk may not have been written yet.
  return (chunk) => void (readable && receiver.write(isClient ? Buffer.from(chunk) : chunk));
}
