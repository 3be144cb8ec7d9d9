import type { AnyContract, Input } from "@parlance/wire";
import { bind } from "@parlance/wire/bind";
import { brief, disconnected, MAX_QUOTED, misuse } from "@parlance/wire/errors";
import { parseUrl } from "@parlance/wire/internal/http";
import { unloaded, unloadedLate, why } from "./failures.js";
import type { Lifetime } from "./lifetime.js";
import type { ConnectOptions } from "./options.js";
import { discard } from "./response.js";
import { tokens } from "./token.js";

export type Fields = Readonly<Record<string, string>> | undefined;

/** Requests of one connection. The caller owns the lifetime of a request, and limits the wait for its answer. */
export interface Requests {
  readonly contract: AnyContract;
  readonly connection: ConnectOptions;
  /**
   * Sends a request to the path of an operation or channel, with the caller's headers; Parlance's own take precedence. Resolves with any answer.
   * A request that is refused with 401 had no effect: it is sent again with a new token, once.
   */
  ask(
    method: string,
    name: string,
    input: Input,
    headers: Fields,
    life: Lifetime,
    ours: Fields,
    init?: RequestInit,
  ): Promise<Response>;
  /** The caller's headers, with the token. */
  headers(own: Fields, life: Lifetime): Promise<Record<string, string>>;
  url(target: string): string;
}

export function requests(contract: AnyContract, connection: ConnectOptions): Requests {
  const base = parsed(connection.baseUrl ?? contract.url);
  const authority = tokens(connection.token);
  if (connection.token !== undefined && base.protocol === "http:")
    import("./unusual.js").then(({ warnOfPlainText }) => warnOfPlainText(contract, base)).catch(() => {});
  const prefix = pathOf(contract, base);

  const url = (target: string): string => base.origin + prefix + target;

  async function headers(own: Fields, life: Lifetime, name?: string, input?: Input): Promise<Record<string, string>> {
    const token = await authority.current(life);
    const all = { ...connection.headers, ...own, ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
    return contract.headers
      ? (await import("./unusual.js").catch(unloaded)).carrying(contract, connection, all, name, input)
      : all;
  }

  const ask: Requests["ask"] = async (method, name, input, own, life, ours, init) => {
    const { signal } = life;
    const what = `${contract.name}.${name}`;
    let address = url(bind(contract, name, input).target);
    // A page gets no answer that redirects. A GET stays one, so `fetch` may follow it everywhere.
    const redirect = method === "GET" || typeof location !== "undefined" ? "follow" : "manual";
    // A body that is a stream cannot be sent again.
    const once = isStream(init?.body);
    let renewed = once;
    let strip: ((fields: Record<string, string>) => void) | undefined;
    for (let redirects = 0; ; ) {
      const token = await authority.current(life);
      const fields = await headers(own, life, name, input);
      strip?.(fields);
      let request: Request | undefined;
      let response: Response;
      try {
        request = new Request(address, { method, headers: fields, signal, redirect, ...init });
        for (const field in ours) request.headers.set(field, ours[field]!);
        response = await send(connection, request, init);
        // A user's `fetch` may return anything; a failed one may return `Response.error()`.
        const { status, headers: given, body } = response;
        if (!status || !given.get || body?.locked) throw new TypeError("`fetch` gave no Response that can be read");
        if (body === undefined || (body && !body.getReader)) {
          const { answer } = contract.operations[name] ?? {};
          const { readable } = await import("./unusual.js").catch(unloadedLate);
          response = readable(response, what, !!(answer?.stream || answer?.binary));
        }
      } catch (cause) {
        if ((cause as { code?: unknown } | null)?.code === "usage") throw cause;
        const { says, unsent, mistake } = await why({ cause, address, request });
        signal.throwIfAborted();
        const how = `${what}: no answer from ${brief(address, MAX_QUOTED)}${says}`;
        throw mistake ?? disconnected(how, "unreachable", method !== "POST" || !!unsent, cause);
      }
      // A user's `fetch` may ignore the signal.
      if (signal.aborted) discard(response);
      signal.throwIfAborted();
      const { status } = response;
      if (status >= 301 && status <= 308 && redirect === "manual" && response.headers.has("Location")) {
        const { follow } = await import("./unusual.js").catch(unloadedLate);
        ({ address, strip } = follow({
          contract,
          what,
          method,
          address,
          response,
          once,
          redirects: ++redirects,
          base,
        }));
        continue;
      }
      if (status !== 401 || !authority.refused(token) || renewed) return response;
      renewed = true;
      discard(response);
    }
  };

  return { contract, connection, ask, headers, url };
}

/**
 * Sends a request. The `fetch` of another package takes a global `Request` for an address, so it is given one that reads as its address, and
 * the rest as `init`.
 */
function send({ fetch }: ConnectOptions, request: Request, init: RequestInit | undefined): Promise<Response> {
  if (!fetch) return globalThis.fetch(request);
  const { method, headers, signal, redirect, url } = request;
  const rest = { method, headers: Object.fromEntries(headers), signal, redirect, ...init };
  return fetch(Object.assign(request, { toString: () => url }), rest);
}

/** Not `instanceof`: React Native has no web streams. */
function isStream(body: unknown): boolean {
  return !!(body as { getReader?: unknown } | undefined)?.getReader;
}

/** Parses a base address. In a page, a path is below the page's own origin, as `fetch` reads it. */
function parsed(address: string): URL {
  const isPath = /^\.{0,2}\//.test(address);
  const wrong = (what: string) => misuse(`baseUrl "${address}" ${what}`);
  if (isPath && typeof location === "undefined")
    throw wrong("is a path, which only a page can resolve: write the whole address");
  if (!isPath && !/^https?:\/\//i.test(address)) throw misuse(`add http:// to baseUrl "${address}"`);
  const url = parseUrl(address, isPath ? location.href : undefined);
  if (!url) throw wrong("is not a URL");
  if (!/^http/.test(url.protocol)) throw wrong(`is ${url.protocol} in this page: write the whole address`);
  // Requests would be sent without them: `fetch` takes no address that contains a password.
  if (url.username || url.password)
    throw misuse(
      `baseUrl contains a user name or password for ${url.host}: pass \`headers: { Authorization }\` instead`,
    );
  // The paths of the contract follow, so that both would be lost.
  if (url.search || url.hash) throw wrong("has a query or a fragment: remove it");
  return url;
}

/**
 * The path before those of the contract. Documents print a base URL with the first part of the paths, such as `http://localhost:9420/api` for
 * `/api/sessions`; where the contract has the paths without it too, that part counts once.
 */
function pathOf({ operations }: AnyContract, { pathname }: URL): string {
  const path = pathname.replace(/\/+$/, "");
  for (const { path: own, alsoAt = [] } of Object.values(operations))
    for (const other of alsoAt) {
      const start = own.endsWith(other) ? own.slice(0, -other.length) : "";
      if (start !== "" && path.endsWith(start)) return path.slice(0, -start.length);
    }
  return path;
}
