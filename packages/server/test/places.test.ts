import { Scope } from "@parlance/wire/scope";
import { describe, expect, onTestFinished, test } from "vitest";
import { ownersOf } from "../src/identity.js";
import type { ServeOptions } from "../src/options.js";
import { places } from "../src/places.js";

// How many streams and readers a principal may have open.

function taking(options: Partial<ServeOptions> = { authenticate: () => true }) {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  const { take } = places(options as ServeOptions, 2, ownersOf(options as ServeOptions));
  const all = (principal: unknown, of: "stream" | "reader", count: number) =>
    Array.from({ length: count }, () => {
      const scope = root.child();
      take(principal, of, scope);
      return scope;
    });
  return { root, take, all, counted: () => root.stats().places ?? 0 };
}

describe("A principal", () => {
  test.each([
    ["stream", 2],
    ["reader", 4],
  ] as const)("has as many places of a %s as it may, and then a refusal that says so", (of, most) => {
    const { all, counted } = taking();
    all("a", of, most);
    expect(() => all("a", of, 1)).toThrow(
      expect.objectContaining({
        name: "Refusal",
        status: 429,
        retryAfter: 1,
        message: `no more than ${most} ${of}s may be open at a time (option maxStreams)`,
      }),
    );
    expect(counted()).toBe(most);
  });

  test("takes no place of another one, nor a reader that of a stream", () => {
    const { all } = taking();
    for (const principal of ["a", "b", 1, "1", { id: 1 }, { id: 2 }]) {
      all(principal, "stream", 2);
      all(principal, "reader", 4);
      expect(() => all(principal, "stream", 1)).toThrow("no more than 2 streams");
      expect(() => all(principal, "reader", 1)).toThrow("no more than 4 readers");
    }
    expect(() => all({ id: 1, name: "more" }, "stream", 1)).toThrow("no more than 2 streams");
  });

  test("has a place again for each that is given back, whatever the order", () => {
    const { all, counted } = taking();
    const [first, second] = all("a", "stream", 2);
    first!.close();
    const [third] = all("a", "stream", 1);
    expect(() => all("a", "stream", 1)).toThrow("no more than 2 streams");
    for (const scope of [second, third]) scope!.close();
    expect(counted()).toBe(0);
    all("a", "stream", 2);
    expect(() => all("a", "stream", 1)).toThrow("no more than 2 streams");
  });

  test("is named by `identify` where there is one", () => {
    const { all } = taking({ authenticate: () => true, identify: () => "everybody" });
    all("a", "stream", 1);
    all("b", "stream", 1);
    expect(() => all("c", "stream", 1)).toThrow("no more than 2 streams");
  });
});

test("no place is counted without `authenticate`, nor for a call that is over", () => {
  const open = taking({});
  open.all("a", "stream", 9);
  expect(open.counted()).toBe(0);
  const { root, take, all, counted } = taking();
  const over = root.child();
  over.close();
  for (let i = 0; i < 9; i++) take("a", "stream", over);
  expect(counted()).toBe(0);
  all("a", "stream", 2);
});
