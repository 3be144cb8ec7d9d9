import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { branded } from "@parlance/wire/errors";

export const HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
};

export const newToken = () => randomBytes(24).toString("base64url");

/**
 * Why a request is refused, or null. Any page in the same browser can reach a port of the loopback interface: the Host header
 * reveals another name that points here (DNS rebinding), the Origin header another page's request. The token is known to nobody
 * but the page that was opened with it.
 */
export function refusal({ method, headers }: IncomingMessage, host: string, token: string, isOpen: boolean) {
  if (headers.host !== host) return `this is ${host}`;
  if (headers.origin !== undefined && headers.origin !== `http://${host}`)
    return "only the inspector's own page may ask";
  if (isOpen && method === "GET") return null;
  return isToken(headers.authorization, token) ? null : "the token of the page's address is missing";
}

function isToken(authorization: string | undefined, token: string): boolean {
  const given = Buffer.from(authorization ?? "");
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** The largest JSON body of the page, in bytes. */
const MAX_BODY = 32 * 1024 * 1024;

/** A request that the page got wrong, in words for its user. */
export class BadRequest extends Error {
  static {
    branded(BadRequest, "BadRequest");
  }

  declare readonly name: "BadRequest";
  readonly code = "bad_request";
}

export async function jsonOf(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > MAX_BODY) throw new BadRequest("the body is too large");
    chunks.push(chunk);
  }
  try {
    const value = JSON.parse(Buffer.concat(chunks).toString());
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Refused below.
  }
  throw new BadRequest("the body is not a JSON object");
}

export function send(response: ServerResponse, status: number, type: string, body: string | Uint8Array): void {
  response.writeHead(status, { ...HEADERS, "Content-Type": `${type}; charset=utf-8`, "Cache-Control": "no-store" });
  response.end(body);
}
