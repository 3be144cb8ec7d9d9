import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { redisPubSub } from "../../src/pubsub.js";
import { fakeClient, fakeNode, never, outcomeOf, reply } from "../fake-redis.js";

// What a pub/sub sends to Redis, without a Redis.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

/** A pub/sub whose publications a test answers. */
function publishing(options: object = {}, more: object = {}) {
  const answers: { resolve(reached: readonly number[]): void; reject(error: unknown): void }[] = [];
  const answer = () => new Promise((resolve, reject) => void answers.push({ resolve, reject }));
  let subscribing: () => unknown = () => "OK";
  const { node, connections } = fakeNode((command) => (command === "subscribe" ? subscribing() : undefined));
  const { redis, scripts, sent } = fakeClient({ parlancePublish: answer }, { ...node, ...more });
  const hang = () => {
    subscribing = never;
  };
  return { made: redisPubSub({ redis, ...options }), answers, scripts, sent, connections, hang };
}

describe("A pub/sub", () => {
  test("sends one call at a time for a topic, with all texts that came meanwhile, and tells what each reached", async () => {
    const { made, answers, sent } = publishing();
    const seen = ["1", "2", "3"].map((text) => outcomeOf(made.publish("t", text)));
    const other = outcomeOf(made.publish("u", "4"));
    await after(0);
    const channel = "parlance:t";
    expect(sent).toEqual([
      ["parlancePublish", channel, channel, "1", "2", "3"],
      ["parlancePublish", "parlance:u", "parlance:u", "4"],
    ]);
    const late = outcomeOf(made.publish("t", "5"));
    await after(0);
    expect(sent).toHaveLength(2);
    answers[0]!.resolve([7, 8, 9]);
    answers[1]!.resolve([1]);
    await after(0);
    expect(sent[2]).toEqual(["parlancePublish", channel, channel, "5"]);
    answers[2]!.resolve([0]);
    await after(0);
    expect([...seen, late, other].map(({ outcome }) => outcome)).toEqual([7, 8, 9, 0, 1]);
    void made.publish("t", "6");
    await after(0);
    expect(sent[3]).toEqual(["parlancePublish", channel, channel, "6"]);
    answers[3]!.resolve([0]);
    await after(0);
    expect(made.stats()).toEqual({ subscriptions: 0, calls: 0, timers: 0, connections: 0 });
  });

  test("sends a thousand texts at most in one call", async () => {
    const { made, answers, sent } = publishing();
    const seen = Array.from({ length: 2501 }, (_, i) => outcomeOf(made.publish("t", `${i}`)));
    const sizes: number[] = [];
    for (let i = 0; seen.some(({ outcome }) => outcome === "open"); i++) {
      await after(0);
      const texts = sent[i]!.slice(3);
      sizes.push(texts.length);
      answers[i]!.resolve(texts.map(Number));
      await after(0);
    }
    expect(sizes).toEqual([1000, 1000, 501]);
    expect(seen.map(({ outcome }) => outcome)).toEqual(seen.map((_, i) => i));
  });

  test("rejects every text that waits where a call fails, and sends the next one", async () => {
    const { made, answers, sent } = publishing();
    const seen = [outcomeOf(made.publish("t", "1"))];
    await after(0);
    seen.push(outcomeOf(made.publish("t", "2")), outcomeOf(made.publish("t", "3")));
    answers[0]!.reject(reply("NOPERM no"));
    await after(0);
    for (const { outcome } of seen)
      expect(outcome).toMatchObject({
        code: "refused",
        message: "Redis refused: publish to parlance:t: NOPERM no",
      });
    expect(sent).toHaveLength(1);
    const next = outcomeOf(made.publish("t", "4"));
    await after(0);
    answers[1]!.resolve([5]);
    await after(0);
    expect([sent[1]!.slice(3), next.outcome]).toEqual([["4"], 5]);
  });

  test("waits for Redis no longer than its limit, which is five seconds where none is given", async () => {
    for (const [options, limit] of [
      [{}, 5000],
      [{ timeout: 300 }, 300],
    ] as const) {
      const { made } = publishing(options);
      const seen = outcomeOf(made.publish("t", "1"));
      await after(limit - 1);
      expect(seen.outcome).toBe("open");
      await after(1);
      expect(seen.outcome).toMatchObject({ code: "timeout" });
    }
  });

  test("publishes once its own interrupted subscriptions are received again, so that it gets the answers", async () => {
    const { made, sent, connections, hang, answers } = publishing({ prefix: "q/", timeout: 9000 });
    const received: string[] = [];
    const [onInterrupted, unsubscribe] = [vi.fn(), await made.subscribe("t", (text) => void received.push(text))];
    await made.subscribe("u", () => {}, onInterrupted);
    expect([connections[0]!.asked, made.stats()]).toMatchObject([
      [
        ["subscribe", "q/t"],
        ["subscribe", "q/u"],
      ],
      { subscriptions: 2, connections: 1 },
    ]);
    connections[0]!.emit("message", "q/t", "text");
    expect(received).toEqual(["text"]);
    connections[0]!.emit("end");
    await after(0);
    expect(onInterrupted).toHaveBeenCalledOnce();
    hang();
    connections[1]!.emit("end");
    const seen = outcomeOf(made.publish("t", "1"));
    await after(999);
    expect(sent).toEqual([]);
    await after(1);
    expect(sent).toEqual([["parlancePublish", "q/t", "q/t", "1"]]);
    answers[0]!.resolve([3]);
    await after(0);
    expect(seen.outcome).toBe(3);
    unsubscribe();
    expect(made.stats().subscriptions).toBe(1);
    made.stop();
    expect(made.stats()).toEqual({ subscriptions: 0, calls: 0, timers: 0, connections: 0 });
    await expect(made.publish("t", "2")).rejects.toMatchObject({ code: "stopped" });
    await expect(made.subscribe("t", () => {})).rejects.toMatchObject({ code: "stopped" });
  });

  test("is the sharded one in a cluster", () => {
    for (const [more, command] of [
      [{}, '"PUBLISH"'],
      [{ nodes: () => [] }, '"SPUBLISH"'],
    ] as const) {
      const { lua, numberOfKeys } = publishing({}, more).scripts.get("parlancePublish")!;
      expect([lua.match(/"S?PUBLISH"/g), numberOfKeys]).toEqual([[command], 1]);
    }
  });
});
