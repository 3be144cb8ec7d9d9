import { Refusal } from "@parlance/wire";

/** The characters of a bearer token (RFC 6750, section 2.1). */
const TOKEN = /^[\w.~+/-]+=*$/;

/**
 * Makes an `authenticate` for bearer tokens (RFC 6750) from a table of token to principal. Tokens are compared as digests in constant time.
 *
 * @throws `TypeError` for a token that no client can send, or a principal that would refuse it
 */
export function bearer(principals: Readonly<Record<string, unknown>>): (request: Request) => Promise<unknown> {
  for (const [token, principal] of Object.entries(principals)) {
    // The message must not hold the token.
    if (!TOKEN.test(token))
      throw new TypeError(
        "a bearer token has letters, digits and -._~+/ only, with = at its end (RFC 6750, section 2.1)",
      );
    if (principal === undefined || principal === null || principal === false)
      throw new TypeError(`the principal of a token may not be ${principal}: it would be refused with 401`);
  }
  let known: Promise<readonly { digest: Uint8Array; principal: unknown }[]> | undefined;
  const digested = () =>
    Promise.all(
      Object.entries(principals).map(async ([token, principal]) => ({ digest: await digest(token), principal })),
    );
  return async (request) => {
    const [, token] = /^Bearer +(.*)$/i.exec(request.headers.get("Authorization") ?? "") ?? [];
    if (token === undefined || !TOKEN.test(token))
      throw new Refusal("a bearer token is needed: Authorization: Bearer …", { status: 401 });
    known ??= digested();
    const given = await digest(token);
    let found: { readonly principal: unknown } | undefined;
    // Every token is compared, also after a match.
    for (const candidate of await known) if (equal(candidate.digest, given)) found = candidate;
    if (!found) throw new Refusal("the bearer token is not known, or no longer", { status: 401 });
    return found.principal;
  };
}

async function digest(token: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  let difference = 0;
  for (const [i, byte] of a.entries()) difference |= byte ^ b[i]!;
  return difference === 0;
}
