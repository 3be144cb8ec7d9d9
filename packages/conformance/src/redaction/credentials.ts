import { split } from "./parts.js";

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
