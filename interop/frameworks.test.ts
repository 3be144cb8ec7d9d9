import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect as open } from "node:net";
import { gzipSync } from "node:zlib";
import { serve as serveHono } from "@hono/node-server";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, fetchOf, serve } from "@parlance/server";
import { handler, upgrade } from "@parlance/server/node";
import connectFramework from "connect";
import express, { type ErrorRequestHandler } from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";

/** A gateway, and an agent on a channel, which a framework mounts below /agent. The answer to `cut` waits for `rest` after its first message. */
function makeApps(rest: Promise<unknown> = Promise.resolve()): readonly App[] {
  const gateway = serve(foldGateway, {
    health: () => "OK",
    ready: () => "OK",
    listAgents: () => [{ id: "1", name: "echo", capabilities: ["chat"] }],
    async *send({ content }) {
      yield { type: "text", text: content };
      if (content === "cut") await rest;
      yield { type: "done", full_response: content };
    },
  });
  const channel = serve(based, {
    async session(_, channel) {
      channel.send({ type: "initial_state", files: [], activeFile: "a.based" });
      for await (const message of channel)
        if (message.type === "list_files") channel.send({ type: "file_list", files: ["a.based"] });
    },
  });
  onTestFinished(() => {
    gateway.close();
    channel.close();
  });
  return [gateway, channel];
}

const below = (apps: readonly App[]) => apps.map((app) => ({ app, path: "/agent" }));

/** Mounts of apps below /agent, as the documentation shows them. Each has a page /hello of its own. */
const mounts: Readonly<Record<string, (apps: readonly App[]) => Promise<Server> | Server>> = {
  "Express, behind a body parser"(apps) {
    const app = express();
    app.use(express.json());
    app.use("/agent", handler(apps));
    app.get("/hello", (_, answer) => void answer.send("hello"));
    return createServer(app).on("upgrade", upgrade(below(apps)));
  },
  "Express, at the root"(apps) {
    const app = express();
    app.use(handler(below(apps)));
    app.get("/hello", (_, answer) => void answer.send("hello"));
    return createServer(app).on("upgrade", upgrade(below(apps)));
  },
  Connect(apps) {
    const app = connectFramework();
    app.use("/agent", handler(apps));
    app.use("/hello", (_, answer) => answer.end("hello"));
    return createServer(app).on("upgrade", upgrade(below(apps)));
  },
  Koa(apps) {
    const app = new Koa();
    const agent = handler(below(apps));
    app.use((context, next) => {
      const closed = new Promise((resolve) => context.res.once("close", resolve));
      return Promise.race([closed, new Promise((resolve) => agent(context.req, context.res, resolve)).then(next)]);
    });
    app.use((context) => {
      if (context.path === "/hello") context.body = "hello";
    });
    return createServer(app.callback()).on("upgrade", upgrade(below(apps)));
  },
  async Fastify(apps) {
    const app = fastify();
    const agent = handler(below(apps));
    app.addHook("onRequest", (request, reply, done) => agent(request.raw, reply.raw, () => done()));
    app.get("/hello", () => "hello");
    await app.ready();
    return app.server.on("upgrade", upgrade(below(apps)));
  },
  Hono(apps) {
    const app = new Hono();
    app.mount("/agent", fetchOf(apps));
    app.get("/hello", (context) => context.text("hello"));
    const server = serveHono({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
    return server.on("upgrade", upgrade(below(apps)));
  },
};
// Hono's server puts classes of its own in place of these, as it does in a user's process.
const classes = { Request, Response };
afterAll(() => {
  for (const [name, value] of Object.entries(classes))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
});

/** The versions that are tried, which the table of docs/frameworks.md names. */
const { devDependencies } = JSON.parse(readFileSync(new URL("./package.json", import.meta.url), "utf8"));
const tried: Readonly<Record<string, string>> = {
  "Express, behind a body parser": `express ${devDependencies.express}`,
  "Express, at the root": `express ${devDependencies.express}`,
  Connect: `connect ${devDependencies.connect}`,
  Koa: `koa ${devDependencies.koa}`,
  Fastify: `fastify ${devDependencies.fastify}`,
  Hono: `hono ${devDependencies.hono}`,
};
/** What held in the tests of this file. */
const held = new Map(Object.keys(mounts).map((name) => [name, new Set<string>()]));

async function start(server: Server): Promise<string> {
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A `fetch` that cuts its first stream after the first bytes, and calls `cut` then. */
function cutting(cut: () => void): typeof fetch {
  let streams = 0;
  return async (...request) => {
    const answer = await fetch(...request);
    if (!answer.headers.get("Content-Type")?.startsWith("text/event-stream") || streams++ > 0) return answer;
    const reader = answer.body!.getReader();
    let pulls = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (pulls++ === 0) return controller.enqueue((await reader.read()).value!);
        await reader.cancel();
        cut();
        controller.error(new TypeError("terminated"));
      },
    });
    return new Response(body, answer);
  };
}

