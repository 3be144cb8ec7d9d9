import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, serve } from "@parlance/server";
import type { Port, PortEvents } from "@parlance/wire";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { LISTEN_LIMITS } from "../../src/limits.js";
import { portOf } from "../../src/web/port.js";
import { bun, deno, type Opened, type Runtime, worker } from "../runtimes.js";

// What the server makes of the interfaces of Deno, Bun and Cloudflare workers.

const RUNTIMES: Readonly<Record<string, () => Runtime>> = { Deno: deno, Bun: bun, "a worker": worker };
const LISTENING = Object.keys(RUNTIMES).filter((name) => name !== "a worker");

function start(name: string): Runtime {
  const runtime = RUNTIMES[name]!();
  for (const [key, value] of Object.entries(runtime.globals)) vi.stubGlobal(key, value);
  onTestFinished(() => void vi.unstubAllGlobals());
  return runtime;
}

const fold = (options: object = {}): App =>
  serve(foldGateway, { health: () => "OK" }, { onError: false, ...options, partial: true });

/** A channel that repeats the names of the files it is given. */
const echo = (options: object = {}): App =>
  serve(
    based,
    {
      async session(_, channel) {
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const message of channel)
          if (message.type === "upload_file")
            channel.send({ type: "file_uploaded", filename: message.filename, files: [] });
      },
    },
    { onError: false, ...options },
  ) as App;

const isOpened = (answer: Response | Opened): answer is Opened => "peer" in answer;

const upgrade = (path: string, headers: Record<string, string> = {}) =>
  new Request(`http://localhost${path}`, { headers: { Upgrade: "WebSocket", ...headers } });

/** A client of based through a runtime; the subprotocols that were offered and answered. */
function clientOf({ arrive }: Runtime, before: readonly string[] = []) {
  const seen: { offered: readonly string[]; answered: string | undefined; opened: Opened }[] = [];
  const client = connect(based, {
    random: () => 0,
    fetch: async (request) => (await arrive(request)) as Response,
    async webSocket(url, { headers, protocols = [] }) {
      const offered = [...before, ...protocols];
      const offer = offered.length > 0 && { "Sec-WebSocket-Protocol": offered.join(", ") };
      const opened = (await arrive(upgrade(new URL(url).pathname, { ...headers, ...offer }))) as Opened;
      seen.push({ offered, answered: opened.protocol, opened });
      return opened.peer;
    },
  });
  return { client, seen };
}

/** All that a port of the peer receives. */
function heard(port: Port) {
  const all: string[] = [];
  let end: (closed: string) => void = () => {};
  const closed = new Promise<string>((resolve) => (end = resolve));
  port.listen({ frame: (text) => void all.push(text), close: (code, reason) => end(`${code} ${reason}`) });
  return { all, closed };
}

