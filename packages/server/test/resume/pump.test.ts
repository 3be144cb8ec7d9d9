import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Context } from "../../src/call.js";
import type { Called } from "../../src/hooks.js";
import { LIMITS } from "../../src/limits.js";
import type { Production } from "../../src/ports.js";
import type { EventWriter } from "../../src/resume/event-log.js";
import { pump } from "../../src/resume/pump.js";
import { newRun } from "../../src/resume/run.js";

// What a handler says on its way to the log, without either.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

/** A run whose handler and log a test is. */
function pumping(more: Partial<EventWriter> = {}) {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  const { run } = newRun("name", { operation: "send" } as unknown as Called, root);
  const report = vi.fn();
  const steps: IteratorResult<readonly string[]>[] = [];
  let wake = (): void => {};
  let ids: ((seq: number) => string) | undefined;
  const delivered = vi.fn();
  const failing: { error?: Error } = {};
  let pulls = 0;
  const production = {
    delivered,
    blocks(id: typeof ids) {
      ids = id;
      return {
        async next() {
          pulls++;
          while (steps.length === 0 && !failing.error) await new Promise<void>((resolve) => (wake = resolve));
          if (failing.error) throw failing.error;
          return steps.shift()!;
        },
      };
    },
  } as unknown as Production;
  run.production = production;
  const appended: unknown[][] = [];
  const writer = {
    epoch: "e",
    append(...entry: unknown[]) {
      appended.push(entry);
      return (more.append as ((...entry: unknown[]) => Promise<void>) | undefined)?.(...entry);
    },
    close: vi.fn(more.close ?? (async () => {})),
  } as unknown as EventWriter;
  const limits = { ...LIMITS, storeWithin: 500, maxQueued: 10 };
  const over = vi.fn();
  const context = { limits, callbacks: { report } } as unknown as Context;
  void pump(context, run, production, writer).then(over);
  const say = async (...blocks: string[]) => {
    steps.push({ done: false, value: blocks });
    wake();
    await after(0);
  };
  const finish = async () => {
    steps.push({ done: true, value: undefined });
    wake();
    await after(0);
  };
  const fail = async (error: Error) => {
    failing.error = error;
    wake();
    await after(0);
  };
  const live = (takes: boolean) => {
    const one = { take: vi.fn((..._: unknown[]) => takes), detach: vi.fn() };
    run.live.add(one);
    return one;
  };
  return {
    run,
    report,
    appended,
    writer,
    over,
    say,
    finish,
    fail,
    live,
    delivered,
    pulls: () => pulls,
    id: (seq: number) => ids!(seq),
  };
}
/** A log that answers each entry when a test says so. */
function slow() {
  const answers: { resolve(): void; reject(error: unknown): void }[] = [];
  const append = () => new Promise<void>((resolve, reject) => void answers.push({ resolve, reject }));
  return { answers, append };
}

