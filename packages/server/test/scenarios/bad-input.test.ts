import { connect as connectSocket } from "node:net";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { type App, serve } from "@parlance/server";
import { type Listening, listen } from "@parlance/server/node";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";

// Handlers that answer nothing wrong: what is tested is what never reaches them.
const never = () => {
  throw new Error("nothing of this should reach a handler");
};
const everything = new Proxy({}, { get: () => never });
const options = { maxMessageSize: 2000, allowAnonymous: true };
const apps: Readonly<Record<string, App>> = {
  agentsmithy: serve(agentsmithy, everything as never, options),
  based: serve(based, everything as never, options),
  "emacs-agent": serve(emacsAgent, everything as never, options),
  "fold-gateway": serve(
    foldGateway,
    { health: () => "OK", listAgents: never, ready: never, send: never } as never,
    options,
  ),
  loco: serve(loco, everything as never, options),
};

/** Where each protocol keeps the text of a fault, and its code for a status. */
const fault: Readonly<Record<string, (status: number, text: unknown) => object>> = {
  agentsmithy: (_, error) => ({ error }),
  based: (_, error) => ({ error }),
  "fold-gateway": (_, error) => ({ error }),
  "emacs-agent": (status, message) => ({
    error: { message, ...(CODES[status] && { code: CODES[status] }) },
  }),
  loco: (status, message) => ({ error: { message, ...(CODES[status] && { code: CODES[status] }) } }),
};
/** Generic codes: a path that is not there is not SESSION_NOT_FOUND. */
const CODES: Readonly<Record<number, string>> = {
  400: "INVALID_REQUEST",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  405: "METHOD_NOT_ALLOWED",
  413: "PAYLOAD_TOO_LARGE",
  415: "UNSUPPORTED_MEDIA_TYPE",
  426: "UPGRADE_REQUIRED",
};

/** An operation of each protocol that takes a body, and a body that is right. */
const posts: readonly (readonly [protocol: string, target: string, body: object])[] = [
  ["agentsmithy", "/api/chat", { messages: [{ role: "user", content: "x" }] }],
  ["fold-gateway", "/api/send", { content: "x" }],
  ["emacs-agent", "/api/sessions/s/prompt", { text: "x" }],
  ["loco", "/v1/workspaces/register", { path: "/p" }],
];
const json = { "Content-Type": "application/json" };
const nest = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const endless = (bytes: number): ReadableStream =>
  new ReadableStream({
    start(controller) {
      for (let i = 0; i < bytes; i += 500) controller.enqueue(new TextEncoder().encode(" ".repeat(500)));
      controller.close();
    },
  });
const withMore = (body: object, more: string) => `${JSON.stringify(body).slice(0, -1)},${more}}`;

type Bad = readonly [
  what: string,
  init: (right: object) => { headers?: Record<string, string>; body?: unknown },
  status: number,
  text: RegExp,
];
const bodies: readonly Bad[] = [
  ["malformed JSON", () => ({ body: '{"content":' }), 400, /not JSON/],
  ["no body", () => ({}), 400, /not JSON|object/],
  ["an array", () => ({ body: "[]" }), 400, /JSON object/],
  ["null", () => ({ body: "null" }), 400, /JSON object/],
  ["nothing that is required", () => ({ body: "{}" }), 400, / is missing in the input of /],
  ["nesting of 65", (right) => ({ body: withMore(right, `"x":${nest(64)}`) }), 400, /nested deeper than 64/],
  ["__proto__", (right) => ({ body: withMore(right, '"__proto__":{"polluted":1}') }), 400, /__proto__/],
  ["an escaped __proto__", (right) => ({ body: withMore(right, '"__pr\\u006fto__":{}') }), 400, /__proto__/],
  [
    "constructor.prototype",
    (right) => ({ body: withMore(right, '"constructor":{"prototype":{}}') }),
    400,
    /constructor/,
  ],
  ["invalid UTF-8", () => ({ body: new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) }), 400, /UTF-8/],
  ["an unfinished code point", () => ({ body: new Uint8Array([0x22, 0xf0, 0x9f]) }), 400, /UTF-8/],
  ["too many bytes", (right) => ({ body: JSON.stringify({ ...right, x: "y".repeat(3000) }) }), 413, /limit of 2000/],
  ["too many bytes and no length", () => ({ body: endless(5000) }), 413, /limit of 2000/],
  [
    "another content type",
    (right) => ({ headers: { "Content-Type": "text/plain" }, body: JSON.stringify(right) }),
    415,
    /application\/json/,
  ],
  [
    "an encoding",
    (right) => ({ headers: { ...json, "Content-Encoding": "gzip" }, body: JSON.stringify(right) }),
    415,
    /without Content-Encoding, not as gzip/,
  ],
  [
    "another charset",
    (right) => ({ headers: { "Content-Type": "application/json; charset=utf-16" }, body: JSON.stringify(right) }),
    415,
    /UTF-8, not utf-16/,
  ],
  [
    "a form",
    () => ({ headers: { "Content-Type": "application/x-www-form-urlencoded" }, body: "content=x" }),
    415,
    /json/,
  ],
];

