import { isSecret, looksSecret } from "./looks.js";
import type { KindOf } from "./names.js";
import { split } from "./parts.js";

/** Replaces what is found in a header. */
export interface HeaderCleaner {
  readonly kindOf: KindOf;
  replace(secret: string): string;
  target(target: string): string;
  text(text: string, name?: string): string;
}

/** The value of a header, named in lower case, without its secrets. */
export function cleanHeader(name: string, value: string, cleaner: HeaderCleaner): string {
  const { replace } = cleaner;
  if (name === "authorization" || name === "proxy-authorization") {
    const [scheme, rest] = split(value, " ");
    return rest === undefined ? replace(value) : `${scheme} ${replace(rest.trim())}`;
  }
  if (name === "cookie")
    return value
      .split(";")
      .map((pair) => cookie(pair, cleaner))
      .join(";");
  if (name === "set-cookie") {
    const [first, rest] = split(value, ";");
    return cookie(first, cleaner) + (rest === undefined ? "" : `;${cleaner.text(rest)}`);
  }
  if (name === "sec-websocket-protocol") return protocols(value, cleaner);
  // A ticket gives access to its stream or channel.
  if (name === "parlance-resume" && /^[0-9a-f]{32}$/.test(value)) return replace(value);
  if (name === "referer" || name === "location") return cleaner.target(value);
  return isSecret(cleaner.kindOf(name), value) || namesSecret(name, value) ? replace(value) : cleaner.text(value, name);
}

/** Words of a header's name that say that its value is a secret. */
const SECRET =
  /token|secret|password|credential|session|jwt|csrf|xsrf|(?:^|-)(?:(?:api-?|access-?)?key|auth|authn|authz|authentication|authorization|pass|passwd|pwd|pin|pat|sid|creds?|licen[cs]e|dpop|access-?code)(?:-|$)/;
/** Names with such a word, and another meaning. */
const OTHER = /^(?:access-control-|sec-|www-|proxy-authenticate$|idempotency-key$|surrogate-key$)/;

const namesSecret = (name: string, value: string) => SECRET.test(name) && !OTHER.test(name) && value !== "";

/** Tickets and tokens are offered as subprotocols, because a page cannot set a header on a WebSocket. */
function protocols(value: string, { replace }: HeaderCleaner): string {
  let secretNext = false;
  const offered = value.split(",").map((one) => {
    const protocol = one.trim();
    const [name, rest] = split(protocol, ".");
    const is = secretNext || looksSecret(protocol);
    secretNext = /^(bearer|token|ticket|auth|authorization|access_token|jwt)$/i.test(protocol);
    if (name === "parlance" && rest !== undefined) return `parlance.${replace(rest)}`;
    return is ? replace(protocol) : protocol;
  });
  return offered.join(", ");
}

function cookie(pair: string, { replace }: HeaderCleaner): string {
  const [name, value] = split(pair, "=");
  return value === undefined || value === "" ? pair : `${name}=${replace(value)}`;
}

/** The headers whose value has a form of its own, so that only a part of it is a secret. */
export const isStructured = (name: string) => /^(proxy-)?authorization$|^(set-)?cookie$/i.test(name);

/** The shortest value of a cookie that is searched for alone. */
const SHORTEST_COOKIE = 8;

/** The secrets in a secret: the token behind its scheme, the password of basic credentials, the values of cookies. */
export function credentialsIn(secret: string): string[] {
  const [, token] = /^(?:bearer|basic|token|digest|apikey)\s+(\S+)$/i.exec(secret) ?? [];
  const password = /^[A-Za-z\d+/]+={0,2}$/.test(token ?? secret) ? basicPassword(token ?? secret) : undefined;
  const cookies = /^[\w.-]+=[^;]+(?:;\s*[\w.-]+=[^;]*)*$/.test(secret) ? secret.split(";") : [];
  const values = cookies.map((pair) => split(pair, "=")[1] ?? "").filter((value) => value.length >= SHORTEST_COOKIE);
  return [...(token === undefined ? [] : [token]), ...(password === undefined ? [] : [password]), ...values];
}

/** The password of basic credentials; undefined where a text is none. */
function basicPassword(encoded: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(encoded), (one) => one.charCodeAt(0));
    const [user = "", password] = split(new TextDecoder("utf-8", { fatal: true }).decode(bytes), ":");
    return password && !/\p{Cc}/u.test(user + password) ? password : undefined;
  } catch {
    return undefined;
  }
}
