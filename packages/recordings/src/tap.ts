import type { OpenSocket, Port } from "@parlance/wire";
import { type Connection, Recorder, type RecorderOptions } from "./recorder.js";
import { formatLine, type HeaderList } from "./recording.js";

/** The recorded side: an app of `serve`, or the `fetch` and `webSocket` of a client. */
export interface Recordable {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly webSocket?: OpenSocket;
}

/** The same connection, with its recording. */
export interface Recording {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly webSocket: OpenSocket;
  /** The recording so far as the text of a file, with an end line. */
  text(): string;
  /** The same as bytes, for `loadRecording` and `read`. */
  bytes(): Uint8Array[];
}

/** Records the traffic between a client and an app in memory: `connect(contract, record(app))`. */
export function record(app: Recordable, options: RecorderOptions = {}): Recording {
  const lines: string[] = [];
  const recorder = new Recorder((line) => void lines.push(line), options);
  const text = () => lines.join("") + formatLine({ end: { lines: lines.length, sha256: null } });
  return {
    fetch: (request) => fetchThrough(app, recorder.connection(), request),
    webSocket: (...asked) => openThrough(app, recorder.connection(), asked),
    text,
    bytes: () => [new TextEncoder().encode(text())],
  };
}

async function fetchThrough({ fetch }: Recordable, seen: Connection, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  seen.request(request.method, pathname + search, [...request.headers]);
  const body =
    request.body &&
    show(
      request.body,
      (bytes) => seen.body("client", bytes),
      () => seen.end("client"),
    );
  let response: Response;
  try {
    response = await fetch(body ? new Request(request, { body, duplex: "half" } as RequestInit) : request);
  } catch (error) {
    seen.error(request.signal.aborted ? "client" : "server", (error as Error).message);
    throw error;
  }
  seen.response(response.status, [...response.headers]);
  if (!response.body) {
    seen.end("server");
    return response;
  }
  const shown = show(
    response.body,
    (bytes) => seen.body("server", bytes),
    () => seen.end("server"),
    (from, text) => seen.error(from, text),
  );
  return new Response(shown, response);
}

/** A body, read at its reader's pace. */
function show(
  body: ReadableStream<Uint8Array>,
  onBytes: (bytes: Uint8Array) => void,
  onEnd: () => void,
  onLost: (from: "client" | "server", text: string) => void = () => {},
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            onEnd();
            return controller.close();
          }
          onBytes(value);
          controller.enqueue(value);
        } catch (error) {
          onLost("server", (error as Error).message);
          controller.error(error);
        }
      },
      cancel(reason) {
        onLost("client", "the client has gone");
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

async function openThrough(
  { webSocket }: Recordable,
  seen: Connection,
  asked: Parameters<OpenSocket>,
): ReturnType<OpenSocket> {
  if (!webSocket) throw new TypeError("what is recorded opens no WebSockets: give it a `webSocket`");
  const [url, { headers, protocols }] = asked;
  const { pathname, search } = new URL(url);
  const offered: HeaderList = protocols.length > 0 ? [["Sec-WebSocket-Protocol", protocols.join(", ")]] : [];
  seen.request("GET", pathname + search, [...Object.entries(headers), ...offered], true);
  const opened = await webSocket(...asked).catch((error) => {
    seen.error("server", (error as Error).message);
    throw error;
  });
  if ("refused" in opened) {
    const { status, body } = opened.refused;
    seen.response(status, []);
    seen.body("server", new TextEncoder().encode(body));
    seen.end("server");
    return opened;
  }
  seen.response(101, []);
  return portThrough(opened, seen);
}

function portThrough(port: Port, seen: Connection): Port {
  let closing = false;
  return {
    ...(port.buffered && { buffered: () => port.buffered!() }),
    ...(port.cut && { cut: () => port.cut!() }),
    closing: port.closing && (() => port.closing!()),
    send(frame) {
      seen.frame("client", frame);
      port.send(frame);
    },
    close(code, reason) {
      if (!closing) seen.close("client", code, reason);
      closing = true;
      port.close(code, reason);
    },
    listen: (on) =>
      port.listen({
        frame(text) {
          seen.frame("server", text);
          on.frame(text);
        },
        close(code, reason) {
          if (!closing)
            code === 1006 ? seen.error("server", "the connection was lost") : seen.close("server", code, reason);
          closing = true;
          on.close(code, reason);
        },
      }),
  };
}
