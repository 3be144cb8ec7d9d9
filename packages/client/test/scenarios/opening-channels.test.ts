import { type ConnectOptions, connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { loco } from "@parlance/protocols/loco";
import type { OpenSocket, Port, PortEvents } from "@parlance/wire";
import { RESUME } from "@parlance/wire/resume-key";
import { afterEach, describe, expect, test, vi } from "vitest";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** A server's end of each socket that is opened, and what the client did with its own. */
function server(confirms = true, greeting?: string) {
  const asked: { url: string; headers: Readonly<Record<string, string>>; protocols: readonly string[] }[] = [];
  const done: string[] = [];
  let on: PortEvents | undefined;
  const webSocket: OpenSocket = async (url, { headers, protocols }) => {
    asked.push({ url, headers, protocols });
    const port: Port = {
      send: (frame) => void done.push(frame),
      close(code, reason) {
        done.push(`close ${code} ${reason}`);
        if (confirms) on?.close(code, reason);
      },
      listen(events) {
        on = events;
        if (greeting && headers[RESUME]) queueMicrotask(() => events.frame(greeting));
      },
    };
    return port;
  };
  return { webSocket, asked, done, say: (message: object) => on!.frame(JSON.stringify(message)), on: () => on! };
}

const hello = { client_info: { name: "test", version: "1", capabilities: [] } };
const never = () => new Promise<never>(() => {});
const files = { status: "success", action: "file_list", files: [], activeFile: null };
const failed = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable(),
    (error) => error,
  );

