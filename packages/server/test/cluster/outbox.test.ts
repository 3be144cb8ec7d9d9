import type { AnyMessage } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Credit, Gate } from "../../src/cluster/credit.js";
import { Outbox, type Which } from "../../src/cluster/outbox.js";
import { LIMITS, type Limits } from "../../src/limits.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const rootOf = () => {
  const root = Scope.open((error) => {
    throw error;
  });
  onTestFinished(() => root.close());
  return root;
};
const turn = () => vi.advanceTimersByTimeAsync(0);

/** An outbox, and what it publishes: the places of each packet. */
function outbox(reached: (packet: number) => number | Error = () => 1, limits: Partial<Limits> = {}) {
  const scope = rootOf().child();
  const packets: (Which & { readonly places: readonly number[] })[] = [];
  const onLost = vi.fn(() => scope.close());
  const box = new Outbox({
    scope,
    limits: { ...LIMITS, maxQueued: 500, maxBuffered: 1000, queryWithin: 1000, interruptedFor: 5000, ...limits },
    async publish(sent, which) {
      packets.push({ ...which, places: sent.map(({ place }) => place) });
      const count = reached(packets.length);
      if (typeof count !== "number") throw count;
      return count;
    },
    onLost,
  });
  const send = (place: number, weight = 10, waited = false) =>
    box.send({ message: {} as AnyMessage, place, weight, had() {} }, waited);
  const last = () => packets.at(-1);
  return { scope, box, packets, send, onLost, last, places: () => packets.map((one) => one.places) };
}

