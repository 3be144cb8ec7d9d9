import { type AnyMessage, Refusal } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { callbacks, invoke } from "../src/callback.js";
import type { Called } from "../src/hooks.js";
import type { HttpRequest } from "../src/http/request.js";
import { LIMITS } from "../src/limits.js";
import type { ServeOptions } from "../src/options.js";

const called = { operation: "send", request: { url: "x" } } as unknown as Called;
const message = { type: "text" } as AnyMessage;
/** What a careless program may throw: reading anything of it fails. */
const unreadable = new Proxy(
  {},
  {
    get() {
      throw new Error("it cannot be read");
    },
  },
);
const throws = (error: unknown) => () => {
  throw error;
};
const scopeOf = () => {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  return root;
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("authenticate", () => {
  const authenticated = (authenticate: unknown, limits = LIMITS) =>
    callbacks({ authenticate } as ServeOptions, limits).authenticate(scopeOf(), {
      request: "r",
    } as unknown as HttpRequest);

  test("is not asked for where there is none", () => expect(authenticated(undefined)).toBeUndefined());

  test.each([0, "", "me", { id: 1 }, Number.NaN])("lets a principal in: %j", async (principal) => {
    const authenticate = vi.fn(async () => principal);
    expect(await authenticated(authenticate)).toBe(principal);
    expect(authenticate.mock.calls).toEqual([["r"]]);
  });

  test.each([undefined, null, false])("refuses what is no principal with 401: %s", async (principal) => {
    const refused = { name: "Refusal", status: 401, message: "valid credentials are needed" };
    for (const authenticate of [() => principal, async () => principal])
      await expect(authenticated(authenticate)).rejects.toMatchObject(refused);
  });

  test("passes its own error on, and fails where it takes too long", async () => {
    const own = new Refusal("no", { status: 403 });
    await expect(authenticated(throws(own))).rejects.toBe(own);
    const hanging = () => new Promise(() => {});
    await expect(authenticated(hanging, { ...LIMITS, authenticateWithin: 1 })).rejects.toMatchObject({
      code: "timeout",
      message: "authenticate did not finish within 1 ms",
    });
  });
});

describe("A hook", () => {
  const hooked = (hooks: ServeOptions["hooks"]) => {
    const onError = vi.fn();
    return { onError, own: callbacks({ hooks, onError } as ServeOptions, { ...LIMITS, hookWithin: 1 }) };
  };

  test("of requests may refuse them, and has its time", async () => {
    expect(hooked({}).own.request(scopeOf(), called)).toBeUndefined();
    const refusal = new Refusal("no", { status: 403 });
    await expect(hooked({ request: throws(refusal) }).own.request(scopeOf(), called)).rejects.toBe(refusal);
    await expect(
      hooked({ request: () => new Promise<never>(() => {}) }).own.request(scopeOf(), called),
    ).rejects.toMatchObject({ code: "timeout", message: "hooks.request did not finish within 1 ms" });
  });

  test("of messages refuses by a Refusal alone, which it throws at once", async () => {
    const refusal = new Refusal("no", { status: 429 });
    const { own, onError } = hooked({ message: throws(refusal) });
    expect([own.message(called, message, "client"), onError.mock.calls]).toEqual([refusal, []]);
    expect(hooked({}).own.message(called, message, "client")).toBeUndefined();
    for (const wrong of [new Error("no"), undefined, "no", unreadable]) {
      const other = hooked({ message: throws(wrong) });
      expect(other.own.message(called, message, "client")).toBeUndefined();
      expect(other.onError).toHaveBeenCalledOnce();
      expect(other.onError.mock.calls[0]![0]).toBe(wrong);
      expect(other.onError.mock.calls[0]![1]).toEqual({ source: "hooks.message", operation: "send" });
    }
    const late = hooked({ message: (async () => throws(refusal)()) as never });
    expect(late.own.message(called, message, "server")).toBeUndefined();
    await turn();
    expect(late.onError.mock.calls).toEqual([[refusal, { source: "hooks.message", operation: "send" }]]);
  });

  test("that decides nothing is called, and its failure is reported with its name", async () => {
    const [refusal, unknown] = [new Refusal("no"), { body: {} }];
    const calls = {
      open: [[called], (own: ReturnType<typeof callbacks>) => own.open(called)],
      unknown: [[called, unknown], (own: ReturnType<typeof callbacks>) => own.unknown(called, unknown)],
      refuse: [
        [called.request, refusal, "cause", "send"],
        (own: ReturnType<typeof callbacks>) => own.refuse(called, refusal, "cause", "send"),
      ],
      close: [[called, "gone"], (own: ReturnType<typeof callbacks>) => own.close(called, "gone")],
    } as const;
    for (const [name, [given, call]] of Object.entries(calls)) {
      const hook = vi.fn();
      call(hooked({ [name]: hook }).own);
      expect([name, hook.mock.calls]).toEqual([name, [given]]);
      call(hooked({}).own);
      for (const failing of [throws(unreadable), async () => throws(unreadable)()]) {
        const { own, onError } = hooked({ [name]: failing });
        call(own);
        await turn();
        expect(onError).toHaveBeenCalledOnce();
        expect(onError.mock.calls[0]![1]).toEqual({ source: `hooks.${name}`, operation: "send" });
      }
    }
  });
});

describe("A report", () => {
  test("goes to `onError`, to the console without one, or nowhere", () => {
    const console = vi.spyOn(globalThis.console, "error").mockImplementation(() => {});
    onTestFinished(() => console.mockRestore());
    const error = new Error("no");
    callbacks({ onError: false }, LIMITS).report(error, "log", "send");
    expect(console).not.toHaveBeenCalled();
    callbacks({}, LIMITS).report(error, "log", "send");
    callbacks({}, LIMITS).report(error, "pub/sub");
    expect(console.mock.calls.splice(0)).toEqual([
      ["@parlance/server: log of send failed:", error],
      ["@parlance/server: pub/sub failed:", error],
    ]);
    const onError = vi.fn();
    callbacks({ onError }, LIMITS).report(error, "pub/sub");
    expect([onError.mock.calls, console.mock.calls]).toEqual([[[error, { source: "pub/sub" }]], []]);
    const thrown = new Error("worse");
    callbacks({ onError: throws(thrown) }, LIMITS).report(error, "log", "send");
    expect(console.mock.calls.splice(0)).toEqual([["@parlance/server: onError of send failed:", thrown]]);
    console.mockImplementationOnce(throws(new Error("it cannot be printed")));
    callbacks({}, LIMITS).report(error, "log");
    expect(console.mock.calls[1]).toEqual(["@parlance/server: log failed:", "an error that cannot be printed"]);
  });

  test("of a callback says whether it was thrown, or came later", async () => {
    const fail = vi.fn();
    invoke(undefined, fail);
    invoke(() => 7, fail);
    invoke(throws("now"), fail);
    invoke(() => Promise.reject("later"), fail);
    await turn();
    expect(fail.mock.calls).toEqual([
      ["now", true],
      ["later", false],
    ]);
  });
});
