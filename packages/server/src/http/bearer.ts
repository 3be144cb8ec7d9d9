import { Refusal } from "@parlance/wire";

/**
 * An `authenticate` for bearer tokens (RFC 6750): token -> principal. Tokens are compared as digests, in a time that says nothing
 * about how much of one was right.
 */
export function bearer(principals: Readonly<Record<string, unknown>>): (request: Request) => Promise<unknown> {
  const known = Promise.all(
    Object.entries(principals).map(async ([token, principal]) => ({ digest: await digest(token), principal })),
  );
  return async (request) => {
    const [, token] = /^Bearer +([\w.~+/-]+=*)$/i.exec(request.headers.get("Authorization") ?? "") ?? [];
    if (token === undefined) throw new Refusal("a bearer token is needed: Authorization: Bearer …", { status: 401 });
    const given = await digest(token);
    let found: { readonly principal: unknown } | undefined;
    // Every token is compared, whichever fits.
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