describe.each(Object.entries(mounts))("Mounted in %s,", (name, mount) => {
  test("operations, streams and the framework's own pages are answered", async () => {
    const url = await start(await mount(makeApps()));
    const gateway = connect(foldGateway, { baseUrl: `${url}/agent` });
    expect(await gateway.listAgents()).toMatchObject([{ name: "echo" }]);
    held.get(name)!.add("operations");
    expect(await gateway.send({ content: "hello" }).text()).toBe("hello");
    held.get(name)!.add("SSE");
    expect(await (await fetch(`${url}/hello`)).text()).toBe("hello");
    expect((await fetch(`${url}/nothing`)).status).toBe(404);
    expect((await fetch(`${url}/agent/nothing`)).status).toBe(404);
  });

  test("a stream that is cut goes on", async () => {
    let goOn = () => {};
    const rest = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const url = await start(await mount(makeApps(rest)));
    const gateway = connect(foldGateway, { baseUrl: `${url}/agent`, fetch: cutting(goOn) });
    expect(await gateway.send({ content: "cut" }).text()).toBe("cut");
    held.get(name)!.add("resume");
  });

  test("a broken body is refused in the protocol's own words, or by the parser before it", async () => {
    const url = await start(await mount(makeApps()));
    const answer = await fetch(`${url}/agent/api/send`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"content": 5}',
    });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain("content");
  });
});

test.each(Object.entries(mounts))("Mounted in %s, channels are opened", async (name, mount) => {
  const url = await start(await mount(makeApps()));
  const session = await connect(based, { baseUrl: `${url}/agent`, webSocket }).session();
  expect(await session.ask({ type: "list_files" })).toMatchObject({ files: ["a.based"] });
  await session.close();
  held.get(name)!.add("WebSocket");
});

// Hono's server reads bodies by itself.
const ours = Object.entries(mounts).filter(([name]) => name !== "Hono");
test.each(ours)("Mounted in %s, a refused call has its answer though its body still comes", async (_, mount) => {
  const { port } = new URL(await start(await mount(makeApps())));
  const socket = open({ port: Number(port), host: "127.0.0.1", allowHalfOpen: true });
  let failed: Error | undefined;
  let received = "";
  socket.on("error", (error) => {
    failed = error;
  });
  socket.on("data", (piece) => {
    received += piece;
  });
  const size = 30_000_000;
  socket.write(
    `POST /agent/api/send HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: ${size}\r\n\r\n`,
  );
  while (!/\r\n\r\n./s.test(received) && !failed) await Promise.race([once(socket, "data"), once(socket, "error")]);
  socket.end(Buffer.alloc(size));
  await once(socket, "close");
  expect([failed, received.split("\r\n")[0]]).toEqual([undefined, "HTTP/1.1 415 Unsupported Media Type"]);
  expect(received).toContain("Connection: close\r\n");
});

test("docs/frameworks.md has the table of what these tests found, and one row of Next.js, which the packaging tests compare", () => {
  const kinds = ["operations", "SSE", "WebSocket", "resume"];
  const rows = Object.entries(tried).map(([name, version]) => [
    name,
    ...kinds.map((kind) => (held.get(name)!.has(kind) ? "yes" : "no")),
    version,
  ]);
  const head = ["mounted in", ...kinds, "tried with"];
  const table = [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`);
  const page = readFileSync(new URL("../docs/frameworks.md", import.meta.url), "utf8");
  const written = page
    .slice(page.indexOf("| mounted in"), page.indexOf("\n\n", page.indexOf("| mounted in")))
    .split("\n");
  expect(written).toEqual([...table, expect.stringMatching(/^\| A route handler of Next\.js \|/)]);
});

test("a packed body that a parser has unpacked is used", async () => {
  const app = express();
  app.use(express.json());
  app.use("/agent", handler(makeApps()));
  const url = await start(createServer(app));
  const answer = await fetch(`${url}/agent/api/send`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Content-Encoding": "gzip" },
    body: new Uint8Array(gzipSync('{"content": "hello"}')),
  });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("hello")]);
});

test("a body that something has read and not left is reported to the framework, not waited for", async () => {
  const app = express();
  app.use((incoming, _, next) => void incoming.resume().on("end", next));
  app.use("/agent", handler(makeApps()));
  app.use(((error, _incoming, answer, _next) => void answer.status(500).send(String(error))) as ErrorRequestHandler);
  const url = await start(createServer(app));
  const answer = await fetch(`${url}/agent/api/send`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: '{"content": "hello"}',
  });
  expect([answer.status, await answer.text()]).toEqual([500, expect.stringContaining("before what reads bodies")]);
});
