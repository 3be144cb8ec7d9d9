import { type Frame, frame } from "./bytes.js";

/** What a client sends after the handshake, and the code with which the server closes. */
export interface Fault {
  readonly what: string;
  readonly bytes: Buffer;
  /** 1006 where the server cuts the connection without a close frame. */
  readonly code: number;
}

const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const LIST = '{"action":"list_files"}';

function closeOf(code: number, reason: string | Buffer = ""): Buffer {
  const head = Buffer.alloc(2);
  head.writeUInt16BE(code);
  return Buffer.concat([head, Buffer.from(reason)]);
}

const faults: readonly (readonly [what: string, frames: Frame | readonly Frame[] | Buffer, code: number])[] = [
  ["a frame that is not masked", { opcode: TEXT, payload: LIST, masked: false }, 1002],
  ["a close frame that is not masked", { opcode: CLOSE, payload: closeOf(1000), masked: false }, 1002],
  ...[1, 2, 3, 4, 5, 6, 7].map((rsv) => [`reserved bits ${rsv}`, { opcode: TEXT, payload: LIST, rsv }, 1002] as const),
  ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map(
    (opcode) => [`the reserved opcode ${opcode}`, { opcode, payload: LIST }, 1002] as const,
  ),
  ["a binary message", { opcode: BINARY, payload: LIST }, 1003],
  ["an empty binary message", { opcode: BINARY }, 1003],
  ["a byte that is no UTF-8", { opcode: TEXT, payload: Buffer.from([0xff]) }, 1007],
  ["an unfinished code point", { opcode: TEXT, payload: Buffer.from([0xf0, 0x9f]) }, 1007],
  ["an encoded surrogate", { opcode: TEXT, payload: Buffer.from([0xed, 0xa0, 0x80]) }, 1007],
  ["an overlong code point", { opcode: TEXT, payload: Buffer.from([0xc0, 0xaf]) }, 1007],
  [
    "a byte that is no UTF-8 in a continuation",
    [
      { opcode: TEXT, fin: false, payload: "a" },
      { opcode: 0, payload: Buffer.from([0xff]) },
    ],
    1007,
  ],
  ["a message above the limit", { opcode: TEXT, payload: "x".repeat(2001) }, 1009],
  ["a length above the limit, before its bytes", { opcode: TEXT, length: 2 ** 32 }, 1009],
  ["a length above 2^53", Buffer.from([0x81, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4]), 1009],
  [
    "fragments above the limit together",
    [
      { opcode: TEXT, fin: false, payload: "x".repeat(1500) },
      { opcode: 0, payload: "x".repeat(1500) },
    ],
    1009,
  ],
  [
    "1025 fragments",
    [
      { opcode: TEXT, fin: false, payload: "x" },
      ...Array.from({ length: 1024 }, () => ({ opcode: 0, fin: false, payload: "x" })),
    ],
    1008,
  ],
  ["a continuation of nothing", { opcode: 0, payload: "x" }, 1002],
  [
    "a new message inside an unfinished one",
    [
      { opcode: TEXT, fin: false, payload: "x" },
      { opcode: TEXT, payload: "y" },
    ],
    1002,
  ],
  ...[PING, PONG, CLOSE].flatMap(
    (opcode) =>
      [
        [`a control frame ${opcode} in fragments`, { opcode, fin: false, payload: "x" }, 1002],
        [`a control frame ${opcode} of 126 bytes`, { opcode, payload: "x".repeat(126) }, 1002],
      ] as const,
  ),
  ["a close frame of one byte", { opcode: CLOSE, payload: Buffer.from([3]) }, 1002],
  ...[0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535].map(
    (code) => [`a close frame with ${code}`, { opcode: CLOSE, payload: closeOf(code) }, 1002] as const,
  ),
  ["a close reason that is no UTF-8", { opcode: CLOSE, payload: closeOf(1000, Buffer.from([0xff])) }, 1007],
  ...[1000, 1001, 1011, 3000, 4999].map(
    (code) => [`an allowed close frame with ${code}`, { opcode: CLOSE, payload: closeOf(code) }, code] as const,
  ),
  ["a close frame without a code", { opcode: CLOSE }, 1005],
  ["HTTP after the handshake", Buffer.from("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"), 1002],
  ["zeros", Buffer.alloc(64), 1002],
  ["0xff without end", Buffer.alloc(64, 0xff), 1002],
];

export const frameFaults: readonly Fault[] = faults.map(([what, frames, code]) => ({
  what,
  bytes: Buffer.isBuffer(frames) ? frames : Buffer.concat([frames].flat().map((one) => frame(one as Frame))),
  code,
}));
