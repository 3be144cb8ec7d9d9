import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, apiKey, bearer, type Refusal, type ServeOptions, serve } from "@parlance/server";
import { isLoopback } from "@parlance/wire/internal/http";
import { describe, expect, test } from "vitest";
import { isOwn } from "../../src/http/origin.js";

// Who may call, and how much: each rule with what it lets in and what it does not.

const refused = (status: number, message: string | RegExp = /./) =>
  expect.objectContaining({ name: "Refusal", status, message: expect.stringMatching(message) });
const asking = (headers: Record<string, string>, url = "http://localhost/health") => new Request(url, { headers });

describe.each([
  {
    name: "bearer",
    make: bearer,
    header: "Authorization",
    send: (token: string) => `Bearer ${token}`,
    needed: "a bearer token is needed: Authorization: Bearer …",
    unknown: "the bearer token is not known, or no longer",
    good: ["t", "A-._~+/z0=="],
    bad: ["", "secret secret", "=secret", "sécret", "secret\n"],
    unsent: ["t t", "=", "=t"],
    what: "token",
  },
  {
    name: "apiKey",
    make: (principals: Record<string, unknown>) => apiKey("X-Key", principals),
    header: "X-Key",
    send: (key: string) => key,
    needed: "an API key is needed: X-Key: …",
    unknown: "the API key is not known, or no longer",
    good: ["k", "a key, of any ~ kind!"],
    bad: ["", " secret", "secret ", "sécret", "secret\n"],
    unsent: ["é"],
    what: "key",
  },
])("$name", ({ make, header, send, needed, unknown, good, bad, unsent, what }) => {
  const principals = Object.fromEntries(good.map((secret, i) => [secret, `user ${i}`]));

  test("finds the principal of each secret in its table, again and again", async () => {
    const authenticate = make(principals);
    for (const [i, secret] of [...good, ...good].entries())
      expect(await authenticate(asking({ [header]: send(secret) }))).toBe(`user ${i % good.length}`);
  });

  test("refuses with 401 what is missing, is no secret, or is not known", async () => {
    const authenticate = make(principals);
    await expect(authenticate(asking({}))).rejects.toEqual(refused(401, needed));
    await expect(authenticate(asking({ Other: send(good[0]!) }))).rejects.toEqual(refused(401, needed));
    for (const secret of unsent)
      await expect(authenticate(asking({ [header]: send(secret) }))).rejects.toEqual(refused(401, needed));
    for (const secret of ["other", `${good[0]}x`, good[0]!.toUpperCase()])
      await expect(authenticate(asking({ [header]: send(secret) }))).rejects.toEqual(refused(401, unknown));
  });

  test("is not made with a secret that no client can send, or a principal that would be refused", () => {
    for (const secret of bad) {
      expect(() => make({ [secret]: "user" })).toThrow(expect.objectContaining({ code: "usage" }));
      // The message must not hold it.
      expect(() => make({ [secret]: "user" })).not.toThrow(/s[eé]cret/);
    }
    for (const principal of [undefined, null, false])
      expect(() => make({ t: principal })).toThrow(`the principal of a ${what} may not be ${principal}`);
    for (const principal of [0, "", {}, true]) expect(() => make({ t: principal })).not.toThrow();
  });
});

test("a bearer token is read in any case of its scheme, behind any number of spaces, and from no other scheme", async () => {
  const authenticate = bearer({ t: "user" });
  for (const value of ["Bearer t", "bearer t", "BEARER   t"])
    expect(await authenticate(asking({ Authorization: value }))).toBe("user");
  for (const value of ["t", "Basic t", "Bearert", "X Bearer t"])
    await expect(authenticate(asking({ Authorization: value }))).rejects.toEqual(refused(401));
});

