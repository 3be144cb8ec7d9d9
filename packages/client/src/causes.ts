import type { AnyContract, SocketRefused } from "@parlance/wire";
import { brief, MAX_QUOTED, misuse, type Refusal } from "@parlance/wire/errors";
import { unfault } from "@parlance/wire/fault";
import { parseRetryAfter } from "./response.js";

/** The known facts of a failure. */
export interface Failure {
  /** The error of `fetch` or of the socket. */
  readonly cause?: unknown;
  /** Where the request was sent. */
  readonly address?: string;
  /** The request; undefined when it could not be created. */
  readonly request?: Request | undefined;
  /** The status and the content type of an answer. */
  readonly status?: number;
  readonly type?: string | undefined;
  readonly token?: unknown;
  /** Where `fetch` was redirected to, with another method than GET. */
  readonly redirected?: string | undefined;
}

/** Why it failed. */
export interface Why {
  /** The likely cause and what to do, to be appended to a message; empty where no row matches. */
  readonly says: string;
  /** Whether nothing was sent, because no connection was made. */
  readonly unsent?: boolean;
  /** The error to throw instead, when the caller's request cannot be created. */
  readonly mistake?: Error | undefined;
}

/** A row of the table. It matches the names, codes and messages of a failure's causes, or an answer's status and type. */
interface Cause {
  readonly of: RegExp;
  /** The scheme of the address, where the cause depends on it. */
  readonly scheme?: RegExp;
  readonly says: string;
  /** Whether a browser may have refused the request because of its headers. */
  readonly isPage?: boolean;
}

/**
 * The table of likely causes. An error names the first match. Each runtime reports a failure differently: Node by a code, Bun by a name,
 * Deno by a sentence; a browser gives no reason.
 */
export const CAUSES: readonly Cause[] = [
  {
    of: /ECONNREFUSED|ConnectionRefused|Connection refused/,
    says: "nothing listens there. Start the server, or correct the port in `baseUrl`",
  },
  {
    of: /ENOTFOUND|EAI_AGAIN|failed to lookup address|FailedToOpenSocket/,
    says: "the host name is not known. Check its spelling in `baseUrl`, and the network",
  },
  {
    of: /ALTNAME_INVALID|NotValidForName/,
    says: "its certificate is for another name. Use a name of the certificate in `baseUrl`",
  },
  {
    of: /CERT_HAS_EXPIRED|certificate (has )?expired/i,
    says: "its certificate has expired. Renew it, or correct this machine's clock",
  },
  {
    of: /SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET_ISSUER)|self.signed certificate|UnknownIssuer/,
    says: 'its certificate is not trusted. Pass `trust({ ca })` of "@parlance/client/node", or set NODE_EXTRA_CA_CERTS',
  },
  {
    of: /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|EPROTO|InvalidContentType/,
    says: "it does not speak TLS. Write http:// in `baseUrl`",
  },
  {
    of: /ETIMEDOUT|CONNECT_TIMEOUT|EHOSTUNREACH|ENETUNREACH/,
    says: "no connection was made. Check the address, the network and the firewall",
  },
  {
    of: /HPE_|HTTPParser|invalid HTTP/,
    says: "it does not speak HTTP. Another program has this port: correct `baseUrl`",
  },
  {
    of: /ECONNRESET|UND_ERR_SOCKET|socket hang up|ConnectionClosed|connection closed before/,
    scheme: /^(http|ws):/,
    says: "the connection was closed without an answer. Write https:// in `baseUrl` if the server has TLS; otherwise look at its log",
  },
  {
    of: /Failed to fetch|NetworkError when|Load failed|WebSocket could not be opened/,
    says: "the runtime does not say why. The server may be down; in a browser, it may not allow this page's origin: add it to the server's `origins`",
    isPage: true,
  },
  {
    of: /^redirected /,
    says: "the request was redirected there. A 301, 302 or 303 makes a POST a GET: write the new address in `baseUrl`",
  },
  {
    of: /^401 .*no token$/,
    says: "no `token` was given",
  },
  {
    of: /^426 /,
    says: "the server wants a WebSocket. A proxy may drop the `Upgrade` header: let it pass, or correct `baseUrl`",
  },
  {
    of: /^\d+ text\/html/,
    says: "this is a web page. `baseUrl` may lead to a proxy or a website instead of the server",
  },
];

