/** One raw request to a server, and the status that it must be answered with. */
export interface Case {
  readonly what: string;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly status: number;
}

/** The token that no output may show. */
export const SECRET = "planted-5ecret.token~1";

const bearer = { Authorization: `Bearer ${SECRET}` };
const json = { "Content-Type": "application/json" };
const SEND = "/api/send";
const LOCO = "/v1/workspaces";

const tokens: readonly Case[] = [
  ...[
    ["the right token", `Bearer ${SECRET}`, 200],
    ["the scheme in lower case (RFC 9110, section 11.1)", `bearer ${SECRET}`, 200],
    ["the scheme in capitals", `BEARER ${SECRET}`, 200],
    ["two spaces after the scheme", `Bearer  ${SECRET}`, 200],
    ["an empty header", "", 401],
    ["the scheme alone", "Bearer", 401],
    ["the scheme and a space", "Bearer ", 401],
    ["no scheme", SECRET, 401],
    ["Basic", `Basic ${SECRET}`, 401],
    ["Token", `Token ${SECRET}`, 401],
    ["Bearer with a colon", `Bearer: ${SECRET}`, 401],
    ["a tab for the space", `Bearer\t${SECRET}`, 401],
    ["a prefix of the token", `Bearer ${SECRET.slice(0, -1)}`, 401],
    ["one character", `Bearer ${SECRET[0]}`, 401],
    ["the token and one more character", `Bearer ${SECRET}x`, 401],
    ["the token in capitals", `Bearer ${SECRET.toUpperCase()}`, 401],
    ["the token twice", `Bearer ${SECRET} ${SECRET}`, 401],
    ["the token and a comma", `Bearer ${SECRET},`, 401],
    ["the token in quotes", `Bearer "${SECRET}"`, 401],
    ["the token percent-encoded", `Bearer ${SECRET.replace("~", "%7E")}`, 401],
    ["an empty token in quotes", 'Bearer ""', 401],
    ["undefined", "Bearer undefined", 401],
    ["null", "Bearer null", 401],
    ["the name of an object's property", "Bearer __proto__", 401],
    ["the name of an object's method", "Bearer constructor", 401],
    ["a very long token", `Bearer ${"a".repeat(8000)}`, 401],
    ["two credentials in one header", `Basic x, Bearer ${SECRET}`, 401],
  ].map(([what, Authorization, status]) => ({
    what: `token: ${what}`,
    path: LOCO,
    headers: { Authorization: String(Authorization) },
    status: Number(status),
  })),
  { what: "token: none", path: LOCO, status: 401 },
  { what: "token: in the query as access_token", path: `${LOCO}?access_token=${SECRET}`, status: 400 },
  { what: "token: in the query as token", path: `${LOCO}?token=${SECRET}`, status: 400 },
  { what: "token: in the query beside the header", path: `${LOCO}?token=x`, headers: bearer, status: 400 },
  { what: "token: in a cookie", path: LOCO, headers: { Cookie: `token=${SECRET}` }, status: 401 },
  { what: "token: in a header of another name", path: LOCO, headers: { "X-Api-Key": SECRET }, status: 401 },
  {
    what: "token: in Proxy-Authorization",
    path: LOCO,
    headers: { "Proxy-Authorization": `Bearer ${SECRET}` },
    status: 401,
  },
  { what: "token: a socket's path without one", path: "/v1/sessions/s/stream", status: 426 },
  {
    what: "token: asking for a channel without one",
    path: "/v1/sessions/s/stream",
    headers: { "Parlance-Resume": "0".repeat(32) },
    status: 401,
  },
  { what: "token: no such path", path: "/nothing", status: 404 },
];

const hosts: readonly Case[] = [
  ...(
    [
      ["localhost", 200],
      ["LOCALHOST", 200],
      ["localhost:1", 200],
      ["127.0.0.1", 200],
      ["127.0.0.1:65535", 200],
      ["[::1]", 200],
      ["[::1]:80", 200],
      ["app.localhost", 200],
      ["127.1", 200],
      ["evil.example", 403],
      ["evil.example:80", 403],
      ["localhost.evil.example", 403],
      ["evil.example.localhost.", 403],
      ["localhost.", 403],
      ["evillocalhost", 403],
      ["127.0.0.1.nip.example", 403],
      ["127.0.0.2", 403],
      ["0.0.0.0", 403],
      ["192.168.0.1", 403],
      ["169.254.169.254", 403],
      ["[::]", 403],
      ["[::ffff:127.0.0.1]", 403],
      ["[fe80::1]", 403],
      ["xn--lcalhost-n9a", 403],
      ["local-host", 403],
      ["localhost@evil.example", 400],
      ["evil.example#localhost", 400],
      ["evil.example?localhost", 400],
      ["evil.example/localhost", 400],
      ["evil.example\\localhost", 400],
      ["localhost,evil.example", 400],
      ["localhost evil.example", 400],
      ["localhost:port", 400],
      ["localhost:99999", 400],
      ["[::1", 400],
      ["%", 400],
    ] as const
  ).map(([Host, status]) => ({ what: `host: ${Host}`, path: "/api/agents", headers: { Host }, status })),
];

