import { describe, expect, test, vi } from "vitest";
import { type Buffer, buffer } from "../../src/stream/buffer.js";

const outcome = (promise: Promise<unknown>) =>
  Promise.race([promise.catch((error: unknown) => error), new Promise((resolve) => setImmediate(resolve, "open"))]);
const DONE = { done: true, value: undefined };
const item = (value: unknown) => ({ done: false, value });

/** A buffer, and reads of its source that a test settles. */
function filled() {
  const read = vi.fn();
  const it = buffer<string>(read);
  return { it, read, arrive: it.arrived };
}

describe("A buffer of messages", () => {
  test("gives what is there in order, and reads only where nothing is", async () => {
    const { it, read } = filled();
    for (const text of ["1", "2"]) it.push(text);
    expect([await it.next(), await it.next(), read.mock.calls.length]).toEqual([item("1"), item("2"), 0]);
    it.push("3");
    expect([await it.next(), read.mock.calls.length]).toEqual([item("3"), 0]);
    void it.next();
    expect(read).toHaveBeenCalledOnce();
  });

  test("reads once for all that wait, and again while nothing has come", async () => {
    const { it, read, arrive } = filled();
    const [first, second] = [it.next(), it.next()];
    expect(read).toHaveBeenCalledOnce();
    arrive();
    expect([await outcome(first), read.mock.calls.length]).toEqual(["open", 2]);
    for (const text of ["1", "2"]) it.push(text);
    arrive();
    expect(await Promise.all([first, second])).toEqual([item("1"), item("2")]);
    expect(read).toHaveBeenCalledTimes(2);
  });

  test("gives all that is there as one batch", async () => {
    const { it, arrive } = filled();
    for (const text of ["1", "2", "3"]) it.push(text);
    await it.next();
    const batch = await it.batch();
    expect(batch).toEqual(item(["2", "3"]));
    it.push("4");
    // The batch is its reader's own.
    expect([batch, await it.batch()]).toEqual([item(["2", "3"]), item(["4"])]);
    const next = it.batch();
    it.push("5");
    arrive();
    expect(await next).toEqual(item(["5"]));
  });

  test("ends after what is there, and every time after that", async () => {
    const { it, read } = filled();
    it.push("1");
    it.end({});
    expect(it.drained).toBe(false);
    expect([await it.next(), it.drained]).toEqual([item("1"), false]);
    expect([await it.next(), it.drained, await it.batch(), await it.next()]).toEqual([DONE, true, DONE, DONE]);
    expect(read).not.toHaveBeenCalled();
  });

  test.each<[ends: { readonly error?: unknown }[], error: unknown]>([
    [[{ error: "a" }], "a"],
    [[{ error: "a" }, {}], "a"],
    [[{}, { error: "a" }], "a"],
    [[{ error: "a" }, { error: "b" }], "b"],
    [[{ error: undefined }], undefined],
  ])("after the ends %j fails once, where none was read before", async (ends, error) => {
    const { it } = filled();
    it.push("1");
    for (const end of ends) it.end(end);
    await it.next();
    expect(await it.next().catch((thrown: unknown) => ({ thrown }))).toEqual({ thrown: error });
    it.end({ error: "late" });
    expect([it.drained, await it.next()]).toEqual([true, DONE]);
  });

  test("that is cleared gives nothing more, and is over", async () => {
    const { it, read, arrive } = filled();
    const waiting = it.next();
    it.push("1");
    it.clear();
    it.end({ error: "late" });
    arrive();
    expect([await waiting, it.drained, await it.batch(), read.mock.calls.length]).toEqual([DONE, true, DONE, 1]);
  });

  /** A buffer whose reads are promises, of which a reader gets one. */
  function promised() {
    const arrivals: (() => void)[] = [];
    const promises: Promise<unknown>[] = [];
    const it: Buffer<string> = buffer<string>(() => {
      const read: Promise<unknown> = new Promise<void>((resolve) => void arrivals.push(resolve)).then(() =>
        it.arrived(),
      );
      promises.push(read);
      return read;
    });
    return { it, arrivals, promises };
  }

  test("gives the promise of a read to its reader, before those that came later", async () => {
    const { it, arrivals, promises } = promised();
    const steps = [it.next(), it.next(), it.batch()];
    expect([steps.indexOf(promises[0] as never), arrivals.length]).toEqual([0, 1]);
    for (const text of ["1", "2", "3", "4"]) it.push(text);
    arrivals[0]!();
    expect(await Promise.all(steps)).toEqual([item("1"), item("2"), item(["3", "4"])]);
    expect(arrivals.length).toBe(1);
  });

  test("reads again where a read has brought nothing, and keeps the order of its readers", async () => {
    const { it, arrivals } = promised();
    const steps = [it.next(), it.next()];
    arrivals[0]!();
    await outcome(steps[0]!);
    expect(arrivals.length).toBe(2);
    it.push("1");
    arrivals[1]!();
    expect(await steps[0]).toEqual(item("1"));
    expect([await outcome(steps[1]!), arrivals.length]).toEqual(["open", 3]);
    it.push("2");
    arrivals[2]!();
    expect(await steps[1]).toEqual(item("2"));
  });

  test.each<[string, (it: ReturnType<typeof promised>["it"]) => void, unknown[]]>([
    ["ends", (it) => it.end({}), [DONE, DONE]],
    ["fails", (it) => it.end({ error: "a" }), ["a", DONE]],
    ["is cleared", (it) => it.clear(), [DONE, DONE]],
  ])("gives the end to all readers of its last read, where it %s meanwhile", async (_, end, steps) => {
    const { it, arrivals } = promised();
    const all = [it.next(), it.next()];
    end(it);
    arrivals[0]!();
    expect([await outcome(all[0]!), await outcome(all[1]!), arrivals.length]).toEqual([...steps, 1]);
  });

  test("reads one chunk ahead of its reader, and no further, once it is asked to", async () => {
    const { it, read, arrive } = filled();
    const bring = async (...texts: string[]) => {
      for (const text of texts) it.push(text);
      arrive();
      await outcome(Promise.race([]));
    };
    it.readAhead(1);
    await bring();
    expect(read).toHaveBeenCalledTimes(2);
    await bring("1", "2");
    expect(read).toHaveBeenCalledTimes(2);
    expect([await it.next(), read.mock.calls.length]).toEqual([item("1"), 3]);
    await bring("3");
    expect([await it.next(), read.mock.calls.length]).toEqual([item("2"), 3]);
    expect([await it.batch(), read.mock.calls.length]).toEqual([item(["3"]), 4]);
    it.end({});
    await bring();
    it.readAhead(1);
    expect([await it.next(), read.mock.calls.length]).toEqual([DONE, 4]);
  });
});
