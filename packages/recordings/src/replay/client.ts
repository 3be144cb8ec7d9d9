import { formatTicket, newKey, type OpenSocket } from "@parlance/wire";
import { Queue } from "@parlance/wire/link";
import { isControl, parseResumeFrame } from "@parlance/wire/resume";
import { Blocks } from "../blocks.js";
import { bytesIn, comparable, dataOf, MAX_CONTENT } from "../bodies.js";
import { isEventStream } from "../recording.js";
import { urlAt } from "../target.js";
import { type FramePort, protocolsIn } from "./answering.js";
import { Cursors } from "./cursors.js";
import { follow, type Live, reach } from "./follow.js";
import { type LoadedRecording, nameOf, type RecordedConnection } from "./loaded.js";
import { type Problem, Replaying, type ReplayOptions } from "./replay.js";

export interface ReplayClientOptions extends ReplayOptions {
  /** The server's URL. @default "http://localhost" */
  readonly baseUrl?: string | undefined;
  /** Replace the recorded ones, such as a redacted token. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly fetch: (request: Request) => Promise<Response>;
  readonly webSocket?: OpenSocket | undefined;
}

/** What the connection sets itself. */
const OWN =
  /^(host|connection|keep-alive|transfer-encoding|content-length|accept-encoding|upgrade|expect|sec-websocket-.*|sec-fetch-.*)$/i;

/** An answer that redirects is an answer; following it would send the headers to another server. */
const REDIRECT = { redirect: "manual" } as const;

/**
 * The client of a recording: repeats the client's actions in the recorded order, and compares the server's messages. It awaits each of them
 * before its next action.
 */
export async function replayClient(
  conversation: LoadedRecording,
  options: ReplayClientOptions,
): Promise<readonly Problem[]> {
  const run = new Replaying(options);
  const cursors = new Cursors();
  const live = new Map<number, Live>();
  const connections = new Map(conversation.connections.map((connection) => [connection.request.c, connection]));
  try {
    for await (const step of conversation.steps()) {
      const { entry } = step;
      if (entry.from === "client") await run.pause(step);
      const known = live.get(entry.c);
      if (entry.kind === "request") {
        const begun = begin(run, cursors, connections.get(entry.c)!, options);
        if (begun) live.set(entry.c, begun);
      } else if (known && !known.isOver) await follow(run, cursors, known, entry);
    }
    for (const one of live.values()) if (!one.answered && !one.abort.signal.aborted) await reach(run, one);
  } finally {
    for (const { abort, port } of live.values()) {
      port?.close(1000, "");
      abort.abort();
    }
    run.scope.close(new Error("the replay is over"));
  }
  return run.problems;
}

/** Sends a recorded request; undefined if it cannot be sent, or the server's ids make another server's URL of it. */
function begin(
  run: Replaying,
  cursors: Cursors,
  connection: RecordedConnection,
  options: ReplayClientOptions,
): Live | undefined {
  if (connection.bodyLeftOut !== undefined) {
    run.found(
      "left",
      `${nameOf(connection)} was not sent: its body is not in the recording (${connection.bodyLeftOut})`,
    );
    return undefined;
  }
  const url = urlOf(run, connection, options.baseUrl ?? "http://localhost");
  if (url === undefined) return undefined;
  const one: Live = {
    connection,
    abort: new AbortController(),
    incoming: new Queue({ limit: Number.POSITIVE_INFINITY }),
  };
  const headers = headersOf(run, cursors, connection, options);
  run.learn(Object.entries(headers));
  if (connection.request.socket) {
    one.response = openSocket(run, one, url.replace(/^http/, "ws"), headers, options);
  } else {
    const { base64, body: text } = connection;
    const content = base64 === undefined ? text && run.matcher.send(text) : bytesIn(base64);
    const body = content === undefined ? {} : { body: content };
    const { method } = connection.request;
    let request: Request;
    try {
      request = new Request(url, { method, headers, signal: one.abort.signal, ...REDIRECT, ...body });
    } catch (error) {
      // A method, a header or a body that the recording may have and `fetch` does not send.
      run.found("left", `${nameOf(connection)} was not sent: ${(error as Error).message}`);
      return undefined;
    }
    one.response = options.fetch(request);
  }
  // The compared entries report the failure.
  Promise.resolve(connection.request.socket ? one.response : receive(one)).catch((error) => one.incoming.end(error));
  return one;
}

function urlOf(run: Replaying, connection: RecordedConnection, baseUrl: string): string | undefined {
  // Ids of the server stand in it, and they may be any text.
  const target = run.matcher.rewrite(connection.request.target).replace(/[\s\p{Cc}#]/gu, encodeURIComponent);
  try {
    return urlAt(baseUrl, target).href;
  } catch (error) {
    run.found("left", `${nameOf(connection)} was not sent: ${(error as Error).message}`);
    return undefined;
  }
}

async function openSocket(
  run: Replaying,
  one: Live,
  url: string,
  headers: Record<string, string>,
  { webSocket }: ReplayClientOptions,
): Promise<Response> {
  if (!webSocket) throw new TypeError("the recording has a WebSocket: give the replay a `webSocket`");
  const protocols = protocolsIn(one.connection.request.headers).map((protocol) => {
    const ticket = /^parlance\.(.*)$/.exec(protocol)?.[1];
    return ticket === undefined ? run.matcher.rewrite(protocol) : formatTicket(run.matcher.rewrite(ticket));
  });
  const opened = await webSocket(url, { headers, protocols, maxSize: MAX_CONTENT, signal: one.abort.signal });
  if ("refused" in opened) {
    const { status, body } = opened.refused;
    if (body !== "") one.incoming.push({ text: body }, 0);
    one.incoming.end();
    return new Response(null, { status });
  }
  const port: FramePort = opened;
  one.port = port;
  port.listen({
    binary: (bytes) => void one.incoming.push({ text: dataOf(bytes) }, 0),
    frame(text) {
      // Resume's own frames are not compared: each side has its own.
      if (!isControl(text)) return void one.incoming.push({ text }, 0);
      const came = parseResumeFrame(text);
      if (came) one.resumable = came;
    },
    close: (code, reason) => {
      one.incoming.push({ event: "close", text: `${code} ${reason}` }, 0);
      one.incoming.end();
    },
  });
  // No Response may have the status 101.
  return Object.defineProperty(new Response(null), "status", { value: 101 });
}

/** Reads an answer as the recorder does: event by event, or whole. */
async function receive(one: Live): Promise<void> {
  const response = await one.response!;
  if (!isEventStream([...response.headers])) {
    const bytes = new Uint8Array(await response.arrayBuffer());
    const type = response.headers.get("content-type");
    if (bytes.length > 0) one.incoming.push({ text: comparable(bytes, type) }, 0);
    return one.incoming.end();
  }
  const blocks = new Blocks(
    MAX_CONTENT,
    ({ event }) => void (event && one.incoming.push({ event: event.event, id: event.id, text: event.data }, 0)),
    // Its place is kept, and its recorded text was left out too.
    () => void one.incoming.push({ text: "" }, 0),
  );
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    blocks.push(value);
  }
  one.incoming.end();
}

function headersOf(
  run: Replaying,
  cursors: Cursors,
  { request }: RecordedConnection,
  { headers: given = {} }: ReplayClientOptions,
): Record<string, string> {
  const replaced = Object.keys(given).map((name) => name.toLowerCase());
  const kept = request.headers.flatMap(([name, value]) => {
    if (OWN.test(name) || replaced.includes(name.toLowerCase())) return [];
    // The client chooses the name of a resumable stream.
    if (/^parlance-resume$/i.test(name) && /^__redacted_\d+__$/.test(value))
      return [[name, run.matcher.placeholder(value, newKey)] as const];
    const now = /^last-event-id$/i.test(name) ? cursors.rewrite(value) : run.matcher.rewrite(value);
    return /__redacted_\d+__/.test(now) ? [] : [[name, now] as const];
  });
  return { ...Object.fromEntries(kept), ...given };
}
