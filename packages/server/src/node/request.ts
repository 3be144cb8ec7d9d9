import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Socket } from "node:net";
import { misuse } from "@parlance/wire";
import { type ByteSource, webStream } from "@parlance/wire/bytes";
import { parseUrl } from "@parlance/wire/internal/http";
import type { Scope } from "@parlance/wire/scope";
import { type BodyReader, type HttpRequest, WebRequest } from "../http/request.js";
import { LISTEN_LIMITS } from "../limits.js";
import { gone } from "../reason.js";

/** A host and a port, as RFC 9110, section 7.2 allows them: anything else in a URL would lead elsewhere. */
const HOST = /^(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** A request of HTTP/1.1, or of HTTP/2 through Node's compatibility API. */
export type Incoming = IncomingMessage | Http2ServerRequest;

export interface Rejected {
  readonly status: number;
  readonly text: string;
}

/** Methods that no web `Request` has (WHATWG Fetch, section 2.2.1). */
const FORBIDDEN = /^(connect|trace|track)$/i;
/** Those that a web `Request` writes in capitals, however they are sent. */
const NORMALIZED = /^(delete|get|head|options|post|put)$/i;
/** Most requests have neither. */
const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);

/** Converts a Node request to the server's form, or returns what is wrong with it. */
export function toRequest(incoming: Incoming, attachBody: boolean, begin = nothing): NodeRequest | Rejected {
  const { method = "GET", rawHeaders } = incoming;
  if (rawHeaders.length / 2 > LISTEN_LIMITS.maxHeaders)
    return { status: 431, text: `a request has at most ${LISTEN_LIMITS.maxHeaders} headers` };
  const headers = new NodeHeaders(rawHeaders);
  const host = headers.get("Host") ?? (incoming.headers[":authority"] as string | undefined);
  const target = targetOf(incoming.url ?? "/", host ?? "localhost");
  if (target === undefined) return { status: 400, text: "bad request target or Host" };
  if (!METHODS.has(method) && FORBIDDEN.test(method)) return { status: 400, text: "bad request" };
  if (!headers.valid) return { status: 400, text: "bad request" };
  const normal = !METHODS.has(method) && NORMALIZED.test(method) ? method.toUpperCase() : method;
  const request = new NodeRequest(normal, target, headers, begin);
  if (attachBody) request.attach(incoming);
  return request;
}

function nothing(): void {}

/**
 * The raw headers of a Node request, names and values by turns. Node would keep its parsed headers as long as the connection. They are
 * few, so that a search costs less than a table of all.
 */
class NodeHeaders implements Pick<Headers, "get" | "has"> {
  readonly #raw: readonly string[];
  /** Whether no value could end its line. */
  readonly valid: boolean;

  constructor(raw: readonly string[]) {
    this.#raw = raw;
    this.valid = !raw.some((text) => UNSAFE.test(text));
  }

