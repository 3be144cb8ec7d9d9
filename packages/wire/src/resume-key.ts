/**
 * Names one stream or channel of one caller: on a request 128 random bits made by the client; on an answer, the server's
 * state of it. A server without Parlance sends none, and is treated as its document specifies.
 */
export const RESUME = "Parlance-Resume";

/** The value of the header by which a page asks whether a server resumes its channels, and the epoch of the answer. */
export const OFFER = "offer";

/** 128 random bits, as 32 hexadecimal digits. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function isKey(header: string | null): header is string {
  return header !== null && /^[0-9a-f]{32}$/.test(header);
}
