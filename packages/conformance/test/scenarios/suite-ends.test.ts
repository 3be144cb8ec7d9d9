import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { Requester } from "../../src/node/requester.js";
import { Responder } from "../../src/node/responder.js";
import type { Exchange, Frames } from "../../src/tested.js";
import { Trace } from "../../src/trace.js";

// The suite's two ends of a connection: it asks as a client, and answers as a server, right or wrong.

const WAIT = 3000;
const trace = new Trace(() => 0);

/** A server, and the suite as its client. */
async function asked(serve: (request: IncomingMessage, response: ServerResponse) => void, path = "", wait = WAIT) {
  const server = createServer(serve);
  server.on("connection", (socket) => socket.on("error", () => {}));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const samples = new Requester({ url, headers: { "X-All": "1", "X-Own": "all" }, wait }, trace);
  onTestFinished(() => {
    samples.close();
    server.closeAllConnections();
    server.close();
  });
  return { samples, server };
}
const get = { method: "GET", target: "/a?b" };

describe("the suite asks", () => {
  test("with its own headers and those of the request, of which one may be left out, and with a body", async () => {
    const { samples } = await asked(async (came, response) => {
      const body = Buffer.concat(await came.toArray()).toString();
      const { "x-all": all, "x-own": own, "x-more": more, "content-length": length } = came.headers;
      response.writeHead(207, { "X-Answer": "yes", "Set-Cookie": ["a", "b"] });
      response.end(JSON.stringify([came.method, came.url, all, own, more, length, body]));
    }, "/base/");
    const all = { method: "PUT", target: "/x?y", headers: { "X-Own": "own", "X-More": "more" }, body: "bödy" };
    const { status, headers, text, bytes } = await samples.request(all);
    expect({ status, answer: headers["x-answer"], cookies: headers["set-cookie"] }).toEqual({
      status: 207,
      answer: "yes",
      cookies: "a,b",
    });
    expect(JSON.parse(text)).toEqual(["PUT", "/base/x?y", "1", "own", "more", "5", "bödy"]);
    expect(Buffer.from(bytes).toString()).toBe(text);
    const without = await samples.request({ ...get, headers: { "X-All": undefined } });
    expect(JSON.parse(without.text).slice(0, 4)).toEqual(["GET", "/base/a?b", null, "all"]);
  });

  test("and reads a body as it comes, a character in two chunks as one, to its end", async () => {
    const bytes = Buffer.from("aä€b");
    let go = () => {};
    const { samples } = await asked((_, response) => {
      response.write(bytes.subarray(0, 2));
      go = () => response.end(bytes.subarray(2));
    });
    const opened = await samples.open(get);
    expect(await opened.next()).toBe("a");
    go();
    expect(await opened.rest()).toBe("ä€b");
    expect(await opened.next()).toBeUndefined();
  });

  test("and reads what is left of a character at the end of a body", async () => {
    const { samples } = await asked((_, response) => void response.end(Buffer.from("a€").subarray(0, 3)));
    expect((await samples.request(get)).text).toBe("a\ufffd");
  });

  test.each<[string, (response: ServerResponse) => void, number, string, RegExp]>([
    ["no answer", (response) => void response.socket!.destroy(), WAIT, "an answer", /socket hang up/],
    ["no answer in time", () => {}, 30, "an answer", /^nothing within 30 ms$/],
    [
      "a body that is cut",
      (response) => void response.write("a", () => response.socket!.destroy()),
      WAIT,
      "more of the body, or its end",
      /^a lost connection \(aborted\)$/,
    ],
    [
      "a body that stops",
      (response) => void response.write("a"),
      500,
      "more of the body, or its end",
      /^nothing within 500 ms$/,
    ],
  ])("and %s is reported", async (_, serve, wait, expected, came) => {
    const { samples } = await asked((__, response) => serve(response), "", wait);
    await expect(samples.request(get)).rejects.toMatchObject({
      name: "Unmet",
      expected,
      came: expect.stringMatching(came),
    });
  });

  test("and leaves an answer, or all of them, which the server sees", async () => {
    const gone: string[] = [];
    const { samples } = await asked((came, response) => {
      response.write("a");
      response.on("close", () => gone.push(came.url!));
    });
    const [first] = [await samples.open(get), await samples.open({ ...get, target: "/second" })];
    const seen = async (count: number) => {
      while (gone.length < count) await new Promise((resolve) => setImmediate(resolve));
    };
    first!.abort();
    await seen(1);
    expect(gone).toEqual(["/a?b"]);
    samples.close();
    await seen(2);
    expect(gone).toEqual(["/a?b", "/second"]);
  });
});