describe("What a handler says", () => {
  test("is appended in order, with ids of the log's epoch, and closes the log at its end", async () => {
    const { appended, say, finish, id, writer, over, run } = pumping();
    await say("one", "two");
    await say("tri");
    expect([appended, run.last, id(7)]).toEqual([
      [
        [1, "one"],
        [2, "two"],
        [3, "tri"],
      ],
      3,
      "e.7",
    ]);
    expect(writer.close).not.toHaveBeenCalled();
    await finish();
    expect([vi.mocked(writer.close).mock.calls.length, over.mock.calls.length, run.handler.closed]).toEqual([
      1,
      1,
      true,
    ]);
    expect([run.life.closed, run.lost]).toEqual([false, false]);
  });

  test("is given at once to readers that have everything before it, where the log keeps it at once", async () => {
    const { say, live, run, delivered } = pumping();
    const [reader, behind] = [live(true), live(false)];
    await say("one", "two");
    expect([reader.take.mock.calls, reader.detach.mock.calls.length]).toEqual([[[["one", "two"], 2]], 0]);
    expect([behind.take.mock.calls.length, behind.detach.mock.calls.length]).toEqual([1, 1]);
    expect([run.keepsAtOnce, run.delivered, run.ahead, run.sizes, delivered.mock.calls]).toEqual([
      true,
      2,
      0,
      [],
      [[2]],
    ]);
  });

  test("is read from a log that takes its time, and given to nobody before", async () => {
    const { append, answers } = slow();
    const { say, live, run, delivered } = pumping({ append });
    const reader = live(true);
    await say("one");
    expect([reader.take.mock.calls, reader.detach.mock.calls.length]).toEqual([[], 1]);
    expect([run.keepsAtOnce, run.delivered, run.ahead, delivered.mock.calls]).toEqual([false, 0, 3, []]);
    answers[0]!.resolve();
    await after(0);
    run.live.clear();
  });

  test("is as far ahead of its readers as `maxQueued`, and no character further", async () => {
    const { say, run, pulls } = pumping();
    await say("12345", "67890");
    expect([run.ahead, run.sizes, pulls()]).toEqual([10, [5, 5], 2]);
    await say("1");
    // The handler is not asked for more now.
    expect([run.ahead, run.sizes, pulls()]).toEqual([11, [5, 5, 1], 2]);
    run.wake();
    await after(0);
    expect(pulls()).toBe(2);
    run.sizes.shift();
    run.ahead -= 5;
    run.wake();
    await after(0);
    expect(pulls()).toBe(3);
  });

  test("counts as nothing ahead once a reader takes it as it comes", async () => {
    const { say, live, run } = pumping();
    await say("1234");
    expect(run.ahead).toBe(4);
    live(true);
    await say("5");
    expect([run.ahead, run.sizes, run.delivered]).toEqual([0, [], 2]);
  });

  test.each(["rejects", "hangs"])("ends its handler where the log %s, which is reported once", async (how) => {
    const { append, answers } = slow();
    const { say, run, report, writer, over } = pumping({ append });
    await say("one", "two");
    const full = new Error("full");
    if (how === "rejects") for (const { reject } of answers) reject(full);
    await after(499);
    if (how === "hangs") {
      expect([report.mock.calls.length, run.handler.closed]).toEqual([0, false]);
      await after(1);
    }
    const error =
      how === "rejects"
        ? full
        : expect.objectContaining({ code: "timeout", message: expect.stringContaining("the event log") });
    expect(report.mock.calls).toEqual([[error, "log", "send"]]);
    const reason = how === "rejects" ? { name: "Disconnected", code: "unreachable", cause: full } : error;
    expect(run.handler.reason).toMatchObject(reason);
    expect([vi.mocked(writer.close).mock.calls.length, over.mock.calls.length]).toEqual([1, 1]);
  });

  test("is closed once the log has answered each entry", async () => {
    const { append, answers } = slow();
    const { say, finish, writer, report } = pumping({ append });
    await say("one", "two");
    await finish();
    answers[0]!.resolve();
    await after(0);
    expect(writer.close).not.toHaveBeenCalled();
    answers[1]!.resolve();
    await after(0);
    expect(writer.close).toHaveBeenCalledOnce();
    expect(report).not.toHaveBeenCalled();
  });

  test("waits once for a log that answers many entries by one promise", async () => {
    let answer = (_: unknown): void => {};
    const one = new Promise<void>((_, reject) => (answer = reject));
    const { say, report, appended } = pumping({ append: () => one });
    await say("one", "two");
    await say("tri");
    answer(new Error("full"));
    await after(0);
    expect([appended.length, report.mock.calls.length]).toEqual([3, 1]);
  });

  test("is over with its handler's scope, whatever the handler does, and is closed then", async () => {
    const { run, writer, over, say, appended } = pumping();
    run.handler.close(new Error("gone"));
    await after(0);
    expect([vi.mocked(writer.close).mock.calls.length, over.mock.calls.length]).toEqual([1, 1]);
    await say("late");
    expect(appended).toEqual([]);
  });

  test("is not closed where nothing of it is kept any more", async () => {
    const { append, answers } = slow();
    const { run, writer, over, say, report } = pumping({ append });
    await say("one");
    run.life.close();
    answers[0]!.reject(new Error("late"));
    await after(1000);
    expect([vi.mocked(writer.close).mock.calls, over.mock.calls.length, report.mock.calls]).toEqual([[], 1, []]);
  });

  test("that fails is reported, and closed", async () => {
    const { fail, report, writer } = pumping();
    const error = new Error("defect");
    await fail(error);
    expect([report.mock.calls, vi.mocked(writer.close).mock.calls.length]).toEqual([[[error, "log", "send"]], 1]);
  });

  test.each(["rejects", "hangs"])("is lost where closing the log %s: its readers get the error", async (how) => {
    const down = new Error("down");
    const close = (): Promise<void> => (how === "rejects" ? Promise.reject(down) : new Promise(() => {}));
    const { run, finish, report } = pumping({ close });
    const reader = run.life.child();
    run.readers.add(reader);
    await finish();
    await after(how === "rejects" ? 0 : 500);
    const error = how === "rejects" ? down : expect.objectContaining({ code: "timeout" });
    expect(report.mock.calls).toEqual([[error, "log", "send"]]);
    const lost = how === "rejects" ? expect.objectContaining({ code: "unreachable", cause: down }) : error;
    expect([run.lost, reader.reason]).toEqual([true, lost]);
  });

  test("is not reported as lost where its server closes meanwhile", async () => {
    const { run, finish, report } = pumping({ close: () => new Promise(() => {}) });
    await finish();
    run.life.close(new Error("closing"));
    await after(1000);
    expect([report.mock.calls, run.lost]).toEqual([[], false]);
  });
});
