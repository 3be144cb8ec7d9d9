import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { onWebSocket } from "@parlance/server/node";
import { Disconnected, type Side } from "@parlance/wire";
import { Scope, within } from "@parlance/wire/scope";
import type { Recorder } from "../recorder.js";
import { type HeaderList, isEventStream } from "../recording.js";
import { Afterwards, type Seen } from "./afterwards.js";
import { cutChunks, cutEvents, cutFrames } from "./cutter.js";
import { Direction } from "./direction.js";
import { forward, type Guided } from "./forward.js";
import { frames } from "./frames.js";
import { flat, pairs, passed, sendHead } from "./headers.js";
import { isRebound } from "./pages.js";

export interface ProxyOptions {
  /** The server's URL, such as `http://localhost:8080`. Its path is put before the path of each request. */
  readonly target: string;
  readonly recorder: Recorder;
  /** @default 0: any free one */
  readonly port?: number | undefined;
  /** @default "127.0.0.1" */
  readonly host?: string | undefined;
  /** Milliseconds to wait for the server's connection and for a handshake. @default 30,000 */
  readonly connectWithin?: number | undefined;
  /** Milliseconds that open connections get when the proxy closes. @default 1000 */
  readonly closeWithin?: number | undefined;
  /** Called for each connection, for a tool that disturbs it. */
  readonly onConnection?: ((connected: Connected) => void) | undefined;
}

/** A connection through the proxy. */
export interface Connected {
  /** Its number in the recording. */
  readonly id: number;
  readonly socket: boolean;
  /** The request's path and query, and its headers, with their secrets. */
  readonly target: string;
  readonly headers: HeaderList;
  readonly directions: { readonly [from in Side]: Direction };
  /** Drops both sides without a close. */
  cut(): void;
}

export interface Proxy {
  readonly url: string;
  /** Cuts open connections and closes. */
  close(): Promise<void>;
}

type Lose = (from: Side, text: string) => void;

