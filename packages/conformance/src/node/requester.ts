import { randomBytes } from "node:crypto";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { request as secureRequest } from "node:https";
import type { Socket } from "node:net";
import { StringDecoder } from "node:string_decoder";
import { Unmet, within } from "../case.js";
import type { Answered, Asking, Frames, Head, Opened, Whole } from "../tested.js";
import { type Trace, traced } from "../trace.js";
import { framesOf } from "./frames.js";

export interface Target {
  readonly url: string;
  /** Headers of every request, such as the token's. */
  readonly headers: Readonly<Record<string, string>>;
  readonly wait: number;
}

/** The suite as a client: sends requests as they are given, right or wrong. */
export class Requester {
  readonly #target: Target;
  readonly #trace: Trace;
  readonly #open = new Set<ClientRequest>();
  readonly #sockets = new Set<Socket>();

  constructor(target: Target, trace: Trace) {
    this.#target = target;
    this.#trace = trace;
  }

  open(asking: Asking): Promise<Opened> {
    return this.#read(asking);
  }

  async #read(asking: Asking): Promise<Reading> {
    const { wait } = this.#target;
    const sent = this.#send(asking);
    const response = await within(wait, "an answer", answered(sent));
    return opened(sent, response, wait);
  }

  async request(asking: Asking): Promise<Answered> {
    const opened = await this.#read(asking);
    const text = await opened.rest();
    return { status: opened.status, headers: opened.headers, text, bytes: opened.bytes() };
  }

  async socket(asking: Asking): Promise<Frames | Whole> {
    const { wait } = this.#target;
    const handshake = {
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
    };
    const sent = this.#send({ ...asking, headers: { ...asking.headers, ...handshake } });
    const upgraded = new Promise<Frames>((resolve) =>
      sent.once("upgrade", (_, socket: Socket, head: Buffer) => {
        socket.setNoDelay(true);
        if (head.length > 0) socket.unshift(head);
        resolve(framesOf(socket, "client", wait));
      }),
    );
    const refused = answered(sent).then(async (response): Promise<Whole> => {
      const one = opened(sent, response, wait);
      return { status: one.status, headers: one.headers, text: await one.rest() };
    });
    return within(wait, "an answer to the handshake", Promise.race([upgraded, refused]));
  }

  /** Ends a case that is over its limits, its sockets too. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.close();
  }

  /** Ends whatever a case has left open. */
  close(): void {
    for (const sent of this.#open) sent.destroy();
    this.#open.clear();
  }

  #send({ method, target, headers = {}, body }: Asking): ClientRequest {
    const url = new URL(this.#target.url);
    const all = { ...this.#target.headers, ...headers };
    const given = Object.entries(all).filter(([, value]) => value !== undefined) as [string, string][];
    const secure = url.protocol === "https:";
    const sent = (secure ? secureRequest : request)({
      hostname: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port || (secure ? 443 : 80),
      method,
      path: url.pathname.replace(/\/$/, "") + target,
      headers: Object.fromEntries(given),
      // One connection each: what a case leaves behind is not the next one's.
      agent: false,
    });
    this.#open.add(sent);
    sent.on("socket", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      traced(socket, this.#trace);
    });
    sent.on("error", () => {});
    sent.on("close", () => this.#open.delete(sent));
    sent.end(body);
    return sent;
  }
}

function answered(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.once("response", resolve);
    sent.once("error", (error) => reject(new Unmet("an answer", error.message)));
    sent.once("close", () => reject(new Unmet("an answer", "the end of the connection")));
  });
}

function headOf({ statusCode, headers }: IncomingMessage): Head {
  const flat = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  return { status: statusCode!, headers: Object.fromEntries(flat) };
}

/** An answer that is being read, with the bytes so far. */
interface Reading extends Opened {
  bytes(): Uint8Array;
}

function opened(sent: ClientRequest, response: IncomingMessage, wait: number): Reading {
  const decoder = new StringDecoder("utf8");
  const received: Buffer[] = [];
  response.on("error", () => {});
  const chunks = response[Symbol.asyncIterator]();
  async function next(): Promise<string | undefined> {
    const read = chunks.next().catch((error: Error) => {
      throw new Unmet("more of the body, or its end", `a lost connection (${error.message})`);
    });
    const { done, value } = await within(wait, "more of the body, or its end", read);
    if (done) return decoder.end() || undefined;
    received.push(value);
    return decoder.write(value);
  }
  return {
    ...headOf(response),
    next,
    async rest() {
      let text = "";
      for (let more = await next(); more !== undefined; more = await next()) text += more;
      return text;
    },
    abort: () => void sent.destroy(),
    bytes: () => Buffer.concat(received),
  };
}
