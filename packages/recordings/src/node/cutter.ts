/** A part of a direction's bytes. */
export interface Piece {
  readonly bytes: Buffer;
  /** The message is whole with this piece. */
  readonly last: boolean;
  /** A ping, pong or close, which is no part of a message. */
  readonly control?: true;
}

/** Cuts the bytes of one direction where its messages end. Joined, the pieces are the bytes again. */
export type Cutter = (chunk: Buffer) => Piece[];

/** A body that is no event stream: each chunk stands for a message. */
export const cutChunks: Cutter = (bytes) => [{ bytes, last: true }];

const LF = 10;
const CR = 13;

/** An event stream: a message ends with its blank line. */
export function cutEvents(): Cutter {
  let emptyLine = true;
  let afterCr = false;
  let begun = false;
  return (chunk) => {
    const pieces: Piece[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      const isSecond = byte === LF && afterCr;
      afterCr = byte === CR;
      if (isSecond) continue;
      if (byte !== LF && byte !== CR) {
        emptyLine = false;
        begun = true;
        continue;
      }
      if (!emptyLine || !begun) {
        emptyLine = true;
        continue;
      }
      // The LF of a CRLF belongs to its line.
      if (byte === CR && chunk[at + 1] === LF) {
        at++;
        afterCr = false;
      }
      pieces.push({ bytes: chunk.subarray(from, at + 1), last: true });
      from = at + 1;
      begun = false;
    }
    if (from < chunk.length) pieces.push({ bytes: chunk.subarray(from), last: false });
    return pieces;
  };
}

/** The frames of an open WebSocket. */
export function cutFrames(): Cutter {
  let head: number[] = [];
  let left = 0;
  return (chunk) => {
    const pieces: Piece[] = [];
    let from = 0;
    let at = 0;
    while (at < chunk.length) {
      if (left === 0) {
        head.push(chunk[at++]!);
        const size = headSize(head);
        if (size === undefined || head.length < size) continue;
        left = payloadSize(head);
      } else {
        const taken = Math.min(left, chunk.length - at);
        at += taken;
        left -= taken;
      }
      if (left > 0) continue;
      const isControl = (head[0]! & 0x0f) >= 8;
      const bytes = chunk.subarray(from, at);
      pieces.push({ bytes, last: isControl || (head[0]! & 0x80) !== 0, ...(isControl && { control: true }) });
      from = at;
      head = [];
    }
    if (from < chunk.length) {
      const isControl = head.length > 0 && (head[0]! & 0x0f) >= 8;
      pieces.push({ bytes: chunk.subarray(from), last: false, ...(isControl && { control: true }) });
    }
    return pieces;
  };
}

/** The size of a frame's header (RFC 6455, section 5.2); undefined before its second byte. */
export function headSize(head: ArrayLike<number>): number | undefined {
  const second = head[1];
  if (second === undefined) return undefined;
  const length = second & 0x7f;
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (second & 0x80 ? 4 : 0);
}

export function payloadSize(head: ArrayLike<number>): number {
  const length = head[1]! & 0x7f;
  const extended = length === 126 ? 2 : length === 127 ? 8 : 0;
  if (extended === 0) return length;
  let size = 0;
  for (let at = 2; at < 2 + extended; at++) size = size * 256 + head[at]!;
  return size;
}