/** Forwards HTTP, event streams and WebSockets to a server, and records them. It buffers nothing and adds nothing. */
export async function proxy(options: ProxyOptions): Promise<Proxy> {
  const { host = "127.0.0.1", port = 0, closeWithin = 1000 } = options;
  const root = Scope.open(() => {});
  const afterwards = new Afterwards(options.recorder);
  const running = { ...options, afterwards, url: new URL(options.target) };
  const server = createServer({ requestTimeout: 0 });
  const sockets = new Set<Duplex>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  // The target sees its own name as the Host, so a name that was made to point here is refused here. A client of HTTP/1.0 sends none.
  const isOther = ({ headers }: IncomingMessage) => isRebound(host, headers.host ?? "localhost");
  server.on("request", (incoming, outgoing) => {
    if (isOther(incoming)) outgoing.writeHead(403, { "Content-Type": "text/plain" }).end("this is a loopback address");
    else pass(incoming, outgoing, running, root);
  });
  const onUpgrade = onWebSocket((incoming, socket, head) => {
    if (isOther(incoming)) socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    else passSocket(incoming, socket, head, running, root);
  });
  server.on("upgrade", onUpgrade);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve());
  });
  const { address, family, port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${bound}`,
    async close() {
      root.close(new Disconnected("the proxy has closed", { code: "closed", retryable: true }));
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      const closing = Scope.open(() => {});
      await within(closing, closeWithin, "closing the proxy", () => closed).catch(() => {});
      afterwards.flush();
    },
  };
}

type Directions = Connected["directions"];
type Running = ProxyOptions & { readonly afterwards: Afterwards; readonly url: URL };

const CONNECT_WITHIN = 30_000;
const UNANSWERED = "the proxy got no answer from the server";
const NO_ANSWER = `Connection: close\r\nContent-Type: text/plain\r\nContent-Length: ${UNANSWERED.length}\r\n\r\n${UNANSWERED}`;

/** One request that passes, and its answer. */
interface Passing {
  readonly seen: Seen;
  readonly call: Scope;
  /** Where a tool asked for them. */
  readonly directions: Directions | undefined;
  over: boolean;
  readonly lose: Lose;
}

function begin(incoming: IncomingMessage, client: Duplex | ServerResponse, options: Running, root: Scope): Passing {
  const seen = options.afterwards.connection();
  const socket = !("writeHead" in client);
  const { id } = seen;
  const request = { target: incoming.url!, headers: pairs(incoming.rawHeaders) };
  seen.request(incoming.method!, request.target, request.headers, socket);
  const directions = options.onConnection && { client: new Direction(), server: new Direction() };
  const passing: Passing = {
    seen,
    call: root.child(),
    directions,
    over: false,
    lose(from, text) {
      if (passing.over) return;
      passing.over = true;
      seen.error(from, text);
      passing.call.close();
    },
  };
  const cut = () => {
    passing.lose("server", "the proxy has cut the connection");
    client.destroy();
  };
  if (directions) options.onConnection!({ id, socket, ...request, directions, cut });
  return passing;
}

function pass(incoming: IncomingMessage, outgoing: ServerResponse, options: Running, root: Scope): void {
  // The connection is made while the request is recorded.
  const upstream = send(options, incoming, {});
  const passing = begin(incoming, outgoing, options, root);
  const { seen, call, directions, lose } = passing;
  // The time limit is for the connection only; the client limits the wait for an answer.
  connecting(upstream, call, options.connectWithin, () => fail(new Error("no connection within the limit")));
  call.add(() => upstream.destroy());

  function fail(error: Error): void {
    if (passing.over) return;
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(502, { "Content-Type": "text/plain" }).end(UNANSWERED);
    lose("server", error.message);
  }

  forward(
    incoming,
    upstream,
    (chunk) => seen.body("client", chunk),
    directions && { direction: directions.client, cut: cutChunks },
  );
  incoming.on("end", () => {
    upstream.end();
    seen.end("client");
  });
  incoming.on("error", () => {});
  outgoing.on("error", () => {});
  outgoing.on("close", () => lose("client", "the client has gone"));
  upstream.on("error", fail);
  upstream.on("response", (answer) => {
    const headers = pairs(answer.rawHeaders);
    outgoing.writeHead(answer.statusCode!, answer.statusMessage, flat(passed(headers)));
    // With the first chunk if that is here already: headers alone are a packet of their own.
    const headed = setImmediate(() => sendHead(outgoing));
    for (const event of ["data", "end", "close"]) answer.once(event, () => clearImmediate(headed));
    seen.response(answer.statusCode!, headers);
    const cut = isEventStream(headers) ? cutEvents() : cutChunks;
    forward(
      answer,
      outgoing,
      (chunk) => seen.body("server", chunk),
      directions && { direction: directions.server, cut },
    );
    answer.on("end", () => {
      if (!answer.complete) return;
      passing.over = true;
      outgoing.end();
      seen.end("server");
      call.close();
    });
    answer.on("close", () => {
      if (passing.over) return;
      outgoing.destroy();
      lose("server", "the server has cut its answer");
    });
  });
}

function passSocket(incoming: IncomingMessage, socket: Duplex, head: Buffer, options: Running, root: Scope): void {
  const passing = begin(incoming, socket, options, root);
  const { seen, call, directions, lose } = passing;
  const finish = () => {
    passing.over = true;
    call.timeout(options.closeWithin ?? 1000, () => call.close());
  };
  const upstream = send(options, incoming, { Connection: "Upgrade", Upgrade: incoming.headers.upgrade! });
  call.add(() => socket.destroy());
  call.add(() => upstream.destroy());
  const fail = (error: Error) => {
    if (!passing.over) socket.end(`HTTP/1.1 502 Bad Gateway\r\n${NO_ANSWER}`);
    lose("server", error.message);
  };
  const stop = call.timeout(options.connectWithin ?? CONNECT_WITHIN, () =>
    fail(new Error("no answer within the limit")),
  );
  socket.on("error", () => {});
  socket.on("close", () => lose("client", "the connection was lost"));
  upstream.on("error", fail);
  upstream.on("response", (answer) => {
    stop();
    refuse(answer, socket, seen, finish);
  });
  upstream.on("upgrade", (answer, peer, first) => {
    stop();
    call.add(() => peer.destroy());
    const headers = pairs(answer.rawHeaders);
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.write(`${statusLine(answer)}${lines}\r\n`, "latin1");
    seen.response(101, headers);
    join({ client: socket, server: peer }, { client: head, server: first }, directions, seen, lose, finish);
  });
  upstream.end();
}

/** Forwards both directions of an open WebSocket, byte by byte, with the peers' frames, pings and close. */
function join(
  sockets: { readonly [side in Side]: Duplex },
  early: { readonly [side in Side]: Buffer },
  directions: Directions | undefined,
  seen: Seen,
  lose: Lose,
  finish: () => void,
) {
  /** A close frame of one side ends the conversation; the other may not confirm it. */
  let closing = false;
  for (const from of ["server", "client"] as const) {
    const source = sockets[from];
    const sink = sockets[from === "client" ? "server" : "client"];
    const read = frames(from, seen, () => {
      closing = true;
      finish();
    });
    if (early[from].length > 0) source.unshift(early[from]);
    const guided: Guided | undefined = directions && { direction: directions[from], cut: cutFrames(), socket: true };
    forward(source, sink, read, guided);
    source.on("error", () => {});
    source.on("end", () => {
      sink.end();
      if (!closing) lose(from, "the connection was lost");
    });
    source.on("close", () => lose(from, "the connection was lost"));
  }
}

/** Forwards the answer of a server that does not switch protocols. */
function refuse(answer: IncomingMessage, socket: Duplex, seen: Seen, finish: () => void): void {
  const headers = passed(pairs(answer.rawHeaders));
  const kept = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.write(`${statusLine(answer)}${kept}Connection: close\r\n\r\n`, "latin1");
  seen.response(answer.statusCode!, headers);
  forward(answer, socket, (chunk) => seen.body("server", chunk));
  answer.on("end", () => {
    seen.end("server");
    socket.end(finish);
  });
}

const statusLine = ({ statusCode, statusMessage }: IncomingMessage) =>
  `HTTP/1.1 ${statusCode} ${statusMessage || STATUS_CODES[statusCode!] || ""}\r\n`;

function send({ url }: Running, incoming: IncomingMessage, own: Readonly<Record<string, string>>) {
  const headers = passed(pairs(incoming.rawHeaders)).map(([name, value]) =>
    name.toLowerCase() === "host" ? ([name, url.host] as const) : ([name, value] as const),
  );
  const isTls = url.protocol === "https:";
  const chunked = incoming.headers["transfer-encoding"] !== undefined ? [["Transfer-Encoding", "chunked"]] : [];
  const options: RequestOptions = {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port || (isTls ? 443 : 80),
    ...(isTls && { servername: url.hostname }),
    method: incoming.method,
    path: url.pathname.replace(/\/$/, "") + incoming.url!,
    headers: [...headers, ...chunked, ...Object.entries(own)].flat() as unknown as RequestOptions["headers"],
    setHost: false,
    agent: false,
  };
  return (isTls ? httpsRequest : httpRequest)(options);
}

/** Calls `expire` if there is no connection within the limit. */
function connecting(
  upstream: ReturnType<typeof httpRequest>,
  call: Scope,
  limit = CONNECT_WITHIN,
  expire: () => void,
): void {
  const stop = call.timeout(limit, expire);
  upstream.once("socket", (socket) => {
    if (!socket.connecting) stop();
    else socket.once("connect", stop);
  });
}
