/** Bytes of requests, and the statuses of everything that the server answers until it ends the connection. */
export interface Shape {
  readonly what: string;
  readonly bytes: string;
  readonly statuses: readonly number[];
  /** What reaches a handler. */
  readonly called?: readonly string[];
}

/** Ends each row's bytes: where it is answered, the connection was still in step. */
export const LAST = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

const BODY = '{"content":"x"}';
/** A request that must never be found inside the body or the head of another one. */
const INNER =
  'POST /api/send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 19\r\n\r\n{"content":"inner"}';

const get = (headers: string, target = "/health"): string => `GET ${target} HTTP/1.1\r\n${headers}\r\n`;
const post = (headers: string, body: string): string =>
  `POST /api/send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;
const size = (text: string): string => `Content-Length: ${text.length}\r\n`;
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const CHUNKED = "Transfer-Encoding: chunked\r\n";
const HOST = "Host: localhost\r\n";

/** Two readers of one connection may disagree on where these end: the server refuses them and ends the connection. */
const smuggling: readonly (readonly [what: string, bytes: string])[] = [
  ["Content-Length and chunked", post(`${size(BODY)}${CHUNKED}`, `${chunk(BODY)}0\r\n\r\n`)],
  ["chunked and Content-Length", post(`${CHUNKED}Content-Length: 5\r\n`, `0\r\n\r\n${INNER}`)],
  ["Content-Length twice, the same", post(`${size(BODY)}${size(BODY)}`, BODY)],
  ["Content-Length twice, different", post(`${size(BODY)}Content-Length: 0\r\n`, BODY)],
  ["Content-Length as a list", post(`Content-Length: ${BODY.length}, ${BODY.length}\r\n`, BODY)],
  ["a negative Content-Length", post("Content-Length: -1\r\n", BODY)],
  ["a signed Content-Length", post(`Content-Length: +${BODY.length}\r\n`, BODY)],
  ["a hexadecimal Content-Length", post("Content-Length: 0xf\r\n", BODY)],
  ["a Content-Length with a space inside", post("Content-Length: 1 5\r\n", BODY)],
  ["a Content-Length above 2^64", post("Content-Length: 18446744073709551631\r\n", BODY)],
  ["an empty Content-Length", post("Content-Length: \r\n", BODY)],
  ["an unknown transfer coding", post("Transfer-Encoding: xchunked\r\n", `${chunk(BODY)}0\r\n\r\n`)],
  ["identity", post("Transfer-Encoding: identity\r\n", BODY)],
  ["chunked before another coding", post("Transfer-Encoding: chunked, identity\r\n", `${chunk(BODY)}0\r\n\r\n`)],
  [
    "chunked and another coding in two lines",
    post(`${CHUNKED}Transfer-Encoding: identity\r\n`, `${chunk(BODY)}0\r\n\r\n`),
  ],
  ["a transfer coding after a vertical tab", post("Transfer-Encoding: \x0bchunked\r\n", `${chunk(BODY)}0\r\n\r\n`)],
  ["a space before the colon of Transfer-Encoding", post("Transfer-Encoding : chunked\r\n", `${chunk(BODY)}0\r\n\r\n`)],
  ["a space before the colon of Content-Length", post(`Content-Length : ${BODY.length}\r\n`, BODY)],
  ["a folded header", post(`X-A: b\r\n c\r\n${size(BODY)}`, BODY)],
  ["a folded Transfer-Encoding", post(`Transfer-Encoding:\r\n chunked\r\n${size(BODY)}`, BODY)],
  ["a bare CR in a value", get(`${HOST}X-A: b\rX-B: c\r\n`)],
  ["a bare CR before a header", get(`${HOST}X-A: b\r\rContent-Length: 5\r\n`)],
  ["NUL in a value", get(`${HOST}X-A: b\0c\r\n`)],
  ["NUL in a name", get(`${HOST}X\0A: b\r\n`)],
  ["NUL in the target", get(HOST, "/health\0")],
  ["a header without a name", get(`${HOST}: b\r\n`)],
  ["a line without a colon", get(`${HOST}X-A\r\n`)],
  ["a space before the first header", `GET /health HTTP/1.1\r\n ${HOST}\r\n`],
  ["a chunk size that is none", post(CHUNKED, `z\r\n${BODY}\r\n0\r\n\r\n`)],
  ["a chunk size with 0x", post(CHUNKED, `0xf\r\n${BODY}\r\n0\r\n\r\n`)],
  ["a negative chunk size", post(CHUNKED, `-f\r\n${BODY}\r\n0\r\n\r\n`)],
  ["a chunk size above 2^64", post(CHUNKED, `fffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n`)],
  ["a chunk that is longer than its size", post(CHUNKED, `5\r\n${BODY}\r\n0\r\n\r\n`)],
  ["a chunk size that ends in LF", post(CHUNKED, `f\n${BODY}\r\n0\r\n\r\n`)],
  ["a chunk extension with a bare LF", post(CHUNKED, `f;a\n${BODY}\r\n0\r\n\r\n`)],
  ["a length among the trailers", post(CHUNKED, `${chunk(BODY)}0\r\nContent-Length: 5\r\n\r\n`)],
  ["a transfer coding among the trailers", post(CHUNKED, `${chunk(BODY)}0\r\nTransfer-Encoding: chunked\r\n\r\n`)],
  ["a body after chunked HTTP/1.0", `POST /api/send HTTP/1.0\r\n${HOST}${CHUNKED}\r\n0\r\n\r\n${INNER}`],
];

/** Shapes of a request line. */
const lines: readonly (readonly [what: string, line: string, status: number])[] = [
  ["no request line", "HELLO", 400],
  ["HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n", 400],
  ["HTTP/0.9", "GET /health", 400],
  ["HTTP/1.2", "GET /health HTTP/1.2", 400],
  ["a lower-case protocol", "GET /health http/1.1", 400],
  ["an unknown method", "FETCH /health HTTP/1.1", 400],
  ["a lower-case method", "get /health HTTP/1.1", 400],
  ["a tab for a space", "GET\t/health HTTP/1.1", 400],
  ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400],
  ["a method that fetch forbids", "TRACE /health HTTP/1.1", 400],
  ["a target of another host", "GET http://other.example/health HTTP/1.1", 400],
  ["a target with userinfo", "GET http://localhost@other.example/health HTTP/1.1", 400],
  ["a target with userinfo at this host", "GET http://user:word@localhost/health HTTP/1.1", 400],
  ["a target of another port", "GET http://localhost:1/health HTTP/1.1", 400],
  ["a target of another scheme", "GET ftp://localhost/health HTTP/1.1", 400],
  ["a target without a host", "GET http:///health HTTP/1.1", 400],
  ["a target without a slash", "GET health HTTP/1.1", 400],
  ["an authority", "GET localhost:80 HTTP/1.1", 400],
  ["an asterisk", "OPTIONS * HTTP/1.1", 400],
  ["an asterisk that is no OPTIONS", "GET * HTTP/1.1", 400],
  ["an empty target", "GET  HTTP/1.1", 400],
];

const hosts: readonly (readonly [what: string, headers: string, status: number])[] = [
  ["that leads to another path", "Host: localhost/api/agents?\r\n", 400],
  ["with a fragment", "Host: localhost#\r\n", 400],
  ["with a query", "Host: localhost?a\r\n", 400],
  ["with userinfo", "Host: user@localhost\r\n", 400],
  ["with userinfo and another host", "Host: localhost@other.example\r\n", 400],
  ["with a backslash", "Host: localhost\\other.example\r\n", 400],
  ["that is empty", "Host: \r\n", 400],
  ["that is absent", "", 400],
  ["that is there twice", "Host: localhost\r\nHost: localhost\r\n", 400],
  ["that is there twice, different", "Host: localhost\r\nHost: other.example\r\n", 400],
  ["with a port above 65535", "Host: localhost:65536\r\n", 400],
  ["with a port of six digits", "Host: localhost:000080\r\n", 400],
  ["with a negative port", "Host: localhost:-1\r\n", 400],
  ["with a space", "Host: local host\r\n", 400],
  ["percent-encoded", "Host: %6cocalhost\r\n", 400],
  ["in full-width letters", "Host: \xef\xbd\x8clocalhost\r\n", 400],
  ["of another site", "Host: other.example\r\n", 403],
  ["that is another loopback address", "Host: 127.0.0.2\r\n", 403],
  ["that is all addresses", "Host: 0.0.0.0\r\n", 403],
];

const upgrades: readonly Shape[] = [
  ...["/health", "/api/nothing"].map((target) => ({
    what: `Upgrade: h2c as curl sends it, at ${target}`,
    bytes: get(
      `${HOST}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n`,
      target,
    ),
    statuses: [target === "/health" ? 200 : 404, 200],
  })),
  {
    what: "Upgrade: h2c with a POST body that a stream answers",
    bytes: post(
      `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n${size(BODY)}`,
      BODY,
    ),
    statuses: [200, 200],
    called: ["send x"],
  },
  {
    what: "Upgrade: h2c with a chunked body",
    bytes: post(`Connection: Upgrade\r\nUpgrade: h2c\r\n${CHUNKED}`, `${chunk(BODY)}0\r\n\r\n`),
    statuses: [200, 200],
    called: ["send x"],
  },
  {
    what: "Upgrade: websocket at a stream that POST begins",
    bytes: get(`${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n`, "/api/send"),
    statuses: [405, 200],
  },
  {
    what: "Upgrade: websocket in a POST that a stream answers",
    bytes: post(`Connection: Upgrade\r\nUpgrade: websocket\r\n${size(BODY)}`, BODY),
    statuses: [200, 200],
    called: ["send x"],
  },
  {
    what: "Upgrade: websocket at an operation",
    bytes: get(`${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n`),
    statuses: [200, 200],
  },
  {
    what: "Upgrade: websocket to nowhere",
    bytes: get(`${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n`, "/nowhere"),
    statuses: [404, 200],
  },
  {
    what: "Upgrade: websocket in a POST at a channel",
    bytes: `POST /ws HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n`,
    statuses: [405, 200],
  },
  ...(
    [
      ["without a key", "Sec-WebSocket-Version: 13\r\n", 400],
      ["with a short key", "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: YWJj\r\n", 400],
      ["with a key that is no base64", `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${"!".repeat(24)}\r\n`, 400],
      ["with two keys", "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: a\r\nSec-WebSocket-Key: b\r\n", 400],
      ["without a version", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", 400],
      [
        "of version 8 of the drafts",
        "Sec-WebSocket-Version: 7\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        400,
      ],
      ["of version 99", "Sec-WebSocket-Version: 99\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", 400],
      [
        "with a broken subprotocol",
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: a,,b\r\n",
        400,
      ],
      [
        "with a ticket that nobody has",
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: parlance.${"0".repeat(32)}\r\n`,
        426,
      ],
      [
        "from another page",
        "Origin: http://other.example\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        403,
      ],
    ] as const
  ).map(([what, headers, status]) => ({
    what: `a handshake ${what}`,
    bytes: get(`${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n${headers}`, "/ws"),
    // The connection is not HTTP any more, or has been refused: nothing follows.
    statuses: [status],
  })),
];

