import { type Port, parseTicket } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import { choose, knows, type Placed } from "../apps.js";
import { WebRequest } from "../http/request.js";
import { toResponse } from "../http/response.js";
import { gone } from "../reason.js";
import type { App } from "../serve.js";

// Requests and handshakes in runtimes that have `fetch`: Deno, Bun and Cloudflare workers.

/** What a runtime knows about a request beyond the request itself. */
export interface Arrival {
  /** Aborts when the caller is gone. */
  readonly left: AbortSignal;
  /** The address that the runtime listens on. */
  readonly bound?: string;
}

/** A WebSocket that may be opened. Its scope closes with the conversation; a caller that does not open it closes the scope. */
export interface Handshake {
  readonly app: App;
  readonly call: Scope;
  /** The subprotocol to answer with: a ticket of ours, or none. */
  readonly protocol: string | undefined;
  run(port: Port): void;
}

/** Decides on a WebSocket handshake. Returns undefined for a request that asks for none, or at a path that is no channel's. */
export async function handshake(
  apps: readonly Placed[],
  request: Request,
  { left, bound }: Arrival,
): Promise<Handshake | Response | undefined> {
  if (request.method !== "GET" || request.headers.get("Upgrade")?.toLowerCase() !== "websocket") return undefined;
  const found = choose(apps, new WebRequest(request), (app, pathname) => app.isChannel(pathname));
  if (!found) return undefined;
  const { app } = found;
  const call = app.open();
  const stop = call.onAbort(left, () => call.close(gone()));
  const offered = (request.headers.get("Sec-WebSocket-Protocol") ?? "").split(",").map((one) => one.trim());
  const accepted = await app.accept(found.request, offered, call, bound);
  // From now on the socket's close event closes the call.
  stop();
  if ("refused" in accepted) {
    const { status, headers, body } = accepted.refused;
    return new Response(body, { status, headers });
  }
  const protocol = offered.find((one) => parseTicket([one]) !== undefined);
  return { app, call, protocol, run: (port) => accepted.run(port) };
}

/** Answers any other request. Never rejects: runtimes print rejections, and a caller that has gone is no failure. */
export async function answer(apps: readonly Placed[], request: Request, { left, bound }: Arrival): Promise<Response> {
  const { app, request: own } = choose(apps, new WebRequest(request), knows) ?? { app: apps[0]!.app, request };
  const call = app.open();
  call.onAbort(left, () => call.close(gone()));
  const response = toResponse(await app.answer(own, call, bound), call, left);
  // A kept connection would bring the next call here, though another server is ready.
  if (app.isDraining()) response.headers.set("Connection", "close");
  return response;
}
