import { Refusal } from "@parlance/wire/errors";

/** Redirects of one request, as many as `fetch` follows (WHATWG Fetch, section 4.4). */
const MAX_REDIRECTS = 20;

/** A request that was answered with a redirect. */
interface Redirected {
  readonly what: string;
  readonly method: string;
  readonly address: string;
  readonly response: Response;
  /** The body cannot be sent again. */
  readonly once: boolean;
  /** How many times it was redirected, this one included. */
  readonly redirects: number;
}

/**
 * Returns the address to which a request is redirected with its method and body.
 *
 * @throws `Refusal` where it would become a GET, which has another effect and other answers
 */
export function follow({ what, method, address, response, once, redirects }: Redirected): string {
  const { status } = response;
  const location = new URL(response.headers.get("Location")!, address).href;
  const refuse = (why: string) =>
    new Refusal(`${what}: ${method} ${address} was redirected (${status}) to ${location}: ${why}`, { status });
  if (status === 303 || (status < 303 && method === "POST"))
    throw refuse("fetch would send it there as a GET. Write that server's address in `baseUrl`");
  if (once) throw refuse("a stream cannot be sent again. Write that server's address in `baseUrl`");
  if (redirects > MAX_REDIRECTS) throw refuse("this is one redirect too many");
  return location;
}