export function causeOf(failure: Failure): Why {
  if ("request" in failure && !failure.request)
    return { says: "", mistake: misuse(`${brief(failure.address ?? "", MAX_QUOTED)}: ${failure.cause}`) };
  const { cause, address = "", status, type, token, redirected } = failure;
  const answered = redirected ? `redirected ${redirected}` : `${status} ${type} ${token ? "" : "no token"}`;
  const facts = status === undefined ? factsOf(cause) : answered;
  const found = CAUSES.find(({ of, scheme }) => of.test(facts) && (!scheme || scheme.test(address)));
  const where = redirected ? `${brief(redirected, MAX_QUOTED)}: ` : "";
  const own = found?.isPage && "request" in failure ? ownHeaders(failure.request) : "";
  const says = !found ? "" : status === undefined ? `: ${found.says}${own}` : ` (${where}${found.says})`;
  return { says, unsent: !!neverSent(cause) };
}

/** Headers that every Parlance server allows a page, or every server does. */
const ALLOWED = /^(accept|authorization|cache-control|content-type|last-event-id|parlance-resume)/;

/** Names the headers of a request that another server may not allow a page to send. */
function ownHeaders(request: Request | undefined): string {
  const names = [...(request?.headers?.keys() ?? [])].filter((name) => !ALLOWED.test(name));
  return names.length === 0 ? "" : `. A server that is not Parlance's must allow the header ${names.join(", ")} too`;
}

/** The errors that are read below a failure, one below the other: they may lead back to it. */
const MAX_DEPTH = 4;

/** An answer that refuses a request. */
export interface Refused extends Omit<SocketRefused, "retryAfter"> {
  readonly type?: string;
  readonly token: unknown;
  readonly redirected?: string | undefined;
  /** Seconds, or the header that states them. */
  readonly retryAfter?: number | string | null | undefined;
}

/** Reads a refusal. Its message ends with the likely cause. */
export function refusal(contract: AnyContract, { body, retryAfter, ...answer }: Refused): Refusal {
  const refusal = unfault(
    contract,
    answer.status,
    body,
    typeof retryAfter === "string" ? parseRetryAfter(retryAfter) : (retryAfter ?? undefined),
  );
  refusal.message += causeOf(answer).says;
  return refusal;
}

/** The names, codes and messages of an error and its causes. Node has one error for each address in `errors`. */
// biome-ignore lint/suspicious/noExplicitAny: whatever a user's `fetch` throws
function factsOf(error: any, depth = 0): string {
  if (!error || depth > MAX_DEPTH) return "";
  const { code, message = error, errors = [], cause } = error;
  const inner = [cause, ...(Array.isArray(errors) ? errors : [])];
  return [code, message, ...inner.map((one) => factsOf(one, depth + 1))].join(" ");
}

/** Error codes and system calls that show that no connection was made. */
const UNCONNECTED = /^(ECONNREFUSED|UND_ERR_CONNECT_TIMEOUT|connect|getaddrinfo)$/;

/** Whether no connection was made. Node has the reason in the cause, or one for each address in `errors`. */
// biome-ignore lint/suspicious/noExplicitAny: whatever a user's `fetch` throws
function neverSent(error: any, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false;
  const { code, syscall, errors, cause } = error ?? {};
  if (UNCONNECTED.test(code) || UNCONNECTED.test(syscall)) return true;
  const inner = (one: unknown) => neverSent(one, depth + 1);
  return errors?.length ? errors.every(inner) : cause && inner(cause);
}

export { unfaultMessage } from "@parlance/wire/fault";
