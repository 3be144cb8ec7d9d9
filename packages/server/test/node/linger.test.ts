import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { bearer, Refusal, type ServeOptions, serve } from "@parlance/server";
import { handler, listen } from "@parlance/server/node";
import type { AnyContract } from "@parlance/wire";
import { describe, expect, onTestFinished, test } from "vitest";
import { dial, ended, statusesOf } from "../safety/bytes.js";

// What a peer still sends when its last answer is written: raw sockets send what a client may send, a reset must not destroy that answer, and the
// next request must not wait.

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
if (!hasOpenssl) console.warn("SKIPPED: openssl is not on this machine, so connections with TLS are not tested");

function makePem(): string {
  const args = ["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  return execFileSync("openssl", [...args, "-subj", "/CN=localhost", "-keyout", "-", "-out", "-"], {
    stdio: ["ignore", "pipe", "ignore"],
    encoding: "utf8",
  });
}

const upload = {
  method: "PUT",
  path: "/upload",
  transfer: true,
  binary: "application/octet-stream",
  answer: { status: 200, text: "text/plain" },
};
const { health, send } = (foldGateway as unknown as AnyContract).operations;
const contract = { ...(foldGateway as unknown as AnyContract), operations: { health, send, upload } } as never;

const handlers = {
  health: () => "OK",
  async *send() {
    yield { type: "done", full_response: "x" };
  },
  async upload(_: object, body: ReadableStream<Uint8Array>) {
    await body.getReader().read();
    throw new Refusal("no space", { status: 507 });
  },
} as never;

const MAX = 1024 * 1024;
const authenticate = bearer({ a: "ann" });

function app(options: ServeOptions = {}) {
  const all: ServeOptions = { partial: true, onError: false, authenticate, maxUploadSize: 2 * MAX, ...options };
  return serve(contract, handlers, all);
}

/** A channel that refuses everybody. */
const closed = () => serve(based, { async session() {} }, { authenticate: () => undefined, onError: false });

type Dial = () => Promise<Socket>;

const SERVERS = {
  async listen(options?: ServeOptions): Promise<Dial> {
    const { port, close } = await listen([app(options), closed()], { port: 0, closeAfter: 0 });
    onTestFinished(close);
    return () => dial(port);
  },
  handler: (options?: ServeOptions) => served(handler(app(options))),
  framework(options?: ServeOptions) {
    const handle = handler(app(options));
    return served((incoming, outgoing) => handle(incoming, outgoing, () => outgoing.writeHead(404).end()));
  },
  ...(hasOpenssl && {
    async tls(options?: ServeOptions): Promise<Dial> {
      pem ??= makePem();
      const tls = { key: pem, cert: pem };
      const { port, close } = await listen([app(options), closed()], { port: 0, closeAfter: 0, tls });
      onTestFinished(close);
      return async () => {
        const options = { port, host: "127.0.0.1", rejectUnauthorized: false, allowHalfOpen: true };
        const socket = connectTls(options);
        await once(socket, "secureConnect");
        return socket;
      };
    },
  }),
};
let pem: string | undefined;

async function served(listener: Parameters<typeof createServer>[1]): Promise<Dial> {
  const server = createServer(listener);
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return () => dial(port);
}

/** Sends part by part, each once so many answers are complete; resolves when the server has ended the connection. */
async function converse(open: Dial, parts: readonly { readonly after: number; readonly bytes: Buffer | string }[]) {
  const socket = await open();
  let failed: Error | undefined;
  let received = "";
  socket.on("error", (error) => {
    failed = error;
  });
  socket.on("data", (piece) => {
    received += piece.toString("latin1");
  });
  const over = ended(socket);
  for (const { after, bytes } of parts) {
    while (answersIn(received) < after && !socket.readableEnded && !failed)
      await Promise.race([once(socket, "data"), over]).catch(() => {});
    await written(socket, bytes);
  }
  await over;
  socket.destroy();
  return { received, failed };
}

/** Resolves when a client that reads as it writes has sent all, or is cut. */
function written(socket: Socket, bytes: Buffer | string): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) return resolve();
    socket.write(bytes, () => resolve());
    socket.once("close", () => resolve());
  });
}

/** The complete answers: those with a length, and the last one of a connection. */
function answersIn(received: string): number {
  let count = 0;
  for (let rest = received; ; count++) {
    if (/^HTTP\/1\.1 \d+ [^\r]+\r\nConnection: close\r\n\r\n/.test(rest)) return count + 1;
    const [head = "", length] = /^HTTP\/1\.1 [\s\S]*?\r\nContent-Length: (\d+)[\s\S]*?\r\n\r\n/i.exec(rest) ?? [];
    if (length === undefined || rest.length < head.length + Number(length)) return count;
    rest = rest.slice(head.length + Number(length));
  }
}

interface Refused {
  readonly status: number;
  readonly line: string;
  readonly token?: string;
  readonly type?: string;
  readonly more?: string;
  readonly options?: ServeOptions;
  /** It is refused only once some of its body is read. */
  readonly reads?: true;
}

const POST = "POST /api/send";
const PUT = { line: "PUT /upload", type: "application/octet-stream" };
const slow: ServeOptions["authenticate"] = async (request) => {
  await new Promise(setImmediate);
  return authenticate(request as never);
};
async function refuseUpload({ operation }: { readonly operation: string }): Promise<void> {
  await new Promise(setImmediate);
  if (operation === "upload") throw new Refusal("slow down", { status: 429 });
}
const REFUSED: readonly Refused[] = [
  { status: 401, line: POST, token: "b" },
  { status: 401, line: POST, token: "b", options: { authenticate: slow } },
  { status: 401, ...PUT, token: "b", options: { authenticate: slow } },
  { status: 403, line: POST, more: "Origin: http://elsewhere.example\r\n" },
  { status: 404, line: "POST /nothing" },
  { status: 405, line: "PATCH /api/send" },
  { status: 415, line: POST, type: "text/plain" },
  { status: 415, ...PUT, type: "text/plain" },
  { status: 415, line: "GET /health", type: "text/plain" },
  {
    status: 429,
    ...PUT,
    options: { hooks: { request: refuseUpload } },
  },
  { status: 507, ...PUT, reads: true },
];