/** What both ends of a WebSocket say to each other, whichever of them is the suite's. */
async function talking(frames: Frames, peer: WebSocket): Promise<void> {
  const heard: unknown[] = [];
  peer.on("message", (data: Buffer, binary: boolean) => heard.push(binary ? data : data.toString()));
  const pinged = once(peer, "ping");
  for (const length of [0, 125, 126, 65_535, 65_536]) {
    frames.send("x".repeat(length));
    peer.send("y".repeat(length));
    const frame = await frames.next();
    expect("text" in frame && frame.text === "y".repeat(length)).toBe(true);
  }
  frames.frame(1, "in th", false);
  frames.frame(9, "between");
  frames.frame(0, "ree p", false);
  frames.frame(0, "ärts");
  frames.frame(2, "binary");
  expect(String((await pinged)[0])).toBe("between");
  expect(await frames.next()).toEqual({ pong: "between" });
  const ponged = once(peer, "pong");
  peer.ping("you");
  expect(String((await ponged)[0])).toBe("you");
  peer.send(Buffer.from([1, 2, 3]));
  expect(await frames.next()).toEqual({ binary: 3 });
  while (heard.length < 7) await new Promise((resolve) => setImmediate(resolve));
  const texts = heard.map((one) => (typeof one === "string" ? one.length : (one as Buffer).toString()));
  expect(texts).toEqual([0, 125, 126, 65_535, 65_536, "in three pärts".length, "binary"]);
  expect(heard[5]).toBe("in three pärts");
}

/** The suite's frames, and the socket of its peer: once with the suite as the client, and once as the server. */
const ends = {
  client: async (wait = WAIT) => {
    const { samples, server } = await asked(() => {}, "", wait);
    const sockets = new WebSocketServer({ server });
    const connected = once(sockets, "connection");
    const frames = (await samples.socket(get)) as Frames;
    const [peer] = (await connected) as [WebSocket];
    return { frames, peer };
  },
  server: async (wait = WAIT) => {
    const responder = await Responder.listen(trace, wait);
    onTestFinished(() => responder.close());
    const accepted = new Promise<Frames>((resolve) => {
      responder.serve = async (exchange) => resolve(exchange.accept());
    });
    const peer = new WebSocket(responder.url.replace("http", "ws"));
    peer.on("error", () => {});
    const frames = await accepted;
    if (peer.readyState !== peer.OPEN) await once(peer, "open");
    return { frames, peer };
  },
};

describe.each(Object.entries(ends))("a WebSocket of which the samples is the %s", (_, open) => {
  test("carries texts of any length, fragments, bytes, pings and pongs", async () => {
    const { frames, peer } = await open();
    await talking(frames, peer);
  });

  test("is closed by the samples, which hears the answer, and by its peer, which hears one", async () => {
    for (const code of [undefined, 1000, 4321]) {
      const { frames, peer } = await open();
      const closed = once(peer, "close");
      frames.close(code);
      expect((await closed)[0]).toBe(code ?? 1000);
      expect(await frames.next()).toEqual({ close: code ?? 1000 });
    }
    for (const [code, heard] of [
      [4000, 4000],
      [undefined, 1005],
    ] as const) {
      const { frames, peer } = await open();
      const closed = once(peer, "close");
      peer.close(code);
      expect(await frames.next()).toEqual({ close: heard });
      expect((await closed)[0]).toBe(1000);
    }
  });

  test("is cut by the samples and by its peer, and by frames that cannot be read", async () => {
    const cut = await open();
    const closed = once(cut.peer, "close");
    cut.frames.cut();
    expect((await closed)[0]).toBe(1006);
    const lost = await open();
    lost.peer.terminate();
    expect(await lost.frames.next()).toEqual({ close: 1006 });
    const wrong = await open();
    (wrong.peer as unknown as { _socket: Socket })._socket.write(Buffer.from([0xff, 0xff, 0, 0]));
    expect(await wrong.frames.next()).toEqual({ text: expect.stringMatching(/^\(frames that cannot be read: .+\)$/) });
    expect(await wrong.frames.next()).toEqual({ close: 1006 });
  });

  test("is waited for, and not for ever", async () => {
    const { frames } = await open(30);
    await expect(frames.next()).rejects.toMatchObject({ expected: "a frame", came: "nothing within 30 ms" });
  });
});

