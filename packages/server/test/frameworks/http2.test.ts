import { once } from "node:events";
import { type ClientHttp2Session, connect, constants, createServer, type ServerOptions } from "node:http2";
import type { AddressInfo } from "node:net";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, type ServeOptions, serve } from "@parlance/server";
import { handler } from "@parlance/server/node";
import { memoryLog } from "@parlance/server/resume";
import { newKey, RESUME } from "@parlance/wire";
import { expect, onTestFinished, test, vi } from "vitest";

/** A gateway over HTTP/2, and a client's session with it. `aborted` counts the handlers that a client has left. */
async function start() {
  const seen = { aborted: 0 };
  const app = serve(foldGateway, {
    health: () => "OK",
    ready: () => "OK",
    listAgents: () => [],
    async *send({ content }, { signal }) {
      yield { type: "text", text: content };
      if (content === "wait") {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        seen.aborted++;
        return;
      }
      yield { type: "done", full_response: content };
    },
  });
  return { app, session: await sessionWith(app), seen };
}

async function sessionWith(app: App, options: ServerOptions = {}): Promise<ClientHttp2Session> {
  const server = createServer(options, handler(app));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    session.destroy();
    server.close();
    app.close();
  });
  return session;
}

/** One request and its answer; `until` cancels the stream once the body contains it. */
function ask(session: ClientHttp2Session, headers: Record<string, string>, body?: string, until?: string) {
  return new Promise<{ status: number; type: string; text: string }>((resolve, reject) => {
    const request = session.request(headers);
    let status = 0;
    let type = "";
    let text = "";
    request.setEncoding("utf8");
    request.on("response", (head) => {
      status = Number(head[":status"]);
      type = String(head["content-type"]);
    });
    request.on("data", (chunk: string) => {
      text += chunk;
      if (until !== undefined && text.includes(until)) request.close();
    });
    request.on("error", reject);
    request.on("close", () => resolve({ status, type, text }));
    request.end(body);
  });
}

const post = { ":method": "POST", ":path": "/api/send", "content-type": "application/json" };

test("operations and streams are answered over HTTP/2, many on one connection", async () => {
  const { session } = await start();
  expect(await ask(session, { ":path": "/api/agents" })).toMatchObject({ status: 200, text: "[]" });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => ask(session, post, JSON.stringify({ content: `hello ${i}` }))),
  );
  for (const [i, { status, type, text }] of answers.entries()) {
    expect([status, type]).toEqual([200, "text/event-stream; charset=utf-8"]);
    expect(text).toContain(`hello ${i}`);
    expect(text).toContain("done");
  }
});

test("a refusal has its status and body over HTTP/2", async () => {
  const { session } = await start();
  expect(await ask(session, { ":path": "/nothing" })).toMatchObject({ status: 404 });
  expect(await ask(session, post, "{")).toMatchObject({ status: 400 });
});

test("a stream that its reader cancels over HTTP/2 ends its handler, and the connection goes on", async () => {
  const { app, session, seen } = await start();
  await ask(session, post, JSON.stringify({ content: "wait" }), "wait");
  await expect.poll(() => [seen.aborted, app.stats().calls]).toEqual([1, 0]);
  expect(await ask(session, { ":path": "/api/agents" })).toMatchObject({ status: 200 });
});

test("a connection that is lost ends its handlers", async () => {
  const { app, session, seen } = await start();
  const waiting = ask(session, post, JSON.stringify({ content: "wait" })).catch(() => undefined);
  await expect.poll(() => app.stats().streams).toBe(1);
  session.destroy();
  await waiting;
  await expect.poll(() => [seen.aborted, app.stats().calls]).toEqual([1, 0]);
});

/** The gateway whose `health` is a download. */
const { health } = foldGateway.operations as Record<string, { readonly answer: object }>;
const downloads = {
  ...foldGateway,
  operations: {
    ...foldGateway.operations,
    health: { ...health, answer: { status: 200, binary: "application/octet-stream" } },
  },
} as unknown as typeof foldGateway;

const failing = () =>
  new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array(9)),
    pull: (controller) => controller.error(new Error("the disk failed")),
  });
const waiting = () => new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(9)) });
const endless = () => new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) });
const log = memoryLog();
/** Its entries are kept later, so that a reader waits for its tail. */
const failingLog = {
  ...log,
  async open(name: string) {
    const writer = (await log.open(name))!;
    return { ...writer, append: async (seq: number, text: string) => writer.append(seq, text) };
  },
  async *tail(...args: Parameters<typeof log.tail>) {
    for await (const entries of log.tail(...args)) {
      yield entries;
      throw new Error("the log failed");
    }
  },
};
const long = "x".repeat(60_000);
const resumable = { ...post, [RESUME.toLowerCase()]: newKey() };

