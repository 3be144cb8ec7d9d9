import type { OpenSocket, Port } from "@parlance/wire";
import { pair } from "@parlance/wire/link";

export type Mode = "base" | "resume";

/** What a scripted peer does besides the plain conversation. */
export interface Script {
  readonly mode: Mode;
  /** A message between the first and the last one of a stream, or after the first of a channel. */
  readonly extra?: "unknown" | "invalid" | undefined;
  /** Nothing follows the first message. */
  readonly hold?: boolean;
  /** What happens to the first body after its first part; every later body is whole. */
  readonly afterFirst?: (() => Promise<void>) | undefined;
  /** The first socket is cut after its first message. */
  readonly cutSocket?: boolean;
  /** Sockets take a close and say nothing. */
  readonly ignoreClose?: boolean;
}

const RESUMABLE = "e1; grace=30; beat=15";

const post = ['event: text\ndata: {"text":"a"}\n\n', 'event: done\ndata: {"full_response":"a"}\n\n'];
const get = (state: string) => `event: agent.state\ndata: {"type":"agent.state","state":"${state}"}\n\n`;
const extras = {
  unknown: 'event: something\ndata: {"new":1}\n\n',
  invalid: 'data: {"type":"agent.state","text":7,"state":7}\n\n',
};

/** A peer of fold-gateway, emacs-agent and based without a clock. It counts what the client leaves open. */
export function peer({ mode, extra, hold, afterFirst, cutSocket, ignoreClose }: Script) {
  const open = { bodies: 0, sockets: 0 };
  const methods: string[] = [];
  let first = true;

  /** A body in parts. Only the first body has a fault. */
  function body(parts: readonly string[]): ReadableStream<Uint8Array> {
    const fault = first ? afterFirst : undefined;
    const endless = hold;
    first = false;
    open.bodies++;
    let at = 0;
    const over = () => {
      if (at < Number.POSITIVE_INFINITY) open.bodies--;
      at = Number.POSITIVE_INFINITY;
    };
    return new ReadableStream(
      {
        async pull(controller) {
          try {
            if (at === 1 && endless) await new Promise(() => {});
            if (at === 1) await fault?.();
          } catch (error) {
            over();
            throw error;
          }
          const part = parts[at];
          if (at === Number.POSITIVE_INFINITY) return;
          if (part === undefined) {
            over();
            return controller.close();
          }
          at++;
          controller.enqueue(new TextEncoder().encode(part));
        },
        cancel: over,
      },
      { highWaterMark: 0 },
    );
  }

  /** The blocks after a cursor, with ids where they are resumed. */
  function stream(blocks: readonly string[], cursor: string | null): Response {
    const after = Number(cursor?.split(".")[1] ?? 0);
    const all = blocks.map((block, i) => (mode === "resume" ? `id: e1.${i + 1}\n${block}` : block));
    const headers = { "Content-Type": "text/event-stream", ...(mode === "resume" && { "Parlance-Resume": RESUMABLE }) };
    return new Response(body(all.slice(after)), { headers });
  }

  let received = 0;

  async function fetch(request: Request): Promise<Response> {
    const { method, headers } = request;
    const { pathname } = new URL(request.url);
    methods.push(method);
    const cursor = headers.get("Last-Event-ID");
    const named = pathname === "/api/send" ? "event: text\n" : "event: agent.state\n";
    const middle = extra ? [extra === "invalid" ? named + extras.invalid : extras.unknown] : [];
    if (method === "DELETE") return new Response(null, { status: 204 });
    if (pathname === "/api/agents")
      return new Response(body(["[", "]"]), { headers: { "Content-Type": "application/json" } });
    if (pathname === "/api/send") return stream([post[0]!, ...middle, post[1]!], cursor);
    if (pathname.endsWith("/events")) return stream([get("idle"), ...middle, get("thinking")], cursor);
    if (mode === "base") return new Response("no", { status: 404 });
    return Response.json({ ticket: "t".repeat(32), received }, { headers: { "Parlance-Resume": RESUMABLE } });
  }

  let sockets = 0;

  let cut = () => {};

  const webSocket: OpenSocket = async (_, { headers }) => {
    const [near, far] = pair();
    cut = () => far.close(1006, "");
    const number = ++sockets;
    open.sockets++;
    let over = false;
    const gone = () => {
      if (!over) open.sockets--;
      over = true;
    };
    far.listen({
      close: gone,
      frame(text) {
        // Not counted: it confirms the first frame.
        if (text === "parlance.begin e1") return;
        received++;
        const { action } = JSON.parse(text);
        if (action === "list_files" && !hold)
          far.send('{"status":"success","action":"file_list","files":[],"activeFile":null}');
      },
    });
    if (mode === "resume" && headers["Parlance-Resume"]) far.send("parlance.resume e1; grace=30; beat=0");
    if (number === 1) {
      far.send('{"status":"success","action":"initial_state","files":[],"activeFile":null}');
      if (extra === "unknown") far.send('{"status":"success","action":"something new"}');
      if (extra === "invalid") far.send('{"status":"success","action":"file_list","files":7}');
      if (cutSocket) far.close(1006, "");
    }
    if (!ignoreClose) return near;
    const deaf: Port = { ...near, close: () => gone(), cut: () => near.close(1006, "") };
    return deaf;
  };

  return { fetch, webSocket, open, methods, cut: () => cut() };
}
