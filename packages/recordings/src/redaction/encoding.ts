import { type HeaderList, headerOf } from "../recording.js";

/** Charsets whose text a secret is found in: ASCII is the same in each. */
const CHARSETS = /^(utf-?8|us-ascii|ascii|iso-8859-\d+|latin1|windows-125\d)$/i;

/** The first bytes of formats that hide their text. */
const PACKED: readonly (readonly [name: string, bytes: readonly number[]])[] = [
  ["gzip", [0x1f, 0x8b]],
  ["deflate", [0x78, 0x01]],
  ["deflate", [0x78, 0x5e]],
  ["deflate", [0x78, 0x9c]],
  ["deflate", [0x78, 0xda]],
  ["zstd", [0x28, 0xb5, 0x2f, 0xfd]],
  ["zip", [0x50, 0x4b, 0x03, 0x04]],
  ["bzip2", [0x42, 0x5a, 0x68]],
  ["xz", [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ["utf-16", [0xff, 0xfe]],
  ["utf-16", [0xfe, 0xff]],
];

/** The encoding of a body in which no secret can be found, by its headers; undefined if it can be read. */
export function encodingOf(headers: HeaderList): string | undefined {
  for (const name of ["content-encoding", "transfer-encoding"]) {
    const codings = headers.filter(([one]) => one.toLowerCase() === name).flatMap(([, value]) => value.split(","));
    const other = codings.map((one) => one.trim().toLowerCase()).find((one) => !/^(identity|chunked|)$/.test(one));
    if (other !== undefined) return other.slice(0, 40);
  }
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(headerOf(headers, "content-type") ?? "")?.[1];
  return charset === undefined || CHARSETS.test(charset) ? undefined : charset.slice(0, 40);
}

/** The encoding of bytes that are not UTF-8, by how they begin; undefined if it is not a known one. */
export function packedAs(bytes: Uint8Array): string | undefined {
  return PACKED.find(([, start]) => start.every((byte, at) => bytes[at] === byte))?.[0];
}
