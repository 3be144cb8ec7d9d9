import { Disconnected, Refusal, Violation } from "@parlance/wire";
import { describe, expect, test, vi } from "vitest";
import { type Context, calledOf, refusalOf, reportHidden, sessionOf } from "../../src/call.js";
import { WebRequest } from "../../src/http/request.js";
import { ownersOf } from "../../src/identity.js";

const request = () => new WebRequest(new Request("http://localhost/x"));

const violation = (side: "client" | "server", code: string) =>
  new Violation("wrong", { code, protocol: "p", side } as never);

describe("An error", () => {
  const lost = (code: string) => new Disconnected("lost", { code, retryable: true } as never);
  const trap = new Proxy(new Error("x"), {
    getPrototypeOf() {
      throw new Error("trap");
    },
  });
  const broken = Object.defineProperty(new Refusal("no", { status: 409 }), "code", {
    get() {
      throw new Error("broken");
    },
  });

  test.each<[what: string, error: unknown, status: number, message: string, hidden: boolean, retryAfter?: number]>([
    ["a refusal", new Refusal("no", { status: 409, retryAfter: 7 }), 409, "no", false, 7],
    ["a mistake of the client", violation("client", "schema"), 400, "p: wrong (from the client)", false],
    ["too much of the client", violation("client", "too_large"), 413, "p: wrong (from the client)", false],
    ["a mistake of the server", violation("server", "schema"), 500, "the server failed", true],
    ["an outage", lost("unreachable"), 503, "the server cannot do this now", true, 1],
    ["a timeout", lost("timeout"), 503, "the server cannot do this now", true, 1],
    ["a loss", lost("closed"), 500, "the server failed", true],
    ["any error", new Error("secret"), 500, "the server failed", true],
    ["no error at all", undefined, 500, "the server failed", true],
    ["what cannot be read", trap, 500, "the server failed", true],
    ["a refusal that cannot be read", broken, 500, "the server failed", true],
    ...[0, -1, 99, 100, 101, 200, 204, 304, 399, 400.5, 600, 1000, Number.NaN, "404", null].map(
      (status) =>
        [
          `a refusal with the status ${status}`,
          new Refusal("no", { status } as never),
          500,
          "the server failed",
          true,
        ] as [string, Refusal, number, string, boolean],
    ),
    ...[-1, Number.NaN, Number.POSITIVE_INFINITY, "1", null].map(
      (wait) =>
        [
          `a refusal that waits ${wait} s`,
          new Refusal("no", { status: 503, retryAfter: wait } as never),
          500,
          "the server failed",
          true,
        ] as [string, Refusal, number, string, boolean],
    ),
  ])("is reported as far as it may be known: %s", (_, error, status, message, hidden, retryAfter) => {
    const refusal = refusalOf(error);
    const report = vi.fn();
    reportHidden({ callbacks: { report } } as unknown as Context, error, "handler");
    expect([refusal.status, refusal.message, refusal.retryAfter, report.mock.calls.length > 0]).toEqual([
      status,
      message,
      retryAfter,
      hidden,
    ]);
  });
});

test.each([
  ["neither", {}, 400],
  ["400", { 400: {} }, 400],
  ["422", { 422: {} }, 422],
  ["both", { 400: {}, 422: {} }, 400],
])("wrong input is refused by an operation that declares %s: %j, %i", (_, faults, status) => {
  expect(refusalOf(violation("client", "schema"), faults).status).toBe(status);
  expect(refusalOf(violation("client", "too_large"), faults).status).toBe(413);
  expect(refusalOf(violation("server", "schema"), faults).status).toBe(500);
});

test("the session of a call is that of its principal, unless all share them", () => {
  const authenticate = () => "me";
  const named = (options: object, input: object, session: string | undefined = "id", principal: unknown = "me") => {
    const context = { contract: { session }, options, ownerOf: ownersOf(options) } as unknown as Context;
    return sessionOf(context, calledOf(context, "x", input as never, principal, request()));
  };
  expect(named({}, { id: "s" })).toMatch(/^anybody\.[0-9a-f]{32}$/);
  expect(named({}, { id: 5 })).toBe(named({}, { id: "5" }));
  expect(named({}, {})).toBeUndefined();
  const context = { contract: {}, options: {} } as unknown as Context;
  expect(sessionOf(context, calledOf(context, "x", { id: "s" } as never, "me", request()))).toBeUndefined();
  const names = [
    named({ authenticate }, { id: "s" }),
    named({ authenticate }, { id: "t" }),
    named({ authenticate }, { id: "s" }, "id", "you"),
    named({ authenticate, identify: () => "I" }, { id: "s" }),
    named({}, { id: "s" }),
  ];
  expect(new Set(names).size).toBe(5);
  const shared = { authenticate, sharedSessions: true };
  expect(named(shared, { id: "s" })).toBe(named(shared, { id: "s" }, "id", "you"));
});
