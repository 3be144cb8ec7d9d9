import type { ServerResponse } from "node:http";
import type { HeaderList } from "../recording.js";

/** These end at the next hop (RFC 9110, section 7.6.1); the two connections have their own. */
const HOP = /^(connection|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$/i;
/** Not forwarded, so that answers come uncompressed and can be read. */
const PACKING = /^(accept-encoding|sec-websocket-extensions)$/i;

/** The headers of a message as Node gives them, in pairs; `flat` is the inverse. */
export function pairs(raw: readonly string[]): HeaderList {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[at * 2]!, raw[at * 2 + 1]!] as const);
}

export const flat = (headers: HeaderList) => headers.flat() as unknown as Record<string, string>;

/** The headers that a proxy passes on. */
export function passed(headers: HeaderList): HeaderList {
  return headers.filter(([name]) => !HOP.test(name) && !PACKING.test(name));
}

/** Sends the headers alone, each character as one byte. `flushHeaders` sends them as UTF-8. */
export function sendHead(outgoing: ServerResponse): void {
  if (!outgoing.writableEnded) outgoing.write(Buffer.alloc(0));
}
