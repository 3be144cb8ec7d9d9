import type { AnyContract, OpenSocket } from "@parlance/wire";
import { parseUrl } from "@parlance/wire/internal/http";
import { pair } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";
import type { Answer } from "./http/answer.js";
import { type HttpRequest, WebRequest } from "./http/request.js";
import { toResponse } from "./http/response.js";
import type { Accepted } from "./ports.js";

/** The part of an app that an adapter needs. */
interface Door {
  readonly contract: AnyContract;
  knows(pathname: string): boolean;
  open(): Scope;
  answer(request: HttpRequest, call: Scope): Promise<Answer>;
  accept(request: HttpRequest, protocols: readonly string[], call: Scope): Promise<Accepted>;
}

/** The address of the contract's `url`; undefined where it is no whole URL. */
export function addressOf({ url }: Pick<AnyContract, "url">): URL | undefined {
  return parseUrl(url);
}

/** The adapter without a network: answers requests, and opens sockets in memory. */
export function inMemory({ contract, knows, open, answer, accept }: Door): {
  fetch(request: Request): Promise<Response>;
  readonly webSocket: OpenSocket;
} {
  const base = addressOf(contract)?.pathname.replace(/\/$/, "") ?? "";
  /** A client without a `baseUrl` asks below the path of the contract's `url`, which a server's proxy would remove. */
  function received(request: Request): HttpRequest {
    const asked = new WebRequest(request);
    const { pathname } = asked.url;
    if (base === "" || !pathname.startsWith(`${base}/`) || knows(pathname)) return asked;
    const url = new URL(asked.url);
    url.pathname = pathname.slice(base.length);
    return asked.at(url);
  }
  return {
    async fetch(request) {
      const { signal } = request;
      const call = open();
      call.onAbort(signal, () => call.close(signal.reason));
      try {
        return toResponse(await unlessAborted(answer(received(request), call), call, signal), call);
      } catch (error) {
        call.close(error);
        throw error;
      }
    },
    async webSocket(url, { headers, protocols, signal }) {
      const call = open();
      if (signal) call.onAbort(signal, () => call.close(signal.reason));
      const accepted = await accept(received(new Request(url.replace(/^ws/, "http"), { headers })), protocols, call);
      signal?.throwIfAborted();
      if ("refused" in accepted) return accepted;
      const [near, far] = pair();
      accepted.run(far);
      return near;
    },
  };
}

/** Rejects as soon as the request is aborted, as any fetch does. */
function unlessAborted<T>(answer: Promise<T>, call: Scope, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = call.hold(() => signal.aborted && reject(signal.reason));
    answer.then(resolve, reject).finally(stop);
  });
}
