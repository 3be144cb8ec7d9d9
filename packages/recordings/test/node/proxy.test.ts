import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer, connect as dial, type Server as TcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { forward } from "../../src/node/forward.js";
import { frames } from "../../src/node/frames.js";
import { proxy } from "../../src/node/proxy.js";
import { Recorder, type RecorderOptions } from "../../src/recorder.js";
import { type Entry, type Line, parseLine } from "../../src/recording.js";

/** A proxy before a server, and what it has recorded. */
async function before(target: string, options: RecorderOptions & { connectWithin?: number } = {}) {
  const lines: Line[] = [];
  const between = await proxy({
    target,
    connectWithin: options.connectWithin,
    recorder: new Recorder((line) => void lines.push(parseLine(line) as Line), options),
  });
  onTestFinished(() => between.close());
  const entries = () => lines.slice(1) as Entry[];
  return { ...between, entries, kinds: () => entries().map(({ from, kind }) => `${from} ${kind}`) };
}

async function listening(server: Server | TcpServer): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    if ("closeAllConnections" in server) server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function serving(app: ReturnType<typeof serve>): Promise<string> {
  const server = await listen(app, { port: 0, closeAfter: 0 });
  onTestFinished(() => server.close());
  return server.url;
}

function deferred<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Resolves when a condition holds, which something that happens makes true. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

