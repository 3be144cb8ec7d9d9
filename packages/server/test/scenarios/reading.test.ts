import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Context } from "../../src/call.js";
import type { Called } from "../../src/hooks.js";
import { LIMITS } from "../../src/limits.js";
import type { RemoteStreams } from "../../src/ports.js";
import type { Entry, EventLog } from "../../src/resume/event-log.js";
import { readers } from "../../src/resume/readers.js";
import { newRun } from "../../src/resume/run.js";
import type { Push } from "../../src/stream/writer.js";

// Readers of a resumable stream, without a log.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);
const entries = (...seqs: readonly number[]): Entry[] => seqs.map((seq) => ({ seq, text: `${seq}` }));

/** A reader of a stream that runs here, or on another server. */
function reading({
  here = true,
  at = 0,
  last = 0,
  state = async (): Promise<unknown> => undefined,
  noTail = undefined as (() => unknown) | undefined,
} = {}) {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  const report = vi.fn();
  const steps: { resolve(step: unknown): void; reject(error: unknown): void }[] = [];
  const tails: { after: number; signal: AbortSignal; left: boolean }[] = [];
  const log = {
    state,
    tail(_: string, from: number, signal: AbortSignal) {
      const one = { after: from, signal, left: false };
      tails.push(one);
      if (noTail) return noTail();
      return {
        [Symbol.asyncIterator]: () => ({
          next: () => new Promise((resolve, reject) => void steps.push({ resolve, reject })),
          return: async () => {
            one.left = true;
          },
        }),
      };
    },
  } as unknown as EventLog;
  const reach = vi.fn();
  const reportFrom = vi.fn((..._: unknown[]) => reach);
  const context = { limits: { ...LIMITS, storeWithin: 1000 }, root, callbacks: { report } } as unknown as Context;
  const made = readers(context, log, { report: reportFrom } as unknown as RemoteStreams);
  const { run } = newRun("name", { operation: "send" } as unknown as Called, root);
  const delivered = vi.fn();
  Object.assign(run, { last, production: { delivered } });
  const reader = root.child();
  const source = made.read(here ? run : undefined, "name", at, reader);
  const next = () => {
    const seen: { got: unknown } = { got: "waits" };
    source.next().then(
      ({ done, value }) => {
        seen.got = done ? "over" : value;
      },
      (error) => {
        seen.got = error;
      },
    );
    return seen;
  };
  const give = async (...seqs: readonly number[]) => {
    steps.shift()!.resolve({ done: false, value: entries(...seqs) });
    await after(0);
  };
  const end = async () => {
    steps.shift()!.resolve({ done: true, value: undefined });
    await after(0);
  };
  return { run, reader, source, next, give, end, steps, tails, delivered, reach, reportFrom, report, made };
}

