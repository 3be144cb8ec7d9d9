import { createHash } from "node:crypto";

/** The protocols' `content_hash`: `sha256:` and 64 lower-case hex digits, over the bytes as they are in the file. */
export function contentHash(bytes: Uint8Array | string): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** Text of valid UTF-8, its byte order mark kept as U+FEFF; null when the bytes are anything else. */
export function decodeText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The inverse of `decodeText`; null for a lone surrogate, which UTF-8 cannot represent and an encoder would replace. */
export function encodeText(text: string): Uint8Array | null {
  return /\p{Surrogate}/u.test(text) ? null : new TextEncoder().encode(text);
}