const requests: readonly (readonly [
  protocol: string,
  method: string,
  target: string,
  status: number,
  allow?: string,
])[] = [
  ["agentsmithy", "GET", "/api/chat", 405, "POST"],
  ["agentsmithy", "POST", "/api/nothing", 404],
  ["fold-gateway", "DELETE", "/api/send", 405, "POST"],
  ["fold-gateway", "GET", "/api/send", 405, "POST"],
  ["fold-gateway", "POST", "/api/agents", 405, "GET, HEAD"],
  ["fold-gateway", "POST", "/health", 405, "GET, HEAD"],
  ["fold-gateway", "GET", "/health/", 404],
  ["fold-gateway", "GET", "//health", 404],
  ["fold-gateway", "GET", "/API/agents", 404],
  ["emacs-agent", "PUT", "/api/sessions/s", 405, "GET, DELETE, HEAD"],
  ["emacs-agent", "GET", "/api/sessions/s/approve", 405, "POST"],
  ["emacs-agent", "GET", "/api/sessions//events", 404],
  ["emacs-agent", "GET", "/api/sessions/%ff/events", 404],
  ["emacs-agent", "GET", "/api/sessions/%/events", 404],
  ["emacs-agent", "GET", "/api/sessions/s/transcript?format=pdf", 400],
  ["emacs-agent", "GET", "/api/sessions/s/../../../etc/passwd", 404],
  ["loco", "POST", "/v1/workspaces/w/policy", 405, "GET, PUT, HEAD"],
  ["loco", "GET", "/v2/health", 404],
  ["loco", "GET", "/v1/sessions/s/stream", 426],
  ["based", "GET", "/ws", 426],
  ["based", "POST", "/ws", 405, "GET"],
  ["based", "GET", "/__proto__", 404],
];

const logged = ["log", "info", "warn", "error", "debug"].map((name) =>
  vi.spyOn(console, name as "log").mockImplementation(() => {}),
);
const loose: unknown[] = [];
process.on("unhandledRejection", (reason) => loose.push(reason));
process.on("uncaughtExceptionMonitor", (error) => loose.push(error));
const servers: Record<string, Listening> = {};
beforeAll(async () => {
  for (const [name, app] of Object.entries(apps)) servers[name] = await listen(app, { port: 0, closeAfter: 0 });
});
afterEach(() => {
  // A refused host and a message that breaks its schema are the mistakes of a caller that are printed.
  const isMistake = (text: unknown) => /the guard of Host|was refused, printed once: /.test(String(text));
  const printed = logged.flatMap(({ mock }) => mock.calls.filter(([text]) => !isMistake(text)));
  expect(printed).toEqual([]);
  expect(loose).toEqual([]);
});
afterAll(() => Promise.all(Object.values(servers).map((server) => server.close())));

