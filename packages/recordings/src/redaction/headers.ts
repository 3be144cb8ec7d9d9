import type { HeaderList } from "../recording.js";
import type { NameKind } from "./names.js";

/** Headers whose value is no secret, in lower case. The value of any other header is left out. */
const HARMLESS = new Set(
  `accept accept-charset accept-encoding accept-language accept-ranges age allow cache-control connection content-disposition
  content-encoding content-language content-length content-location content-range content-type date etag expect expires host
  idempotency-key keep-alive last-event-id last-modified mcp-protocol-version origin pragma priority proxy-authenticate
  proxy-connection range retry-after sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform sec-fetch-dest sec-fetch-mode sec-fetch-site
  sec-fetch-user sec-websocket-accept sec-websocket-extensions sec-websocket-key sec-websocket-version server te traceparent
  trailer transfer-encoding upgrade upgrade-insecure-requests user-agent vary via warning www-authenticate x-accel-buffering
  x-content-type-options x-forwarded-for x-forwarded-host x-forwarded-proto x-powered-by x-request-id`.split(/\s+/),
);
const HARMLESS_FAMILY = /^(?:access-control|if|parlance|ratelimit|x-ratelimit)-/;

/** The parts of a redactor, by which headers, JSON and entries are cleaned. */
export interface Cleaner {
  readonly kindOf: (name: string) => NameKind;
  /** Whether the contract marks a name, so that numbers are secrets too. */
  isMarked(name: string): boolean;
  /** Whether the contract has a header, named in lower case, as a parameter that is no secret. */
  isDeclared(header: string): boolean;
  /** Returns the placeholder of a secret, and searches for it from now on. */
  replace(secret: string): string;
  /** Returns the placeholder of a value that other texts may have too, and does not search for it. */
  hide(value: string): string;
  headers(headers: HeaderList): HeaderList;
  target(target: string): string;
  text(text: string): string;
  scrub(text: string): string;
}

/** The value of a header, named in lower case, without its secrets. */
export function cleanHeader(name: string, value: string, redactor: Cleaner): string {
  const replace = (secret: string) => redactor.replace(secret);
  if (value === "") return value;
  if (name === "authorization" || name === "proxy-authorization") {
    const [scheme, rest] = split(value, " ");
    return rest === undefined ? replace(value) : `${scheme} ${replace(rest.trim())}`;
  }
  if (name === "cookie")
    return value
      .split(";")
      .map((pair) => cookie(pair, replace))
      .join(";");
  if (name === "set-cookie") {
    const [first, rest] = split(value, ";");
    return cookie(first, replace) + (rest === undefined ? "" : `;${redactor.scrub(rest)}`);
  }
  if (name === "sec-websocket-protocol") return protocols(value, replace);
  // A ticket gives access to its stream or channel.
  if (name === "parlance-resume" && /^[0-9a-f]{32}$/.test(value)) return replace(value);
  if (name === "referer" || name === "location") return redactor.target(value);
  if (HARMLESS.has(name) || HARMLESS_FAMILY.test(name) || redactor.isDeclared(name)) return redactor.scrub(value);
  return redactor.kindOf(name) === "secret" ? replace(value) : redactor.hide(value);
}

/** Tickets and tokens are offered as subprotocols, because a page cannot set a header on a WebSocket. */
function protocols(value: string, replace: (secret: string) => string): string {
  let isNext = false;
  const offered = value.split(",").map((one) => {
    const protocol = one.trim();
    const isToken = isNext || !/^[a-z]{1,12}\d{0,3}(?:[.-][a-z]{0,12}\d{0,3}){0,4}$/i.test(protocol);
    isNext = /^(?:bearer|token|ticket|auth|authorization|access_token|jwt)$/i.test(protocol);
    if (protocol.startsWith("parlance.")) return `parlance.${replace(protocol.slice(9))}`;
    return isToken ? replace(protocol) : protocol;
  });
  return offered.join(", ");
}

function cookie(pair: string, replace: (secret: string) => string): string {
  const [name, value] = split(pair, "=");
  return value === undefined || value === "" ? pair : `${name}=${replace(value)}`;
}

/** The parts before and after the first separator. */
export function split(text: string, by: string): [string, string | undefined] {
  const at = text.indexOf(by);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + by.length)];
}
