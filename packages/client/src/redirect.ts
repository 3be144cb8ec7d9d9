import type { AnyContract } from "@parlance/wire";
import { brief, MAX_QUOTED, Refusal } from "@parlance/wire/errors";

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