test("a POST that offers another protocol (h2c) is passed on as a plain one, and recorded", async () => {
  const bodies: string[] = [];
  const target = createServer(async (incoming, outgoing) => {
    let body = "";
    for await (const chunk of incoming) body += chunk;
    bodies.push(body);
    outgoing.end("got it");
  });
  const { url, kinds } = await before(await listening(target));
  const socket = dial(Number(new URL(url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const head = ["POST / HTTP/1.1", `Host: ${new URL(url).host}`, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"];
  socket.write(`${[...head, "HTTP2-Settings: AAMAAABk", "Content-Length: 5"].join("\r\n")}\r\n\r\nhello`);
  let answer = "";
  for await (const chunk of socket) {
    answer += chunk;
    if (answer.includes("got it")) break;
  }
  expect(answer).toMatch(/^HTTP\/1.1 200 /);
  expect(bodies).toEqual(["hello"]);
  expect(kinds()).toEqual(expect.arrayContaining(["client request", "client body", "server response", "server body"]));
});

test("a chunk is passed on in the tick in which it comes, and before it is shown", () => {
  const order: string[] = [];
  const [from, to] = [new PassThrough(), new PassThrough()];
  to.write = ((chunk: Buffer) => order.push(`sent ${chunk}`) > 0) as typeof to.write;
  forward(from, to, (chunk) => order.push(`shown ${chunk}`));
  from.emit("data", Buffer.from("a"));
  order.push("after a");
  from.emit("data", Buffer.from("b"));
  expect(order).toEqual(["sent a", "shown a", "after a", "sent b", "shown b"]);
});

test("a source waits while its sink is full", () => {
  const from = new PassThrough();
  const to = new PassThrough({ highWaterMark: 4 });
  forward(from, to, () => {});
  from.emit("data", Buffer.from("12345"));
  expect(from.isPaused()).toBe(true);
  to.emit("drain");
  expect(from.isPaused()).toBe(false);
});

test("an event reaches the client before the server sends the next one", async () => {
  let next = () => {};
  const app = serve(foldGateway, {
    async *send() {
      for (const text of ["a", "b", "c"]) {
        yield { type: "text", text };
        await new Promise<void>((resolve) => {
          next = resolve;
        });
      }
      yield { type: "done", full_response: "abc" };
    },
  } as never);
  const { url, entries } = await before(await serving(app));
  const heard: string[] = [];
  for await (const message of connect(foldGateway, { baseUrl: url }).send({ content: "x" })) {
    heard.push(message.type);
    next();
  }
  expect(heard).toEqual(["text", "text", "text", "done"]);
  await until(() => entries().some(({ kind }) => kind === "end"));
  expect(entries().flatMap((entry) => (entry.kind === "event" ? entry.event : []))).toEqual(heard);
});

test("a client that leaves ends the handler", async () => {
  const gone = deferred<void>();
  const app = serve(
    foldGateway,
    {
      async *send(_: unknown, call: { signal: AbortSignal }) {
        yield { type: "text", text: "a" };
        await new Promise<void>((resolve) => call.signal.addEventListener("abort", () => resolve()));
        gone.resolve();
      },
    } as never,
    { resume: false },
  );
  const { url, kinds } = await before(await serving(app));
  for await (const _ of connect(foldGateway, { baseUrl: url, resume: false }).send({ content: "x" })) break;
  await gone.promise;
  await until(() => kinds().includes("client error"));
});

test("a stream that is cut is resumed through the proxy", async () => {
  const lost = deferred<void>();
  const app = serve(foldGateway, {
    async *send() {
      yield { type: "text", text: "0" };
      await lost.promise;
      for (const text of ["1", "2"]) yield { type: "text", text };
      yield { type: "done", full_response: "012" };
    },
  } as never);
  const { url, entries } = await before(await serving(app));
  let cut = false;
  // The connection of the first answer breaks behind its first chunk.
  const fetchOnce = async (asked: Request) => {
    const response = await fetch(asked);
    if (cut || !response.body) return response;
    cut = true;
    const reader = response.body.getReader();
    let sent = false;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (sent) return controller.error(new Error("cut"));
        sent = true;
        controller.enqueue((await reader.read()).value!);
        await reader.cancel();
        lost.resolve();
      },
    });
    return new Response(body, response);
  };
  const text = await connect(foldGateway, { baseUrl: url, fetch: fetchOnce }).send({ content: "x" }).text();
  expect(text).toBe("012");
  const asked = entries().filter((entry) => entry.kind === "request");
  expect(asked.length).toBeGreaterThan(1);
});

test("a WebSocket's frames, pings, fragments and close pass as they are", async () => {
  const server = createServer();
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) => {
    socket.on("message", (data, isBinary) => socket.send(isBinary ? data : `echo ${data}`, { binary: isBinary }));
    socket.on("close", (code, reason) => closed.resolve(`${code} ${reason}`));
  });
  const closed = deferred<string>();
  const { url, entries } = await before(await listening(server));
  const socket = new WebSocket(url.replace("http", "ws"));
  await once(socket, "open");
  const heard: string[] = [];
  socket.on("message", (data) => heard.push(String(data)));
  socket.send("one");
  socket.send("fr", { fin: false });
  socket.send("ag", { fin: true });
  socket.send(Buffer.from([1, 255]));
  socket.ping();
  await once(socket, "pong");
  await until(() => heard.length === 3);
  socket.close(4001, "enough");
  expect(await closed.promise).toBe("4001 enough");
  await once(socket, "close");
  await until(() => entries().filter(({ kind }) => kind === "close").length === 2);
  const said = (from: string) =>
    entries().flatMap((entry) =>
      entry.from !== from
        ? []
        : entry.kind === "frame"
          ? (entry.text ?? entry.base64 ?? [])
          : entry.kind === "close"
            ? entry.code
            : entry.kind === "ping" || entry.kind === "pong"
              ? entry.kind
              : [],
    );
  expect(said("client")).toEqual(["one", "frag", "Af8=", "ping", 4001]);
  expect(said("server")).toEqual(["echo one", "echo frag", "Af8=", "pong", 4001]);
});

