import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { describe, expect, test } from "vitest";
import { matcherOf, type Origins, preflight } from "../../src/http/origin.js";
import type { HttpRequest } from "../../src/http/request.js";

const handlers = { health: () => "OK", ready: () => "OK", listAgents: () => [], async *send() {} };

const cases: readonly (readonly [origins: Origins, yes: readonly string[], no: readonly string[]])[] = [
  [["https://a.example"], ["https://a.example"], ["http://a.example", "https://a.example:8443", "https://b.example"]],
  [
    ["vscode-webview://*"],
    ["vscode-webview://1f3a", "vscode-webview://0abc.def"],
    ["vscode-webview://", "vscode-file://vscode-app", "https://vscode-webview"],
  ],
  [
    ["https://*.example.com"],
    ["https://a.example.com", "https://a.b.example.com", "https://A.Example.com"],
    ["https://example.com", "https://a.example.com.evil.org", "https://a-example.com", "http://a.example.com"],
  ],
  [["http://localhost:*"], ["http://localhost:5173"], ["http://localhost", "http://localhost.evil.org:80"]],
  [
    [/https:\/\/(a|b)\.example/gy],
    ["https://a.example", "https://b.example"],
    ["https://a.example.evil.org", "https://c.example"],
  ],
  [["null"], ["null"], ["nullx"]],
  [(origin) => origin.endsWith(".test"), ["https://a.test"], ["https://a.example"]],
  [() => "yes" as never, [], ["https://a.example"]],
  [[], [], ["https://a.example", "null"]],
];

test("a preflight is answered with the headers that every contract has, and those of this one", () => {
  const asked = new Headers({ "Access-Control-Request-Method": "POST" });
  const request = (method: string, headers = asked) => ({ method, headers }) as unknown as HttpRequest;
  expect(preflight(request("OPTIONS"), ["X-Api-Key", "X-Trace"])).toEqual({
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers":
      "Authorization, Content-Type, Cache-Control, Parlance-Resume, Last-Event-ID, X-Api-Key, X-Trace",
    "Access-Control-Max-Age": "600",
  });
  expect(preflight(request("OPTIONS", new Headers()), [])).toBeUndefined();
  expect(preflight(request("POST"), [])).toBeUndefined();
});

/** What a page asks for, and what of it is allowed beside what every contract has. */
const askedHeaders: readonly (readonly [asked: string, allowed: readonly string[]])[] = [
  ["", []],
  ["authorization,content-type,parlance-resume,last-event-id", []],
  ["x-editor", ["x-editor"]],
  ["traceparent,tracestate,baggage", ["traceparent", "tracestate", "baggage"]],
  ["x-b3-traceid, x-b3-spanid,sentry-trace,b3", ["x-b3-traceid", "x-b3-spanid", "sentry-trace", "b3"]],
  ["X-Api-Key,x-a,x-A", ["x-a"]],
  ["a b,x:y,(x),\u00e9,,x-c", ["x-c"]],
  [Array.from({ length: 200 }, (_, i) => `h${i}`).join(), Array.from({ length: 100 }, (_, i) => `h${i}`)],
];

test.each(askedHeaders)("an allowed page that asks for the headers %j may send them", (asked, allowed) => {
  const headers = new Map([
    ["Access-Control-Request-Method", "POST"],
    ["Access-Control-Request-Headers", asked],
  ]);
  const request = { method: "OPTIONS", headers: { get: (name: string) => headers.get(name) ?? null, has: () => true } };
  const known = "Authorization, Content-Type, Cache-Control, Parlance-Resume, Last-Event-ID, X-Api-Key";
  expect(preflight(request as unknown as HttpRequest, ["X-Api-Key"])!["Access-Control-Allow-Headers"]).toBe(
    [known, ...allowed].join(", "),
  );
});

test("a page that is not allowed gets no list of headers", async () => {
  const app = serve(foldGateway, handlers, { origins: [page], onError: false });
  const asked = { "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-editor" };
  const answer = await app.fetch(
    new Request("http://localhost/api/send", { method: "OPTIONS", headers: { ...asked, Origin: "https://a.example" } }),
  );
  expect([answer.status, answer.headers.get("Access-Control-Allow-Headers")]).toEqual([403, null]);
});

test.each(cases)("origins %j allow the whole origin or nothing", (origins, yes, no) => {
  const allows = matcherOf(origins, () => {});
  // Twice, because an expression with the flag g remembers where it stopped.
  for (const origin of [...yes, ...yes]) expect([origin, allows(origin)]).toEqual([origin, true]);
  for (const origin of [...no, ...no]) expect([origin, allows(origin)]).toEqual([origin, false]);
});

test.each(["*", "example.com", "https://", "https://a.example/", "https://a.example/path", "localhost:5173", ""])(
  "the origin %j is refused when the app is made, with what to write",
  (origin) => {
    expect(() => serve(foldGateway, handlers, { origins: [origin] })).toThrow(/is not an origin: write it like/);
  },
);

