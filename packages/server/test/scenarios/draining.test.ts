import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, createServer as createProxy, connect as dial, type Socket } from "node:net";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { handler, listen } from "@parlance/server/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";

/** A gateway whose streams end when `finish` is called. */
function gateway() {
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const handlers = {
    health: () => "OK",
    listAgents: () => [],
    async *send({ content }) {
      yield { type: "text", text: content };
      if (content === "wait") await finished;
      yield { type: "done", full_response: content };
    },
  } satisfies Partial<FoldGatewayHandlers>;
  return { app: serve(foldGateway, handlers, { partial: true, onError: false }), finish };
}

const get = "GET /api/agents HTTP/1.1\r\nHost: localhost\r\n\r\n";
const body = JSON.stringify({ content: "wait" });
const post = `POST /api/send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** A kept connection, and the heads of its answers. */
function kept(port: number) {
  const socket = dial(port, "127.0.0.1");
  let text = "";
  socket
    .on("error", () => {})
    .on("data", (data) => {
      text += String(data);
    });
  const heads = () => [...text.matchAll(/HTTP\/1\.1 (\d{3}) .*\r\n([\s\S]*?)\r\n\r\n/g)];
  return {
    socket,
    closed: once(socket, "close"),
    has: (part: string) => vi.waitFor(() => expect(text).toContain(part)),
    answers: () => heads().map(([, status, head]) => `${status} ${/^connection: (.*)$/im.exec(head!)?.[1]}`),
  };
}

describe("a server that drains", () => {
  it("ends the connection of each answer that it still gives", async () => {
    const { app, finish } = gateway();
    const server = createServer(handler(app));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const [streaming, idle] = [kept(port), kept(port)];
    streaming.socket.write(post);
    idle.socket.write(get);
    await Promise.all([streaming.has("wait"), idle.has("[]")]);
    app.drain();
    idle.socket.write(get);
    finish();
    await Promise.all([streaming.closed, idle.closed]);
    expect([streaming.answers(), idle.answers()]).toEqual([["200 keep-alive"], ["200 keep-alive", "503 close"]]);
    await app.close();
  });

  it("sends GOAWAY to its sessions of HTTP/2, whose streams may finish", async () => {
    const { app, finish } = gateway();
    const server = createHttp2Server(handler(app));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(() => {
      session.destroy();
      server.close();
    });
    const sent = session.request({ ":method": "POST", ":path": "/api/send", "content-type": "application/json" });
    let text = "";
    sent.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    sent.end(body);
    await once(sent, "data");
    const goaway = once(session, "goaway");
    app.drain();
    await goaway;
    finish();
    await once(session, "close");
    expect(text).toContain("full_response");
    await app.close();
  });

  it.each([
    ["nothing", "", []],
    ["part of a head", get.slice(0, -2), []],
    ["a request and part of the next head", get + get.slice(0, 20), ["200 keep-alive"]],
  ])("does not wait for a connection that has sent %s", async (_, sent, answers) => {
    const server = await listen(gateway().app, { port: 0, closeAfter: 600_000 });
    const connection = kept(server.port);
    await once(connection.socket, "connect");
    connection.socket.write(sent);
    if (answers.length > 0) await connection.has("[]");
    await Promise.all([server.close(), connection.closed]);
    expect(connection.answers()).toEqual(answers);
  });

  it("still answers what arrives while it closes, and ends each connection with the answer", async () => {
    const { app, finish } = gateway();
    const server = await listen(app, { port: 0 });
    const [streaming, used] = [kept(server.port), kept(server.port)];
    streaming.socket.write(post);
    used.socket.write(get);
    await Promise.all([streaming.has("wait"), used.has("[]")]);
    const closed = server.close();
    used.socket.write(get);
    await used.closed;
    finish();
    await Promise.all([closed, streaming.closed]);
    expect([streaming.answers(), used.answers()]).toEqual([["200 keep-alive"], ["200 keep-alive", "200 close"]]);
  });
});

/** The status and the body of an answer that is complete. */
function call(agent: Agent, port: number, method: string, path: string, body?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { Host: "localhost", ...(body && { "Content-Type": "application/json" }) };
    const sent = request({ agent, port, host: "127.0.0.1", method, path, headers }, async (answer) => {
      let text = "";
      try {
        for await (const part of answer) text += String(part);
        resolve(answer.statusCode === 200 ? text : `${answer.statusCode} ${text}`);
      } catch (error) {
        reject(error);
      }
    });
    sent.on("error", reject).end(body);
  });
}

it("loses no call in rolling restarts of two servers under load", async () => {
  const open = () => listen(gateway().app, { port: 0 });
  let [taking, other] = [await open(), await open()];
  // A balancer of connections: kept ones stay with their server.
  const balancer = createProxy((near) => {
    const far = dial(taking.port, "127.0.0.1");
    const pass = (from: Socket, to: Socket) =>
      from
        .on("error", () => to.destroy())
        .on("close", () => to.destroy())
        .pipe(to);
    pass(near, far);
    pass(far, near);
  });
  await new Promise<void>((resolve) => balancer.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void balancer.close());
  const { port } = balancer.address() as AddressInfo;
  let stopped = false;
  let done = 0;
  const lost: unknown[] = [];
  const load = Array.from({ length: 8 }, async (_, i) => {
    // One connection, which is in use all the time. Closing an idle one can meet a request, whatever a server does.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!stopped)
      await (i % 2 === 0
        ? call(agent, port, "GET", "/api/agents")
        : call(agent, port, "POST", "/api/send", '{"content":"x"}')
      ).then(
        (text) => (/^\[\]$|full_response/.test(text) ? done++ : lost.push(text)),
        (error) => lost.push(error),
      );
    agent.destroy();
  });
  for (let restart = 0; restart < 3; restart++) {
    const before = done;
    await vi.waitFor(() => expect(done).toBeGreaterThan(before + 20), { timeout: 20_000 });
    const leaving = taking;
    [taking, other] = [other, taking];
    await leaving.close();
    other = await open();
  }
  stopped = true;
  await Promise.all(load);
  expect(lost).toEqual([]);
  await Promise.all([taking.close(), other.close()]);
});