const origins: readonly Case[] = [
  ...(
    [
      ["{own}", 200],
      ["https://listed.example", 200],
      ["https://listed.example:8443", 403],
      ["http://listed.example", 403],
      ["https://listed.example.evil.example", 403],
      ["https://sub.listed.example", 403],
      ["https://LISTED.example", 403],
      ["https://listed.example/", 403],
      ["http://evil.example", 403],
      ["http://localhost", 403],
      ["http://localhost:1", 403],
      ["http://127.0.0.1:1", 403],
      ["http://[::1]:1", 403],
      ["http://localhost.evil.example", 403],
      ["null", 403],
      ["file://", 403],
      ["", 403],
      ["*", 403],
      ["chrome-extension://abcdef", 403],
      ["vscode-webview://abcdef", 403],
      ["{own}.evil.example", 403],
      ["{own}@evil.example", 403],
      ["{own}, http://evil.example", 403],
    ] as const
  ).flatMap(([Origin, status]) => [
    { what: `origin of a read: ${Origin}`, path: "/api/agents", headers: { Origin }, status },
    {
      what: `origin of a write: ${Origin}`,
      method: "POST",
      path: SEND,
      headers: { Origin, ...json },
      body: '{"content":"x"}',
      status,
    },
  ]),
  {
    what: "site: cross-site without an origin",
    path: "/api/agents",
    headers: { "Sec-Fetch-Site": "cross-site" },
    status: 403,
  },
  { what: "site: same-origin", path: "/api/agents", headers: { "Sec-Fetch-Site": "same-origin" }, status: 200 },
  { what: "site: typed by the user", path: "/api/agents", headers: { "Sec-Fetch-Site": "none" }, status: 200 },
  {
    what: "preflight: a page that is not listed",
    method: "OPTIONS",
    path: SEND,
    headers: { Origin: "http://evil.example", "Access-Control-Request-Method": "POST" },
    status: 403,
  },
  {
    what: "preflight: a page that is listed",
    method: "OPTIONS",
    path: SEND,
    headers: { Origin: "https://listed.example", "Access-Control-Request-Method": "POST" },
    status: 204,
  },
];

const bodies: readonly Case[] = (
  [
    ["application/json", 200],
    ["application/json; charset=utf-8", 200],
    ["APPLICATION/JSON", 200],
    ["application/json ;charset=utf-8", 200],
    ["text/plain", 415],
    ["text/plain; application/json", 415],
    ["application/x-www-form-urlencoded", 415],
    ["multipart/form-data; boundary=x", 415],
    ["text/json", 415],
    ["application/jsonp", 415],
    ["application/json-seq", 415],
    ["application/problem+json", 415],
    ["application/json, text/plain", 415],
    ["text/plain, application/json", 415],
    ["text/html", 415],
    ["", 415],
  ] as const
).map(([type, status]) => ({
  what: `content type: ${type || "empty"}`,
  method: "POST",
  path: SEND,
  headers: { "Content-Type": type },
  body: '{"content":"x"}',
  status,
}));

const shapes: readonly Case[] = [
  { what: "body: no content type", method: "POST", path: SEND, body: '{"content":"x"}', status: 415 },
  {
    what: "body: a form's text",
    method: "POST",
    path: SEND,
    headers: { "Content-Type": "text/plain" },
    body: '{"content":"x","a":"="}',
    status: 415,
  },
  { what: "body: not JSON", method: "POST", path: SEND, headers: json, body: "{", status: 400 },
  {
    what: "body: a prototype",
    method: "POST",
    path: SEND,
    headers: json,
    body: '{"content":"x","__proto__":{"a":1}}',
    status: 400,
  },
  {
    what: "body: 65 levels",
    method: "POST",
    path: SEND,
    headers: json,
    body: `{"content":${"[".repeat(65)}${"]".repeat(65)}}`,
    status: 400,
  },
  {
    what: "body: over a megabyte",
    method: "POST",
    path: SEND,
    headers: json,
    body: `{"content":"${"x".repeat(1024 * 1024)}"}`,
    status: 413,
  },
  { what: "headers: over 16 KiB", path: "/api/agents", headers: { "X-Long": "x".repeat(17_000) }, status: 431 },
  {
    what: "resume: a key of nobody",
    path: SEND,
    headers: { "Parlance-Resume": "a".repeat(32), "Last-Event-ID": "e.1" },
    status: 410,
  },
  {
    what: "resume: to cancel what is not there",
    method: "DELETE",
    path: SEND,
    headers: { "Parlance-Resume": "a".repeat(32) },
    status: 404,
  },
  { what: "resume: a key that is none", path: SEND, headers: { "Parlance-Resume": "../../etc" }, status: 405 },
];

export const cases: readonly Case[] = [...tokens, ...hosts, ...origins, ...bodies, ...shapes];
