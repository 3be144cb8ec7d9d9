import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Socket } from "node:net";
import { webStream } from "@parlance/wire/bytes";
import type { Scope } from "@parlance/wire/scope";
import { LISTEN_LIMITS } from "../limits.js";
import { gone } from "../reason.js";

/** A host and a port, as RFC 9110, section 7.2 allows them: anything else in a URL would lead elsewhere. */
const HOST = /^(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** A request of HTTP/1.1, or of HTTP/2 through Node's compatibility API. */
export type Incoming = IncomingMessage | Http2ServerRequest;

export interface Rejected {
  readonly status: number;
  readonly text: string;
}

/** A Node request as a web request, or what is wrong with it. Its signal is never aborted: the call's scope has one. */
export function toRequest(incoming: Incoming, attachBody: boolean): Request | Rejected {
  const { method = "GET", rawHeaders } = incoming;
  if (rawHeaders.length / 2 > LISTEN_LIMITS.maxHeaders)
    return { status: 431, text: `a request has at most ${LISTEN_LIMITS.maxHeaders} headers` };
  const headers = new Headers();
  try {
    // Names and values by turns: Node would keep what it makes of them as long as the connection. `:path` and such are HTTP/2's own.
    for (let i = 0; i < rawHeaders.length; i += 2)
      if (!rawHeaders[i]!.startsWith(":")) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!);
    const host = headers.get("host") ?? (incoming.headers[":authority"] as string | undefined);
    const url = urlOf(incoming.url ?? "/", host ?? "localhost");
    if (url === undefined) return { status: 400, text: "bad request target or Host" };
    const body = attachBody ? bodyOf(incoming) : undefined;
    return new Request(url, { method, headers, ...(body !== undefined && { body, duplex: "half" }) });
  } catch {
    return { status: 400, text: "bad request" };
  }
}

/**
 * The body of a request: the connection's bytes, or what a body parser before this handler has left in `body`, as Express keeps it.
 *
 * @throws `TypeError` where the bytes are gone and nothing was left
 */
export function bodyOf(incoming: Incoming): BodyInit | undefined {
  if (incoming.method === "GET" || incoming.method === "HEAD") return undefined;
  // The rest of a body that is not read is dropped, because its connection still carries the answer.
  if (!incoming.readableDidRead) return webStream(incoming, () => incoming.resume());
  const { body } = incoming as { readonly body?: unknown };
  if (body === undefined)
    throw new TypeError("the body was read before it came here: mount this handler before what reads bodies");
  return typeof body === "string" || body instanceof Uint8Array ? (body as BodyInit) : JSON.stringify(body);
}

/** The URL of a request target (RFC 9112, section 3.2): a path, or a whole URL of the same host. */
function urlOf(target: string, host: string): string | undefined {
  if (!HOST.test(host)) return undefined;
  if (target.startsWith("/")) return `http://${host}${target}`;
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) return undefined;
  return new URL(target).host === new URL(`http://${host}`).host ? target : undefined;
}

/** The calls of each connection. One listener a connection, because pipelined requests would add one each. */
const callsOn = new WeakMap<Socket, Set<Scope>>();

/** Whether a request of this connection is not answered yet. */
export function isBusy(socket: Socket): boolean {
  return (callsOn.get(socket)?.size ?? 0) > 0;
}

function closeAll(this: Socket): void {
  for (const call of [...(callsOn.get(this) ?? [])]) call.close(gone());
}

/** Closes the call when its connection is lost. Returns a function that takes this back. */
export function closeWith(socket: Socket, call: Scope): () => void {
  if (socket.destroyed) {
    call.close(gone());
    return () => {};
  }
  const calls = callsOn.get(socket) ?? new Set<Scope>();
  if (!callsOn.has(socket)) {
    callsOn.set(socket, calls);
    socket.once("close", closeAll);
  }
  calls.add(call);
  return call.hold(() => calls.delete(call));
}
