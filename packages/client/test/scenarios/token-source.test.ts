import { Disconnected, disconnected, Refusal } from "@parlance/wire/errors";
import { describe, expect, test, vi } from "vitest";
import { lifetime } from "../../src/lifetime.js";
import { tokens } from "../../src/token.js";

// The token of a connection alone: when it is asked for, and what becomes of one that is refused.

/** A token function that makes `t1`, `t2` and so on, when a test lets it. */
function source() {
  const made: { readonly give: (token?: string) => void; readonly fail: (error: unknown) => void }[] = [];
  const make = vi.fn(
    () =>
      new Promise<string>((resolve, reject) => {
        const token = `t${made.length + 1}`;
        made.push({ give: (own = token) => resolve(own), fail: reject });
      }),
  );
  return { make, made, tokens: tokens(make) };
}
const thrown = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

describe("A token", () => {
  test.each(["secret", "", undefined])("that is no function is itself, and has no successor: %j", async (token) => {
    const { current, refused } = tokens(token);
    expect([await current(lifetime()), refused(token), await current(lifetime())]).toEqual([token, false, token]);
  });

  test("of a function is asked for when it is first needed, once for all who need it, and kept", async () => {
    const { make, made, tokens } = source();
    expect(make).not.toHaveBeenCalled();
    const both = [tokens.current(lifetime()), tokens.current(lifetime())];
    expect(make).toHaveBeenCalledOnce();
    made[0]!.give();
    expect(await Promise.all(both)).toEqual(["t1", "t1"]);
    expect(await tokens.current(lifetime())).toBe("t1");
    expect(make).toHaveBeenCalledOnce();
  });

  test("that is refused is replaced by one new one, however often it is refused", async () => {
    const { make, made, tokens } = source();
    const first = tokens.current(lifetime());
    made[0]!.give();
    await first;
    expect([tokens.refused("t1"), tokens.refused("t1")]).toEqual([true, true]);
    const second = tokens.current(lifetime());
    expect(tokens.refused("t1")).toBe(true);
    const same = tokens.current(lifetime());
    made[1]!.give();
    expect(await Promise.all([second, same])).toEqual(["t2", "t2"]);
    // A late refusal of the old one does not drop the new one.
    expect(tokens.refused("t1")).toBe(true);
    expect([await tokens.current(lifetime()), make.mock.calls.length]).toEqual(["t2", 2]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no"))],
  ])(
    "of a function that %s leaves the call unsent, with its error as the cause, and is asked for anew",
    async (_, fails) => {
      let isFailing = true;
      const { current } = tokens(() => (isFailing ? fails() : "t"));
      const error = await thrown(current(lifetime()));
      expect(error).toBeInstanceOf(Disconnected);
      expect(error).toMatchObject({
        message: "the token function failed",
        code: "unreachable",
        retryable: true,
        cause: { message: "no" },
      });
      isFailing = false;
      expect(await current(lifetime())).toBe("t");
    },
  );

  test.each([new Refusal("signed out", { status: 403 }), disconnected("offline", "timeout", false)])(
    "of a function that fails with an error of ours fails with that: %s",
    async (error) => {
      expect(await thrown(tokens(() => Promise.reject(error)).current(lifetime()))).toBe(error);
    },
  );

  test("is not waited for by a call that ends, which another call may do", async () => {
    const { make, made, tokens } = source();
    const reason = new Error("enough");
    const life = lifetime();
    const left = thrown(tokens.current(life));
    life.abort(reason);
    expect(await left).toBe(reason);
    // A function that may hang is asked again.
    const next = tokens.current(lifetime());
    expect(make).toHaveBeenCalledTimes(2);
    made[0]!.fail(new Error("late, and nobody hears it"));
    made[1]!.give();
    expect(await next).toBe("t2");
    expect(await tokens.current(lifetime())).toBe("t2");
  });

  test("whose function fails late does not drop a newer one", async () => {
    const { made, make, tokens } = source();
    const first = lifetime();
    const [left, waiting] = [thrown(tokens.current(first)), thrown(tokens.current(lifetime()))];
    first.abort(new Error("enough"));
    await left;
    const newer = tokens.current(lifetime());
    made[0]!.fail(new Error("no"));
    expect(await waiting).toMatchObject({ code: "unreachable" });
    made[1]!.give();
    expect([await newer, await tokens.current(lifetime()), make.mock.calls.length]).toEqual(["t2", "t2", 2]);
  });
});
