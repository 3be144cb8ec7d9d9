import { Disconnected, disconnected, Refusal, Violation } from "@parlance/wire/errors";
import { RESUME } from "@parlance/wire/resume-key";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { lifetime } from "../../src/lifetime.js";
import { paceOf } from "../../src/options.js";
import { type Attempt, judge, rejoining } from "../../src/rejoin.js";

const lost = () => disconnected("the stream was cut", "ended_early", true);

/** An answer that notes whether its body was cancelled. */
function answer(status: number, headers: Record<string, string> = {}) {
  const cancel = vi.fn();
  const body = [204, 205, 304].includes(status) ? null : new ReadableStream({ cancel });
  return { response: new Response(body, { status, headers }), cancel };
}

/** What the answer to a join leads to. */
function judged(status: number, headers?: Record<string, string>): unknown {
  const { response, cancel } = answer(status, headers);
  const error = lost();
  let found: unknown;
  try {
    found = judge(response, error);
  } catch (failure) {
    found = failure === error ? "lost" : failure;
  }
  if (response.body)
    expect(cancel, `${status}`).toHaveBeenCalledTimes(typeof found === "object" && !(found instanceof Error) ? 0 : 1);
  return found;
}

describe("The answer to a join", () => {
  test("of each status is a retry, a refusal, or the end of the conversation, and its body is cancelled", () => {
    const again = [400, 408, 429];
    for (let status = 200; status < 600; status++) {
      const found = judged(status);
      if (status === 401 || status === 403) {
        expect(found).toBeInstanceOf(Refusal);
        expect(found).toMatchObject({ status, message: `the join was refused: ${status}` });
      } else expect([status, found]).toEqual([status, status >= 500 || again.includes(status) ? 0 : "lost"]);
    }
  });

  test("says where the conversation goes on, only with a success", () => {
    const headers = { [RESUME]: "e; grace=20; beat=5" };
    expect(judged(200, headers)).toEqual({ epoch: "e", grace: 20, beat: 5 });
    expect(judged(404, headers)).toBe("lost");
  });

  test("says what is missing, with the loss as the cause", () => {
    const found = judged(410, { [RESUME]: "gap; after=3; first=9" });
    expect(found).toBeInstanceOf(Disconnected);
    expect(found).toMatchObject({
      code: "gap",
      missing: { after: 3, first: 9 },
      cause: { message: "the stream was cut" },
    });
  });
});

