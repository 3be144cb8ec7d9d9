import type { AnyContract, Input } from "@parlance/wire";
import { brief, MAX_QUOTED, misuse, Refusal } from "@parlance/wire/errors";
import { bindHeaders } from "@parlance/wire/header";
import { isLoopback } from "@parlance/wire/internal/http";
import type { ConnectOptions } from "./options.js";
import { discard } from "./response.js";

/** Redirects of one request, as many as `fetch` follows (WHATWG Fetch, section 4.4). */
const MAX_REDIRECTS = 20;

/** A request that was answered with a redirect. */
interface Redirected {
  readonly contract: AnyContract;
  /** The address of the server. */
  readonly base: URL;
  readonly what: string;
  readonly method: string;
  readonly address: string;
  readonly response: Response;
  /** The body cannot be sent again. */
  readonly once: boolean;
  /** How many times it was redirected, this one included. */
  readonly redirects: number;
}

/** Where a request is sent again, and what removes the headers that another server must not get. */
interface Followed {
  readonly address: string;
  readonly strip: (fields: Record<string, string>) => void;
}

/**
 * Returns the address to which a request is redirected with its method and body.
 *
 * @throws `Refusal` where it would become a GET, which has another effect and other answers
 */
export function follow({ contract, base, what, method, address, response, once, redirects }: Redirected): Followed {
  discard(response);
  const { status } = response;
  const location = new URL(response.headers.get("Location")!, address).href;
  const [from, to] = [address, location].map((one) => brief(one, MAX_QUOTED));
  const refuse = (why: string) =>
    new Refusal(`${what}: ${method} ${from} was redirected (${status}) to ${to}: ${why}`, { status });
  if (status === 303 || (status < 303 && method === "POST"))
    throw refuse("fetch would send it there as a GET. Write that server's address in `baseUrl`");
  if (once) throw refuse("a stream cannot be sent again. Write that server's address in `baseUrl`");
  if (redirects > MAX_REDIRECTS) throw refuse("this is one redirect too many");
  return {
    address: location,
    // As `fetch` does where it follows a redirect to another origin.
    strip(fields) {
      if (new URL(location).origin === base.origin) return;
      for (const secret of ["Authorization", contract.auth?.header ?? ""]) delete fields[secret];
    },
  };
}

/** An answer of a `fetch` that does not give web streams. */
interface ForeignAnswer extends Pick<Response, "status" | "ok" | "headers" | "url" | "redirected" | "text"> {
  /** A Node stream of the package node-fetch. React Native has none. */
  readonly body?: AsyncIterable<Uint8Array>;
  readonly arrayBuffer?: () => Promise<ArrayBuffer>;
}

/**
 * Makes an answer readable whose body is a Node stream, or which can only be read as a whole.
 *
 * @throws `TypeError` where the answer streams and has no body
 */
export function readable(answer: unknown, what: string, streams: boolean): Response {
  const { status, ok, headers, url, redirected, body } = answer as ForeignAnswer;
  if (!body && ok && streams)
    throw misuse(
      `${what} needs an answer with a \`body\` that streams, which this \`fetch\` does not give: pass one that does, such as that of expo/fetch`,
    );
  const chunks = body ? iteratorOf(body) : whole(answer as ForeignAnswer);
  const cancel = async () => void (await chunks.return?.());
  const reader = { read: () => chunks.next(), cancel };
  const stream = { locked: false, getReader: () => reader, cancel };
  return { status, ok, headers, url, redirected, body: stream } as unknown as Response;
}

function iteratorOf(body: AsyncIterable<Uint8Array>): AsyncIterator<Uint8Array> {
  const make = body[Symbol.asyncIterator];
  if (!make) throw new TypeError("`fetch` gave no Response that can be read");
  return make.call(body);
}

async function* whole(answer: ForeignAnswer): AsyncGenerator<Uint8Array> {
  yield answer.arrayBuffer ? new Uint8Array(await answer.arrayBuffer()) : new TextEncoder().encode(await answer.text());
}

const warned = new WeakSet<AnyContract>();

/** Warns once for each contract that a token is sent to another host in plain text. */
export function warnOfPlainText(contract: AnyContract, { protocol, hostname, origin }: URL): void {
  // Nobody else reads what is sent to a loopback address.
  if (protocol !== "http:" || isLoopback(hostname) || warned.has(contract)) return;
  warned.add(contract);
  console.warn(
    `${contract.name}: the token for ${origin} is sent in plain text. Use https; http to another host is for development only.`,
  );
}

/** Creates a request's headers: its header and cookie parameters, and the token where it is an API key. */
export function carrying(
  contract: AnyContract,
  { token, webSocket }: ConnectOptions,
  { Authorization, ...own }: Record<string, string>,
  operation: string | undefined,
  input: Input = {},
): Record<string, string> {
  const { header } = contract.auth ?? {};
  const isChannel = operation === undefined || operation in contract.channels;
  if (operation === undefined && header && token && !webSocket)
    throw misuse("a browser's WebSocket cannot carry an API key: pass a `webSocket` that can");
  const key = token && Authorization?.replace(/^Bearer /, "");
  const credentials = header && key ? { [header]: key } : Authorization !== undefined && { Authorization };
  const all = { ...own, ...credentials };
  return isChannel ? all : { ...bindHeaders(contract, operation, input, all) };
}
