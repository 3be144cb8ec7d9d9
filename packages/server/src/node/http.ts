import type { ServerResponse } from "node:http";
import { constants, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { Scope } from "@parlance/wire/scope";
import { type Apps, choose, knows, placed } from "../apps.js";
import type { Answer } from "../http/answer.js";
import { gone } from "../reason.js";
import type { Sink, SseWriter } from "../stream/writer.js";
import { enterSession, leaveStream } from "./http2.js";
import { isClosing, linger } from "./linger.js";
import {
  closeWith,
  type Incoming,
  isBusy,
  isFlooded,
  NodeRequest,
  type Rejected,
  streamsOn,
  toRequest,
} from "./request.js";

/** An answer of HTTP/1.1, or of HTTP/2 through Node's compatibility API. */
type Outgoing = ServerResponse | Http2ServerResponse;

/** A request listener for a Node server. Calls `next`, where a framework gives one, for a path of no app. */
export type Handler = (incoming: Incoming, outgoing: Outgoing, next?: (error?: unknown) => void) => void;

/** A request listener for a server of your own, of HTTP/1.1 or HTTP/2, and a middleware for Express, Connect and others. */
export function handler(app: Apps): Handler {
  return boundHandler(app, undefined);
}

interface Bound {
  /**
   * For the event `checkContinue`: a body is asked for (RFC 9110, section 10.1.1) when it is first read, so that a refusal comes before the
   * peer has sent any of it.
   */
  readonly expecting?: boolean | undefined;
  /** Whether the server is about to close, so that each connection ends with its answer. */
  readonly isLeaving?: (() => boolean) | undefined;
}

/** `handler` for a server that listens on a known address. */
export function boundHandler(
  app: Apps,
  bound: string | undefined,
  { expecting = false, isLeaving }: Bound = {},
): Handler {
  const apps = placed(app);
  return (incoming, either, next) => {
    if (!isHttp2(either) && isClosing(incoming.socket)) return;
    // The compatibility API has the same methods; the types of the two share no signature.
    const outgoing = either as ServerResponse;
    // Another listener may answer, or may have read the body: it is attached once an app matches.
    const shared = next !== undefined || incoming.readableDidRead;
    let unasked = expecting;
    const begin = expecting
      ? () => {
          if (unasked && !outgoing.headersSent) outgoing.writeContinue();
          unasked = false;
        }
      : undefined;
    const arrived = toRequest(incoming, !shared, begin);
    if (!(arrived instanceof NodeRequest)) return reject(incoming, outgoing, arrived);
    const found = choose(apps, arrived, knows);
    if (!found && next) return next();
    // The first app refuses a path that none has.
    const { app, request } = found ?? { app: apps[0]!.app, request: arrived };
    try {
      if (shared) request.attach(incoming);
    } catch (error) {
      if (next) return next(error);
      return reject(incoming, outgoing, { status: 500, text: (error as Error).message });
    }
    // HTTP/1.0 tells the end of an answer by the end of its connection.
    if (incoming.httpVersion === "1.0") outgoing.shouldKeepAlive = false;
    if (!isHttp2(outgoing) && isFlooded(incoming.socket)) return void incoming.socket.destroy();
    if (isHttp2(either) && either.stream && !enterSession(either.stream, app)) return;
    const call = app.open();
    const { socket } = incoming;
    closeWith(socket, call);
    outgoing.on("close", () => {
      call.close(isWritten(outgoing) ? undefined : gone());
      // Kept, it would bring the next call here, though another server is ready.
      if (!isHttp2(either) && app.isDraining() && !isBusy(socket)) socket.destroySoon();
    });
    app
      .answer(request, call, bound)
      .then((answer) => {
        if (outgoing.destroyed) return undefined;
        const { stall, maxMessageSize } = app.limits;
        if (typeof answer.body !== "string" && !isHttp2(outgoing)) streamsOn(incoming.socket, call);
        // The rest of a body that did not arrive in time would be taken for a request; one not asked for may arrive or not.
        const isLast = answer.status === 408 || unasked || isLeaving?.() || app.isDraining();
        if (isHttp2(either)) leaveStream(incoming as Http2ServerRequest, () => request.drop(incoming));
        const closes = isHttp2(either) ? isLast : leaveBody(incoming, outgoing, request, isLast, maxMessageSize);
        return write(answer, outgoing, call, stall, closes);
      })
      .catch(() => cutOff(outgoing));
  };
}

/** Drops what is left of a body, up to `most` bytes. Returns whether the connection closes with the answer instead. */
function leaveBody(
  incoming: Incoming,
  outgoing: ServerResponse,
  request: NodeRequest,
  isLast: boolean,
  most: number,
): boolean {
  if (incoming.complete) return isLast;
  const closes = isLast || !outgoing.shouldKeepAlive || request.unread > most;
  if (closes && request.unread > 0) linger(incoming.socket);
  else request.drop(incoming);
  return closes;
}

function reject(incoming: Incoming, outgoing: ServerResponse, { status, text }: Rejected): void {
  if (isHttp2(outgoing)) leaveStream(incoming as Http2ServerRequest, () => incoming.resume());
  else if (!incoming.complete) linger(incoming.socket);
  outgoing.writeHead(status, { "Content-Type": "text/plain", ...closing(outgoing) }).end(text);
}

/** HTTP/2 has no `Connection` header (RFC 9113, section 8.2.2). */
function closing(outgoing: ServerResponse): Readonly<Record<string, string>> {
  return isHttp2(outgoing) ? {} : { Connection: "close" };
}

function isHttp2(outgoing: Outgoing): outgoing is Http2ServerResponse {
  return "stream" in outgoing;
}

function isWritten(outgoing: Outgoing): boolean {
  return isHttp2(outgoing) ? outgoing.writableEnded : outgoing.writableFinished;
}

/** Ends an answer so that its reader notices the cut. Destroying one of HTTP/2 would end its stream as if it were complete. */
function cutOff(outgoing: Outgoing): void {
  if (!isHttp2(outgoing)) outgoing.destroy();
  // Undefined once the stream is over.
  else outgoing.stream?.close(constants.NGHTTP2_INTERNAL_ERROR);
}

/** Writes an answer. A peer that does not read it to its end is cut after `stall`. */
function write(
  { status, headers, body }: Answer,
  outgoing: ServerResponse,
  call: Scope,
  stall: number,
  isLast: boolean,
): Promise<void> | undefined {
  const head: Record<string, string | number> = {};
  // Not spread: to add a property to such a copy takes V8 forty times as long.
  for (const name in headers) head[name] = headers[name]!;
  if (isLast) Object.assign(head, closing(outgoing));
  if (typeof body !== "string") {
    outgoing.writeHead(status, head).flushHeaders();
    return stream(body, outgoing, call).then(() => cutStalled(outgoing, call, stall));
  }
  // These have no body (RFC 9110, section 8.6). The answer to a HEAD has the length of what GET would answer.
  if (status !== 204 && status !== 304 && outgoing.req.method !== "HEAD")
    head["Content-Length"] = Buffer.byteLength(body);
  outgoing.writeHead(status, head).end(body);
  // Unless the kernel has all of it.
  if (outgoing.socket?.writableLength !== 0) cutStalled(outgoing, call, stall);
  return undefined;
}

async function stream(body: SseWriter, outgoing: ServerResponse, call: Scope): Promise<void> {
  // Of a pipelined answer nothing is read before those of earlier requests are written.
  if (!outgoing.socket) await socketOf(outgoing, call);
  const sink = new ResponseSink(outgoing);
  await body.run(sink).catch(() => sink.cutAfterWrites());
}

function cutStalled(outgoing: ServerResponse, call: Scope, stall: number): void {
  // A pipelined answer has no socket before those of earlier requests are written.
  const cut = () => void call.timeout(stall, () => cutOff(outgoing));
  if (outgoing.socket) cut();
  else outgoing.once("socket", cut);
}

/** Resolves when an answer has its socket, or the call is over. */
function socketOf(outgoing: ServerResponse, call: Scope): Promise<void> {
  return new Promise((resolve) => {
    const release = call.hold(resolve);
    outgoing.once("socket", () => {
      release();
      resolve();
    });
  });
}

const EMPTY = new Uint8Array();

class ResponseSink implements Sink {
  readonly #outgoing: ServerResponse;

  constructor(outgoing: ServerResponse) {
    this.#outgoing = outgoing;
  }

  write(text: string | Uint8Array): Promise<void> | undefined {
    // Writing to a destroyed response is an error event, and ends the process.
    if (this.#isOver() || this.#outgoing.write(text)) return undefined;
    return new Promise((resolve) => this.#outgoing.once("drain", resolve));
  }

  end(): void {
    if (!this.#isOver()) this.#outgoing.end();
  }

  cut(): void {
    cutOff(this.#outgoing);
  }

  cutAfterWrites(): void {
    const outgoing = this.#outgoing;
    if (this.#isOver()) return;
    if (isHttp2(outgoing)) outgoing.write(EMPTY, () => cutOff(outgoing));
    else if (outgoing.socket) outgoing.socket.destroySoon();
    else cutOff(outgoing);
  }

  #isOver(): boolean {
    return this.#outgoing.destroyed || this.#outgoing.writableEnded;
  }
}