test("a channel of a contract runs through the proxy, its ticket and token unseen", async () => {
  const app = serve(
    loco,
    {
      async stream(_: unknown, channel: { send(message: object): void } & AsyncIterable<{ type: string }>) {
        channel.send({ type: "server.hello", server_info: { version: "1" } });
        for await (const { type } of channel)
          if (type === "client.user_message") channel.send({ type: "assistant.message_final", message: "hi" });
      },
    } as never,
    { partial: true, authenticate: () => "me" } as never,
  );
  const { url, entries } = await before(await serving(app));
  const open = { client_info: { name: "t", version: "1", capabilities: [] } };
  const session = await connect(loco, { baseUrl: url, webSocket, token: "planted-token-1234" }).stream(
    { session_id: "s" },
    { open },
  );
  session.send({ type: "client.user_message", message: "my token is planted-token-1234" });
  const heard: string[] = [];
  for await (const { type } of session) {
    heard.push(type);
    if (type === "assistant.message_final") break;
  }
  await session.close();
  expect(heard).toEqual(["server.hello", "assistant.message_final"]);
  await until(() => entries().some(({ kind }) => kind === "close"));
  expect(JSON.stringify(entries())).not.toContain("planted-token");
  expect(JSON.stringify(entries())).toContain("my token is __redacted_1__");
});

describe("the proxy adds nothing", () => {
  test("to a request or an answer, but for what belongs to each connection", async () => {
    let came: { url: string; raw: string[]; body: string } | undefined;
    const server = createServer(async (incoming, outgoing) => {
      let body = "";
      for await (const chunk of incoming) body += chunk;
      came = { url: incoming.url!, raw: incoming.rawHeaders, body };
      outgoing.writeHead(418, "Short", ["X-One", "1", "X-One", "2", "Set-Cookie", "a=b", "Set-Cookie", "c=d"]);
      outgoing.end("tea");
    });
    const target = await listening(server);
    const { url } = await before(`${target}/base`);
    const sent = request(`${url}/a%2Fb?c=d%20e`, { method: "POST", headers: { "X-Case-KEPT": "v", Accept: "*/*" } });
    sent.end("body");
    const [answer] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
    let text = "";
    for await (const chunk of answer) text += chunk;
    const hop = /^(connection|keep-alive|transfer-encoding|host|date|content-length)$/i;
    const own = (raw: string[]) =>
      raw.flatMap((name, at) => (at % 2 === 0 && !hop.test(name) ? `${name}: ${raw[at + 1]}` : []));
    expect({ ...came, raw: own(came!.raw) }).toEqual({
      url: "/base/a%2Fb?c=d%20e",
      raw: ["X-Case-KEPT: v", "Accept: */*"],
      body: "body",
    });
    expect([answer.statusCode, answer.statusMessage, text, own(answer.rawHeaders)]).toEqual([
      418,
      "Short",
      "tea",
      ["X-One: 1", "X-One: 2", "Set-Cookie: a=b", "Set-Cookie: c=d"],
    ]);
  });

  test("to a server that is not there: 502, and the recording says why", async () => {
    const nobody = createTcpServer().listen(0, "127.0.0.1");
    await once(nobody, "listening");
    const { port } = nobody.address() as AddressInfo;
    nobody.close();
    const { url, entries } = await before(`http://127.0.0.1:${port}`);
    const answer = await fetch(url);
    expect([answer.status, await answer.text()]).toEqual([502, "the proxy got no answer from the server"]);
    await until(() => entries().some(({ kind }) => kind === "error"));
    const handshake = await webSocket(url.replace("http", "ws"), { headers: {}, protocols: [], maxSize: 1000 });
    expect(handshake).toMatchObject({ refused: { status: 502 } });
  });

  test("to a server that does not answer a handshake within the limit: 502, and the recording says why", async () => {
    const silent = createTcpServer((socket) => void socket.on("error", () => {}));
    const { url, entries } = await before(await listening(silent), { connectWithin: 20 });
    const handshake = await webSocket(url.replace("http", "ws"), { headers: {}, protocols: [], maxSize: 1000 });
    expect(handshake).toMatchObject({ refused: { status: 502, body: "the proxy got no answer from the server" } });
    await until(() => entries().length > 1);
    expect(entries()[1]).toMatchObject({ from: "server", kind: "error", text: "no answer within the limit" });
  });

  test("to an answer that is cut: the client sees the cut", async () => {
    const server = createServer((_, outgoing) => {
      outgoing.writeHead(200, { "Content-Type": "text/event-stream" });
      outgoing.write("data: 1\n\n", () => outgoing.destroy());
    });
    const { url, kinds } = await before(await listening(server));
    const answer = await fetch(url);
    await expect(answer.text()).rejects.toThrow();
    await until(() => kinds().includes("server error"));
    expect(kinds()).toEqual(["client request", "server response", "server event", "server error"]);
  });
});