describe.each(Object.keys(RUNTIMES))("in %s", (name) => {
  test("requests are answered and refused as by the app itself", async () => {
    const runtime = start(name);
    await runtime.serve(fold());
    const answer = async (path: string, headers: Record<string, string> = {}) => {
      const response = (await runtime.arrive(new Request(`http://localhost${path}`, { headers }))) as Response;
      return [response.status, await response.text()];
    };
    expect(await answer("/health")).toEqual([200, "OK"]);
    expect((await answer("/nothing"))[0]).toBe(404);
    expect((await answer("/health", { Host: "rebound.example" }))[0]).toBe(403);
    expect((await answer("/health", { Origin: "https://a.example" }))[0]).toBe(403);
  });

  test.each([true, false])("a channel converses both ways, and closes (resume: %s)", async (resume) => {
    const runtime = start(name);
    const app = echo({ resume });
    await runtime.serve(app);
    const { client, seen } = clientOf(runtime, ["chat"]);
    const session = await client.session();
    const say = async (filename: string) =>
      expect(await session.ask({ type: "upload_file", filename, content: "" })).toMatchObject({ filename });
    for (const filename of ["1", "2", "€".repeat(1000)]) await say(filename);
    if (resume) {
      seen[0]!.opened.peer.close(1006, "");
      await say("after a cut");
    }
    await session.close();
    expect(await session.closed).toMatchObject({ code: 1000 });
    // Of what is offered a ticket is accepted, and nothing else.
    for (const { offered, answered } of seen) expect(answered).toBe(offered.find((one) => one.startsWith("parlance.")));
    expect(seen.map(({ answered }) => answered !== undefined)).toEqual(resume ? [false, true] : [false]);
    await vi.waitFor(() => expect(app.stats()).toMatchObject({ calls: 0, channels: 0 }));
  });

  test("a channel goes on when the request of its handshake is aborted, which its socket has replaced", async () => {
    const runtime = start(name);
    await runtime.serve(echo({ resume: false }));
    const left = new AbortController();
    const { peer } = (await runtime.arrive(new Request(upgrade("/ws"), { signal: left.signal }))) as Opened;
    const { all } = heard(peer);
    await vi.waitFor(() => expect(all).toHaveLength(1));
    left.abort();
    await new Promise((resolve) => setImmediate(resolve));
    peer.send('{"action":"upload_file","filename":"f","content":""}');
    await vi.waitFor(() => expect(JSON.parse(all[1]!)).toMatchObject({ action: "file_uploaded", filename: "f" }));
  });

  test("a handshake is refused with a status, and one for no channel is a request like any other", async () => {
    const runtime = start(name);
    const app = echo({ authenticate: () => false });
    await runtime.serve([app, fold()]);
    const status = async (request: Request) => ((await runtime.arrive(request)) as Response).status;
    expect(await status(upgrade("/ws"))).toBe(401);
    expect(await status(upgrade("/ws", { Origin: "https://a.example" }))).toBe(403);
    expect(await status(upgrade("/health"))).toBe(200);
    expect(await status(new Request("http://localhost/ws", { headers: { Upgrade: "h2c" } }))).toBe(426);
    expect(app.stats()).toMatchObject({ calls: 0 });
  });

  test("a frame that is too long or no text closes the socket, with the reason", async () => {
    const runtime = start(name);
    const reasons: string[] = [];
    await runtime.serve(echo({ resume: false, maxMessageSize: 300 }));
    for (const frame of ["€".repeat(101), new Uint8Array(1) as unknown as string]) {
      const { peer } = (await runtime.arrive(upgrade("/ws"))) as Opened;
      const { closed } = heard(peer);
      peer.send(frame);
      reasons.push(await closed);
    }
    // Runtimes with the browsers' interface do not send 1003 and 1009.
    const own = name === "Bun" ? 1000 : 4000;
    expect(reasons).toEqual([`${own + 9} a message has at most 300 bytes`, `${own + 3} text frames only`]);
  });

  test("a socket that fails, or whose peer leaves before it is open, leaves nothing behind", async () => {
    const runtime = start(name);
    const app = echo({ resume: false });
    await runtime.serve(app);
    const opened = (await runtime.arrive(upgrade("/ws"))) as Opened;
    await vi.waitFor(() => expect(app.stats()).toMatchObject({ channels: 1 }));
    opened.fail();
    await vi.waitFor(() => expect(app.stats()).toMatchObject({ calls: 0, channels: 0 }));
    if (name === "a worker") return;
    runtime.unopened = true;
    const answer = await runtime.arrive(upgrade("/ws"));
    if (!isOpened(answer)) expect(answer.status).toBe(400);
    await vi.waitFor(() => expect(app.stats()).toMatchObject({ calls: 0, channels: 0 }));
  });

  test("a caller that leaves aborts its handler", async () => {
    const runtime = start(name);
    const left = new AbortController();
    let reason: unknown;
    const app = serve(
      foldGateway,
      {
        async *send(_: unknown, { signal }: { readonly signal: AbortSignal }) {
          yield { type: "text", text: "1" };
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          reason = signal.reason;
        },
      } as never,
      { partial: true, resume: false } as never,
    ) as App;
    await runtime.serve(app);
    const { signal } = left;
    const response = (await runtime.arrive(
      new Request("http://localhost/api/send", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: '{"content":"x"}',
        signal,
      }),
    )) as Response;
    await response.body!.getReader().read();
    left.abort();
    await vi.waitFor(() => expect(reason).toMatchObject({ code: "closed" }));
  });
});

