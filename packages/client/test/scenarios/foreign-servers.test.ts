import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectOptions, connect } from "@parlance/client";
import { trust, webSocket } from "@parlance/client/node";
import { based } from "@parlance/protocols/based";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";

afterEach(() => void vi.unstubAllGlobals());

const initial = JSON.stringify({ status: "success", action: "initial_state", files: [], activeFile: null });
const list = JSON.stringify({ status: "success", action: "file_list", files: [], activeFile: null });

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** How servers of others answer a plain GET at the path of their socket. */
const answers: Readonly<Record<string, Listener | undefined>> = {
  "has no listener for requests": undefined,
  "answers 404": (_, response) => response.writeHead(404).end("no"),
  "answers 426": (_, response) => response.writeHead(426, { Upgrade: "websocket" }).end(),
  "answers 500": (_, response) => response.writeHead(500).end(),
  "answers 200 with a page": (_, response) => response.writeHead(200, { "Content-Type": "text/html" }).end("<p>"),
  "never answers": () => {},
  "answers slowly": (_, response) => void setTimeout(() => response.writeHead(404).end(), 500),
  "never ends its answer": (_, response) => void response.writeHead(200).write("x"),
  "closes the connection": ({ socket }) => socket.destroy(),
  "answers garbage": ({ socket }) => socket.end("garbage\r\n\r\n"),
  "redirects to itself": ({ url }, response) => response.writeHead(302, { Location: url }).end(),
  "repeats the headers that it gets": ({ headers }, response) =>
    response.writeHead(200, { "Parlance-Resume": headers["parlance-resume"] ?? "" }).end(),
};

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
if (!hasOpenssl) console.warn("SKIPPED: openssl is not on this machine, so servers with TLS are not tested");

function certificate(): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), "parlance-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  execFileSync("openssl", ["req", "-x509", "-days", "2", ...made, ...subject], { stdio: "ignore" });
  return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
}

/** A server of based that knows nothing of Parlance. */
async function foreign(listener: Listener | undefined, tls?: { key: string; cert: string }) {
  const seen = { gets: 0, protocols: [] as unknown[], keys: [] as unknown[], frames: [] as string[] };
  const server = (tls ? createTlsServer(tls) : createServer()) as Server;
  // Where nobody listens, a request is never answered.
  if (listener) server.on("request", listener);
  server.on("request", () => seen.gets++);
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket, { headers }) => {
    seen.protocols.push(headers["sec-websocket-protocol"]);
    seen.keys.push(headers["parlance-resume"]);
    socket.send(initial);
    socket.on("message", (data) => {
      seen.frames.push(String(data));
      socket.send(list);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { seen, baseUrl: `http${tls ? "s" : ""}://localhost:${(server.address() as AddressInfo).port}` };
}

/** A page's WebSocket, which carries no headers and fails where the server does not select one of its protocols. */
function asPage(baseUrl: string, ca?: string): ConnectOptions {
  class PageSocket extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols, ca === undefined ? {} : { ca });
    }
  }
  vi.stubGlobal("WebSocket", PageSocket);
  vi.stubGlobal("location", new URL(baseUrl));
  // A page remembers its servers by its fetch.
  const { fetch } = ca === undefined ? { fetch: (request: Request) => globalThis.fetch(request) } : trust({ ca });
  return { baseUrl, fetch };
}

/** Opens three channels, one after the other, and uses each. */
async function useThrice(options: ConnectOptions): Promise<void> {
  for (let opened = 0; opened < 3; opened++) {
    const channel = await connect(based, options).session();
    expect((await channel.ask({ type: "list_files" })).type).toBe("file_list");
    await channel.close();
    await channel.closed;
  }
}

// The limit of a request is 30 s: these tests end before it, so no open waits for an answer.
describe.each(Object.entries(answers))("A server of another kind that %s", (_, listener) => {
  it("is opened in Node with one handshake, and no request beside it", async () => {
    const { seen, baseUrl } = await foreign(listener);
    await useThrice({ baseUrl, webSocket });
    expect(seen).toMatchObject({ gets: 0, protocols: [undefined, undefined, undefined] });
    expect(seen.frames).toHaveLength(3);
  });

  it("is opened from a page with one request at most, beside the first handshake", async () => {
    const { seen, baseUrl } = await foreign(listener);
    await useThrice(asPage(baseUrl));
    // `fetch` follows redirects, and repeats a GET whose connection was closed without an answer.
    if (listener !== answers["redirects to itself"]) expect(seen.gets).toBeLessThanOrEqual(2);
    expect(seen).toMatchObject({
      protocols: [undefined, undefined, undefined],
      keys: [undefined, undefined, undefined],
    });
    expect(seen.frames).toHaveLength(3);
  });
});

describe("A server of another kind", () => {
  it("is asked by a page once, also by several channels and clients at a time", async () => {
    const { seen, baseUrl } = await foreign(answers["never answers"]);
    const options = asPage(baseUrl);
    const all = await Promise.all([1, 2, 3].map(() => connect(based, options).session()));
    await Promise.all(all.map((channel) => channel.close()));
    await expect.poll(() => seen.gets).toBe(1);
  });

  it.skipIf(!hasOpenssl)("with TLS is opened in Node and from a page", async () => {
    const tls = certificate();
    const inNode = await foreign(answers["never answers"], tls);
    await useThrice({ baseUrl: inNode.baseUrl, ...trust({ ca: tls.cert }) });
    expect(inNode.seen.gets).toBe(0);
    const inPage = await foreign(answers["never answers"], tls);
    await useThrice(asPage(inPage.baseUrl, tls.cert));
    expect(inPage.seen.gets).toBeLessThanOrEqual(1);
  });
});

describe("A server of ours", () => {
  const serving = async () => {
    const gets: string[] = [];
    let sessions = 0;
    const app = serve(based, {
      async session(_, channel) {
        sessions++;
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const message of channel)
          if (message.type === "list_files") channel.send({ type: "file_list", files: [] });
      },
    });
    const server = await listen(app, { port: 0 });
    server.server.prependListener("request", ({ headers }: IncomingMessage) => {
      gets.push(String(headers["parlance-resume"]));
    });
    onTestFinished(() => server.close());
    return { baseUrl: server.url, gets, sessions: () => sessions, server };
  };
  const kinds: Readonly<Record<string, (baseUrl: string) => ConnectOptions>> = {
    "in Node": (baseUrl) => ({ baseUrl, webSocket, random: () => 0 }),
    "from a page": (baseUrl) => ({ ...asPage(baseUrl), random: () => 0 }),
  };

  it.each(Object.entries(kinds))("is opened %s without a request of its own each, and resumes", async (where, make) => {
    const { baseUrl, gets, sessions, server } = await serving();
    const cuts = new Set<{ destroy(): void }>();
    server.server.on("upgrade", (_, socket) => cuts.add(socket));
    const options = make(baseUrl);
    const first = await connect(based, options).session();
    const second = await connect(based, options).session();
    for (const channel of [first, second]) await channel.ask({ type: "list_files" });
    const asked = where === "in Node" ? [] : ["offer"];
    expect(gets).toEqual(asked);
    // The page's second question would be here by now: an ask has gone there and back.
    for (const channel of [first, second]) await channel.ask({ type: "list_files" });
    for (const socket of cuts) socket.destroy();
    for (const channel of [first, second]) expect((await channel.ask({ type: "list_files" })).type).toBe("file_list");
    expect(sessions()).toBe(2);
    for (const channel of [first, second]) await channel.close();
  });
});
