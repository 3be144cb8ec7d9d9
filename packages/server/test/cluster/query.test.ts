import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { query, unanswered } from "../../src/cluster/query.js";
import { LIMITS } from "../../src/limits.js";

const limits = { ...LIMITS, queryWithin: 1000, storeWithin: 3000, interruptedFor: 5000 };
const NOBODY = "not all have answered";
const LATE = "it took too long";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A query that reaches servers which the test answers for, with the times at which it was published and settled. */
function asking(timedOut?: string) {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  const queries = query<string>(limits, root, NOBODY, timedOut);
  const ids: string[] = [];
  const times: number[] = [];
  const began = performance.now();
  const publish = (reached: number | (() => Promise<number>)) => async (id: string) => {
    ids.push(id);
    times.push(performance.now() - began);
    return typeof reached === "number" ? reached : reached();
  };
  /** How a promise has settled after so many milliseconds. */
  const after = async (milliseconds: number, promise: Promise<unknown>) => {
    let outcome: unknown = "open";
    promise.then(
      (value) => {
        outcome = value;
      },
      (error: Error) => {
        outcome = error;
      },
    );
    await vi.advanceTimersByTimeAsync(milliseconds);
    return outcome;
  };
  return { root, queries, ids, times, publish, after };
}

describe("A question to all servers", () => {
  test.each([
    { reached: 0, answers: [], outcome: undefined },
    { reached: 2, answers: [undefined], outcome: "open" },
    { reached: 2, answers: [undefined, undefined], outcome: undefined },
    { reached: 2, answers: ["a"], outcome: "a" },
    { reached: 2, answers: [undefined, "b"], outcome: "b" },
    { reached: 2, answers: ["a", "b"], outcome: "a" },
  ])("has its first answer, or none once all have none: %o", async ({ reached, answers, outcome }) => {
    for (const when of ["before", "after"]) {
      const { queries, ids, publish, after } = asking();
      const answer = (): void => {
        for (const one of answers) queries.note(ids[0]!, one);
      };
      const asked = queries.askOnce(
        publish(async () => {
          if (when === "before") answer();
          return reached;
        }),
      );
      await after(0, Promise.resolve());
      if (when === "after") answer();
      expect([when, await after(0, asked)]).toEqual([when, outcome]);
    }
  });

  test.each([undefined, LATE])("has no answer after `queryWithin`, which is no other's: %s", async (timedOut) => {
    const { queries, ids, publish, after } = asking(timedOut);
    const asked = queries.askOnce(publish(2));
    expect(await after(limits.queryWithin - 1, asked)).toBe("open");
    queries.note("of another question", "a");
    queries.note(ids[0]!, undefined);
    expect(await after(1, asked)).toBe(timedOut ?? NOBODY);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that reached too few is not answered where all that it reached have nothing", async () => {
    for (const missing of [true, false]) {
      const { queries, ids, publish, after } = asking();
      const seen: string[][] = [];
      const asked = queries.ask(publish(2), (answered) => {
        seen.push([...answered]);
        return missing;
      });
      await after(0, Promise.resolve());
      for (const server of ["a", "b"]) queries.note(ids[0]!, undefined, server);
      expect(await after(0, asked)).toBe(missing ? NOBODY : undefined);
      expect(seen).toEqual([["a", "b"]]);
    }
  });

  test("fails where pub/sub fails, takes longer than `storeWithin`, or its server closes, and holds nothing then", async () => {
    const { queries, root, publish, after } = asking();
    const failed = queries.askOnce(publish(() => Promise.reject(new Error("no"))));
    expect(await after(0, failed)).toMatchObject({ message: "no" });
    const hanging = queries.askOnce(publish(() => new Promise(() => {})));
    expect(await after(limits.storeWithin - 1, hanging)).toBe("open");
    expect(await after(1, hanging)).toMatchObject({
      code: "timeout",
      message: `pub/sub did not finish within ${limits.storeWithin} ms`,
    });
    expect(vi.getTimerCount()).toBe(0);
    const closing = queries.askOnce(publish(1));
    expect(await after(0, closing)).toBe("open");
    root.close(new Error("closed"));
    expect(await after(0, closing)).toMatchObject({ message: "closed" });
    expect(vi.getTimerCount()).toBe(0);
    const other = asking();
    const silent = other.queries.askOnce(other.publish(1));
    await other.after(0, Promise.resolve());
    other.root.close();
    expect(await other.after(0, silent)).toMatchObject({ name: "AbortError", message: "the query is over" });
  });

  test.each([undefined, NOBODY])(
    "is asked again each 100 ms for `interruptedFor` after an interruption, where it had %s",
    async (had) => {
      const { queries, times, publish, after } = asking();
      expect(queries.unsure()).toBe(false);
      queries.interrupted();
      const asked = queries.ask(publish(0), () => had === NOBODY);
      expect(await after(limits.interruptedFor, asked)).toBe("open");
      expect(queries.unsure()).toBe(true);
      expect(await after(100, asked)).toBe(had);
      expect(queries.unsure()).toBe(false);
      expect(times).toEqual(Array.from({ length: 52 }, (_, i) => 100 * i));
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  test("is not asked again once it has an answer, and fails where its server closes in between", async () => {
    const { queries, ids, root, publish, after } = asking();
    queries.interrupted();
    const asked = queries.ask(publish(1));
    await after(0, Promise.resolve());
    queries.note(ids[0]!, "a");
    expect(await after(0, asked)).toBe("a");
    const again = queries.ask(publish(0));
    expect(await after(0, again)).toBe("open");
    root.close(new Error("closed"));
    expect(await after(0, again)).toMatchObject({ message: "closed" });
    expect(ids).toHaveLength(2);
  });
});

test("a question that a server did not answer may be asked again", () => {
  expect(unanswered("session s")).toMatchObject({ code: "timeout", retryable: true });
});
