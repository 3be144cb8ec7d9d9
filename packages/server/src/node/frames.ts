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