  get(name: string): string | null {
    const wanted = name.toLowerCase();
    let found: string | null = null;
    for (let i = 0; i < this.#raw.length; i += 2) {
      const given = this.#raw[i]!;
      if (given.length !== wanted.length || given.toLowerCase() !== wanted) continue;
      found = found === null ? this.#raw[i + 1]! : found + (wanted === "cookie" ? "; " : ", ") + this.#raw[i + 1]!;
    }
    return found;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  without(name: string): NodeHeaders {
    const isOther = (_: string, i: number) => this.#raw[i - (i % 2)]!.toLowerCase() !== name.toLowerCase();
    return new NodeHeaders(this.#raw.filter(isOther));
  }

  toHeaders(): Headers {
    const headers = new Headers();
    // `:path` and such are HTTP/2's own.
    for (let i = 0; i < this.#raw.length; i += 2)
      if (!this.#raw[i]!.startsWith(":")) headers.append(this.#raw[i]!, this.#raw[i + 1]!);
    return headers;
  }
}

/** NUL, CR and LF, which `Headers` refuses in a value. */
const UNSAFE = /[\0\r\n]/;

/** A request of Node. The signal of its web `Request` is never aborted: the call's scope has one. */
export class NodeRequest implements HttpRequest {
  readonly method: string;
  readonly #target: Target;
  headers: NodeHeaders;
  #incoming: Incoming | undefined;
  #body: BodyInit | undefined;
  #request: Request | undefined;
  #reader: NodeBody | undefined;
  /** Called before the body is read. */
  readonly #begin: () => void;

  constructor(method: string, target: Target, headers: NodeHeaders, begin: () => void) {
    this.#begin = begin;
    this.method = method;
    this.#target = target;
    this.headers = headers;
  }

  get pathname(): string {
    return this.#target.pathname;
  }

  get hasQuery(): boolean {
    return this.#target.hasQuery;
  }

  get url(): URL {
    this.#target.url ??= new URL(this.#target.pathname, this.#target.origin);
    return this.#target.url;
  }

  /** Gives the request its body. Before that it has none, because it may be another listener's. */
  attach(incoming: Incoming): void {
    this.#request = undefined;
    if (this.method === "GET" || this.method === "HEAD") return;
    if (!incoming.readableDidRead) this.#incoming = incoming;
    else {
      this.#body = parsedBody(incoming);
      // A body parser has decoded the body already.
      this.headers = this.headers.without("Content-Encoding");
    }
  }

  get request(): Request {
    this.#request ??= this.#make();
    return this.#request;
  }

  body(): BodyReader | undefined {
    if (this.#request || !this.#incoming) return new WebRequest(this.request).body();
    this.#begin();
    this.#reader = new NodeBody(this.#incoming, this.#length());
    return this.#reader;
  }

  /** The bytes of the body that nobody has read; Infinity where its head does not say how many there are. */
  get unread(): number {
    return this.#reader?.left ?? this.#length();
  }

  /** Drops the rest of the body, so that the next request of the connection is read. */
  drop(incoming: Incoming): void {
    this.#reader?.cancel();
    incoming.removeAllListeners("data").resume();
  }

  /** The bytes of the body, where its head says so: a transfer coding would count instead (RFC 9112, section 6.3). */
  #length(): number {
    const length = this.headers.has("Transfer-Encoding") ? null : this.headers.get("Content-Length");
    return length !== null && /^\d+$/.test(length) ? Number(length) : Number.POSITIVE_INFINITY;
  }

  at(url: URL): NodeRequest {
    const request = new NodeRequest(this.method, withUrl(url), this.headers, this.#begin);
    if (this.#incoming) request.attach(this.#incoming);
    request.#body = this.#body;
    return request;
  }

  #make(): Request {
    const { method, url } = this;
    const headers = this.headers.toHeaders();
    if (this.#reader) {
      const request = new Request(url, { method, headers, body: "" });
      // It is read already.
      void request.body?.cancel();
      return request;
    }
    // The rest of a body that is not read is dropped, because its connection still carries the answer.
    const incoming = this.#incoming;
    const body = incoming ? webStream(this.#source(incoming), () => incoming.resume()) : this.#body;
    return new Request(url, { method, headers, ...(body !== undefined && { body, duplex: "half" }) } as RequestInit);
  }

  #source(incoming: Incoming): ByteSource {
    return {
      on: (event: string, listener: (chunk: Uint8Array) => void) => incoming.on(event, listener),
      pause: () => incoming.pause(),
      resume: () => {
        this.#begin();
        incoming.resume();
      },
    };
  }
}

/** Reads the body of a Node request. A web stream of it would cost more than all else of a small operation. */
class NodeBody implements BodyReader {
  readonly #incoming: Incoming;
  /** The bytes that are still to come. */
  left: number;
  #listens = false;
  #lost = false;
  #wake = (): void => {};
  readonly #look = (): void => this.#wake();

  constructor(incoming: Incoming, length: number) {
    this.#incoming = incoming;
    this.left = length;
  }

  /** A small body has come with its head, and needs neither listeners nor a wait: Node says later that it is complete. */
  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (this.left === 0) {
      // Its end is still to be read, or Node keeps the request with its connection.
      this.cancel();
      return undefined;
    }
    const piece = this.#take();
    if (piece !== null) return piece;
    return this.#incoming.complete ? undefined : this.#wait();
  }

  #take(): Uint8Array | null {
    const piece: Uint8Array | null = this.#incoming.read();
    this.left -= piece?.length ?? 0;
    return piece;
  }

  async #wait(): Promise<Uint8Array | undefined> {
    this.#listen();
    for (;;) {
      const piece = this.#take();
      if (piece !== null) return piece;
      if (this.#incoming.complete) return undefined;
      if (this.#lost || this.#incoming.destroyed) throw new Error("the body was cut");
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #listen(): void {
    if (this.#listens) return;
    this.#listens = true;
    const lose = () => {
      this.#lost = true;
      this.#wake();
    };
    this.#incoming.on("readable", this.#look);
    this.#incoming.on("end", this.#look);
    this.#incoming.on("error", lose);
    this.#incoming.on("close", lose);
  }

  /** The rest of a body that is not read is dropped, because its connection still carries the answer. */
  cancel(): void {
    // Node stops a stream that flows when a listener is removed, even one that it does not have.
    if (this.#incoming.listenerCount("readable") > 0) this.#incoming.off("readable", this.#look);
    this.#incoming.resume();
  }
}

/**
 * What a body parser before this handler has left in `body`, as Express keeps it.
 *
 * @throws `TypeError` where the bytes are gone and nothing was left
 */
function parsedBody(incoming: Incoming): BodyInit {
  const { body } = incoming as { readonly body?: unknown };
  if (body === undefined)
    throw misuse("the body was read before it came here: mount this handler before what reads bodies");
  return typeof body === "string" || body instanceof Uint8Array ? (body as BodyInit) : JSON.stringify(body);
}

/** The target of a request. Its URL is made when it is first read: parsing one costs as much as the rest of a small request. */
interface Target {
  readonly origin: string;
  readonly pathname: string;
  readonly hasQuery: boolean;
  url?: URL;
}

/** A path that is the same in a URL: no dot segment, nothing to encode, no query. */
const PLAIN = /^(?:\/(?!\.)[\w.~:@!$&+,;=-]*)+$/;

/** The last host, and the URL of its root. */
let last: { readonly host: string; readonly root: URL } | undefined;

/** Parses a request target (RFC 9112, section 3.2): a path, or a whole URL of the same host. */
function targetOf(target: string, host: string): Target | undefined {
  if (last?.host !== host) {
    const root = HOST.test(host) ? parseUrl(`http://${host}`) : undefined;
    if (!root) return undefined;
    last = { host, root };
  }
  const { root } = last;
  if (PLAIN.test(target) && !target.startsWith("//")) return { origin: root.origin, pathname: target, hasQuery: false };
  const isPath = target.startsWith("/");
  if (!isPath && !/^https?:\/\//i.test(target)) return undefined;
  const url = parseUrl(isPath ? `http://${host}${target}` : target);
  // A web `Request` has no credentials in its URL.
  if (url?.username !== "" || url.password !== "") return undefined;
  return url.host === root.host ? withUrl(url) : undefined;
}

function withUrl(url: URL): Target {
  return { origin: url.origin, pathname: url.pathname, hasQuery: url.search !== "", url };
}

/** The calls of each connection. One listener a connection, because pipelined requests would add one each. */
const callsOn = new WeakMap<Socket, Scope[]>();

/** Whether a request of this connection is not answered yet. */
export function isBusy(socket: Socket): boolean {
  return (callsOn.get(socket)?.length ?? 0) > 0;
}

/** Closes the calls of a connection that is given up. */
export function leave(socket: Socket): void {
  for (const call of [...(callsOn.get(socket) ?? [])]) call.close(gone());
}

function leaveThis(this: Socket): void {
  leave(this);
}

/** Requests of one connection that may be answered at a time. Hardly a client sends a second one before the first is answered. */
const MAX_PIPELINED = 64;

/** Connections whose answer is a stream now. */
const streaming = new WeakSet<Socket>();

/** Notes that the answer is a stream, which others on its connection wait for, until the call closes. */
export function streamsOn(socket: Socket, call: Scope): void {
  streaming.add(socket);
  call.add(() => streaming.delete(socket));
}

/**
 * Whether a connection sends more requests than are answered at a time, because each has a handler and an answer in memory. Node stops reading
 * where answers wait behind a stream: the end of such a connection would go unnoticed.
 */
export function isFlooded(socket: Socket): boolean {
  const count = callsOn.get(socket)?.length ?? 0;
  return count >= MAX_PIPELINED || (count > 0 && socket.isPaused() && streaming.has(socket));
}

/** Closes the call when its connection is lost. Returns a function that undoes this. */
export function closeWith(socket: Socket, call: Scope): () => void {
  if (socket.destroyed) {
    call.close(gone());
    return () => {};
  }
  let calls = callsOn.get(socket);
  if (!calls) {
    calls = [];
    callsOn.set(socket, calls);
    socket.once("close", leaveThis);
  }
  const open = calls;
  open.push(call);
  return call.hold(() => open.splice(open.indexOf(call), 1));
}
