import { based } from "@parlance/protocols/based";
import type { AnyContract, OpenSocket, Port, PortEvents } from "@parlance/wire";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { sockets } from "../../src/channel/socket.js";
import { type Lifetime, lifetime } from "../../src/lifetime.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** A user's port, with what is asked of it. */
function userPort(faults: Partial<Port> = {}) {
  const asked: string[] = [];
  let on: PortEvents | undefined;
  const port = {
    send: (frame: string) => void asked.push(`send ${frame}`),
    close: (code: number, reason: string) => void asked.push(`close ${code} ${reason}`),
    listen: (events: PortEvents) => {
      on = events;
    },
    ...faults,
  } as Port;
  return { port, asked, on: () => on! };
}

/** The guarded port, and the events that its listener gets. */
async function guarded(port: Port, life: Lifetime = lifetime()) {
  const open = sockets(based as unknown as AnyContract, { webSocket: async () => port }, "a channel", "http://x");
  const socket = await open({}, [], life);
  const told: unknown[] = [];
  const listen = () => socket.listen({ frame: (text) => void told.push(text), close: (...how) => void told.push(how) });
  return { socket, told, listen };
}
const fails = (): never => {
  throw new Error("broken");
};

describe("A user's port", () => {
  test("is used as it is, until its peer closes it", async () => {
    const { port, asked, on } = userPort({ buffered: () => 7 });
    const { socket, told, listen } = await guarded(port);
    listen();
    socket.send("a");
    on().frame("b");
    expect(socket.buffered!()).toBe(7);
    socket.close(3000, "done");
    on().close(3000, "done");
    on().frame("late");
    on().close(1006, "late");
    socket.close(1000, "");
    expect([asked, told]).toEqual([
      ["send a", "close 3000 done"],
      ["b", [3000, "done"]],
    ]);
  });

  test.each<[what: string, faults: Partial<Port>, use: (socket: Port) => unknown]>([
    ["send", { send: fails }, (socket) => socket.send("a")],
    ["close", { close: fails, cut: () => {} }, (socket) => socket.close(1000, "")],
    ["buffered", { buffered: fails }, (socket) => expect(socket.buffered!()).toBe(0)],
    ["cut", { cut: fails }, (socket) => socket.cut!()],
    ["listen", { listen: fails }, () => {}],
  ])("whose %s throws counts as cut", async (_, faults, use) => {
    const { port } = userPort(faults);
    const { socket, told, listen } = await guarded(port);
    listen();
    use(socket);
    expect(told).toEqual([[1006, ""]]);
  });

  const rejects = async () => fails();
  test.each<[what: string, faults: object, use: (socket: Port) => unknown]>([
    ["send", { send: rejects }, (socket) => socket.send("a")],
    ["close", { close: rejects, cut: () => {} }, (socket) => socket.close(1000, "")],
    ["buffered", { buffered: rejects }, (socket) => expect(socket.buffered!()).toBe(0)],
    ["cut", { cut: rejects }, (socket) => socket.cut!()],
    ["listen", { listen: rejects }, () => {}],
  ])("whose %s rejects counts as cut, and leaves no rejection unheard", async (_, faults, use) => {
    const { port } = userPort(faults);
    const { socket, told, listen } = await guarded(port);
    listen();
    use(socket);
    await new Promise((resolve) => setImmediate(resolve));
    expect(told).toEqual([[1006, ""]]);
  });

  test("without `cut` is closed in a way that lets its server wait, and with it is cut", async () => {
    const plain = userPort();
    (await guarded(plain.port)).socket.cut!();
    expect(plain.asked).toEqual(["close 1012 "]);
    const cut = vi.fn();
    const own = userPort({ cut });
    (await guarded(own.port)).socket.cut!();
    expect([own.asked, cut.mock.calls.length]).toEqual([[], 1]);
  });

  test("that does not confirm a close counts as cut after 10 s", async () => {
    const { port } = userPort();
    const { socket, told, listen } = await guarded(port);
    listen();
    socket.close(1000, "");
    vi.advanceTimersByTime(5000);
    socket.close(1000, "");
    vi.advanceTimersByTime(4999);
    expect(told).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(told).toEqual([[1006, ""]]);
  });

  test.each([undefined, "many", null])("that says that %j waits to be sent has nothing waiting", async (waiting) => {
    const { port } = userPort({ buffered: () => waiting as never });
    expect((await guarded(port)).socket.buffered!()).toBe(0);
  });

  test("whose end came before its listener tells it then", async () => {
    const { port } = userPort({ send: fails });
    const { socket, told, listen } = await guarded(port);
    socket.send("a");
    listen();
    expect(told).toEqual([[1006, ""]]);
  });

  test.each(["while it opens", "before it has a listener"])(
    "whose request ends %s is closed, and waits for the confirmation",
    async (when) => {
      const { port, asked, on } = userPort();
      const life = lifetime();
      const open = sockets(
        based as unknown as AnyContract,
        {
          webSocket: async () => {
            if (when === "while it opens") life.abort();
            return port;
          },
        },
        "a channel",
        "http://x",
      );
      await open({}, [], life);
      life.abort();
      expect(asked).toEqual(["close 1000 "]);
      on().close(1000, "");
    },
  );

  test("with a listener is left alone when its request ends", async () => {
    const { port, asked } = userPort();
    const life = lifetime();
    const { listen } = await guarded(port, life);
    listen();
    life.abort();
    expect(asked).toEqual([]);
  });
});

