import { Refusal } from "@parlance/wire";

/** Who may reach a server that listens: the defence of a local agent against the pages in the browser beside it. */
export interface GuardOptions {
  /**
   * Names by which this server may be called, without port; loopback names unless told. A page that has rebound its own DNS name to
   * this machine says that name, and is refused.
   */
  readonly hosts?: readonly string[];
  /** Origins (RFC 6454) of pages that may call beside the server's own; they get CORS headers, nobody else does. */
  readonly origins?: readonly string[];
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

/** Headers to add to the answer, or a refusal. */
export function guard(
  request: Request,
  { hosts = LOOPBACK, origins = [] }: GuardOptions,
): Refusal | Record<string, string> {
  const { hostname, searchParams } = new URL(request.url);
  if (!hosts.includes(hostname) && !(hosts === LOOPBACK && hostname.endsWith(".localhost")))
    return new Refusal(`this server is not ${hostname}: it answers to ${hosts.join(", ")} (option hosts)`, {
      status: 403,
    });
  // RFC 6750, section 2.3: what stands in a URL stands in logs and histories.
  if (searchParams.has("access_token") || searchParams.has("token"))
    return new Refusal("a token does not belong in a URL: send it as Authorization: Bearer", { status: 400 });
  const origin = request.headers.get("Origin");
  if (origin === null) {
    // A browser that says where it comes from, but no origin: an image, a form, a link on another site.
    if (request.headers.get("Sec-Fetch-Site") === "cross-site")
      return new Refusal("requests from other sites are refused", { status: 403 });
    return {};
  }
  if (isOwn(origin, request)) return { Vary: "Origin" };
  if (!origins.includes(origin))
    return new Refusal(`pages of ${origin} may not call this server (option origins)`, { status: 403 });
  return {
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Credentials": "false",
    "Access-Control-Expose-Headers": "Parlance-Resume, Retry-After",
    Vary: "Origin",
  };
}

/** The answer to a preflight (WHATWG Fetch, section 3.2.2) from an origin that the guard has let through. */
export function preflight(request: Request): Record<string, string> | undefined {
  const method = request.headers.get("Access-Control-Request-Method");
  if (request.method !== "OPTIONS" || method === null) return undefined;
  return {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Cache-Control, Parlance-Resume, Last-Event-ID",
    "Access-Control-Max-Age": "600",
  };
}

/** The page was served from here: same host and port. Behind TLS of a proxy the scheme may differ, the host does not. */
export function isOwn(origin: string, request: Request): boolean {
  return URL.canParse(origin) && new URL(origin).host === new URL(request.url).host;
}