describe.each(LISTENING)("`listen` in %s", (name) => {
  test("binds loopback and the contract's port by default, and passes certificates on", async () => {
    const runtime = start(name);
    const plain = (await runtime.serve(fold()))!;
    expect(runtime.given.at(-1)).toMatchObject({ port: 8080, hostname: "127.0.0.1" });
    expect([plain.url, plain.port]).toEqual(["http://127.0.0.1:4321", 4321]);
    await plain.close();
    const tls = { cert: "c", key: "k" };
    const secure = (await runtime.serve(fold(), { host: "::1", port: 1, tls }))!;
    expect(runtime.given.at(-1)).toMatchObject({ port: 1, hostname: "::1", ...(name === "Bun" ? { tls } : tls) });
    expect(secure.url).toMatch(/^https:\/\/\[::1\]:4321$/);
    await secure.close();
  });

  test("answers to the address that it binds, and refuses one that is open to everybody", async () => {
    const runtime = start(name);
    await expect(runtime.serve(fold(), { host: "192.0.2.1" })).rejects.toThrow("open to everybody");
    await runtime.serve(fold(), { host: "192.0.2.1", dangerouslyAllowEverybody: true });
    const status = async (host: string) =>
      ((await runtime.arrive(new Request(`http://${host}/health`))) as Response).status;
    expect([await status("192.0.2.1"), await status("192.0.2.2")]).toEqual([200, 403]);
  });

  test("gives the runtime the limits of a socket: two and a half heartbeats without an answer", async () => {
    const runtime = start(name);
    await runtime.serve(echo({ heartbeat: 4200, maxMessageSize: 5000, resume: false }));
    if (name === "Deno") await runtime.arrive(upgrade("/ws"));
    const given = runtime.given.at(-1) as { readonly websocket?: object };
    expect(given.websocket ?? given).toMatchObject({ idleTimeout: 11 });
    if (name === "Bun") {
      expect(given.websocket).toMatchObject({ maxPayloadLength: 5000 });
      await runtime.serve(echo({ heartbeat: 10_000_000 }));
      expect((runtime.given.at(-1) as typeof given).websocket).toMatchObject({ idleTimeout: 960 });
    }
  });

  test("names a port in use as Node does, and passes other failures on", async () => {
    const runtime = start(name);
    const taken = Object.assign(new Error("taken"), name === "Bun" ? { code: "EADDRINUSE" } : { name: "AddrInUse" });
    runtime.fails = taken;
    await expect(runtime.serve(fold(), { port: 80 })).rejects.toMatchObject({ code: "EADDRINUSE", cause: taken });
    runtime.fails = new Error("no such host");
    await expect(runtime.serve(fold())).rejects.toThrow("no such host");
  });

  test.each([undefined, 70])("closes once, and gives answers %s ms before it cuts them", async (closeAfter) => {
    const runtime = start(name);
    runtime.hangs = true;
    const served = (await runtime.serve(fold(), closeAfter === undefined ? {} : { closeAfter }))!;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let done = false;
    const closing = served.close().then(() => {
      done = true;
    });
    expect(runtime.closing).toEqual(["stop"]);
    const within = closeAfter ?? LISTEN_LIMITS.closeAfter;
    await vi.advanceTimersByTimeAsync(within - 1);
    expect([done, runtime.closing]).toEqual([false, ["stop"]]);
    await vi.advanceTimersByTimeAsync(1);
    if (name === "Bun") expect(runtime.closing).toEqual(["stop", "cut"]);
    else await closing;
    runtime.hangs = false;
    void served.close();
    expect(runtime.closing.filter((one) => one === "stop")).toEqual(["stop"]);
  });

  test("says which module another runtime needs", async () => {
    const { serve } = RUNTIMES[name]!();
    await expect(serve(fold())).rejects.toThrow(`is for ${name}`);
  });
});

test("in Bun a socket may send and close before it is open, which is nothing to the server", async () => {
  const runtime = start("Bun");
  await runtime.serve(echo());
  const { websocket } = runtime.given.at(-1) as { websocket: Record<string, (...given: unknown[]) => void> };
  expect(() => websocket.message!({ data: {} }, "x")).not.toThrow();
  expect(() => websocket.close!({ data: {} }, 1006, "")).not.toThrow();
});

test("a port of a runtime keeps what comes before `listen`, in order, and ends once", () => {
  const sent: unknown[] = [];
  const socket = {
    send: (frame: string) => void sent.push(frame),
    close: (...closed: unknown[]) => void sent.push(closed),
    buffered: () => 7,
  };
  const { port, receive, end } = portOf(socket, 9);
  const got: unknown[] = [];
  const events: PortEvents = { frame: (text) => void got.push(text), close: (...closed) => void got.push(closed) };
  for (const frame of ["1", "2", "€€€"]) receive(frame);
  port.listen(events);
  receive("3");
  port.send("out");
  expect(port.buffered!()).toBe(7);
  port.cut!();
  end(1000, "late");
  receive("late");
  expect(got).toEqual(["1", "2", "€€€", "3", [1006, ""]]);
  expect(sent).toEqual(["out", [1011, ""]]);
  const early = portOf(socket, 9);
  early.receive("x".repeat(9));
  early.end(1001, "away");
  got.length = 0;
  early.port.listen(events);
  expect(got).toEqual(["x".repeat(9), [1001, "away"]]);
});
