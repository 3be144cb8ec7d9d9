import type { Socket } from "node:net";
import { Scope } from "@parlance/wire/scope";

// A connection that is closed while its peer still sends is reset, and a reset can destroy the answer before the peer has read it
// (RFC 9112, section 9.6). So the server ends its own side first, and reads on until the peer ends as well.

/** Bytes that are dropped of what a peer still sends: as many as the largest upload by default. */
const MAX_DROPPED = 64 * 1024 * 1024;

/** Milliseconds that a peer may still send after its answer is written. */
const LINGER = 10_000;

/** Connections whose last answer is decided. */
const closing = new WeakSet<Socket>();

/** Answers a connection that Node no longer answers, and closes it. */
export function endWith(socket: Socket, answer: string): void {
  linger(socket);
  socket.write(answer);
  socket.destroySoon();
}

/** Whether no further request of this connection may be processed (RFC 9112, section 9.6). */
export function isClosing(socket: Socket): boolean {
  return closing.has(socket);
}

/** Drops all that a connection still receives, and closes it in an orderly way once Node has written its last answer. */
export function linger(socket: Socket): void {
  if (isClosing(socket)) return;
  closing.add(socket);
  let left = MAX_DROPPED;
  // Node's parser would take the end in the middle of a body for an error, and pause where nobody reads the body.
  const drop = () => {
    socket.removeAllListeners("data").removeAllListeners("end");
    socket.on("data", (piece: Uint8Array) => {
      left -= piece.length;
      if (left < 0) socket.destroy();
    });
  };
  // A socket that the parser has paused is begun again by a listener of Node's, which it loses with its parser.
  if (socket.isPaused()) socket.once("resume", drop).resume();
  else drop();
  // Node calls this after an answer with `Connection: close`.
  socket.destroySoon = () => {
    if (socket.writableEnded) return;
    socket.end();
    const waiting = Scope.open(() => {});
    waiting.timeout(LINGER, () => socket.destroy());
    socket.once("close", () => waiting.close());
  };
}