describe("Attempts to join", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
  afterEach(() => void vi.useRealTimers());

  /** Makes attempts until they end. Returns the milliseconds at which each was made, and how they ended. */
  async function made(
    options: { random?: number; reconnectFor?: number },
    how: { grace?: number; retry?: number; budget?: number },
    each: (index: number) => ReturnType<Attempt<string>>,
    life = lifetime(),
  ) {
    const began = Date.now();
    const at: number[] = [];
    const rejoins = rejoining({ ...options, random: () => options.random ?? 0 }, life, "c.s");
    const error = lost();
    let end: unknown;
    const attempt = () => each(at.push(Date.now() - began) - 1);
    const run = () => rejoins.run(error, how.grace ?? 30, attempt, how.retry, how.budget).catch((failure) => failure);
    const ended = run().then((value) => {
      end = value;
    });
    while (end === undefined) await vi.advanceTimersByTimeAsync(1000);
    await ended;
    return { at, took: Date.now() - began, end, lost: error, again: run };
  }
  const refusing = async () => 0;

  test("wait twice as long each time, up to 30 s, for no longer than the budget", async () => {
    const { at, end, lost } = await made({ random: 1, reconnectFor: 120_000 }, {}, refusing);
    const waits = at.map((time, index) => time - (at[index - 1] ?? 0));
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 28_150]);
    expect(end).toBe(lost);
  });

  test("may take 120 s by default, and each costs at least 100 ms of them", async () => {
    const { at, end, lost } = await made({}, {}, refusing);
    expect([at.length, end]).toEqual([1200, lost]);
    const few = await made({}, { budget: 301 }, refusing);
    expect(few.at).toHaveLength(4);
  });

  test.each([100, 101, 240, 1000, 2000, 5000, 120_000])("go on to the end of a budget of %d ms", async (budget) => {
    for (const random of [0.5, 0.7, 0.99, 1])
      for (const how of [{ reconnectFor: budget }, { budget }, { budget, retry: budget / 4 }, { budget, retry: -1 }]) {
        const { at, end, lost } = await made({ random, ...how }, how, refusing);
        const name = `${random}, ${JSON.stringify(how)}`;
        expect([end === lost, at.length > 0], name).toEqual([true, true]);
        // An attempt costs 100 ms, and the first of those without a wait takes none.
        const least = budget - (how.retry === -1 ? 200 : 100);
        expect([at.at(-1)! >= least, at.at(-1)! < budget], name).toEqual([true, true]);
      }
  });

  test("end where the server asks for a wait beyond the budget", async () => {
    const asks = [0, 5000, "joined"];
    const { at, end, lost } = await made({ random: 1 }, { budget: 5000 }, async (index) => asks[index]!);
    expect([at, end]).toEqual([[250, 750], lost]);
  });

  test("wait at least as long as the server asks, but no longer than 30 s", async () => {
    const asks = [5000, 90_000, "joined"];
    const { at, end } = await made({}, { retry: 2000 }, async (index) => asks[index]!);
    expect([at, end]).toEqual([[2000, 7000, 37_000], "joined"]);
  });

  test("do not wait before the first where the server cannot have asked", async () => {
    const { at } = await made({ random: 1 }, { retry: -1 }, async (index) => (index === 2 ? "joined" : 0));
    expect(at).toEqual([0, 250, 750]);
  });

  test.each([
    [30, 10_000],
    [1, 1000],
    [600, 30_000],
    // A server whose log is away says so after five seconds.
    [15, 6000],
    [8, 5333],
  ])("to a server that keeps a conversation for %d s last %d ms each", async (grace, limit) => {
    const never = new Promise<never>(() => {});
    const { took } = await made({}, { grace }, (index) => (index === 0 ? never : Promise.resolve("joined")));
    expect(took).toBeGreaterThanOrEqual(limit);
    expect(took).toBeLessThan(limit + 1001);
  });

  test("that end with the budget have their last failure as the cause", async () => {
    const failure = disconnected("no answer", "unreachable", true);
    const { end } = await made({}, { budget: 250 }, () => Promise.reject(failure));
    expect(end).toMatchObject({
      message: "the stream was cut; not joined again in 3 attempts within 250 ms",
      cause: failure,
    });
  });

  test("end at once with what no further attempt can change", async () => {
    const violation = new Violation("not JSON", { code: "malformed_json", protocol: "p", side: "server" });
    const finals = [
      new Refusal("no", { status: 403 }),
      disconnected("messages are gone", "gap", false),
      new TypeError("a mistake"),
      violation,
    ];
    for (const error of finals) {
      const { at, end } = await made({}, {}, () => Promise.reject(error));
      expect([at.length, end]).toEqual([1, error]);
    }
    const passing = new Refusal("later", { status: 503 });
    const { at } = await made({}, {}, (index) => (index === 0 ? Promise.reject(passing) : Promise.resolve("joined")));
    expect(at).toHaveLength(2);
  });

  test.each([new Error("left"), disconnected("left", "unreachable", true), new Refusal("left", { status: 503 })])(
    "end with the reason of their lifetime, also where another attempt might help: %s",
    async (reason) => {
      const life = lifetime();
      const leaving = () => {
        life.abort(reason);
        return Promise.reject(lost());
      };
      const { at, end } = await made({}, {}, leaving, life);
      expect([at.length, end]).toEqual([1, reason]);
    },
  );

  test("abort the request of a failed attempt, and leave that of a good one alone", async () => {
    const signals: AbortSignal[] = [];
    const rejoins = rejoining({ random: () => 0 }, lifetime(), "c.s");
    const run = rejoins.run(lost(), 30, async ({ signal }) => {
      signals.push(signal);
      if (signals.length === 2) throw lost();
      return signals.length === 3 ? "joined" : 0;
    });
    await vi.advanceTimersByTimeAsync(1000);
    expect(await run).toBe("joined");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("have a new budget and short waits after a delivered message, and only then", async () => {
    const at: number[] = [];
    const rejoins = rejoining({ random: () => 1, reconnectFor: 1000 }, lifetime(), "c.s");
    const run = () =>
      rejoins
        .run(lost(), 30, async () => {
          at.push(Date.now());
          return at.length % 2 === 0 ? "joined" : 0;
        })
        .catch(() => "lost");
    const timed = async () => {
      const began = Date.now();
      const from = at.length;
      const end = run();
      await vi.advanceTimersByTimeAsync(2000);
      return [await end, at.slice(from).map((time) => time - began)];
    };
    expect(await timed()).toEqual(["joined", [250, 750]]);
    expect(await timed()).toEqual(["lost", [150]]);
    rejoins.delivered();
    expect(await timed()).toEqual(["joined", [250]]);
  });
});

test("a sender on a channel may be ahead by `maxQueued`, and waits from 1 Mi", () => {
  expect(paceOf({})).toEqual({ room: 1_048_576, most: 67_108_864, stall: 30_000 });
  expect(paceOf({ maxQueued: 5 })).toEqual({ room: 5, most: 5, stall: 30_000 });
});
