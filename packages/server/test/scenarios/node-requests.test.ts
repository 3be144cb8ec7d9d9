import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { serve } from "@parlance/server";
import { handler } from "@parlance/server/node";
import { Scope } from "@parlance/wire/scope";
import { describe, expect, onTestFinished, test } from "vitest";
import { closeWith, type Incoming, isBusy, NodeRequest, toRequest } from "../../src/node/request.js";

/** A request as Node has parsed it, with pieces of its body that have come. */
function incoming(more: Record<string, unknown> = {}, pieces: readonly string[] = []) {
  const left = pieces.map((piece) => Buffer.from(piece));
  const asked: string[] = [];
  const it = Object.assign(new EventEmitter(), {
    method: "GET",
    url: "/a?b=c",
    headers: {},
    rawHeaders: ["Host", "localhost:80"],
    complete: true,
    destroyed: false,
    readableDidRead: false,
    read: () => left.shift() ?? null,
    resume: () => void asked.push("resume"),
    pause: () => void asked.push("pause"),
    ...more,
  });
  return { it: it as unknown as Incoming & EventEmitter & { complete: boolean; destroyed: boolean }, asked, left };
}
const read = (more: Record<string, unknown>) => toRequest(incoming(more).it, false);
const host = (value: string, ...rest: string[]) => ["Host", value, ...rest];

describe("A request of Node", () => {
  test.each([
    [{}, "http://localhost/a?b=c"],
    [{ url: undefined }, "http://localhost/"],
    [{ rawHeaders: [] }, "http://localhost/a?b=c"],
    [{ rawHeaders: host("[::1]:8080") }, "http://[::1]:8080/a?b=c"],
    [{ rawHeaders: [], headers: { ":authority": "agent.example" } }, "http://agent.example/a?b=c"],
    [{ url: "http://localhost/x" }, "http://localhost/x"],
    [{ url: "HTTPS://localhost:80/x", rawHeaders: host("localhost:80") }, undefined],
    [{ url: "http://other/x" }, undefined],
    [{ url: "ftp://localhost/x" }, undefined],
    [{ url: "x" }, undefined],
    [{ url: "*" }, undefined],
    [{ url: "http://me@localhost/x" }, undefined],
    [{ url: "http://:pw@localhost/x" }, undefined],
    [{ rawHeaders: host("") }, undefined],
    [{ rawHeaders: host("a/b") }, undefined],
    [{ rawHeaders: host("a:123456") }, undefined],
    [{ rawHeaders: host("me@a") }, undefined],
  ])("%j has the URL %s, or is refused", (more, url) => {
    const found = read(more);
    if (url === undefined) expect(found).toEqual({ status: 400, text: "bad request target or Host" });
    else expect((found as NodeRequest).url.href).toBe(url);
  });

  test.each([
    ["get", "GET"],
    ["Post", "POST"],
    ["delete", "DELETE"],
    ["PATCH", "PATCH"],
    ["patch", "patch"],
    ["purge", "purge"],
  ])("%s has the method %s", (method, written) => expect(read({ method })).toMatchObject({ method: written }));

  test("without a method is a GET", () => expect(read({ method: undefined })).toMatchObject({ method: "GET" }));

  const BAD = { status: 400, text: "bad request" };
  test.each<[what: string, more: Record<string, unknown>, rejected: object]>([
    ["a method that no web request has", { method: "TRACE" }, BAD],
    ["such a method in small letters", { method: "connect" }, BAD],
    ["a line end in a value", { rawHeaders: host("localhost", "X", "a\nb") }, BAD],
    ["a NUL in a value", { rawHeaders: host("localhost", "X", "a\0b") }, BAD],
    [
      "more than a hundred headers",
      { rawHeaders: host("localhost", ...Array.from({ length: 200 }, () => "x")) },
      { status: 431, text: "a request has at most 100 headers" },
    ],
  ])("is refused for %s", (_, more, rejected) => expect(read(more)).toEqual(rejected));

  test("may have a hundred headers", () => {
    expect(read({ rawHeaders: host("localhost", ...Array.from({ length: 198 }, () => "x")) })).toBeInstanceOf(
      NodeRequest,
    );
  });

  test("has its headers by any case, several of a name as one, and none that HTTP/2 alone has", () => {
    const raw = host("localhost", "X-A", "1", "cookie", "a=1", "x-a", "2", "Cookie", "b=2", ":path", "/", "X-Ab", "3");
    const { headers, request } = read({ rawHeaders: raw }) as NodeRequest;
    for (const all of [headers, request.headers])
      expect(["x-a", "X-A", "COOKIE", "X-AB", "x"].map((name) => all.get(name))).toEqual([
        "1, 2",
        "1, 2",
        "a=1; b=2",
        "3",
        null,
      ]);
    expect([headers.has("x-AB"), headers.has("x-abc"), request.headers.has("path")]).toEqual([true, false, false]);
    const rest = headers.without("x-a");
    expect([rest.get("X-A"), rest.get("X-Ab"), rest.get("Host")]).toEqual([null, "3", "localhost"]);
  });
});