test("a function that throws allows nothing, and is reported", () => {
  const reported: unknown[] = [];
  const allows = matcherOf(
    () => {
      throw new Error("no list");
    },
    (error, source) => reported.push(`${source}: ${error}`),
  );
  expect(allows("https://a.example")).toBe(false);
  expect(reported).toEqual(["origins: Error: no list"]);
});

describe("anyHost", () => {
  const app = serve(foldGateway, handlers, { anyHost: ["health"], hosts: ["agent.example.com"], onError: false });
  const status = async (path: string, init: RequestInit = {}, host = "10.0.3.7:8080") =>
    (await app.fetch(new Request(`http://${host}${path}`, init))).status;

  test.each([
    ["GET", "/health", {}, 200],
    ["HEAD", "/health", {}, 200],
    ["GET", "/health", { Host: "[fd00::7]:8080" }, 200],
    ["GET", "/health", { Origin: "https://a.example" }, 403],
    ["GET", "/health", { "Sec-Fetch-Site": "cross-site" }, 403],
    ["GET", "/health?token=x", {}, 400],
    ["POST", "/health", {}, 403],
    ["GET", "/health/ready", {}, 403],
    ["GET", "/health/", {}, 403],
    ["POST", "/api/send", {}, 403],
  ] as const)("answers %s %s with %j by address as it is opened", async (method, path, headers, wanted) => {
    expect(await status(path, { method, headers })).toBe(wanted);
  });

  test("refuses a name that is not an operation when the app is made", () => {
    for (const name of ["healthh", "constructor"])
      expect(() => serve(foldGateway, handlers, { anyHost: [name] })).toThrow(
        `anyHost has "${name}", which is not an operation of fold-gateway`,
      );
  });
});

test("a refused origin or host is reported once, with the option's name", async () => {
  const reported: string[] = [];
  const app = serve(foldGateway, handlers, { onError: (error) => void reported.push((error as Error).message) });
  const ask = (host: string, origin?: string) =>
    app.fetch(new Request(`http://${host}/api/agents`, { headers: origin ? { Origin: origin } : {} }));
  for (let i = 0; i < 3; i++) {
    expect((await ask("localhost", "https://a.example")).status).toBe(403);
    expect((await ask("rebound.example")).status).toBe(403);
  }
  expect(reported).toEqual([
    expect.stringMatching(/https:\/\/a\.example .*option origins/),
    expect.stringMatching(/rebound\.example.*option hosts/),
  ]);
  // A scan of origins does not fill the log.
  for (let i = 0; i < 500; i++) await ask("localhost", `https://scan${i}.example`);
  expect(reported.length).toBeLessThanOrEqual(100);
  app.close();
});

const shown = {
  "access-control-allow-credentials": "false",
  "access-control-expose-headers": "Parlance-Resume, Retry-After",
};
const page = "https://page.example";

test.each<
  [what: string, method: string, headers: Record<string, string>, status: number, wanted: Record<string, string>]
>([
  ["no page", "GET", {}, 200, {}],
  ["a page of the server's own", "GET", { Origin: "http://localhost" }, 200, { vary: "Origin" }],
  ["an allowed page", "GET", { Origin: page }, 200, { ...shown, "access-control-allow-origin": page, vary: "Origin" }],
  [
    "an allowed page whose request is refused",
    "DELETE",
    { Origin: page },
    405,
    { ...shown, "access-control-allow-origin": page, vary: "Origin" },
  ],
  ["another page", "GET", { Origin: "https://a.example" }, 403, {}],
  ["a page on another site, without its origin", "GET", { "Sec-Fetch-Site": "cross-site" }, 403, {}],
  ["a page on this site, without its origin", "GET", { "Sec-Fetch-Site": "same-site" }, 200, {}],
  [
    "an allowed page, that asks first",
    "OPTIONS",
    { Origin: page, "Access-Control-Request-Method": "POST" },
    204,
    {
      ...shown,
      "access-control-allow-origin": page,
      "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
      "access-control-allow-headers": "Authorization, Content-Type, Cache-Control, Parlance-Resume, Last-Event-ID",
      "access-control-max-age": "600",
      vary: "Origin",
    },
  ],
  [
    "another page, that asks first",
    "OPTIONS",
    { Origin: "https://a.example", "Access-Control-Request-Method": "POST" },
    403,
    {},
  ],
])(
  "the answer to %s has the headers of CORS that it needs, and no others",
  async (_, method, headers, status, wanted) => {
    const app = serve(foldGateway, handlers, { origins: [page], onError: false });
    const answer = await app.fetch(new Request("http://localhost/api/agents", { method, headers }));
    expect(answer.status).toBe(status);
    const names = [...answer.headers.keys()].filter((name) => name === "vary" || name.startsWith("access-control-"));
    expect(Object.fromEntries(names.map((name) => [name, answer.headers.get(name)]))).toEqual(wanted);
  },
);
