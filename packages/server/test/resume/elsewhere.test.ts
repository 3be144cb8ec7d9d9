import { Refusal } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Context } from "../../src/call.js";
import { LIMITS } from "../../src/limits.js";
import type { RemoteEvents, RemoteStreams } from "../../src/ports.js";
import { beginsElsewhere } from "../../src/resume/elsewhere.js";
import type { Readers } from "../../src/resume/readers.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

/** Waits for the first message of the stream `name`: a test is its log, and the server that it is on. */
function waiting({ alone = false } = {}) {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  let step = { resolve: (_: unknown): void => {}, reject: (_: unknown): void => {} };
  const next = () =>
    new Promise((resolve, reject) => {
      step = { resolve, reject };
    });
  const read = vi.fn((..._: unknown[]) => ({ next }));
  let on: RemoteEvents = {};
  const listen = vi.fn(async (_: string, __: Scope, given: RemoteEvents) => {
    on = given;
  });
  const seen: { is: unknown } = { is: "waits" };
  beginsElsewhere(
    { limits: { ...LIMITS, heartbeat: 1000, queryWithin: 300 } } as Context,
    alone ? undefined : ({ listen } as unknown as RemoteStreams),
    { read } as unknown as Readers,
    "name",
    root.child(),
  ).then(
    (begins) => {
      seen.is = begins;
    },
    (error) => {
      seen.is = error;
    },
  );
  const expectLeft = () => {
    expect((read.mock.calls[0]![3] as Scope).closed).toBe(true);
    expect(root.stats()).toMatchObject({ readers: 0, timers: 0 });
  };
  return {
    seen,
    read,
    listen,
    expectLeft,
    begin: () => step.resolve({ done: false, value: ["block"] }),
    end: () => step.resolve({ done: true, value: undefined }),
    fail: () => step.reject(new Error("down")),
    refuse: (refusal: Refusal) => on.refused!(refusal),
  };
}

describe("A stream on another server", () => {
  test.each([true, false])("begins with its first message, which is read from its start (alone: %s)", async (alone) => {
    const { seen, begin, read, listen, expectLeft } = waiting({ alone });
    await after(999);
    expect([seen.is, read.mock.calls[0]!.slice(0, 3)]).toEqual(["waits", [undefined, "name", 0]]);
    expect(listen.mock.calls.map(([name]) => name)).toEqual(alone ? [] : ["name"]);
    begin();
    await after(0);
    expect(seen.is).toBe(true);
    expectLeft();
  });

  test("has begun after a heartbeat without a message", async () => {
    const { seen, expectLeft } = waiting();
    await after(999);
    expect(seen.is).toBe("waits");
    await after(1);
    expect(seen.is).toBe(true);
    expectLeft();
  });

  test.each(["end", "fail"] as const)("that has no message is none, unless it is refused soon: %s", async (how) => {
    const over = waiting();
    await after(10);
    over[how]();
    await after(299);
    expect(over.seen.is).toBe("waits");
    await after(1);
    expect(over.seen.is).toBe(false);
    over.expectLeft();
    const refused = waiting();
    await after(10);
    refused[how]();
    await after(299);
    const no = new Refusal("no", { status: 409 });
    refused.refuse(no);
    await after(0);
    expect(refused.seen.is).toBe(no);
    refused.expectLeft();
  });

  test("that refuses before its first message is refused at once", async () => {
    const { seen, refuse, expectLeft } = waiting();
    const no = new Refusal("no", { status: 409 });
    await after(10);
    refuse(no);
    await after(0);
    expect(seen.is).toBe(no);
    expectLeft();
  });
});
