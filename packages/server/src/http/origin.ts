import { misuse, Refusal } from "@parlance/wire";
import { brief, MAX_NAME } from "@parlance/wire/errors";
import { originPattern, parseUrl } from "@parlance/wire/internal/http";
import { LISTEN_LIMITS } from "../limits.js";
import type { HttpRequest } from "./request.js";

/** Which hosts and pages may reach a server. Protects a local agent from pages in the user's browser. */
export interface OriginOptions {
  /**
   * Names by which clients may address this server, without port. A page that rebound its own DNS name to this machine sends that name,
   * and is refused. @default loopback names, and the address that `listen` binds
   */
  readonly hosts?: readonly string[] | undefined;
  /**
   * Operations that answer whatever name or address the caller uses, such as a balancer's health check of one machine. A page that rebound
   * its DNS name can read their answers too. @default none
   */
  readonly anyHost?: readonly string[] | undefined;
  /**
   * Origins (RFC 6454) of pages that may call, beside those that the server itself serves; another port is another origin. They get CORS headers, others
   * do not. In a string `*` stands for one or more characters but a slash, such as `vscode-webview://*`; an expression must match the whole origin;
   * a function decides. @default none
   */
  readonly origins?: Origins | undefined;
}

/** The names by which a server on the loopback interface is addressed. */
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** The allowed hosts and origins of an app, and the contract's query parameters. */
export interface Allowed {
  readonly hosts: readonly string[] | undefined;
  /** The host of the contract's `url`, where a client of the same process sends its requests. */
  readonly documented: string | undefined;
  /** Whether a request may name any host. */
  readonly anyHost: (request: HttpRequest) => boolean;
  readonly origin: (origin: string) => boolean;
  readonly parameter: (name: string) => boolean;
  /** Headers of the contract's answers, which a page may read. */
  readonly exposed: readonly string[];
}

/** Headers to add to the answer, if any, or a refusal. `bound` is the address that a server listens on. */
export function guard(
  request: HttpRequest,
  allowed: Allowed,
  bound?: string,
): Refusal | Readonly<Record<string, string>> | undefined {
  // A runtime may build the URL from its own host name; the header has the client's.
  const header = request.headers.get("Host");
  const hostname = header === null ? request.url.hostname : hostnameOf(header);
  const { hosts } = allowed;
  const known = hosts
    ? hosts.includes(hostname)
    : LOOPBACK.includes(hostname) ||
      hostname === bound ||
      hostname.endsWith(".localhost") ||
      // Requests of a network have a Host, those of this process have none.
      (header === null && hostname === allowed.documented);
  if (!known && !allowed.anyHost(request))
    return new Refusal(
      `this server is not ${brief(hostname, MAX_NAME)}: it answers to ${hosts?.join(", ") ?? "loopback names"} (option hosts)`,
      { status: 403 },
    );
  for (const name of request.hasQuery ? request.url.searchParams.keys() : [])
    if (CREDENTIAL.test(name) && !allowed.parameter(name))
      // RFC 6750, section 2.3: URLs are kept in logs and histories.
      return new Refusal(`${brief(name, MAX_NAME)} does not belong in a URL: send it as Authorization: Bearer`, {
        status: 400,
      });
  const origin = request.headers.get("Origin");
  if (origin === null) {
    // A cross-site request without an Origin: an image, a form or a link on another site.
    if (request.headers.get("Sec-Fetch-Site") === "cross-site")
      return new Refusal("requests from other sites are refused", { status: 403 });
    return undefined;
  }
  if (isOwn(origin, request.url)) return { Vary: "Origin" };
  if (!allowed.origin(origin))
    return new Refusal(`pages of ${brief(origin, MAX_NAME)} may not call this server (option origins)`, {
      status: 403,
    });
  return {
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Credentials": "false",
    "Access-Control-Expose-Headers": ["Parlance-Resume", "Retry-After", ...allowed.exposed].join(", "),
    Vary: "Origin",
  };
}

/** A listed name as a URL has it, without regard to case. Undefined for what is no name: one with a scheme, a port, a path or a star. */
export function hostNamed(host: unknown): string | undefined {
  if (typeof host !== "string" || !/^([\p{L}\p{N}._-]+|\[[\da-f:.]+\])$/iu.test(host)) return undefined;
  return parseUrl(`http://${host}`)?.hostname;
}