describe("A socket that is asked for", () => {
  const reason = new Error("enough");
  type Opened = Awaited<ReturnType<OpenSocket>>;
  /** What becomes of it, and how often the user's function was called. */
  const opened = async (webSocket: () => Opened | Promise<Opened>, life = lifetime(), more: object = {}) => {
    let asked = 0;
    const counted: OpenSocket = async () => {
      asked++;
      return webSocket();
    };
    const open = sockets(contract, { webSocket: counted, ...more }, "p.line", "http://x/line");
    const error = await open({}, [], life).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    return { error, asked };
  };
  const contract = based as unknown as AnyContract;

  test("by a request that is over is not opened", async () => {
    const life = lifetime();
    life.abort(reason);
    expect(await opened(() => userPort().port, life)).toEqual({ error: reason, asked: 0 });
  });

  test("and not opened fails with its cause and the address, or with the mistake in the caller's code", async () => {
    const offline = new Error("offline");
    expect((await opened(() => Promise.reject(offline))).error).toMatchObject({
      name: "Disconnected",
      code: "unreachable",
      retryable: true,
      cause: offline,
      message: "p.line: no socket was opened at http://x/line",
    });
    const refused = Object.assign(new Error("no"), { code: "ECONNREFUSED" });
    expect((await opened(() => Promise.reject(refused))).error).toMatchObject({
      message: expect.stringMatching(/^p\.line: no socket was opened at http:\/\/x\/line: nothing listens there/),
    });
    const mistake = new TypeError("no WebSocket");
    expect((await opened(() => Promise.reject(mistake))).error).toBe(mistake);
  });

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
    "whose request ends %d turns before its failure is reported fails with the reason of that end",
    async (turns) => {
      const ending = async (failure: Error) => {
        const life = lifetime();
        const { error } = await opened(() => {
          void (async () => {
            for (let turn = 0; turn < turns; turn++) await Promise.resolve();
            life.abort(reason);
          })();
          throw failure;
        }, life);
        return error;
      };
      expect(await ending(new Error("offline"))).toBe(reason);
      if (turns === 0) expect(await ending(new TypeError("a mistake"))).toBe(reason);
    },
  );

  test.each([
    [200, { name: "Disconnected", code: "unreachable", retryable: true }],
    [399, { name: "Disconnected", code: "unreachable", retryable: true }],
    [400, { name: "Refusal", code: "status_400", status: 400 }],
    [503, { name: "Refusal", code: "status_503", status: 503, retryAfter: 7 }],
  ])("and answered with %d is refused, or answered by something else", async (status, wanted) => {
    const { error } = await opened(() => ({ refused: { status, body: '{"message":"no"}', retryAfter: 7 } }));
    expect(error).toMatchObject(wanted);
    if (status < 400)
      expect(error).toMatchObject({
        message: `p.line: http://x/line answered ${status}, not a socket`,
        cause: { name: "Refusal", status },
      });
  });

  test.each([
    [undefined, true],
    ["t", false],
  ])("with the token %j is refused with 401, and told that there was none: %s", async (token, told) => {
    const refused = { refused: { status: 401, body: "no" } };
    const { error } = await opened(() => refused, lifetime(), token === undefined ? {} : { token });
    expect((error as Error).message.includes("no `token` was given")).toBe(told);
  });
});
