import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { redisLog } from "../src/log.js";
import { makeStreamScripts } from "../src/streams.js";
import { fakeClient, never, outcomeOf, reply } from "./fake-redis.js";
import { stoppedCalls } from "./stopped-calls.js";

// What a log asks of Redis, without a Redis.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);
const KEYS = ["p:{s}", "p:{s}:lease", "p:{s}:entries"] as const;

function scriptsOn(answers: Parameters<typeof fakeClient>[0] = {}, more: object = {}) {
  const { redis, scripts, sent } = fakeClient(answers, more);
  const calls = stoppedCalls(redis, 1000);
  const made = makeStreamScripts({ redis, calls, prefix: "p:", maxLength: 7, lease: 90, keep: 800 });
  return { made, scripts, sent, calls };
}

describe("The scripts of a stream", () => {
  test.each<[what: string, ask: (made: ReturnType<typeof makeStreamScripts>) => Promise<unknown>, sent: unknown[]]>([
    ["opens", ({ open }) => open("s", "e"), ["parlanceOpen", KEYS[0], KEYS[1], "e", 90, 800]],
    [
      "appends",
      ({ append }) => append("s", "e", 3, ["x", "y"]),
      ["parlanceAppend", ...KEYS, "e", 800, 7, "p:{s}:wake", 3, "x", "y"],
    ],
    ["refreshes", ({ refresh }) => refresh("s", "e"), ["parlanceRefresh", ...KEYS, "e", 90, 800]],
    ["trims", ({ trim }) => trim("s", "e", 4), ["parlanceTrim", KEYS[0], KEYS[2], "e", 5]],
    ["closes", ({ close }) => close("s", "e", 6), ["parlanceClose", KEYS[0], KEYS[1], "e", "p:{s}:wake", 6]],
    ["drops", ({ drop }) => drop("s", "e"), ["parlanceDrop", ...KEYS, "e", "p:{s}:wake"]],
  ])("%s it by its keys, its epoch and the limits", async (_, ask, words) => {
    const { made, sent, calls } = scriptsOn();
    await ask(made);
    expect([sent, calls.pending(), calls.timers()]).toEqual([[words], 0, 0]);
  });

  test("say how many of their words are keys", () => {
    const { scripts } = scriptsOn();
    const counts = [...scripts].map(([name, { numberOfKeys }]) => [name.slice("parlance".length), numberOfKeys]);
    expect(Object.fromEntries(counts)).toEqual({
      Open: 2,
      Append: 3,
      Refresh: 3,
      Close: 2,
      Drop: 3,
      Trim: 2,
      Look: 3,
    });
  });

  test("wake tails by the sharded pub/sub of a cluster, and by the plain one elsewhere", () => {
    const textsOf = (more: object) => [...scriptsOn({}, more).scripts.values()].map(({ lua }) => lua).join();
    expect(textsOf({}).match(/"S?PUBLISH"/g)).toEqual(Array(5).fill('"PUBLISH"'));
    expect(textsOf({ nodes: () => [] }).match(/"S?PUBLISH"/g)).toEqual(Array(5).fill('"SPUBLISH"'));
  });

  test.each([
    ["", "%"],
    ["a}b", "a%7Db"],
    ["}}", "%7D%7D"],
    ["%7D", "%257D"],
    ["%%", "%25%25"],
    ["{a", "{a"],
  ])("put %j between braces as %j", (name, tag) => {
    const { made } = scriptsOn();
    expect(made.channel(name)).toBe(`p:{${tag}}:wake`);
  });

  test("tell whether the name was free", async () => {
    for (const [answer, free] of [
      [1, true],
      [0, false],
    ] as const)
      expect(await scriptsOn({ parlanceOpen: () => answer }).made.open("s", "e")).toBe(free);
  });

  test("read a stream's state and entries, of which the first may be gone", async () => {
    const entries = [
      ["12-0", ["text", "x"]],
      ["13-0", ["text", "y"]],
    ];
    let found: unknown = ["e", "11-0", "13", 0, entries];
    const { made, sent } = scriptsOn({ parlanceLook: () => found });
    expect(await made.look("s", 11, 50)).toEqual({
      epoch: "e",
      first: 11,
      last: 13,
      closed: false,
      entries: [
        { seq: 12, text: "x" },
        { seq: 13, text: "y" },
      ],
    });
    expect(sent).toEqual([["parlanceLook", ...KEYS, 11, 50]]);
    found = ["e", "", "13", 1, []];
    expect(await made.look("s", 13, 1)).toEqual({ epoch: "e", first: 14, last: 13, closed: true, entries: [] });
    found = null;
    expect(await made.look("s", 13, 1)).toBeUndefined();
  });

  test.each(["opens it", "rejects"])(
    "free a name whose opening came too late, when Redis %s after all",
    async (how) => {
      let settle = { resolve: (_: unknown): void => {}, reject: (_: unknown): void => {} };
      const opening = () =>
        new Promise((resolve, reject) => {
          settle = { resolve, reject };
        });
      const { made, sent } = scriptsOn({ parlanceOpen: opening, parlanceDrop: () => Promise.reject(reply("ERR no")) });
      const seen = outcomeOf(made.open("s", "e"));
      await after(1000);
      expect(seen.outcome).toMatchObject({ code: "timeout", message: "no answer within 1000 ms to: open s" });
      expect(sent).toHaveLength(1);
      if (how === "rejects") settle.reject(new Error("cut"));
      else settle.resolve(1);
      await after(0);
      expect(sent.slice(1)).toEqual([["parlanceDrop", ...KEYS, "e", "p:{s}:wake"]]);
    },
  );

  test("free no name whose opening was refused", async () => {
    const { made, sent } = scriptsOn({ parlanceOpen: () => Promise.reject(reply("OOM full")) });
    await expect(made.open("s", "e")).rejects.toMatchObject({ code: "refused" });
    await after(5000);
    expect(sent.map(([name]) => name)).toEqual(["parlanceOpen"]);
  });

  test.each<[what: string, name: string, ask: (made: ReturnType<typeof makeStreamScripts>) => Promise<unknown>]>([
    ["append to s", "parlanceAppend", ({ append }) => append("s", "e", 1, ["x"])],
    ["trim s", "parlanceTrim", ({ trim }) => trim("s", "e", 1)],
    ["close s", "parlanceClose", ({ close }) => close("s", "e", 1)],
    ["drop s", "parlanceDrop", ({ drop }) => drop("s", "e")],
    ["read s", "parlanceLook", ({ look }) => look("s", 0, 1)],
  ])("say in an error that it was to %s", async (what, name, ask) => {
    const seen = outcomeOf(ask(scriptsOn({ [name]: never }).made));
    await after(1000);
    expect(seen.outcome).toMatchObject({ code: "timeout", message: `no answer within 1000 ms to: ${what}` });
  });
});

