import { misuse, Refusal } from "@parlance/wire";

/** The characters of a bearer token (RFC 6750, section 2.1). */
const TOKEN = /^[\w.~+/-]+=*$/;

/** An API key: printable ASCII, without a space at its ends. */
const KEY = /^[!-~](?:[ -~]*[!-~])?$/;

type Authenticate = (request: Request) => Promise<unknown>;
type Principals = Readonly<Record<string, unknown>>;

/**
 * Makes an `authenticate` for bearer tokens (RFC 6750) from a table of token to principal. Tokens are compared as digests in constant time.
 *
 * @throws `TypeError` for a token that no client can send, or a principal that would refuse it
 */
export function bearer(principals: Principals): Authenticate {
  // The message must not hold the token.
  for (const token of Object.keys(principals))
    if (!TOKEN.test(token))
      throw misuse("a bearer token has letters, digits and -._~+/ only, with = at its end (RFC 6750, section 2.1)");
  const find = table(principals, "token");
  return async ({ headers }) => {
    const [, token] = /^Bearer +(.*)$/i.exec(headers.get("Authorization") ?? "") ?? [];
    if (token === undefined || !TOKEN.test(token))
      throw new Refusal("a bearer token is needed: Authorization: Bearer …", { status: 401 });
    return find(token, "the bearer token is not known, or no longer");
  };
}

/**
 * Makes an `authenticate` for API keys in a header from a table of key to principal. Keys are compared as digests in constant time.
 *
 * @throws `TypeError` for a key that no client can send, or a principal that would refuse it
 */
export function apiKey(header: string, principals: Principals): Authenticate {
  // The message must not hold the key.
  for (const key of Object.keys(principals))
    if (!KEY.test(key)) throw misuse("an API key is printable ASCII, without a space at its ends");
  const find = table(principals, "key");
  return async ({ headers }) => {
    const key = headers.get(header);
    if (key === null || !KEY.test(key)) throw new Refusal(`an API key is needed: ${header}: …`, { status: 401 });
    return find(key, "the API key is not known, or no longer");
  };
}

/** Finds the principal of a secret. Throws `Refusal` (401) with the message for one that is not in the table. */
function table(principals: Principals, what: string): (given: string, unknown: string) => Promise<unknown> {
  for (const principal of Object.values(principals))
    if (principal === undefined || principal === null || principal === false)
      throw misuse(`the principal of a ${what} may not be ${principal}: it would be refused with 401`);
  let known: Promise<readonly { digest: Uint8Array; principal: unknown }[]> | undefined;
  const digested = () =>
    Promise.all(
      Object.entries(principals).map(async ([secret, principal]) => ({ digest: await digest(secret), principal })),
    );
  return async (secret, unknown) => {
    known ??= digested();
    const given = await digest(secret);
    let found: { readonly principal: unknown } | undefined;
    // Every secret is compared, also after a match.
    for (const candidate of await known) if (equal(candidate.digest, given)) found = candidate;
    if (!found) throw new Refusal(unknown, { status: 401 });
    return found.principal;
  };
}

async function digest(secret: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret)));
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  let difference = 0;
  for (const [i, byte] of a.entries()) difference |= byte ^ b[i]!;
  return difference === 0;
}