test("a handshake that is refused is an answer, and one without an answer is reported", async () => {
  const { server, samples } = await asked(() => {}, "", 100);
  server.on("upgrade", (came, socket) => {
    if (came.url === "/a?b")
      socket.end("HTTP/1.1 403 No\r\nX-Why: b\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
  });
  expect(await samples.socket(get)).toMatchObject({ status: 403, headers: { "x-why": "b" }, text: "no" });
  await expect(samples.socket({ ...get, target: "/other" })).rejects.toMatchObject({
    expected: "an answer to the handshake",
    came: "nothing within 100 ms",
  });
});

/** The suite as a server, and one request to it. */
async function answered(serve: (exchange: Exchange) => Promise<void>, options: object = {}, body?: string) {
  const responder = await Responder.listen(trace, WAIT);
  onTestFinished(() => responder.close());
  responder.serve = serve;
  const sent = request(`${responder.url}/a?b`, { agent: false, ...options });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const chunks = await response.toArray().catch((error: Error) => [error.message]);
  return { status: response.statusCode, headers: response.headers, text: chunks.map(String).join("|") };
}

describe("the samples answers", () => {
  test("a request, of which it sees all", async () => {
    let seen: Partial<Exchange> = {};
    const { status, headers, text } = await answered(
      async (exchange) => {
        seen = exchange;
        exchange.answer(418, "text/plain", "nö", { "X-More": "1" });
      },
      { method: "PUT", headers: { "X-One": "two" } },
      "bödy",
    );
    expect({ status, type: headers["content-type"], more: headers["x-more"], text }).toEqual({
      status: 418,
      type: "text/plain",
      more: "1",
      text: "nö",
    });
    expect(seen).toMatchObject({
      method: "PUT",
      target: "/a?b",
      headers: { "x-one": "two" },
      body: "bödy",
      isSocket: false,
    });
    expect(Buffer.from(seen.bytes!).toString()).toBe("bödy");
    expect(() => seen.accept!()).toThrow(TypeError);
  });

  test("without a type and with bytes", async () => {
    const { status, headers } = await answered(async (exchange) => exchange.answer(204, undefined, ""));
    expect({ status, type: headers["content-type"] }).toEqual({ status: 204, type: undefined });
    const { text } = await answered(async (exchange) => exchange.answer(200, "a/b", new Uint8Array([65, 66])));
    expect(text).toBe("AB");
  });

  test("piece by piece, to the end or to a cut", async () => {
    const whole = await answered(async (exchange) => {
      exchange.begin(201, "text/event-stream", { "X-More": "1" });
      for (const one of ["a", new Uint8Array([66])]) await exchange.write(one);
      exchange.end();
    });
    expect(whole).toMatchObject({
      status: 201,
      headers: { "content-type": "text/event-stream", "cache-control": "no-store", "x-more": "1" },
      text: "a|B",
    });
    const cut = await answered(async (exchange) => {
      exchange.begin(200, "text/plain");
      await exchange.write("a");
      exchange.cut();
      await exchange.gone;
      // What is written to nobody does no harm.
      await exchange.write("b");
    });
    expect(cut.text).toBe("aborted");
  });

  test("a handshake with a refusal", async () => {
    const headers = {
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Key": "x",
      "Sec-WebSocket-Version": "13",
    };
    let seen: Exchange | undefined;
    const refused = await answered(
      async (exchange) => {
        seen = exchange;
        exchange.answer(426, "application/json", '{"ö":1}');
      },
      { headers },
    );
    expect(refused).toMatchObject({ status: 426, headers: { "content-type": "application/json" }, text: '{"ö":1}' });
    expect(seen).toMatchObject({ isSocket: true, method: "GET", body: "" });
    for (const wrong of [() => seen!.begin(200, "a"), () => seen!.end()])
      expect(wrong).toThrow("this request is a handshake");
    await expect(seen!.write("a")).rejects.toThrow("this request is a handshake");
    const bare = await answered(async (exchange) => exchange.answer(404, undefined, ""), { headers });
    expect(bare).toMatchObject({ status: 404, text: "" });
    expect(bare.headers["content-type"]).toBeUndefined();
  });

  test("nothing to a request that no case waits for", async () => {
    const responder = await Responder.listen(trace, WAIT);
    onTestFinished(() => responder.close());
    await expect(fetch(responder.url)).rejects.toThrow("fetch failed");
  });

  test("nothing to a request whose body is cut, and ends what is open when it closes", async () => {
    let count = 0;
    const responder = await Responder.listen(trace, WAIT);
    responder.serve = async () => void count++;
    const socket = connect(Number(new URL(responder.url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    await once(socket, "connect");
    const ended = new Promise((resolve) => socket.on("close", resolve));
    await responder.close();
    await ended;
    expect(count).toBe(0);
  });
});