interface Cut {
  readonly options?: ServeOptions;
  readonly download?: () => ReadableStream;
  readonly messages?: () => AsyncGenerator<{ type: "text"; text: string }>;
  readonly headers?: Record<string, string>;
  readonly stalls?: true;
  readonly closes?: true;
}

const cuts: Record<string, Cut> = {
  "a download that fails": { download: failing },
  "a download whose reader takes nothing": { download: endless, options: { stall: 100 }, stalls: true },
  "a download when the app closes": { download: waiting, closes: true },
  "a stream whose log fails": {
    headers: resumable,
    options: { log: failingLog },
    async *messages() {
      yield { type: "text", text: "a" };
      await new Promise(() => {});
    },
  },
  "a stream whose reader takes nothing": {
    headers: post,
    options: { stall: 100 },
    stalls: true,
    async *messages() {
      for (;;) yield { type: "text", text: long };
    },
  },
};

test.each(Object.entries(cuts))("%s is reset over HTTP/2, not ended", async (_, cut) => {
  const { options, download = waiting, messages, headers = { ":path": "/health" }, stalls, closes } = cut;
  const handlers = { health: download, send: messages } as never;
  const app = serve(downloads, handlers, { onError: false, ...options });
  const session = await sessionWith(app);
  const request = session.request(headers);
  request.on("error", () => {});
  request.end(messages && JSON.stringify({ content: "x" }));
  const over = new Promise<number>((resolve) => request.on("close", () => resolve(request.rstCode)));
  await new Promise((resolve) => request.once("response", resolve));
  if (stalls) {
    await expect.poll(() => app.stats().readers).toBe(0);
    request.resume();
  } else request.once("data", () => closes && app.close());
  expect(await over).toBe(constants.NGHTTP2_INTERNAL_ERROR);
});

test.each([50, 100])(
  "a refused call closes though its body never ends, and so does its session with the app: %i",
  async (n) => {
    const app = serve(foldGateway, {} as never, { partial: true, onError: false, authenticate: () => undefined });
    const session = await sessionWith(app);
    const answers = Array.from({ length: n }, async () => {
      const stream = session.request({ ":path": "/api/send", ":method": "POST", "content-type": "application/json" });
      stream.write("{");
      let text = "";
      let status = 0;
      stream.on("response", (head) => {
        status = Number(head[":status"]);
      });
      stream.on("data", (piece) => {
        text += piece;
      });
      await once(stream, "close");
      return [status, stream.rstCode, JSON.parse(text) !== undefined];
    });
    for (const answer of answers) expect(await answer).toEqual([401, constants.NGHTTP2_NO_ERROR, true]);
    await vi.waitUntil(() => app.stats().calls === 0);
    const over = once(session, "close");
    await app.close();
    await over;
  },
);

test("a session whose client takes no settings has a hundred streams at a time, and the others are to be sent again", async () => {
  const waiting = () => new Promise<string>(() => {});
  const app = serve(foldGateway, { health: waiting }, { partial: true, onError: false });
  const session = await sessionWith(app);
  const refused = Array.from({ length: 130 }, async () => {
    const stream = session.request({ ":path": "/health" });
    stream.on("error", () => {});
    await once(stream, "close").catch(() => {});
    return stream.rstCode;
  }).map((code) => code.then((code) => code === constants.NGHTTP2_REFUSED_STREAM && count++));
  let count = 0;
  await vi.waitUntil(() => count === 30);
  expect(app.stats().calls).toBe(100);
  session.destroy();
  await Promise.all(refused);
});

test.each([
  [undefined, 100],
  [7, 7],
])("a session has %s streams at a time by its server, and %i with the handler", async (maxConcurrentStreams, most) => {
  let open = 0;
  let highest = 0;
  const health = (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
    highest = Math.max(highest, ++open);
    return new Promise<string>((resolve) => {
      signal.addEventListener("abort", () => resolve("late"));
    });
  };
  const app = serve(foldGateway, { health }, { partial: true, onError: false });
  const settings = maxConcurrentStreams === undefined ? {} : { maxConcurrentStreams };
  const session = await sessionWith(app, { settings });
  const first = session.request({ ":path": "/health" });
  first.on("error", () => {});
  await vi.waitUntil(() => session.remoteSettings.maxConcurrentStreams === most);
  for (let i = 0; i < 150; i++) session.request({ ":path": "/health" }).on("error", () => {});
  await vi.waitUntil(() => open === most);
  await new Promise((resolve) => session.ping(resolve));
  expect(highest).toBe(most);
});
