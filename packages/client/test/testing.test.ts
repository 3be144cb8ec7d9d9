import { connect } from "@parlance/client";
import { play, stopClock } from "@parlance/client/testing";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { afterEach, describe, expect, test, vi } from "vitest";

const told = async function* <T extends string>(...types: T[]) {
  for (const type of types) yield { type };
};

describe("play", () => {
  test("hears every message, and acts on those of its script", async () => {
    const seen: string[] = [];
    const { over } = play(told("a", "b", "a"), { a: ({ type }) => void seen.push(type) });
    expect((await over).map(({ type }) => type)).toEqual(["a", "b", "a"]);
    expect(seen).toEqual(["a", "a"]);
  });

  test("gives each message of a type once, also those that came before it was asked", async () => {
    const messages = [1, 2, 3].map((n) => ({ type: "n", n }));
    const { until, over } = play(
      (async function* () {
        yield* messages;
      })(),
    );
    expect(await until("n")).toEqual(messages[0]);
    await over;
    expect([await until("n"), await until("n")]).toEqual(messages.slice(1));
  });

  test("tells what came where a message did not", async () => {
    await expect(play(told<"a" | "b" | "c">("a", "b")).until("c")).rejects.toThrow("no c came, but a, b");
    await expect(play(told<"c">()).until("c")).rejects.toThrow("no c came, but nothing");
  });

  test("fails with what its script throws", async () => {
    const broken = new Error("broken");
    const failing = [
      () => Promise.reject(broken),
      () => {
        throw broken;
      },
    ];
    for (const a of failing) await expect(play(told("a", "b"), { a }).over).rejects.toBe(broken);
  });

  test("answers on a channel by its script", async () => {
    const app = serve(based, {
      async session(_, channel) {
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const { type } of channel)
          if (type === "list_files") channel.send({ type: "file_list", files: ["a"] });
      },
    });
    const session = await connect(based, app).session();
    const { until, over } = play(session, {
      initial_state: () => session.send({ type: "list_files" }),
      file_list: () => session.close(),
    });
    expect((await until("file_list")).files).toEqual(["a"]);
    expect(await over).toHaveLength(2);
  });
});