describe("A channel without resume", () => {
  const plain = (options: ConnectOptions = {}) => {
    const it = server();
    return {
      ...it,
      client: connect(based, { baseUrl: "http://x", webSocket: it.webSocket, resume: false, ...options }),
    };
  };

  test("waits for its token as long as for an answer, and says so", async () => {
    const { client, asked } = plain({ token: never, answerTimeout: 5 });
    expect(await failed(client.session())).toMatchObject({
      name: "Disconnected",
      code: "timeout",
      message: "based.session: nothing came within 5 ms",
    });
    expect(asked).toEqual([]);
  });

  test("waits for its handshake for 30 s, and says so", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    let signal: AbortSignal | undefined;
    const webSocket: OpenSocket = (_, init) => {
      signal = init.signal;
      return never();
    };
    const { client } = plain({ webSocket });
    const failure = failed(client.session());
    while (!signal) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(29_999);
    expect(signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await failure).toMatchObject({
      code: "timeout",
      retryable: true,
      message: "based.session: nothing came within 30000 ms",
    });
    expect(signal.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("sends its headers, those of the call before those of the client, and its token", async () => {
    const { client, asked, on } = plain({ headers: { "X-Own": "client", "X-More": "more" }, token: "t" });
    await client.session({ headers: { "X-Own": "call" } });
    expect(asked).toEqual([
      {
        url: "ws://x/ws",
        headers: { "X-Own": "call", "X-More": "more", Authorization: "Bearer t" },
        protocols: [],
      },
    ]);
    on().close(1000, "");
  });

  test("is closed as aborted with its signal, whose reason its reader gets", async () => {
    for (const whose of ["client", "call"]) {
      const abort = new AbortController();
      const reason = new Error("enough");
      const { client, done } = plain(whose === "client" ? { signal: abort.signal } : {});
      const session = await client.session(whose === "call" ? { signal: abort.signal } : {});
      abort.abort(reason);
      await expect(session.closed).rejects.toBe(reason);
      expect(done).toEqual(["close 1000 aborted"]);
    }
  });

  test("ends at a message over the limit, and at more unread messages than its queue takes", async () => {
    const size = JSON.stringify(files).length;
    const long = plain({ maxMessageSize: size - 1 });
    const session = await long.client.session();
    long.say(files);
    await expect(session.closed).rejects.toMatchObject({ name: "Violation", code: "too_large" });
    expect(long.done).toEqual(["close 1009 too_large"]);

    const many = plain({ maxMessageSize: size, maxQueued: 2 * size });
    const slow = await many.client.session();
    for (let sent = 0; sent < 2; sent++) many.say(files);
    expect(many.done).toEqual([]);
    many.say(files);
    await expect(slow.closed).rejects.toMatchObject({ code: "slow_reader" });
    expect(many.done).toEqual(["close 1008 slow reader"]);
  });

  test("passes a message that the contract does not have on, and ends at one that breaks its schema", async () => {
    const unknown: unknown[] = [];
    const { client, say, done } = plain({ onUnknown: (one) => void unknown.push(one.body) });
    const session = await client.session();
    const other = { status: "success", action: "something new" };
    say(other);
    expect([unknown, done]).toEqual([[other], []]);
    say({ ...files, files: 7 });
    await expect(session.closed).rejects.toMatchObject({ name: "Violation", code: "schema", side: "server" });
  });
});

describe("The opening message of a channel", () => {
  const opening = (open: object | undefined) => {
    const it = server();
    const client = connect(loco, { baseUrl: "http://x", webSocket: it.webSocket, resume: false });
    return { ...it, opened: client.stream({ session_id: "s" }, { open } as never) };
  };

  test("is sent first, with what the call gives it", async () => {
    const { opened, done, on } = opening(hello);
    await opened;
    expect(done.map((frame) => JSON.parse(frame))).toEqual([{ type: "client.hello", ...hello }]);
    on().close(1000, "");
  });
});

describe("The offer of a server", () => {
  const offer = (body: BodyInit | null, epoch = "e1; grace=30; beat=15", status = 200) =>
    new Response(body, { status, headers: { [RESUME]: epoch, "Content-Type": "application/json" } });
  const ticket = "a".repeat(32);
  const good = (received = 0) => offer(JSON.stringify({ ticket, received }));

  /** A client that gets these answers, one a request; what it sent, and its sockets. */
  function resuming(answers: (Response | Error)[], options: ConnectOptions = {}, confirms = true) {
    const sent: {
      method: string;
      key: string | null;
      cursor: string | null;
      own: string | null;
      accept: string | null;
    }[] = [];
    const it = server(confirms, "parlance.resume e1; grace=30; beat=0");
    const fetch = async ({ method, headers }: Request) => {
      const [key, cursor] = [headers.get(RESUME), headers.get("Last-Event-ID")];
      sent.push({ method, key, cursor, own: headers.get("X-Own"), accept: headers.get("Accept") });
      if (method === "DELETE") return new Response(null, { status: 204 });
      const next = answers.shift() ?? new Response("no", { status: 404 });
      if (next instanceof Error) throw next;
      return next;
    };
    const client = connect(based, { baseUrl: "http://x", webSocket: it.webSocket, fetch, random: () => 0, ...options });
    return { ...it, sent, client, protocols: () => it.asked.map(({ protocols }) => protocols) };
  }

  test("is asked for by a key in the handshake, and after a cut as JSON: its ticket opens a socket without the token", async () => {
    const headers = { "X-Own": "client" };
    const { client, sent, asked, on } = resuming([good()], { token: "t", headers });
    const session = await client.session({ headers: { "X-Call": "call" } });
    const key = asked[0]!.headers[RESUME]!;
    expect(key).toMatch(/^[0-9a-f]{32}$/);
    const own = { "X-Own": "client", "X-Call": "call" };
    const first = { url: "ws://x/ws", headers: { ...own, Authorization: "Bearer t", [RESUME]: key }, protocols: [] };
    expect([asked, sent]).toEqual([[first], []]);
    on().close(1006, "");
    await expect.poll(() => asked.length).toBe(2);
    expect(sent).toEqual([{ method: "GET", key, cursor: "e1.0", own: "client", accept: "application/json" }]);
    expect(asked[1]).toEqual({ url: "ws://x/ws", headers: own, protocols: [`parlance.${ticket}`] });
    on().close(1000, "");
    await session.closed;
  });

  test.each<[what: string, body: () => BodyInit]>([
    ["no JSON", () => "{"],
    ["no object", () => "null"],
    ["no ticket", () => '{"received":0}'],
    ["a ticket that is no text", () => '{"ticket":7,"received":0}'],
    ["no count", () => `{"ticket":"${ticket}"}`],
    ["a count that is none", () => `{"ticket":"${ticket}","received":0.5}`],
    ["a count that is a text", () => `{"ticket":"${ticket}","received":"0"}`],
    ["a body that is cut", () => new ReadableStream({ pull: (body) => body.error(new Error("cut")) })],
  ])("that has %s is asked for again, from where the client is", async (_, body) => {
    const { client, sent, protocols, on } = resuming([offer(body()), offer(body()), good()]);
    await client.session();
    await new Promise((resolve) => setImmediate(resolve));
    on().close(1006, "");
    await expect.poll(() => protocols().length).toBe(2);
    expect(sent.map(({ method, cursor }) => [method, cursor])).toEqual([
      ["GET", "e1.0"],
      ["GET", "e1.0"],
      ["GET", "e1.0"],
    ]);
    expect(new Set(sent.map(({ key }) => key)).size).toBe(1);
    expect(protocols()).toEqual([[], [`parlance.${ticket}`]]);
    on().close(1000, "");
  });

  test("whose body is being read when the call is aborted opens nothing, and the channel is cancelled", async () => {
    const abort = new AbortController();
    const cancel = vi.fn();
    let reading = false;
    const body = new ReadableStream(
      {
        pull() {
          reading = true;
          return never();
        },
        cancel,
      },
      { highWaterMark: 0 },
    );
    const { client, sent, asked, on } = resuming([offer(body)]);
    const session = await client.session({ signal: abort.signal });
    await new Promise((resolve) => setImmediate(resolve));
    on().close(1006, "");
    await expect.poll(() => reading).toBe(true);
    abort.abort(new Error("enough"));
    expect((await failed(session.closed)).message).toBe("enough");
    await expect.poll(() => cancel.mock.calls.length).toBe(1);
    expect([sent.map(({ method }) => method), asked.length]).toEqual([["GET", "DELETE"], 1]);
  });

  test("is asked for at each cut, with what the client has received, under the first epoch", async () => {
    const { client, sent, say, on, done } = resuming([
      offer(`{"ticket":"${ticket}","received":0}`, "e2; grace=1; beat=1"),
    ]);
    const session = await client.session();
    await new Promise((resolve) => setImmediate(resolve));
    say(files);
    say(files);
    await session.send({ type: "list_files" });
    on().close(1006, "");
    await expect.poll(() => done.length).toBe(3);
    expect(sent.map(({ cursor }) => cursor)).toEqual(["e1.2"]);
    // What its server has not received is sent again.
    expect(done[0]).toBe("parlance.begin e1");
    expect(done[2]).toBe(done[1]);
    on().close(1000, "");
    await session.closed;
  });

  test("that a channel gave up is cancelled with its key, once", async () => {
    const abort = new AbortController();
    const { client, sent, done, on, asked } = resuming([], { headers: { "X-Own": "own" } }, false);
    const session = await client.session({ signal: abort.signal });
    await new Promise((resolve) => setImmediate(resolve));
    abort.abort(new Error("enough"));
    await expect(session.closed).rejects.toThrow("enough");
    expect(sent).toEqual([]);
    // Its server may not have got the close.
    on().close(1006, "");
    await expect.poll(() => sent.length).toBe(1);
    expect(sent[0]).toMatchObject({ method: "DELETE", key: asked[0]!.headers[RESUME], own: "own" });
    expect(done).toEqual(["parlance.begin e1", "close 1000 aborted"]);
  });
});

describe("A page of another origin asks for an offer", () => {
  const asks = async (options: ConnectOptions) => {
    vi.stubGlobal("location", { origin: "http://page" });
    const it = server();
    class Socket extends EventTarget {
      onopen?: () => void;
      constructor() {
        super();
        queueMicrotask(() => this.onopen!());
      }
      close() {
        this.dispatchEvent(Object.assign(new Event("close"), { code: 1000, reason: "" }));
      }
    }
    vi.stubGlobal("WebSocket", Socket);
    let asked = 0;
    const fetch = async () => {
      asked++;
      return new Response("no", { status: 404 });
    };
    const own = options.webSocket && { webSocket: it.webSocket };
    const session = await connect(based, { baseUrl: "http://x", fetch, ...options, ...own })
      .session()
      .catch((error: Error) => error);
    if (!(session instanceof Error)) await session.close();
    return asked > 0;
  };
  const own: OpenSocket = () => never();

  test.each<[what: string, options: ConnectOptions, asked: boolean]>([
    ["where it has a token, which its socket cannot carry", { token: "t" }, true],
    ["not without a token", {}, false],
    ["not where its socket can carry the token", { token: "t", webSocket: own }, false],
    ["not where it is not to resume", { token: "t", resume: false }, false],
    ["where it is to resume", { resume: true }, true],
    ["where its own origin is the server's", { baseUrl: "http://page/api" }, true],
  ])("%s", async (_, options, asked) => {
    expect(await asks(options)).toBe(asked);
  });
});
