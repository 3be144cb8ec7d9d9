import type { OpenSocket, Port, PortEvents, SocketRefused } from "@parlance/wire";
import { pair } from "@parlance/wire/link";
import { comparable } from "../bodies.js";
import { type HeaderList, headerOf } from "../recording.js";

/** A request as a replay or a mock gets it. */
export interface Arriving {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: HeaderList;
  /** As `comparable` gives it. */
  readonly body?: string | undefined;
  readonly bytes?: Uint8Array<ArrayBuffer> | undefined;
}

/** The body of a request, as text and as bytes. An empty one is none. */
export function carried(bytes: Uint8Array<ArrayBuffer>, type?: string | null): Pick<Arriving, "body" | "bytes"> {
  return bytes.length === 0 ? {} : { body: comparable(bytes, type), bytes };
}

/** An answer of a replay or a mock, at its pace. */
export interface Replayed {
  readonly status: number;
  readonly headers: HeaderList;
  /** Throws where the answer is cut. */
  body(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** An answer of the replay's own: 501 is not a status of the protocol. */
export function unanswerable(text: string): Replayed {
  return {
    status: 501,
    headers: [["Content-Type", "text/plain; charset=utf-8"]],
    async *body() {
      yield new TextEncoder().encode(text);
    },
  };
}

/** A port that can carry binary frames too, which no contract has. */
export interface FramePort extends Port {
  readonly binary?: (bytes: Uint8Array) => void;
  listen(on: PortEvents & { readonly binary?: (bytes: Uint8Array) => void }): void;
}

/** The decision on a WebSocket. `run` holds the conversation on the port. */
export type Opened =
  | { readonly refused: SocketRefused }
  | {
      /** The subprotocol to select. */
      readonly protocol?: string | undefined;
      run(port: FramePort): void;
    };

/** The subprotocols that a handshake offers, or the one that its answer selects. */
export function protocolsIn(headers: HeaderList): string[] {
  const offered = headerOf(headers, "sec-websocket-protocol");
  return offered === undefined ? [] : offered.split(",").map((one) => one.trim());
}

/**
 * The subprotocol to select where no recorded answer decides: the client's ticket, or the first that it offers. Browsers and `ws` fail
 * a handshake that selects nothing which they offer.
 */
export function preferred(offered: readonly string[]): string | undefined {
  return offered.find((one) => one.startsWith("parlance.")) ?? offered[0];
}

/** Answers requests of one server: in memory by `inMemory`, on a port by `listenReplay`. */
export interface Answering {
  answer(asked: Arriving): Promise<Replayed>;
  accept(asked: Arriving): Promise<Opened>;
  /** Ends open connections. */
  close(): unknown;
}

/** The `fetch` and `webSocket` of `connect`, without a network. */
export function inMemory({ answer, accept }: Pick<Answering, "answer" | "accept">): {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly webSocket: OpenSocket;
} {
  return {
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const { method, headers } = request;
      const type = headers.get("content-type");
      const body = request.body ? carried(new Uint8Array(await request.arrayBuffer()), type) : {};
      const replayed = await answer({ method, target: pathname + search, headers: [...headers], ...body });
      return responseOf(replayed, request.signal);
    },
    async webSocket(url, { headers, protocols }) {
      const { pathname, search } = new URL(url);
      const offered = protocols.length > 0 ? [["sec-websocket-protocol", protocols.join(", ")] as const] : [];
      const asked = { method: "GET", target: pathname + search, headers: [...Object.entries(headers), ...offered] };
      const accepted = await accept(asked);
      if ("refused" in accepted) return accepted;
      const [near, far] = pair();
      accepted.run(far);
      return near;
    },
  };
}

function responseOf({ status, headers, body }: Replayed, asked: AbortSignal): Response {
  const left = new AbortController();
  const bytes = body(AbortSignal.any([asked, left.signal]))[Symbol.asyncIterator]();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await bytes.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => left.abort(),
    },
    { highWaterMark: 0 },
  );
  const empty = [101, 204, 205, 304].includes(status);
  return new Response(empty ? null : stream, {
    status,
    headers: headers.map(([name, value]) => [name, value] as [string, string]),
  });
}
