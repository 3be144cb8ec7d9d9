import { Scope } from "@parlance/wire/scope";
import { expect, onTestFinished, test, vi } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { watchReaders } from "../../src/resume/watch.js";

const LIMIT = 100;

test.each([0, 10, 49])("a log that gives nothing has its whole limit, from %i ms after a look at it", (phase) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  const reported: unknown[] = [];
  const context = {
    limits: { ...LIMITS, storeWithin: LIMIT },
    root,
    callbacks: { report: (...report: unknown[]) => reported.push(report) },
  };
  const reader = root.child();
  const run = { handler: { closed: false }, last: 0, called: { operation: "send" } };
  const reading = { name: "n", run, waiting: true, taken: 0, reader, last: 0, late: 0, asking: false };
  watchReaders(context as never, {} as never)(reading as never);
  vi.advanceTimersByTime(LIMIT + phase);
  // Written, and not given.
  run.last = 1;
  vi.advanceTimersByTime(LIMIT - 1);
  expect(reader.closed).toBe(false);
  vi.advanceTimersByTime(LIMIT / 2 + 1);
  expect(reader.closed).toBe(true);
  expect(reported).toMatchObject([
    [{ code: "timeout", retryable: true, message: `the event log gave nothing for ${LIMIT} ms` }, "log", "send"],
  ]);
});
