import type { OpenSocket } from "@parlance/wire";
import { missing, type OwnTrust, openWith } from "./socket.js";

export { type EnsuredServer, ensureServer, type ServerCommand } from "./ensure-server.js";
export { type ForwardOptions, forwardLines } from "./forward.js";
export { type Program, type ProgramOptions, program } from "./program.js";

/** The only certificate authority to trust, in PEM. */
export interface Trust {
  readonly ca: string | Buffer | readonly (string | Buffer)[];
}

/** Opens sockets by the `ws` package, which can carry headers: the `webSocket` of `connect` in Node. */
export const webSocket: OpenSocket = openWith({});

/**
 * Trusts a certificate authority of your own: `connect(loco, { baseUrl, ...trust({ ca }) })`.
 *
 * Requests need the package `undici` 7 beside this one, because Node's own `fetch` accepts no certificate authority.
 */
export function trust({ ca }: Trust): { fetch: (request: Request) => Promise<Response>; webSocket: OpenSocket } {
  const own = { ca: ca as Buffer[] };
  let sending: Promise<typeof fetch> | undefined;
  return {
    fetch(request) {
      sending ??= fetchWith(own);
      return sending.then((send) => send(request.url, initOf(request)));
    },
    webSocket: openWith(own),
  };
}

/** A `fetch` that trusts these authorities alone. It follows redirects and decodes bodies as Node's own, which is built on the same package. */
async function fetchWith(own: OwnTrust): Promise<typeof fetch> {
  const { Agent, fetch: send } = await import("undici").catch(missing("undici", "npm install undici@7"));
  // Its time limits would end silent streams and slow answers, whose limits are those of `connect`.
  const dispatcher = new Agent({ connect: own, bodyTimeout: 0, headersTimeout: 0 });
  return (url, init) => send(url as string, { ...(init as object), dispatcher }) as unknown as Promise<Response>;
}

/** The request as its address and the options that every `fetch` takes, because a global `Request` is foreign to the package. */
function initOf({ method, headers, body, signal, redirect }: Request): RequestInit {
  const sent = body && ({ body, duplex: "half" } as RequestInit);
  return { method, headers: Object.fromEntries(headers), signal, redirect, ...sent };
}
