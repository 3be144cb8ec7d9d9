import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { webSocket } from "@parlance/client/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { folder, parlance, start, write } from "../terminal.js";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const replay = (url: string) =>
  `replay schemas/based/transcripts/complete-flow.jsonl --as client --wait 200 --target ${url}`;
const conform = (url: string) =>
  `conform schemas/based --server ${url} --allow-writes --wait 200 --only server/session/*`;

/** A server that handles each connection, or each request and handshake, in one way. */
async function serving(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const answering = (status: number) => {
  const text = "not you";
  const server = createServer((_, outgoing) => outgoing.writeHead(status).end(text));
  const head = `HTTP/1.1 ${status} No\r\nConnection: close\r\nContent-Length: ${text.length}\r\n\r\n`;
  server.on("upgrade", (_, socket) => socket.end(head + text));
  return serving(server);
};
const handling = (handle: (socket: Socket) => void) => serving(createTcpServer(handle));
const closed = async () => {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${port}`;
};

/** How a target refuses, where it is, and what `replay`, `conform` and the client of `record` get. */
const REFUSALS: readonly (readonly [
  name: string,
  target: () => Promise<string>,
  replayed: RegExp,
  conformed: RegExp,
  recorded: RegExp,
])[] = [
  ...[200, 302, 401, 403, 404, 426, 500].map(
    (status) =>
      [
        `answers ${status}`,
        () => answering(status),
        new RegExp(
          "^1 differs: the answer of WebSocket /ws; what follows it was not compared\n" +
            `    status: recorded 101, came ${status}\n    body: recorded nothing, came "not you"\n$`,
        ),
        // A live server does not have to offer a channel.
        status === 404 ? /^2 .*no case was tried: 11 skipped/s : new RegExp(`^1 .*came ${status} not you`, "s"),
        new RegExp(`^refused ${status}$`),
      ] as const,
  ),
  [
    "answers nothing",
    () => handling(() => {}),
    /^1 left: the answer of WebSocket \/ws: it did not finish within 200 ms\n$/,
    /^1 .*came nothing within 200 ms/s,
    /^pending$/,
  ],
  [
    "answers in another protocol",
    () => handling((socket) => socket.end("220 mail.example ESMTP\r\n")),
    /^1 left: the answer of WebSocket \/ws: Parse Error: .*\n$/,
    /^1 .*came Parse Error/s,
    /^refused 502$/,
  ],
  [
    "closes each connection",
    () => handling((socket) => socket.end()),
    /^1 left: the answer of WebSocket \/ws: .*(hang up|ECONNRESET|EPIPE)\n$/,
    /^1 .*came .*(hang up|ECONNRESET|EPIPE)/s,
    /^refused 502$/,
  ],
  [
    "resets each connection",
    () => handling((socket) => socket.on("data", () => socket.resetAndDestroy())),
    /^1 left: the answer of WebSocket \/ws: .*ECONNRESET\n$/,
    /^1 .*came .*ECONNRESET/s,
    /^refused 502$/,
  ],
  [
    "does not listen",
    closed,
    /^2 parlance replay: nothing answers at http:\/\/\S+: ECONNREFUSED\n$/,
    /^2 parlance conform: nothing answers at http:\/\/\S+: ECONNREFUSED\n$/,
    /^refused 502$/,
  ],
];

describe.each(REFUSALS)("a target that %s", (_, target, replayed, conformed, recorded) => {
  it("is a finding of replay, or a mistake in its call", async () => {
    const { code, out, err } = await parlance(root, replay(`http://${await target()}`));
    expect(`${code} ${out || err}`).toMatch(replayed);
  });

  it("is a finding of conform, or a mistake in its call", async () => {
    const { code, out, err } = await parlance(root, conform(`http://${await target()}`));
    expect(`${code} ${out || err}`).toMatch(conformed);
  });

  it("is forwarded by record, which goes on", async () => {
    const cwd = await folder();
    const session = start(cwd, `record --target http://${await target()} -o talk.jsonl --json`);
    await session.printed('{"url":"');
    const url = `${/^[^"]+/.exec(session.text())![0].replace("http", "ws")}/ws`;
    const own = {
      headers: {},
      protocols: [],
      maxSize: 1000,
      signal: AbortSignal.timeout(recorded.test("pending") ? 100 : 5000),
    };
    const opened = await webSocket(url, own).catch(() => "pending" as const);
    expect(opened === "pending" ? opened : "refused" in opened && `refused ${opened.refused.status}`).toMatch(recorded);
    expect(await session.stop()).toBe(0);
  });
});

it.each([
  ["replay", replay],
  ["conform", conform],
])("refuses an https target of %s that has no TLS, with what to do", async (name, words) => {
  const { code, out, err } = await parlance(root, words(`https://${await answering(200)}`));
  expect({ code, out, err }).toEqual({
    code: 2,
    out: "",
    err: expect.stringMatching(
      new RegExp(
        `^parlance ${name}: no TLS with https://\\S+: \\S+; write http:// if the server has no TLS, or name its authority in NODE_EXTRA_CA_CERTS\n$`,
      ),
    ),
  });
});

it("keeps the process of a replay alive in a recorded pause, when no connection is open", async () => {
  const header = { recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] };
  const request = (t: number, c: number) => [
    { t, c, from: "client", kind: "request", method: "GET", target: `/${c}`, headers: [] },
    { t, c, from: "server", kind: "response", status: 200, headers: [] },
    { t, c, from: "server", kind: "end" },
  ];
  const cwd = await folder();
  const lines = [header, ...request(0, 1), ...request(1500, 2)].map((line) => `${JSON.stringify(line)}\n`);
  await write(cwd, { "talk.jsonl": lines.join("") });
  const target = await serving(
    createServer((_, outgoing) => outgoing.writeHead(200, { Connection: "close", "Content-Length": 0 }).end()),
  );
  const main = join(root, "packages/cli/src/main.ts");
  const words = `replay talk.jsonl --as client --speed 5 --target http://${target}`.split(" ");
  const env = { ...process.env, TSX_TSCONFIG_PATH: join(root, "tsconfig.json") };
  const child = spawn(process.execPath, ["--import", import.meta.resolve("tsx"), main, ...words], { cwd, env });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data) => {
      said += data;
    });
  const [code] = await once(child, "close");
  expect({ code, said }).toEqual({ code: 0, said: expect.stringContaining("everything as recorded") });
});