test("a server that a reader is too slow for stops sending: the proxy holds no more than its buffers", async () => {
  let written = 0;
  let full = false;
  const server = createServer((_, outgoing) => {
    outgoing.writeHead(200, { "Content-Type": "text/event-stream" });
    const chunk = `data: ${"x".repeat(65_536)}\n\n`;
    const more = () => {
      while (written < 400 && outgoing.write(chunk)) written++;
      full = written < 400;
    };
    outgoing.on("drain", more);
    more();
  });
  const { url, entries } = await before(await listening(server));
  const { port } = new URL(url);
  const reader = dial(Number(port), "127.0.0.1");
  onTestFinished(() => void reader.destroy());
  reader.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  reader.pause();
  await until(() => full);
  // What it has passed on has come to rest when it does not grow for many turns.
  let seen = -1;
  for (let still = 0; still < 200; still++) {
    if (entries().length !== seen) still = 0;
    seen = entries().length;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(written).toBeLessThan(400);
});

test("a proxy that is killed leaves a recording that is cut, and readable up to there", async () => {
  const folder = mkdtempSync(join(tmpdir(), "parlance-killed-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const server = createServer((_, outgoing) => {
    outgoing.writeHead(200, { "Content-Type": "text/event-stream" });
    for (let i = 0; i < 50; i++) outgoing.write(`data: ${i}\n\n`);
  });
  const target = await listening(server);
  const file = join(folder, "killed.jsonl");
  const main = new URL("../../../cli/src/main.ts", import.meta.url).pathname;
  const root = new URL("../../../..", import.meta.url).pathname;
  const words = ["--import", "tsx", main, "record", "--target", target, "-o", file, "--json"];
  const child = spawn(process.execPath, words, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const { url } = JSON.parse(line.toString());
  const answer = await fetch(url);
  const reader = answer.body!.getReader();
  let text = "";
  while (!text.includes("data: 49")) text += Buffer.from((await reader.read()).value!).toString();
  await until(() => readFileSync(file, "utf8").includes('"text":"49"'));
  child.kill("SIGKILL");
  await once(child, "exit");
  await reader.cancel().catch(() => {});
  const { read } = await import("../../src/read.js");
  let events = 0;
  const ending = await read([readFileSync(file)], { onEntry: ({ kind }) => void (kind === "event" && events++) });
  expect({ state: ending.state, events }).toEqual({ state: "cut", events: 50 });
});

test("headers beyond ASCII pass to the byte, both ways", async () => {
  for (const [upgrade, status] of [
    ["", "200 OK"],
    ["", "204 No"],
    ["Connection: Upgrade\r\nUpgrade: websocket\r\n", "101 Yes"],
    ["Connection: Upgrade\r\nUpgrade: websocket\r\n", "403 No"],
  ]) {
    const received = deferred<string>();
    const server = createTcpServer((socket) => {
      socket.on("error", () => {});
      socket.setEncoding("latin1").once("data", (text: string) => {
        received.resolve(text);
        socket.end(Buffer.from(`HTTP/1.1 ${status}\r\n${upgrade}X-A: \xe9\xff\r\n\r\n`, "latin1"));
      });
    });
    const { url } = await before(await listening(server));
    const client = dial(Number(new URL(url).port), "127.0.0.1").setEncoding("latin1");
    let answer = "";
    client.on("data", (text) => {
      answer += text;
    });
    const connection = upgrade === "" ? "Connection: close\r\n" : upgrade;
    client.write(Buffer.from(`GET / HTTP/1.1\r\nHost: localhost\r\n${connection}X-B: \xe9\xff\r\n\r\n`, "latin1"));
    await once(client, "close");
    expect(answer).toContain("X-A: \xe9\xff\r\n");
    expect(await received.promise).toContain("X-B: \xe9\xff\r\n");
  }
});

test.each(["client", "server"] as const)(
  "a message of the %s over the limit is recorded by its size, and what follows it is recorded",
  (from) => {
    const lines: Line[] = [];
    const recorder = new Recorder((line) => void lines.push(parseLine(line) as Line));
    const read = frames(from, recorder.connection(), () => {});
    const mask = from === "client" ? [0, 0, 0, 0] : [];
    const frame = (opcode: number, payload: Buffer) => {
      const size = Buffer.alloc(8);
      size.writeBigUInt64BE(BigInt(payload.length));
      return Buffer.concat([Buffer.from([opcode, from === "client" ? 255 : 127]), size, Buffer.from(mask), payload]);
    };
    const [text, more, last, binary, pong, close] = [0x01, 0x00, 0x80, 0x82, 0x8a, 0x88];
    const half = Buffer.alloc(9 << 20, "a");
    const small = (opcode: number, payload: string) =>
      Buffer.concat([
        Buffer.from([opcode, payload.length | (from === "client" ? 128 : 0), ...mask]),
        Buffer.from(payload),
      ]);
    const all = Buffer.concat([
      small(0x81, "before"),
      ...[frame(text, half), small(pong, ""), frame(more, half), frame(last, half)],
      frame(binary, Buffer.alloc(17 << 20)),
      ...[small(text, "af"), small(last, "ter")],
      Buffer.from([close, from === "client" ? 130 : 2, ...mask, 3, 232]),
    ]);
    for (let at = 0; at < all.length; at += 1_000_003) read(all.subarray(at, at + 1_000_003));
    const told = lines
      .slice(1)
      .map((line) => ("text" in line ? line.text : "size" in line ? line.size : (line as Entry).kind));
    expect(told).toEqual(["before", "pong", 27 << 20, 17 << 20, "after", "close"]);
  },
);

test.each([
  ["is not UTF-8", 0x81, [0x7b, 0xff, 0x28], { base64: "e/8o" }],
  ["is UTF-8", 0x81, [0xc3, 0xa4], { text: "ä" }],
  ["is binary", 0x82, [0x61], { base64: "YQ==" }],
])("a frame that %s is recorded to the byte", (_, opcode, bytes, content) => {
  const lines: Line[] = [];
  const recorder = new Recorder((line) => void lines.push(parseLine(line) as Line));
  frames("server", recorder.connection(), () => {})(Buffer.from([opcode, bytes.length, ...bytes]));
  expect(lines[1]).toMatchObject({ kind: "frame", ...content });
});

test("a request for a name that was made to point here is refused, and never reaches the server", async () => {
  const reached: string[] = [];
  const server = createServer((incoming, outgoing) => {
    reached.push(incoming.url!);
    outgoing.end("hello");
  });
  const { url, entries } = await before(await listening(server));
  const ask = async (host: string, upgrade: Record<string, string>) => {
    const sent = request(`${url}/x`, { headers: { Host: host, ...upgrade }, agent: false }).end();
    const [answer] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
    const text = Buffer.concat(await answer.toArray()).toString();
    return { status: answer.statusCode, type: answer.headers["content-type"], text };
  };
  const refused = { status: 403, type: "text/plain", text: "this is a loopback address" };
  for (const host of ["evil.example", "evil.example:80", "127.0.0.1.evil.example"]) {
    expect([host, await ask(host, {})]).toEqual([host, refused]);
    const upgrade = { Connection: "Upgrade", Upgrade: "websocket" };
    expect([host, await ask(host, upgrade)]).toEqual([host, { status: 403, type: undefined, text: "" }]);
  }
  expect([reached, entries()]).toEqual([[], []]);
  for (const host of ["localhost", "127.0.0.1:80", "[::1]:80"])
    expect(await ask(host, {})).toMatchObject({ status: 200 });
});