const framed = {
  length: (size: number) => ({ head: `Content-Length: ${size}\r\n`, body: Buffer.alloc(size, "x") }),
  expected: (size: number) => ({
    head: `Content-Length: ${size}\r\nExpect: 100-continue\r\n`,
    body: Buffer.alloc(size, "x"),
  }),
  chunked: (size: number) => ({
    head: "Transfer-Encoding: chunked\r\n",
    body: Buffer.concat([
      Buffer.from(`${size.toString(16)}\r\n`),
      Buffer.alloc(size, "x"),
      Buffer.from("\r\n0\r\n\r\n"),
    ]),
  }),
};

const headOf = (
  { line, token = "a", type = "application/json", more = "" }: Refused,
  framing: string,
  version = "1.1",
) =>
  `${line} HTTP/${version}\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: ${type}\r\n${more}${framing}\r\n`;
const NEXT = "GET /health HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\nConnection: close\r\n\r\n";

const names = <T extends object>(table: T) => Object.keys(table) as (keyof T & string)[];
const ROWS = names(SERVERS).flatMap((server) =>
  names(framed).flatMap((framing) =>
    (server === "listen" ? REFUSED : REFUSED.filter(({ options, reads }) => options || reads)).flatMap((refused) =>
      [20, 900_000, 1_900_000].flatMap((size) =>
        (refused.reads ? (["with its head"] as const) : (["with its head", "after the answer"] as const)).map(
          (when) => ({ server, framing, refused, size, when, status: refused.status, line: refused.line }),
        ),
      ),
    ),
  ),
);

describe("The connection of a refused request", () => {
  test.each(ROWS)(
    "answers the next request, or is closed: $status to $line at $server, body $framing, $size bytes, sent $when",
    async ({ server, framing, refused, size, when }) => {
      const open = await SERVERS[server]!(refused.options);
      const { head, body } = framed[framing](size);
      const bytes = Buffer.from(headOf(refused, head));
      const { received, failed } = await converse(
        open,
        when === "with its head"
          ? [
              { after: 0, bytes: Buffer.concat([bytes, body]) },
              { after: 1, bytes: NEXT },
            ]
          : [
              { after: 0, bytes },
              { after: 1, bytes: body },
              { after: 1, bytes: NEXT },
            ],
      );
      const answers = received.replace("HTTP/1.1 100 Continue\r\n\r\n", "");
      const closes = /^HTTP\/1\.1 [\s\S]*?\r\nConnection: close\r?$/im.test(answers.split("\r\n\r\n")[0]!);
      const statuses = statusesOf(answers);
      expect([failed, ...statuses]).toEqual([undefined, refused.status, ...(closes ? [] : [200])]);
      if (framing === "length" && !refused.reads) expect(closes).toBe(size > MAX);
    },
  );

  const AHEAD = "GET /health HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\n\r\n";
  const [refused] = REFUSED as [Refused];
  test.each<[what: string, size: number, ahead: string, version: string, statuses: readonly number[]]>([
    ["an HTTP/1.0 client gets the answer, and then the end", 20, "", "1.0", [401]],
    ["an HTTP/1.0 client gets the answer, and then the end", 900_000, "", "1.0", [401]],
    ["an HTTP/1.0 client gets the answer, and then the end", 1_900_000, "", "1.0", [401]],
    ["pipelined requests before and after are answered", 900_000, AHEAD, "1.1", [200, 401, 200]],
    ["pipelined requests before are answered, and none after", 1_900_000, AHEAD, "1.1", [200, 401]],
  ])("%s: %i bytes", async (_, size, ahead, version, statuses) => {
    for (const server of names(SERVERS)) {
      const { head, body } = framed.length(size);
      // Node's parser refuses what follows a request of HTTP/1.0.
      const next = version === "1.0" ? "" : NEXT;
      const bytes = Buffer.concat([Buffer.from(ahead + headOf(refused, head, version)), body, Buffer.from(next)]);
      const { received, failed } = await converse(await SERVERS[server]!(), [{ after: 0, bytes }]);
      expect([failed, ...statusesOf(received)]).toEqual([undefined, ...statuses]);
    }
  });
});

describe("The connection of a request that Node itself refuses, and of a refused handshake", () => {
  const rest = Buffer.alloc(1_900_000, "x");
  const handshake = `GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${"A".repeat(22)}==\r\n\r\n`;
  const LAST = [
    [400, "nonsense\r\n\r\n"],
    [431, `GET /health HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(100_000)}\r\n\r\n`],
    [401, handshake],
  ] as const;
  const lasts = (["listen", "tls"] as const).flatMap((server) =>
    SERVERS[server] ? LAST.flatMap(([status, bytes]) => [0, 1].map((after) => ({ server, status, bytes, after }))) : [],
  );
  test.each(lasts)(
    "is closed after the answer $status, whatever still comes after $after answers at $server",
    async ({ server, status, bytes, after }) => {
      const { received, failed } = await converse(await SERVERS[server]!(), [
        { after: 0, bytes },
        { after, bytes: rest },
      ]);
      expect([failed, ...statusesOf(received)]).toEqual([undefined, status]);
    },
  );
});
