import { newKey, RESUME } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Context } from "../../src/call.js";
import type { Called } from "../../src/hooks.js";
import type { HttpRequest } from "../../src/http/request.js";
import { conversationName } from "../../src/identity.js";
import { LIMITS, type Limits } from "../../src/limits.js";
import type { Production, RemoteEvents, RemoteStreams } from "../../src/ports.js";
import { type EventLog, memoryLog } from "../../src/resume/event-log.js";
import { ResumableStreams } from "../../src/resume/streams.js";
import { lastCalls, shutdown } from "../../src/shutdown.js";
import type { SseWriter } from "../../src/stream/writer.js";

// A turn of the loop is a real one.
beforeEach(
  () =>
    void vi.useFakeTimers({
      toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"],
    }),
);
afterEach(() => void vi.useRealTimers());

const turns = async () => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
};
const after = async (milliseconds: number) => {
  await vi.advanceTimersByTimeAsync(milliseconds);
  await turns();
};

/** The resumable streams of one server, whose handlers a test is. */
function streams(limits: Partial<Limits> = {}, log: EventLog = memoryLog(), remote?: Partial<RemoteStreams>) {
  const root = Scope.open((error) => {
    throw error;
  });
  onTestFinished(() => root.close());
  const [report, take] = [vi.fn(), vi.fn()];
  const operation = (method: string, stream: object) => ({ method, answer: { stream: { messages: [], ...stream } } });
  const draining = shutdown();
  const context = {
    contract: {
      name: "p",
      operations: {
        send: operation("POST", { end: ["done"] }),
        events: operation("GET", {}),
        told: operation("POST", { sentinel: "[DONE]" }),
      },
    },
    options: {},
    ownerOf: (principal: unknown) => String(principal),
    limits: { ...LIMITS, grace: 1000, tombstoneLife: 200, heartbeat: 0, ...limits },
    root,
    ledger: { take, hold() {} },
    callbacks: { report, refuse() {} },
    lastCalls: lastCalls(),
    shutdown: draining,
  } as unknown as Context;
  let listening: RemoteEvents = {};
  const elsewhere = remote && {
    listen: async (_: string, scope: Scope, on: RemoteEvents) => {
      listening = on;
      scope.add(() => {
        listening = {};
      });
    },
    refuse: vi.fn(),
    report: () => () => {},
    cancel: async () => false,
    ...remote,
  };
  const direct = { deliver: vi.fn(async () => "direct") };
  const all = new ResumableStreams(context, direct as never, log, elsewhere);
  const began: { readonly handler: Scope; pulls(): number; say(...texts: string[]): void; end(): void }[] = [];
  const produce = async (handler: Scope): Promise<Production> => {
    const steps: ((step: IteratorResult<readonly string[]>) => void)[] = [];
    const waiting: IteratorResult<readonly string[]>[] = [];
    const give = (step: IteratorResult<readonly string[]>): void => {
      const next = steps.shift();
      if (next) next(step);
      else waiting.push(step);
    };
    let pulls = 0;
    began.push({
      handler,
      pulls: () => pulls,
      say: (...texts) => give({ done: false, value: texts }),
      end: () => give({ done: true, value: undefined }),
    });
    const next = async () => {
      pulls++;
      return waiting.shift() ?? new Promise<IteratorResult<readonly string[]>>((resolve) => void steps.push(resolve));
    };
    return { blocks: () => ({ next }), headersDue: true, delivered() {}, release() {} };
  };
  const deliver = (
    key: string | undefined,
    name = "send",
    call = root.child(),
    headers: Record<string, string> = {},
  ) => {
    const request = {
      headers: new Headers({ ...(key && { [RESUME]: key }), ...headers }),
      pathname: "/a",
    } as unknown as HttpRequest;
    return all.deliver({ operation: name, principal: "me" } as Called, request, call, produce);
  };
  const nameOf = (key: string, operation = "send") => conversationName("p", operation, "/a", "me", key);
  const stats = () => {
    const { streams, readers, timers } = root.stats();
    return { streams, readers, timers };
  };
  return {
    all,
    root,
    log,
    report,
    take,
    direct,
    began,
    deliver,
    produce,
    nameOf,
    stats,
    listening: () => listening,
    elsewhere,
    draining,
  };
}
const failing = (error: Error): never => {
  throw error;
};
const refusal = async (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

describe("A stream without readers", () => {
  test("is cancelled after `grace`, and its entries are dropped", async () => {
    const { root, log, began, deliver, nameOf, stats } = streams();
    const [key, call] = [newKey(), root.child()];
    await deliver(key, "send", call);
    // The timer looks after the reader's log.
    expect(stats()).toEqual({ streams: 1, readers: 1, timers: 1 });
    await after(5000);
    expect(began[0]!.handler.closed).toBe(false);
    call.close();
    await after(999);
    expect([began[0]!.handler.closed, stats()]).toEqual([false, { streams: 1, readers: 0, timers: 1 }]);
    await after(1);
    expect(began[0]!.handler.reason).toMatchObject({ name: "Disconnected", code: "closed" });
    expect([await log.state(nameOf(key)), stats()]).toEqual([undefined, { streams: 0, readers: 0, timers: 0 }]);
  });

  test("goes on with the next reader, as long as one of them is there", async () => {
    const { all, root, began, deliver, nameOf, stats } = streams();
    const key = newKey();
    const calls = [root.child(), root.child(), root.child()];
    await deliver(key, "send", calls[0]!);
    calls[0]!.close();
    await after(900);
    for (const call of calls.slice(1)) await all.join(nameOf(key), undefined, call);
    await after(5000);
    calls[1]!.close();
    await after(5000);
    expect([began[0]!.handler.closed, stats().readers]).toEqual([false, 1]);
    calls[2]!.close();
    await after(1000);
    expect(began[0]!.handler.closed).toBe(true);
  });

  test("is kept for `grace` after its handler is done, and is over then", async () => {
    const { all, root, began, deliver, nameOf, log, stats } = streams();
    const [key, call] = [newKey(), root.child()];
    await deliver(key, "send", call);
    call.close();
    await after(900);
    began[0]!.say("1");
    began[0]!.end();
    await turns();
    await after(900);
    expect(await log.state(nameOf(key))).toMatchObject({ last: 1, closed: true });
    await after(100);
    expect([await log.state(nameOf(key)), stats().timers]).toEqual([undefined, 0]);
    expect(await all.join(nameOf(key), undefined, root.child())).toEqual({ gap: { after: 0 } });
  });

  test.each([
    { method: "POST", operation: "send", waits: 200 },
    { method: "GET", operation: "events", waits: 1000 },
  ])("that was never answered is waited for as long as a $method is sent again", async ({ operation, waits }) => {
    for (const grace of [1000, 100]) {
      const { root, all, began, nameOf, stats } = streams({ grace });
      const [key, call] = [newKey(), root.child()];
      const request = {
        headers: new Headers({ [RESUME]: key }),
        pathname: "/a",
      } as unknown as HttpRequest;
      const called = { operation, principal: "me" } as Called;
      const handlers: Scope[] = [];
      // It never answers.
      const answer = all.deliver(called, request, call, (handler) => {
        handlers.push(handler);
        return new Promise(() => {});
      });
      answer.catch(() => {});
      await turns();
      call.close();
      const limit = Math.min(grace, waits);
      await after(limit - 1);
      expect([grace, handlers[0]!.closed]).toEqual([grace, false]);
      await after(1);
      expect([handlers[0]!.closed, began.length, stats().timers]).toEqual([true, 0, 0]);
      expect(await all.join(nameOf(key, operation), undefined, root.child())).toEqual({ gap: { after: 0 } });
    }
  });

  test("is waited for anew with each message that a reader on another server has", async () => {
    const { root, began, deliver, listening } = streams({}, memoryLog(), {});
    const call = root.child();
    await deliver(newKey(), "send", call);
    // While it is read here, that one's end counts.
    listening().reach!(0, "a");
    await after(5000);
    expect(began[0]!.handler.closed).toBe(false);
    call.close();
    for (let i = 0; i < 3; i++) {
      await after(900);
      listening().reach!(i, "a");
    }
    expect(began[0]!.handler.closed).toBe(false);
    const { reach } = listening();
    await after(1000);
    expect(began[0]!.handler.closed).toBe(true);
    reach!(9, "a");
    expect(root.stats().timers).toBe(0);
  });
});

describe("A handler", () => {
  /** Reads an answer to its end, without ever being full. */
  const read = (answer: unknown) => {
    const got: unknown[] = [];
    const sink = {
      write: (text: unknown) => void got.push(text),
      end: () => void got.push("end"),
      cut: () => void got.push("cut"),
    };
    void (answer as { body: SseWriter }).body.run(sink).catch(() => {});
    return got;
  };

  test.each([
    { said: ["123"], waits: false },
    { said: ["1234"], waits: true },
    { said: ["12", "3", "4"], waits: true },
  ])("that nobody reads waits above `maxQueued` until somebody does: %o", async ({ said, waits }) => {
    const { all, root, began, deliver, nameOf } = streams({ maxQueued: 3 });
    const [key, call] = [newKey(), root.child()];
    await deliver(key, "send", call);
    call.close();
    await turns();
    began[0]!.say(...said);
    await turns();
    expect(began[0]!.pulls()).toBe(waits ? 1 : 2);
    const got = read(await all.join(nameOf(key), undefined, root.child()));
    await turns();
    expect([got.join(""), began[0]!.pulls()]).toEqual([said.join(""), 2]);
    // A reader that takes all at once keeps nobody waiting.
    began[0]!.say("12345");
    await turns();
    expect([got.at(-1), began[0]!.pulls()]).toEqual(["12345", 3]);
    began[0]!.end();
    await turns();
    expect(got.at(-1)).toBe("end");
  });
});

describe("A cancelled stream", () => {
  test.each(["here", "from another server"])(
    "ends its handler and all its readers at once, and begins no more: %s",
    async (where) => {
      const { all, root, began, deliver, nameOf, listening, stats, log } = streams({}, memoryLog(), {});
      const key = newKey();
      const calls = [root.child(), root.child()];
      await deliver(key, "send", calls[0]!);
      await all.join(nameOf(key), undefined, calls[1]!);
      began[0]!.say("1");
      await turns();
      if (where === "here") expect(await all.cancel(nameOf(key))).toBe(true);
      else listening().cancel!();
      await turns();
      expect(began[0]!.handler.reason).toMatchObject({ name: "AbortError", message: "the caller has cancelled" });
      expect(stats()).toEqual({ streams: 0, readers: 0, timers: 1 });
      expect(await log.state(nameOf(key))).toMatchObject({ closed: true, first: 2, last: 1 });
      await after(200);
      expect([await log.state(nameOf(key)), stats().timers]).toEqual([undefined, 0]);
      expect(await refusal(deliver(key))).toMatchObject({ status: 409 });
      expect(began).toHaveLength(1);
    },
  );

  test("that has not begun does not begin for a time, where no server has it", async () => {
    const { all, deliver, nameOf, began, stats } = streams();
    const key = newKey();
    expect(await all.cancel(nameOf(key))).toBe(false);
    expect(await refusal(deliver(key))).toMatchObject({ status: 409 });
    expect(await all.cancel(nameOf(key))).toBe(false);
    await after(200);
    expect(stats().timers).toBe(0);
    await deliver(key);
    expect(began).toHaveLength(1);
  });

  test("of another server is cancelled there, and nowhere else", async () => {
    const cancel = vi.fn(async () => true);
    const { all, deliver, nameOf } = streams({}, memoryLog(), { cancel });
    const key = newKey();
    expect(await all.cancel(nameOf(key))).toBe(true);
    expect(cancel.mock.calls).toEqual([[nameOf(key)]]);
    // No tombstone was made for it here.
    await expect(deliver(key)).resolves.toMatchObject({ status: 200 });
  });
});

describe("A reader that joins", () => {
  async function stored() {
    const it = streams();
    const [key, call] = [newKey(), it.root.child()];
    const answer = await it.deliver(key, "send", call);
    const epoch = (answer.headers as Record<string, string>)[RESUME]!.split(";")[0]!;
    it.began[0]!.say("1", "2", "3");
    await turns();
    const join = (seq: number | undefined, of = epoch) =>
      it.all.join(it.nameOf(key), seq === undefined ? undefined : { epoch: of, seq }, it.root.child());
    const writer = { trim: async (seq: number) => void (await trims(it.log, it.nameOf(key), seq)) };
    return { ...it, key, join, writer };
  }
  /** Drops entries behind the server's back, as a log that is full does. */
  const trims = async (log: EventLog, name: string, seq: number) => {
    const read = log.read.bind(log);
    const state = log.state.bind(log);
    Object.assign(log, {
      state: async (of: string) => {
        const found = await state(of);
        return of === name && found ? { ...found, first: seq + 1 } : found;
      },
      read: async (of: string, from: number, limit?: number) =>
        (await read(of, from, limit)).filter((entry) => of !== name || entry.seq > seq),
    });
  };

  test.each<[seq: number | undefined, trimmed: number, gap: object | undefined]>([
    [undefined, 0, undefined],
    [0, 0, undefined],
    [3, 0, undefined],
    // It has more than there is.
    [4, 0, { after: 4 }],
    [2, 2, undefined],
    [1, 2, { after: 1, first: 3 }],
    [undefined, 2, { after: 0, first: 3 }],
  ])("after %s, where %i are dropped, has a gap or none", async (seq, trimmed, gap) => {
    const { join, writer } = await stored();
    if (trimmed > 0) await writer.trim(trimmed);
    const joined = await join(seq);
    if (gap) expect(joined).toEqual({ gap });
    else expect(joined).toMatchObject({ status: 200 });
  });

  test("by the place of another stream has a gap, and by an unknown name nothing", async () => {
    const { all, join, root, nameOf } = await stored();
    expect(await join(1, "other")).toEqual({ gap: { after: 1 } });
    expect(await all.join(nameOf(newKey()), undefined, root.child())).toBeUndefined();
    expect(await all.join(nameOf(newKey()), { epoch: "e", seq: 5 }, root.child())).toEqual({ gap: { after: 5 } });
  });

  test("a stream that is over gets the rest of it, and nothing where it has all", async () => {
    const { began, join, writer } = await stored();
    began[0]!.end();
    await turns();
    for (const seq of [undefined, 0, 2]) expect(await join(seq)).toMatchObject({ status: 200 });
    expect([await join(3), await join(4)]).toEqual([undefined, { gap: { after: 4 } }]);
    await writer.trim(2);
    expect([await join(1), await join(3)]).toEqual([{ gap: { after: 1, first: 3 } }, undefined]);
  });

  test("a stream whose log has closed under its handler has a gap, and ends that handler", async () => {
    const { began, join, log, report } = await stored();
    const state = log.state.bind(log);
    Object.assign(log, { state: async (name: string) => ({ ...(await state(name))!, closed: true }) });
    expect(await join(1)).toEqual({ gap: { after: 1 } });
    const lost = {
      name: "Disconnected",
      code: "closed",
      retryable: true,
      message: "the event log has closed the stream",
    };
    expect(began[0]!.handler.reason).toMatchObject(lost);
    expect(report.mock.calls).toEqual([[expect.objectContaining(lost), "log", "send"]]);
  });
});

describe("A request for a stream", () => {
  test.each([undefined, "", "x", "A".repeat(32)])("without a key is delivered plainly: %j", async (key) => {
    const { deliver, direct, stats } = streams();
    expect([await deliver(key), direct.deliver.mock.calls.length, stats().streams]).toEqual(["direct", 1, 0]);
  });

  test("takes the place of a stream, and its copies those of readers", async () => {
    const { deliver, take, began } = streams({ heartbeat: 2500 });
    const key = newKey();
    expect(await deliver(key)).toMatchObject({
      status: 200,
      headers: {
        "Content-Type": "text/event-stream; charset=utf-8",
        // Proxies hold back, compress or keep nothing of it.
        "Cache-Control": "no-cache, no-transform",
        "X-Accel-Buffering": "no",
        [RESUME]: expect.stringMatching(/^[0-9a-f]{8}; grace=1; beat=2.5$/),
      },
    });
    await deliver(key);
    expect(take.mock.calls.map(([principal, of]) => [principal, of])).toEqual([
      ["me", "stream"],
      ["me", "reader"],
    ]);
    expect(began).toHaveLength(1);
    // With a cursor it was a join already.
    expect(await refusal(deliver(key, "send", undefined, { "Last-Event-ID": "e.1" }))).toMatchObject({ status: 409 });
  });

  test("keeps what it waits for, also where the first of its copies is gone", async () => {
    const { all, root } = streams();
    const key = newKey();
    const request = {
      headers: new Headers({ [RESUME]: key }),
      pathname: "/a",
    } as unknown as HttpRequest;
    const handlers: Scope[] = [];
    const ask = (call: Scope) =>
      void all
        .deliver({ operation: "send", principal: "me" } as Called, request, call, (handler) => {
          handlers.push(handler);
          return new Promise(() => {});
        })
        .catch(() => {});
    const [first, second] = [root.child(), root.child()];
    for (const call of [first, second]) ask(call);
    await turns();
    first.close();
    await after(5000);
    expect(handlers.map(({ closed }) => closed)).toEqual([false]);
    second.close();
    await after(1000);
    expect(handlers.map(({ closed }) => closed)).toEqual([true]);
  });

  test("that has no place, or whose log fails, leaves nothing, and may come again", async () => {
    const log = memoryLog();
    const open = vi.spyOn(log, "open");
    const { deliver, take, began, stats } = streams({}, log);
    const key = newKey();
    take.mockImplementationOnce(() => failing(new Error("no place")));
    expect(await refusal(deliver(key))).toMatchObject({ message: "no place" });
    open.mockRejectedValueOnce(new Error("down"));
    expect(await refusal(deliver(key))).toMatchObject({
      name: "Disconnected",
      message: "the event log failed",
      code: "unreachable",
      retryable: true,
    });
    expect([stats(), began.length]).toEqual([{ streams: 0, readers: 0, timers: 0 }, 0]);
    await deliver(key);
    expect(began).toHaveLength(1);
  });

  test("of a server that closes is ended where nothing else ends it", async () => {
    const { deliver, began, draining } = streams();
    for (const operation of ["send", "events", "told"]) await deliver(newKey(), operation);
    draining.drain();
    expect(began.map(({ handler }) => handler.closed)).toEqual([false, true, false]);
    expect(began[1]!.handler.reason).toMatchObject({ message: "the server is closing" });
  });
});