describe("The body of a Node request", () => {
  const bodyOf = (pieces: readonly string[], more: Record<string, unknown> = {}) => {
    const { it, asked, left } = incoming({ method: "POST", ...more }, pieces);
    let begun = 0;
    const request = toRequest(it, true, () => void begun++) as NodeRequest;
    return { it, asked, left, request, begun: () => begun };
  };
  const textOf = async (request: NodeRequest) => {
    const reader = request.body()!;
    let text = "";
    for (let piece = await reader.read(); piece; piece = await reader.read()) text += new TextDecoder().decode(piece);
    return text;
  };

  test("that has come with its head is there at once, and is asked for when it is first read", () => {
    const { request, begun, it } = bodyOf(["1", "2"]);
    expect(begun()).toBe(0);
    const body = request.body()!;
    expect([begun(), String(body.read()), String(body.read()), body.read()]).toEqual([1, "1", "2", undefined]);
    expect(it.eventNames()).toEqual([]);
  });

  const withLength = (length: string, ...rest: string[]) => host("localhost", "Content-Length", length, ...rest);

  test("of a known length is over with its last byte, and what follows is left to Node", () => {
    const { request, it, asked } = bodyOf(["12", "3"], { complete: false, rawHeaders: withLength("3") });
    const body = request.body()!;
    expect([String(body.read()), String(body.read()), body.read()]).toEqual(["12", "3", undefined]);
    expect([it.eventNames(), asked]).toEqual([[], ["resume"]]);
  });

  test.each([
    ["is not there yet", withLength("3")],
    ["counts for nothing beside a transfer coding", withLength("1", "Transfer-Encoding", "chunked")],
    ["is none", withLength("1x")],
  ])("whose length %s is waited for", async (_, rawHeaders) => {
    const { request, it, left } = bodyOf(["1"], { complete: false, rawHeaders });
    const text = textOf(request);
    await Promise.resolve();
    left.push(Buffer.from("23"));
    it.emit("readable");
    await new Promise(setImmediate);
    it.complete = true;
    it.emit("end");
    expect(await text).toBe("123");
  });

  test("comes with its head over a socket: nothing listens for it, and its end is read", async () => {
    let asked: IncomingMessage | undefined;
    let listeners: unknown;
    const app = serve(
      emacsAgent,
      {
        prompt() {
          listeners = asked!.eventNames();
          return { status: "accepted", agent_state: "thinking" };
        },
      },
      { partial: true },
    );
    const handle = handler(app);
    const server = createServer((incoming, outgoing) => {
      asked = incoming;
      handle(incoming, outgoing);
    });
    onTestFinished(() => void server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const headers = { "Content-Type": "application/json", Connection: "close" };
    // The first call loads code, and its body is complete by then.
    for (let call = 0; call < 2; call++) {
      const sent = request({ port, path: "/api/sessions/s/prompt", method: "POST", headers });
      sent.end('{"text":"go"}');
      const [answer] = await once(sent, "response");
      answer.resume();
      await once(answer, "close");
      expect(answer.statusCode).toBe(200);
    }
    expect([listeners, asked!.readableEnded]).toEqual([[], true]);
  });

  test.each(["readable", "end"])("that comes later is waited for, until it is there: %s", async (event) => {
    const { request, it, left } = bodyOf(["1"], { complete: false });
    const text = textOf(request);
    await Promise.resolve();
    if (event === "readable") {
      left.push(Buffer.from("2"));
      it.emit("readable");
      await new Promise(setImmediate);
    }
    it.complete = true;
    it.emit("end");
    expect(await text).toBe(event === "readable" ? "12" : "1");
  });

  test.each(["error", "close"])("that is cut fails: %s", async (event) => {
    const { request, it } = bodyOf(["1"], { complete: false });
    const text = textOf(request);
    await Promise.resolve();
    it.emit(event);
    await expect(text).rejects.toThrow("the body was cut");
    const gone = bodyOf([], { complete: false, destroyed: true });
    await expect(textOf(gone.request)).rejects.toThrow("the body was cut");
  });

  test("that is not read is dropped, and its connection goes on", () => {
    const { request, asked, it } = bodyOf([], { complete: false });
    const body = request.body()!;
    void (body.read() as Promise<unknown>).catch(() => {});
    body.cancel();
    expect([asked, it.listenerCount("readable")]).toEqual([["resume"], 0]);
    it.emit("close");
  });

  test.each(["GET", "HEAD"])("of a %s is none", (method) => {
    const { request } = bodyOf(["1"], { method });
    expect([request.body(), request.request.body]).toEqual([undefined, null]);
  });

  test.each<[left: unknown, body: string]>([
    ["text", "text"],
    [Buffer.from("bytes"), "bytes"],
    [{ a: 1 }, '{"a":1}'],
    [null, "null"],
  ])("that a parser has read is what it has left: %j", async (left, body) => {
    const raw = host("localhost", "Content-Encoding", "gzip");
    const { request } = bodyOf([], { readableDidRead: true, body: left, rawHeaders: raw });
    expect(request.headers.has("Content-Encoding")).toBe(false);
    expect(await request.at(new URL("http://localhost/b")).request.text()).toBe(body);
    expect(await textOf(request)).toBe(body);
  });

  test("that was read and left nowhere is a mistake", () => {
    const { it } = incoming({ method: "POST", readableDidRead: true });
    expect(() => toRequest(it, true)).toThrow(
      expect.objectContaining({ code: "usage", message: expect.stringContaining("mount this handler before") }),
    );
  });

  test("is empty in a web request that is made after it was read", async () => {
    const { request } = bodyOf(["1"]);
    expect(await textOf(request)).toBe("1");
    expect(
      request.request.bodyUsed ||
        request.request.body === null ||
        (await request.request.body!.getReader().read()).done,
    ).toBe(true);
  });
});

describe("The calls of a connection", () => {
  const socketOf = (destroyed = false) => Object.assign(new EventEmitter(), { destroyed }) as never;
  const callOf = () => {
    const call = Scope.open(() => {});
    onTestFinished(() => call.close());
    return call;
  };

  test("end with it, unless they are over or were let go", () => {
    const socket = socketOf();
    expect(isBusy(socket)).toBe(false);
    const [open, over, free] = [callOf(), callOf(), callOf()];
    for (const call of [open, over]) closeWith(socket, call);
    closeWith(socket, free)();
    expect((socket as EventEmitter).listenerCount("close")).toBe(1);
    over.close();
    expect(isBusy(socket)).toBe(true);
    (socket as EventEmitter).emit("close");
    expect(open.reason).toMatchObject({ name: "Disconnected", code: "closed", retryable: false });
    expect([over.reason, free.closed, isBusy(socket)]).toEqual([undefined, false, false]);
  });

  test("end at once where it is gone already", () => {
    const call = callOf();
    closeWith(socketOf(true), call)();
    expect(call.reason).toMatchObject({ code: "closed" });
  });
});