describe.each([
  ["in memory", (protocol: string, request: Request) => apps[protocol]!.fetch(request)],
  ["over sockets", (_: string, request: Request) => fetch(request)],
] as const)("%s", (where, ask) => {
  const base = (protocol: string) => (where === "in memory" ? "http://localhost" : servers[protocol]!.url);

  async function refused(protocol: string, request: Request, status: number, text: unknown): Promise<Response> {
    const answer = await ask(protocol, request);
    const body = await answer.text();
    expect([answer.status, answer.headers.get("Content-Type")], body).toEqual([status, "application/json"]);
    expect(JSON.parse(body)).toMatchObject(fault[protocol]!(status, text));
    expect(body).not.toMatch(/\\n\s+at /);
    // It goes on serving.
    expect(await (await ask("fold-gateway", new Request(`${base("fold-gateway")}/health`))).text()).toBe("OK");
    return answer;
  }

  describe.each(posts)("%s refuses at %s", (protocol, target, right) => {
    it.each(bodies)("a body with %s", async (_, init, status, text) => {
      const { headers = json, body } = init(right);
      const request = new Request(base(protocol) + target, {
        method: "POST",
        headers,
        ...(body !== undefined && { body, duplex: "half" }),
      } as RequestInit);
      await refused(protocol, request, status, expect.stringMatching(text));
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    });
  });

  for (const [protocol, method, target, status, allow = null] of requests)
    it(`${protocol} answers ${method} ${target} with ${status}`, async () => {
      const request = new Request(base(protocol) + target, { method });
      const answer = await refused(protocol, request, status, expect.any(String));
      expect(answer.headers.get("Allow")).toBe(allow);
    });

  it.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])(
    "a POST that takes no body refuses one of %s, which a page could send",
    async (type) => {
      const request = new Request(`${base("emacs-agent")}/api/sessions/s/interrupt`, {
        method: "POST",
        headers: { "Content-Type": type },
        body: "x=1",
      });
      await refused("emacs-agent", request, 415, expect.stringContaining("takes no body"));
    },
  );

  it("a body field that is named like a path parameter is refused by name", async () => {
    const request = new Request(`${base("emacs-agent")}/api/sessions/s/prompt`, {
      method: "POST",
      headers: json,
      body: '{"text":"x","session_id":"t"}',
    });
    await refused("emacs-agent", request, 400, expect.stringContaining("session_id belongs in the path"));
  });
});

describe("Raw bytes over a socket:", () => {
  it.each([
    ["a request line that is none", "HELLO\r\n\r\n", /^HTTP\/1\.1 400 /],
    [
      "a whole URL",
      "GET http://localhost/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      /^HTTP\/1\.1 200 /,
    ],
    [
      "a URL of somebody else",
      "GET http://other.example/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      /^HTTP\/1\.1 400 /,
    ],
    [
      "a host of somebody else, as a rebound name has it",
      "GET /health HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n",
      /^HTTP\/1\.1 403 /,
    ],
    [
      "a target that is no URL",
      "GET http:// HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      /^HTTP\/1\.1 4\d\d /,
    ],
    ["a host that is none", "GET /health HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n", /^HTTP\/1\.1 400 /],
    ["an asterisk", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", /^HTTP\/1\.1 4\d\d /],
    [
      "a method that fetch forbids",
      "TRACE /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      /^HTTP\/1\.1 4\d\d /,
    ],
    [
      "an upgrade at an operation",
      "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
      /^HTTP\/1\.1 [245]\d\d /,
    ],
    [
      "an upgrade without a key",
      "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
      /^HTTP\/1\.1 400 /,
    ],
    [
      "an upgrade to nowhere",
      "GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
      /^HTTP\/1\.1 404 /,
    ],
  ])("%s is answered, and the server goes on", async (what, bytes, expected) => {
    const server = servers[/without a key/.test(what) ? "based" : "fold-gateway"]!;
    const answer = await new Promise<string>((resolve, reject) => {
      let said = "";
      const socket = connectSocket(server.port, "127.0.0.1", () => socket.write(bytes));
      socket.setEncoding("utf8");
      socket.on("data", (chunk) => {
        said += chunk;
        if (said.includes("\r\n\r\n")) socket.end();
      });
      socket.on("close", () => resolve(said));
      socket.on("error", reject);
    });
    expect(answer).toMatch(expected);
    expect(await (await fetch(`${servers["fold-gateway"]!.url}/health`)).text()).toBe("OK");
  });
});