test.each([
  ["localhost", true],
  ["a.localhost", true],
  ["::1", true],
  ["[::1]", true],
  ["127.0.0.1", true],
  ["127.255.1.20", true],
  ["", false],
  ["localhost.example", false],
  ["notlocalhost", false],
  ["127.0.0.1.example", false],
  ["128.0.0.1", false],
  ["0.0.0.0", false],
  ["::", false],
])("%j is a loopback address: %s", (host, is) => expect(isLoopback(host)).toBe(is));

test.each([
  ["http://localhost:80", "http://localhost", true],
  ["http://localhost:8080", "http://localhost:8080", true],
  ["https://a.example", "http://a.example", true],
  ["http://a.example", "https://a.example", true],
  ["https://a.example:8443", "https://a.example", false],
  ["http://b.example", "http://a.example", false],
  ["vscode-webview://a.example", "http://a.example", false],
  ["null", "http://a.example", false],
])("a page of %s is one that %s has served: %s", (origin, served, is) =>
  expect(isOwn(origin, new URL(`${served}/x`))).toBe(is),
);

const app = (options: ServeOptions = {}): App =>
  serve(foldGateway, { health: () => "OK" } as never, { onError: false, ...options, partial: true }) as App;

describe("a server", () => {
  const status = async (of: App, url: string, headers: Record<string, string> = {}) =>
    (await of.fetch(asking(headers, url))).status;

  test("answers to loopback names by default, and to no others than its hosts where it has some", async () => {
    const [plain, own] = [app(), app({ hosts: ["a.example"] })];
    for (const host of ["localhost", "127.0.0.1", "[::1]", "sub.localhost", "localhost:99"])
      expect([host, await status(plain, `http://${host}/health`), await status(own, `http://${host}/health`)]).toEqual([
        host,
        200,
        403,
      ]);
    for (const host of ["a.example", "a.example:99"])
      expect([host, await status(plain, `http://${host}/health`), await status(own, `http://${host}/health`)]).toEqual([
        host,
        403,
        200,
      ]);
    // What a client addressed is in the header, whatever the runtime made of it.
    expect(await status(plain, "http://localhost/health", { Host: "a.example" })).toBe(403);
    expect(await status(plain, "http://proxied/health", { Host: "localhost:99" })).toBe(200);
    expect(await status(own, "http://other/health", { Host: "A.example:99" })).toBe(200);
    expect(await status(plain, "http://localhost/health", { Host: "not a host" })).toBe(403);
  });

  test("says which names it answers to", async () => {
    const said: string[] = [];
    const hooks = { refuse: (_: Request, refusal: Refusal) => void said.push(refusal.message) };
    await status(app({ hooks }), "http://x.example/health");
    await status(app({ hooks, hosts: ["a.example", "b.example"] }), "http://x.example/health");
    expect(said).toEqual([
      "this server is not x.example: it answers to loopback names (option hosts)",
      "this server is not x.example: it answers to a.example, b.example (option hosts)",
    ]);
  });

  test("refuses credentials in a URL, by any of their usual names", async () => {
    const names = [
      "token",
      "access_token",
      "Access-Token",
      "api_key",
      "apiKey",
      "x-api-key",
      "auth",
      "authorization",
      "jwt",
      "password",
      "passwd",
      "client_secret",
      "bearer",
      "session_token",
      "token[]",
      "credentials",
    ];
    const of = app();
    for (const name of names)
      expect([name, await status(of, `http://localhost/health?a=b&${name}=x`)]).toEqual([name, 400]);
  });

  test("reads a request as a preflight only where it is OPTIONS and names a method", async () => {
    const of = app({ origins: ["https://page.example"] });
    const ask = async (method: string, headers: Record<string, string>) =>
      (
        await of.fetch(
          new Request("http://localhost/health", { method, headers: { Origin: "https://page.example", ...headers } }),
        )
      ).headers.get("Access-Control-Max-Age");
    const asked = { "Access-Control-Request-Method": "GET" };
    expect([await ask("OPTIONS", asked), await ask("OPTIONS", {}), await ask("GET", asked)]).toEqual([
      "600",
      null,
      null,
    ]);
  });
});