/** The last Host header, which most requests repeat, and the name in it. */
let last = { host: "", name: "" };

/** The name in a Host header, normalized as in a URL; the header itself where it is invalid. */
function hostnameOf(host: string): string {
  if (last.host !== host) last = { host, name: parseUrl(`http://${host}`)?.hostname ?? host };
  return last.name;
}

/** Names under which clients put a token into a query. */
const CREDENTIAL =
  /^(x[-_])?(auth|authorization|bearer|credentials?|jwt|passw(or)?d|((api|client)[-_]?)?secret|((access|auth|bearer|id|refresh|session|api)[-_]?)?token|(api|access|auth|secret)[-_]?key)(\[\w*\])?$/i;

const ALLOWED = ["Authorization", "Content-Type", "Cache-Control", "Parlance-Resume", "Last-Event-ID"];

/** A header's name (RFC 9110, section 5.1). */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/**
 * The answer to a preflight (WHATWG Fetch, section 3.2.2) from an origin that the guard has let through. It allows `headers`, the contract's
 * own, and those that the page asks for: tracing adds some to every request, and a page that may call at all gains nothing by a name.
 */
export function preflight(request: HttpRequest, headers: readonly string[]): Record<string, string> | undefined {
  if (request.method !== "OPTIONS" || !request.headers.has("Access-Control-Request-Method")) return undefined;
  const known = [...ALLOWED, ...headers];
  const names = new Set(known.map((name) => name.toLowerCase()));
  const asked = (request.headers.get("Access-Control-Request-Headers") ?? "").split(",").map((name) => name.trim());
  // A request has no more of them.
  for (const name of asked.slice(0, LISTEN_LIMITS.maxHeaders)) {
    if (!NAME.test(name) || names.has(name.toLowerCase())) continue;
    names.add(name.toLowerCase());
    known.push(name);
  }
  return {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": known.join(", "),
    "Access-Control-Max-Age": "600",
  };
}

/**
 * Whether this server has served the page: same host and port, over http or https. Behind a proxy's TLS the two schemes may differ; an
 * origin of any other scheme, such as an editor's webview, is not the server's own.
 */
export function isOwn(origin: string, served: URL): boolean {
  const page = parseUrl(origin);
  return (page?.protocol === "http:" || page?.protocol === "https:") && page.host === served.host;
}

/** Origins of pages: texts in which `*` stands for characters other than a slash, expressions for whole origins, or a function. */
export type Origins = readonly (string | RegExp)[] | ((origin: string) => boolean);

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]+$/i;

/**
 * Makes the predicate of the option `origins`.
 *
 * @throws `TypeError` for a text that is no origin
 */
export function matcherOf(
  origins: Origins,
  report: (error: unknown, source: string) => void,
): (origin: string) => boolean {
  if (typeof origins === "function") return safely(origins, report);
  if (!Array.isArray(origins))
    throw misuse(`origins is a list or a function: write ["https://example.com"], not ${JSON.stringify(origins)}`);
  const exact = new Set<string>();
  const patterns: RegExp[] = [];
  for (const origin of origins) {
    if (origin instanceof RegExp) patterns.push(whole(origin.source, origin.flags.replace(/[gy]/g, "")));
    else if (typeof origin !== "string" || (origin !== "null" && !ORIGIN.test(origin)))
      throw misuse(
        `"${origin}" is not an origin: write it like "https://example.com", "https://*.example.com" or "vscode-webview://*", or give a function`,
      );
    else if (origin.includes("*")) patterns.push(originPattern(origin));
    else exact.add(origin);
  }
  return (origin) => exact.has(origin) || patterns.some((pattern) => pattern.test(origin));
}

/** Anchored, because an expression that matches somewhere in an origin also matches https://example.com.evil.org. */
function whole(source: string, flags: string): RegExp {
  return new RegExp(`^(?:${source})$`, flags);
}

/** A function that throws allows nothing. */
function safely(
  origins: (origin: string) => boolean,
  report: (error: unknown, source: string) => void,
): (origin: string) => boolean {
  return (origin) => {
    try {
      return origins(origin) === true;
    } catch (error) {
      report(error, "origins");
      return false;
    }
  };
}