const queries: readonly Shape[] = [
  ...[
    "token",
    "access_token",
    "ACCESS_TOKEN",
    "api_key",
    "apikey",
    "api-key",
    "x-api-key",
    "auth",
    "authorization",
    "credentials",
    "passwd",
    "client_secret",
    "clientSecret",
    "token[]",
    "token[0]",
  ].map((name) => ({ what: `a query with ${name}`, bytes: get(HOST, `/health?${name}=x`), statuses: [400, 200] })),
  ...["%74oken", "to%6ben"].map((name) => ({
    what: `a query with ${name}`,
    bytes: get(HOST, `/health?${name}=x`),
    statuses: [400, 200],
  })),
  ...["tokens", "page", "keyword", "max_tokens"].map((name) => ({
    what: `a query with ${name}`,
    bytes: get(HOST, `/health?${name}=x`),
    statuses: [200, 200],
  })),
];

const origins: readonly Shape[] = ["vscode-webview", "chrome-extension", "ws", "ftp", "app", "file"].map((scheme) => ({
  what: `an origin ${scheme}://localhost`,
  bytes: get(`${HOST}Origin: ${scheme}://localhost\r\n`),
  statuses: [403, 200],
}));

const heads: readonly Shape[] = [
  { what: "100 headers", bytes: get(HOST + "X: y\r\n".repeat(99)), statuses: [200, 200] },
  { what: "101 headers", bytes: get(HOST + "X: y\r\n".repeat(100)), statuses: [431] },
  { what: "150 headers", bytes: get(HOST + "X: y\r\n".repeat(149)), statuses: [431] },
  { what: "a head just below 16 KiB", bytes: get(`${HOST}X: ${"y".repeat(16_200)}\r\n`), statuses: [200, 200] },
  { what: "a head above 16 KiB", bytes: get(`${HOST}X: ${"y".repeat(16_400)}\r\n`), statuses: [431] },
  { what: "a target above 16 KiB", bytes: get(HOST, `/health?${"y".repeat(16_400)}`), statuses: [431] },
  { what: "an unknown expectation", bytes: get(`${HOST}Expect: something\r\n`), statuses: [417, 200] },
  {
    what: "Expect: 100-continue",
    bytes: post(`Expect: 100-continue\r\n${size(BODY)}`, BODY),
    statuses: [100, 200, 200],
    called: ["send x"],
  },
  { what: "CONNECT", bytes: "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", statuses: [] },
];