describe("An outbox", () => {
  test("greets its reader with an empty packet, and sends one after another as they are confirmed", async () => {
    const { box, packets, send } = outbox();
    expect(packets).toEqual([{ first: true, last: false, places: [] }]);
    send(3);
    send(5);
    await turn();
    expect([packets.length, box.size, box.last]).toEqual([1, 20, 5]);
    box.received(0);
    expect(packets.slice(1)).toEqual([{ first: false, last: false, places: [3, 5] }]);
    send(6);
    for (const early of [0, 3, 4]) box.received(early);
    expect([packets.length, box.size]).toEqual([2, 30]);
    box.received(5);
    expect(packets.slice(2)).toEqual([{ first: false, last: false, places: [6] }]);
    box.received(6);
    // Nothing is on the way: what is confirmed again counts for nothing.
    box.received(6);
    expect([packets.length, box.size, box.last]).toEqual([3, 0, 6]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("takes each place once, in order, and nothing after its end", async () => {
    const { box, places, send, last } = outbox();
    box.received(0);
    for (const place of [2, 2, 1, 3]) send(place);
    box.received(2);
    expect([places(), box.size]).toEqual([[[], [2], [3]], 10]);
    box.finish();
    send(4);
    box.received(3);
    expect([last(), box.size, box.last]).toEqual([{ first: false, last: true, places: [] }, 0, 3]);
  });

  test.each([
    { weights: [65_536, 1], packets: [[1], [2]] },
    { weights: [65_535, 1, 1], packets: [[1, 2], [3]] },
    { weights: [1, 65_535], packets: [[1, 2]] },
    // One message alone may be longer.
    { weights: [70_000, 70_000, 1], packets: [[1], [2], [3]] },
    { weights: [0, 70_000, 0], packets: [[1], [2], [3]] },
  ])("fills a packet with 64 Ki characters: %o", ({ weights, packets }) => {
    const { box, send, places } = outbox(undefined, { maxQueued: 1e6, maxBuffered: 1e6 });
    for (const [i, weight] of weights.entries()) send(i + 1, weight);
    for (const place of weights.keys()) box.received(place);
    for (const place of weights.keys()) box.received(place + 1);
    expect(places().slice(1)).toEqual(packets);
    expect(box.size).toBe(0);
  });

  test("publishes a packet again until it is confirmed, at once where it may be lost", async () => {
    const { box, packets, send } = outbox();
    await vi.advanceTimersByTimeAsync(999);
    expect(packets).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(packets).toHaveLength(2);
    box.repeat();
    await vi.advanceTimersByTimeAsync(2);
    expect(packets).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(1000);
    expect(packets.map(({ first }) => first)).toEqual([true, true, true, true]);
    box.received(0);
    await vi.advanceTimersByTimeAsync(5000);
    box.repeat();
    await vi.advanceTimersByTimeAsync(5000);
    expect(packets).toHaveLength(4);
    send(1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(packets.slice(4)).toEqual([1, 2].map(() => ({ first: false, last: false, places: [1] })));
  });

  test.each([
    ["has no receiver", 0],
    ["fails", new Error("pub/sub failed")],
  ])(
    "waits longer each time where a packet %s, up to a limit, and briefly again after a success",
    async (_, answer) => {
      const times: number[] = [];
      const began = performance.now();
      let fails = true;
      const { box, send } = outbox(
        () => {
          times.push(performance.now() - began);
          return fails ? answer : 1;
        },
        { interruptedFor: Number.POSITIVE_INFINITY },
      );
      const waits = async (count: number) => {
        while (times.length < count) await vi.advanceTimersByTimeAsync(50);
        return times.splice(0).map((time, i, all) => (i === 0 ? 0 : time - all[i - 1]!));
      };
      expect(await waits(9)).toEqual([0, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
      fails = false;
      await waits(1);
      box.received(0);
      fails = true;
      send(1);
      expect(await waits(3)).toEqual([0, 100, 200]);
    },
  );

  test("gives its reader up where nobody has received anything for longer than `interruptedFor`", async () => {
    let received = 0;
    const { onLost, packets, scope } = outbox(() => received, { interruptedFor: 1000 });
    // 100 + 200 + 400, and then 800 more.
    await vi.advanceTimersByTimeAsync(1400);
    expect(onLost).not.toHaveBeenCalled();
    received = 1;
    await vi.advanceTimersByTimeAsync(200);
    // Counted anew.
    received = 0;
    await vi.advanceTimersByTimeAsync(1800);
    expect(onLost).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(onLost).toHaveBeenCalledOnce();
    const count = packets.length;
    await vi.advanceTimersByTimeAsync(10_000);
    expect([packets.length, scope.closed, vi.getTimerCount()]).toEqual([count, true, 0]);
  });

  test("keeps what pub/sub answers too late from starting a second round", async () => {
    const answers: ((receivers: number) => void)[] = [];
    const scope = rootOf().child();
    const box = new Outbox({
      scope,
      limits: { ...LIMITS, queryWithin: 1000 },
      publish: () => new Promise((resolve) => void answers.push(resolve)),
      onLost() {},
    });
    box.repeat();
    await turn();
    // It is on its way still.
    expect(answers).toHaveLength(1);
    box.received(0);
    box.send({ message: {} as AnyMessage, place: 1, weight: 1, had() {} }, false);
    expect(answers).toHaveLength(2);
    answers[0]!(1);
    await vi.advanceTimersByTimeAsync(5000);
    expect(answers).toHaveLength(2);
    answers[1]!(1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(answers).toHaveLength(3);
    scope.close();
    answers[2]!(1);
    await vi.advanceTimersByTimeAsync(5000);
    expect([answers.length, vi.getTimerCount()]).toEqual([3, 0]);
  });

  test("says with the last packet that nothing follows, again and again until its scope closes", async () => {
    const { box, send, packets, scope } = outbox(undefined, { maxQueued: 1e6, maxBuffered: 1e6 });
    send(1, 40_000);
    send(2, 40_000);
    box.finish();
    box.received(0);
    box.received(1);
    expect(packets.map(({ last, places }) => [last, places])).toEqual([
      [false, []],
      [false, [1]],
      [true, [2]],
    ]);
    box.received(2);
    await vi.advanceTimersByTimeAsync(2000);
    expect(packets.slice(3)).toEqual([1, 2, 3].map(() => ({ first: false, last: true, places: [] })));
    scope.close();
    await vi.advanceTimersByTimeAsync(5000);
    expect([packets.length, vi.getTimerCount()]).toEqual([6, 0]);
  });

  test.each([
    { maxQueued: 20, maxBuffered: 40, waits: 3, lost: 5 },
    { maxQueued: 40, maxBuffered: 20, waits: 5, lost: 5 },
  ])("has its sender wait above one limit, and loses its reader above the larger one: %o", (limits) => {
    const { send, onLost } = outbox(undefined, limits);
    const waits: boolean[] = [];
    for (let place = 1; !onLost.mock.calls.length; place++) waits.push(send(place) !== undefined);
    expect(waits.length).toBe(limits.lost);
    // A reader that is lost is not waited for.
    expect(waits.indexOf(true)).toBe(limits.waits < limits.lost ? limits.waits - 1 : -1);
    expect(waits.at(-1)).toBe(false);
    expect(send(99)).toBeUndefined();
  });
});

describe("A wait for room", () => {
  test("is one for all, ends with room or its scope, and is over at once with either", async () => {
    const scope = rootOf().child();
    let open = true;
    const onStalled = vi.fn();
    const gate = new Gate(scope, () => open, 1000, onStalled);
    expect(gate.wait()).toBeUndefined();
    open = false;
    const [first, second] = [gate.wait(), gate.wait()];
    expect(first).toBe(second);
    let free = false;
    void first!.then(() => {
      free = true;
    });
    gate.progress();
    await turn();
    expect(free).toBe(false);
    open = true;
    gate.progress();
    await turn();
    expect([free, vi.getTimerCount(), gate.wait()]).toEqual([true, 0, undefined]);
    open = false;
    const last = gate.wait();
    scope.close();
    await last;
    expect([gate.wait(), vi.getTimerCount(), onStalled.mock.calls]).toEqual([undefined, 0, []]);
  });

  test("stalls after its limit without progress, and only while somebody waits", async () => {
    const onStalled = vi.fn();
    const gate = new Gate(rootOf(), () => false, 1000, onStalled);
    await vi.advanceTimersByTimeAsync(5000);
    void gate.wait();
    for (let i = 0; i < 3; i++) {
      await vi.advanceTimersByTimeAsync(900);
      gate.progress();
    }
    expect(onStalled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(999);
    expect(onStalled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(onStalled).toHaveBeenCalledOnce();
  });
});

describe("The credit of one end", () => {
  test.each([
    { maxQueued: 400, step: 100 },
    { maxQueued: 1024 * 1024, step: 64 * 1024 },
  ])("is due after a quarter of what may wait, and 64 Ki at most: %o", ({ maxQueued, step }) => {
    const credit = new Credit(maxQueued);
    credit.receive(["x".repeat(step - 1)], 0);
    expect([credit.due, credit.tell()]).toEqual([false, {}]);
    credit.take();
    expect(credit.due).toBe(false);
    credit.receive(["x", ""], 0);
    expect(credit.due).toBe(false);
    credit.take();
    expect([credit.due, credit.tell(), credit.due, credit.tell()]).toEqual([true, { taken: step }, false, {}]);
    credit.receive(["x"], 0);
    credit.take();
    expect([credit.due, credit.tell()]).toEqual([false, { taken: step + 1 }]);
  });

  test("owes what the other end has not taken, whatever comes late", () => {
    const credit = new Credit(400);
    expect(credit.owed).toBe(0);
    for (const frame of ["abc", "de"]) credit.give(frame);
    expect(credit.owed).toBe(5);
    for (const [taken, owed] of [
      [3, 2],
      [1, 2],
      [5, 0],
    ] as const) {
      credit.receive([], taken);
      expect(credit.owed).toBe(owed);
    }
  });
});
