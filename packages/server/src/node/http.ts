import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { Refusal } from "@parlance/wire";
import type { Sink } from "../feed.js";
import { type GuardOptions, guard, preflight } from "../guard.js";
import { gone as nobody } from "../reason.js";
import type { Answer } from "../reply.js";
import type { App } from "../serve.js";

/** A plain request listener: for a server of your own, or for Express and its friends (before any body parser). */
export function handler(app: App | readonly App[], options: GuardOptions = {}): RequestListener {
  const apps = asList(app);
  return (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.on("close", () => {
      if (!outgoing.writableFinished) gone.abort(nobody());
    });
    const request = toRequest(incoming, gone.signal);
    if (request === undefined) {
      outgoing.writeHead(400, { "Content-Type": "text/plain", Connection: "close" }).end("bad request target");
      return;
    }
    answer(apps, request, options, gone.signal)
      .then((answered) => write(answered, outgoing))
      .catch((error) => outgoing.destroy(error as Error));
  };
}

async function answer(
  apps: readonly App[],
  request: Request,
  options: GuardOptions,
  gone: AbortSignal,
): Promise<Answer> {
  const app = choose(apps, request);
  const allowed = guard(request, options);
  if (allowed instanceof Refusal) return app.refuse(request, allowed);
  const asked = preflight(request);
  if (asked) return { status: 204, headers: { ...allowed, ...asked }, body: "" };
  const answered = await app.answer(request, gone);
  return { ...answered, headers: { ...answered.headers, ...allowed } };
}

export function asList(app: App | readonly App[]): readonly App[] {
  return Array.isArray(app) ? app : [app as App];
}

/** The app that has the path; the first one refuses what nobody has. */
export function choose(apps: readonly App[], request: Request): App {
  const { pathname } = new URL(request.url);
  return apps.find((app) => app.knows(pathname)) ?? apps[0]!;
}

export function toRequest(incoming: IncomingMessage, signal: AbortSignal | undefined): Request | undefined {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  const headers = new Headers();
  try {
    // Names and values by turns: Node would keep what it makes of them as long as the connection.
    for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!);
    const body = method === "GET" || method === "HEAD" ? null : (Readable.toWeb(incoming) as ReadableStream);
    const init = { method, headers, body, signal, duplex: "half" } as RequestInit;
    // A target may be a whole URL (RFC 9112, section 3.2.2).
    return new Request(url.startsWith("/") ? `http://${headers.get("host") ?? "localhost"}${url}` : url, init);
  } catch {
    return undefined;
  }
}

async function write({ status, headers, body }: Answer, outgoing: ServerResponse): Promise<void> {
  if (outgoing.destroyed) {
    if (typeof body !== "string") body.stop();
    return;
  }
  outgoing.writeHead(status, { ...headers });
  if (typeof body === "string") {
    outgoing.end(body);
    return;
  }
  outgoing.on("close", () => body.stop());
  outgoing.flushHeaders();
  const sink: Sink = {
    write: (text) => (outgoing.write(text) ? undefined : new Promise((resolve) => outgoing.once("drain", resolve))),
    end: () => outgoing.end(),
    cut: () => outgoing.destroy(),
  };
  await body.run(sink);
}