/** What may look odd and is allowed: it is read as RFC 9112 says, and the connection goes on. */
const allowed: readonly Shape[] = [
  { what: "empty lines before a request", bytes: `\r\n\r\n${get(HOST)}`, statuses: [200, 200] },
  { what: "a whole URL of this host", bytes: get(HOST, "http://localhost/health"), statuses: [200, 200] },
  { what: "a whole URL in capitals", bytes: get(HOST, "HTTP://LOCALHOST/health"), statuses: [200, 200] },
  {
    what: "a chunk extension",
    bytes: post(CHUNKED, `f;a=b\r\n${BODY}\r\n0\r\n\r\n`),
    statuses: [200, 200],
    called: ["send x"],
  },
  {
    what: "a chunk size with zeros",
    bytes: post(CHUNKED, `00f\r\n${BODY}\r\n000\r\n\r\n`),
    statuses: [200, 200],
    called: ["send x"],
  },
  {
    what: "trailers, which change nothing",
    bytes: post(CHUNKED, `${chunk(BODY)}0\r\nHost: other.example\r\nAuthorization: Bearer x\r\n\r\n`),
    statuses: [200, 200],
    called: ["send x"],
  },
  { what: "two spaces in a request line", bytes: `GET  /health HTTP/1.1\r\n${HOST}\r\n`, statuses: [200, 200] },
  { what: "a body in a GET", bytes: get(`${HOST}${size(INNER)}`) + INNER, statuses: [200, 200] },
  {
    what: "a body that a refused request has",
    bytes: post(`Origin: http://other.example\r\n${size(INNER)}`, INNER),
    statuses: [403, 200],
  },
  {
    what: "HTTP/1.0, whose connection ends with its answer",
    bytes: `GET /health HTTP/1.0\r\n${HOST}Connection: keep-alive\r\n\r\n`,
    statuses: [200],
  },
];

export const shapes: readonly Shape[] = [
  ...smuggling.map(([what, bytes]) => ({ what, bytes, statuses: [400] })),
  ...lines.map(([what, line, status]) => ({ what, bytes: `${line}\r\n${HOST}\r\n`, statuses: [status] })),
  ...hosts.map(([what, headers, status]) => ({
    what: `a Host ${what}`,
    bytes: get(headers),
    statuses: status === 400 ? [400] : [status, 200],
  })),
  ...upgrades,
  ...queries,
  ...origins,
  ...heads,
  ...allowed,
];
