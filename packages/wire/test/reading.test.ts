import { describe, expect, test, vi } from "vitest";
import { waiter } from "../src/pace.js";
import { reading } from "../src/reading.js";

const DONE = { done: true, value: undefined };
const busy = { name: "TypeError", code: "usage", message: expect.stringMatching(/^p\.talk has a reader already: /) };

describe("The readers of one source", () => {
  const source = (over = () => false) => {
    let at = 0;
    const next = async () => ({ done: false as const, value: at++ });
    const readers = reading("p.talk", over);
    return { reader: (leave?: () => void) => readers(next, leave) };
  };

  test("take turns: the second is refused until the first has left, and the first goes on", async () => {
    const { reader } = source();
    const [first, second] = [reader(), reader()];
    expect((await first.next()).value).toBe(0);
    await expect(second.next()).rejects.toMatchObject(busy);
    expect((await first.next()).value).toBe(1);
    expect(await first.return!()).toEqual(DONE);
    expect((await second.next()).value).toBe(2);
    await expect(first.next()).rejects.toMatchObject(busy);
  });

  test("tell the source that they leave, also one that has not read, and that one frees no place of another", async () => {
    const { reader } = source();
    const [left, leftUnread] = [vi.fn(), vi.fn()];
    const [first, second, third] = [reader(left), reader(leftUnread), reader()];
    await first.next();
    expect(await second.return!()).toEqual(DONE);
    expect([left.mock.calls.length, leftUnread.mock.calls.length]).toEqual([0, 1]);
    await expect(third.next()).rejects.toMatchObject(busy);
    await first.return!();
    expect(left).toHaveBeenCalledOnce();
    expect((await third.next()).value).toBe(1);
  });

  test("each get the end of a source that is over", async () => {
    let over = false;
    const { reader } = source(() => over);
    const [first, second] = [reader(), reader()];
    await first.next();
    over = true;
    expect([(await second.next()).value, (await first.next()).value]).toEqual([1, 2]);
  });
});

test("a waiter's promise is settled by it, once", async () => {
  const { promise, resolve } = waiter();
  expect(await Promise.race([promise, "waits"])).toBe("waits");
  resolve();
  resolve();
  expect(await Promise.race([promise, "waits"])).toBeUndefined();
});