describe("A reader", () => {
  test("reads the log after its place, in one tail, and says what it has when it asks for more", async () => {
    const { next, give, tails, delivered, run } = reading({ at: 3 });
    run.delivered = 3;
    const first = next();
    await after(0);
    expect([tails.map(({ after }) => after), delivered.mock.calls]).toEqual([[3], []]);
    await give(4, 5);
    expect([first.got, delivered.mock.calls]).toEqual([["4", "5"], []]);
    const second = next();
    expect(delivered.mock.calls).toEqual([[5]]);
    await after(0);
    await give(6);
    expect([second.got, tails.length]).toEqual([["6"], 1]);
  });

  test("of a stream elsewhere says there what it has", async () => {
    const { next, give, reach, reportFrom, reader } = reading({ here: false, at: 3 });
    expect(reportFrom.mock.calls).toEqual([["name", 3, reader]]);
    next();
    await after(0);
    expect(reach).not.toHaveBeenCalled();
    await give(4);
    next();
    expect(reach.mock.calls).toEqual([[4]]);
    await after(0);
  });

  test("ends with the log's tail where it has all, and is cut where the log has lost the rest", async () => {
    for (const [last, missing] of [
      [1, 0],
      [3, 2],
    ] as const) {
      const { next, give, end, run } = reading();
      next();
      await after(0);
      await give(1);
      run.last = last;
      const over = next();
      await after(0);
      await end();
      if (missing === 0) expect(over.got).toBe("over");
      else
        expect(over.got).toMatchObject({
          code: "ended_early",
          retryable: true,
          message: "the event log has lost the last 2 messages of name",
        });
    }
  });

  test.each([
    [{ last: 2 }, "over"],
    [{ last: 4 }, { message: "the event log has lost the last 2 messages of name" }],
    [undefined, "over"],
  ])("of a stream elsewhere asks the log how much there was: %j", async (state, expected) => {
    const { next, give, end } = reading({ here: false, state: async () => state });
    next();
    await after(0);
    await give(1, 2);
    const over = next();
    await after(0);
    await end();
    if (typeof expected === "string") expect(over.got).toBe(expected);
    else expect(over.got).toMatchObject(expected);
  });

  test("that has all gets what comes without the log, until it has no room", async () => {
    const { source, next, give, run, tails, steps } = reading();
    const push = vi.fn<Push>(() => "taken");
    source.onPush!(push);
    run.keepsAtOnce = true;
    const live = next();
    await after(0);
    expect([tails.length, run.live.size]).toEqual([0, 1]);
    const [taking] = run.live;
    expect(taking!.take(["a", "b"], 2)).toBe(true);
    run.last = 2;
    push.mockReturnValue("refused");
    expect([taking!.take(["c"], 3), push.mock.calls.length, live.got]).toEqual([false, 2, "waits"]);
    run.last = 3;
    taking!.detach();
    await after(0);
    expect([run.live.size, live.got]).toEqual([0, []]);
    // It reads the log from where it was.
    const read = next();
    await after(0);
    expect([tails.map(({ after }) => after), steps.length]).toEqual([[2], 1]);
    await give(3);
    expect(read.got).toEqual(["3"]);
    taking!.detach();
  });

  test.each(["the handler", "the reader"])("stops to wait for what comes when %s is over", async (who) => {
    const { source, next, run, reader } = reading();
    source.onPush!(() => "taken");
    run.keepsAtOnce = true;
    const live = next();
    await after(0);
    (who === "the handler" ? run.handler : reader).close();
    await after(0);
    expect([run.live.size, live.got]).toEqual([0, []]);
  });

  test.each<[what: string, change: (made: ReturnType<typeof reading>) => void]>([
    ["cannot be given anything", () => {}],
    ["has a log that takes its time", ({ source }) => source.onPush!(() => "taken")],
    [
      "is behind",
      ({ source, run }) => {
        source.onPush!(() => "taken");
        Object.assign(run, { keepsAtOnce: true, last: 1 });
      },
    ],
    [
      "has a handler that is done",
      ({ source, run }) => {
        source.onPush!(() => "taken");
        run.keepsAtOnce = true;
        run.handler.close();
      },
    ],
  ])("that %s reads the log", async (_, change) => {
    const made = reading();
    change(made);
    made.next();
    await after(0);
    expect([made.run.live.size, made.tails.length]).toEqual([0, 1]);
  });

  test("leaves its tail where it goes on elsewhere in the stream, and when it is gone", async () => {
    const { next, give, run, source, tails, reader } = reading();
    source.onPush!(() => "taken");
    next();
    await after(0);
    await give(1);
    Object.assign(run, { keepsAtOnce: true, last: 1 });
    next();
    await after(0);
    const [taking] = run.live;
    taking!.take(["2"], 2);
    run.last = 3;
    taking!.detach();
    await after(0);
    next();
    await after(0);
    expect(tails.map(({ after, left }) => [after, left])).toEqual([
      [0, true],
      [2, false],
    ]);
    reader.close();
    expect(tails.map(({ left, signal }) => [left, signal.aborted])).toEqual([
      [true, true],
      [true, true],
    ]);
  });

  test("fails with its log, which is reported unless it is gone", async () => {
    for (const gone of [false, true]) {
      const { next, steps, report, reader } = reading();
      const read = next();
      await after(0);
      if (gone) reader.close();
      steps[0]!.reject(new Error("down"));
      await after(0);
      expect(read.got).toMatchObject({ message: "down" });
      expect(report.mock.calls).toEqual(gone ? [] : [[expect.objectContaining({ message: "down" }), "log", "send"]]);
    }
  });

  test.each<[what: string, noTail: () => unknown]>([
    ["an async function", () => Promise.reject(new Error("async"))],
    ["a function that returns nothing", () => undefined],
  ])("names the mistake of a log whose tail is %s", async (_, noTail) => {
    const { next, report } = reading({ noTail });
    const read = next();
    await after(0);
    expect(read.got).toMatchObject({
      name: "TypeError",
      message: "the event log's tail is no async iterable: write it as `async *tail`",
    });
    expect(report).toHaveBeenCalledOnce();
  });

  test("has its handler go on with each step, and counts what it has once", () => {
    const { run, made, delivered } = reading();
    const wake = vi.fn();
    Object.assign(run, { wake, ahead: 6 });
    run.sizes.push(1, 2, 3);
    made.advance(run, 2);
    expect([run.ahead, run.sizes, run.delivered, delivered.mock.calls, wake.mock.calls.length]).toEqual([
      3,
      [3],
      2,
      [[2]],
      1,
    ]);
    made.advance(run, 2);
    made.advance(run, 1);
    expect([run.ahead, run.delivered, delivered.mock.calls.length, wake.mock.calls.length]).toEqual([3, 2, 1, 3]);
  });
});