describe("a stopped clock", () => {
  let clock: ReturnType<typeof stopClock>;
  afterEach(() => clock.start());

  test("fires timers in the order that they are due, each at its time, and not those that are cleared", async () => {
    clock = stopClock();
    const [began, ran, seen] = [Date.now(), performance.now(), [] as [string, number][]];
    const note = (name: string) => seen.push([name, Date.now() - began]);
    setTimeout(note, 1000, "late");
    const tick = setInterval(() => note("tick") === 4 && clearInterval(tick), 300);
    setTimeout(() => setTimeout(note, 50, "inner"), 10);
    clearTimeout(setTimeout(note, 20, "cleared"));
    await clock.pass(999);
    expect(seen).toEqual([
      ["inner", 60],
      ["tick", 300],
      ["tick", 600],
      ["tick", 900],
    ]);
    await clock.pass(1);
    expect(seen.at(-1)).toEqual(["late", 1000]);
    expect(performance.now() - ran).toBeCloseTo(1000);
    const today = new Date();
    expect(today.getTime() - began).toBe(1000);
    expect([new Date(5).getTime(), new Date() instanceof Date]).toEqual([5, true]);
  });

  test("stops in a browser too, which has no setImmediate, and clears what repeats", async () => {
    vi.stubGlobal("setImmediate", undefined);
    clock = stopClock();
    vi.unstubAllGlobals();
    const seen: number[] = [];
    const began = Date.now();
    const tick = setInterval(() => seen.push(Date.now() - began), 100);
    await clock.pass(250);
    clearInterval(tick);
    await clock.pass(250);
    expect(seen).toEqual([100, 200]);
  });

  test("gives a timer without a delay a millisecond, as Node does", async () => {
    clock = stopClock();
    const began = Date.now();
    const fired = () => new Promise<number>((resolve) => setTimeout(() => resolve(Date.now() - began)));
    expect([await clock.until(fired()), await clock.until(fired())]).toEqual([1, 2]);
  });

  test("lets time pass until a promise settles, however it does", async () => {
    clock = stopClock();
    const waits = <T>(settle: (value: T) => void, value: T) => void setTimeout(settle, 300_000, value);
    expect(await clock.until(new Promise((resolve) => waits(resolve, 7)))).toBe(7);
    await expect(clock.until(new Promise((_, reject) => waits(reject, new Error("late"))))).rejects.toThrow("late");
  });

  test("gives everything back, and leaves timers of before alone", async () => {
    const before = [setTimeout, setInterval, clearTimeout, clearInterval, Date, performance.now];
    const early = new Promise((resolve) => setTimeout(resolve, 1));
    const never = vi.fn();
    const cleared = setTimeout(never, 1);
    clock = stopClock();
    clearTimeout(cleared);
    setTimeout(never, 1);
    await early;
    clock.start();
    expect([setTimeout, setInterval, clearTimeout, clearInterval, Date, performance.now]).toEqual(before);
    await new Promise((resolve) => setTimeout(resolve, 2));
    expect(never).not.toHaveBeenCalled();
  });

  test("gives a `performance.now` of the process's own back", () => {
    const before = Object.getOwnPropertyDescriptor(performance, "now");
    const own = { value: () => 7, configurable: true, enumerable: false, writable: true };
    Object.defineProperty(performance, "now", own);
    try {
      clock = stopClock();
      expect(performance.now()).toBe(7);
      expect(performance.now).not.toBe(own.value);
      clock.start();
      expect(Object.getOwnPropertyDescriptor(performance, "now")).toEqual(own);
    } finally {
      if (before) Object.defineProperty(performance, "now", before);
      else Reflect.deleteProperty(performance, "now");
    }
  });

  test("starts once: what is put in its place after that stays", () => {
    const { setTimeout: real, Date: realDate } = globalThis;
    clock = stopClock();
    clock.start();
    const later = stopClock();
    const stopped = [setTimeout, Date, performance.now];
    clock.start();
    expect([setTimeout, Date, performance.now]).toEqual(stopped);
    later.start();
    expect([setTimeout, Date]).toEqual([real, realDate]);
  });

  test("moves only after what takes a moment of real time", async () => {
    const seen: string[] = [];
    const real = setTimeout;
    clock = stopClock();
    for (const how of ["pass", "until"] as const) {
      seen.length = 0;
      real(() => seen.push("loaded"), 5);
      const fired = new Promise<void>((resolve) => setTimeout(resolve, 1)).then(() => void seen.push("fired"));
      await (how === "pass" ? clock.pass(1) : clock.until(fired));
      expect([how, seen]).toEqual([how, ["loaded", "fired"]]);
    }
  });

  test("passes no more time than it is asked to, in whatever steps, and none while nothing is asked", async () => {
    clock = stopClock();
    const began = Date.now();
    for (const step of [1, 99, 100, 101, 250, 0]) {
      const before = Date.now();
      await clock.pass(step);
      expect([step, Date.now() - before]).toEqual([step, step]);
    }
    expect([Date.now() - began, Date.parse("1970-01-01"), typeof Date.UTC(1970, 0)]).toEqual([551, 0, "number"]);
  });

  test("gives a timer its arguments, and takes a text, a negative or no number as its delay", async () => {
    clock = stopClock();
    const began = Date.now();
    const seen: unknown[] = [];
    const note = (...args: unknown[]) => void seen.push([Date.now() - began, ...args]);
    for (const delay of ["30", -5, Number.NaN, undefined, 0]) setTimeout(note, delay as number, String(delay), 2);
    await clock.pass(40);
    expect(seen).toEqual([
      [1, "-5", 2],
      [1, "NaN", 2],
      [1, "undefined", 2],
      [1, "0", 2],
      [30, "30", 2],
    ]);
    const timer = setTimeout(() => {}, 1) as unknown as { ref(): unknown; unref(): unknown; hasRef(): boolean };
    expect([timer.ref(), timer.unref(), timer.hasRef()]).toEqual([timer, timer, true]);
    clearTimeout(undefined);
  });

  test("a stream lives by its heartbeats, and five minutes without one end it", async () => {
    const silent = {
      async *send() {
        yield { type: "text", text: "a" } as const;
        await new Promise(() => {});
      },
    };
    for (const heartbeat of [15_000, 0]) {
      const app = serve(foldGateway, silent as never, { heartbeat, partial: true });
      clock = stopClock();
      const { until, over, heard } = play(connect(foldGateway, { ...app, resume: false }).send({ content: "x" }));
      await clock.until(until("text"));
      let lost: unknown;
      over.catch((error) => {
        lost = error;
      });
      await clock.pass(301_000);
      expect(heard).toHaveLength(1);
      expect(lost).toEqual(heartbeat ? undefined : expect.objectContaining({ code: "idle" }));
      clock.start();
      app.close();
    }
  });
});