describe("A log", () => {
  test("has a prefix, limits and a patience of its own where none are given", async () => {
    const { redis, sent } = fakeClient({ parlanceLook: never });
    const log = redisLog({ redis });
    const writer = (await log.open("s"))!;
    await writer.append(1, "x");
    const keys = ["parlance:{s}", "parlance:{s}:lease", "parlance:{s}:entries"];
    expect(sent).toEqual([
      ["parlanceOpen", keys[0], keys[1], writer.epoch, 10_000, 300_000],
      ["parlanceAppend", ...keys, writer.epoch, 300_000, 30_000, "parlance:{s}:wake", 1, "x"],
    ]);
    expect(writer.epoch).toHaveLength(8);
    const seen = outcomeOf(log.state("s"));
    await after(4999);
    expect(seen.outcome).toBe("open");
    await after(1);
    expect(seen.outcome).toMatchObject({ code: "timeout" });
    await writer.drop();
  });

  test("takes those that are given", async () => {
    const { redis, sent } = fakeClient({ parlanceLook: never });
    const log = redisLog({ redis, prefix: "q/", maxLength: 5, lease: 600, keep: 70, timeout: 200 });
    const writer = (await log.open("s"))!;
    await writer.append(1, "x");
    expect(sent.map((words) => words.filter((word) => typeof word === "number"))).toEqual([
      [600, 70],
      [70, 5, 1],
    ]);
    expect(sent[0]![1]).toBe("q/{s}");
    const seen = outcomeOf(log.read("s", 0));
    await after(200);
    expect(seen.outcome).toMatchObject({ code: "timeout" });
    expect(sent.at(-1)).toEqual(["parlanceRefresh", "q/{s}", "q/{s}:lease", "q/{s}:entries", writer.epoch, 600, 70]);
    await writer.drop();
  });

  test("reads all that is held unless a limit is given, and nothing for none", async () => {
    const look = ["e", "1-0", "2", 0, [["2-0", ["text", "y"]]]];
    const { redis, sent } = fakeClient({ parlanceLook: (_, __, ___, cursor) => (cursor === 9 ? null : look) });
    const log = redisLog({ redis });
    expect(await log.read("s", 1)).toEqual([{ seq: 2, text: "y" }]);
    await log.read("s", 1, 1);
    expect(await log.read("s", 9)).toEqual([]);
    const limits = sent.map((words) => words.at(-1));
    expect(limits).toEqual([Number.MAX_SAFE_INTEGER, 1, Number.MAX_SAFE_INTEGER]);
    expect([await log.read("s", 1, 0), sent.length]).toEqual([[], 3]);
    expect(await log.state("s")).toEqual({ epoch: "e", first: 1, last: 2, closed: false });
    expect(sent.at(-1)!.slice(-2)).toEqual([0, 0]);
  });

  test("counts what it holds, and holds nothing once it is stopped", async () => {
    const { redis } = fakeClient({ parlanceLook: never });
    const log = redisLog({ redis });
    const writer = (await log.open("s"))!;
    const seen = outcomeOf(log.state("s"));
    const none = { streams: 0, tails: 0, subscriptions: 0, calls: 0, timers: 0, connections: 0 };
    expect(log.stats()).toEqual({ ...none, streams: 1, calls: 1, timers: 2 });
    log.stop();
    await after(0);
    expect([log.stats(), seen.outcome]).toEqual([none, expect.objectContaining({ code: "stopped" })]);
    await expect(writer.append(1, "x")).rejects.toMatchObject({ code: "stopped" });
  });

  test.each([
    ["{}", true],
    ["a{}:", true],
    ["{a}", false],
    ["{", false],
    ["", false],
  ])("refuses a prefix that takes the hash tags away: %j %j", (prefix, refused) => {
    const make = () => redisLog({ redis: fakeClient().redis, prefix });
    if (refused) expect(make).toThrow(RangeError);
    else expect(make).not.toThrow();
  });
});
