import { foldGateway } from "@parlance/protocols/fold-gateway";
import { Refusal, Violation } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Context, calledOf } from "../../src/call.js";
import { operate } from "../../src/http/operate.js";
import { operationsOf } from "../../src/http/operation.js";
import { WebRequest } from "../../src/http/request.js";
import { sessionName } from "../../src/identity.js";
import { ledger } from "../../src/ledger.js";
import { LIMITS } from "../../src/limits.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);
const request = () => new WebRequest(new Request("http://localhost/x"));

/** One operation, whose handler and sessions a test is. */
function operating(
  handler: (
    input: unknown,
    ...rest: { readonly ask?: { readonly message: unknown; settle(answer: object): void } }[]
  ) => unknown,
  {
    settles = false,
    endsSession = false,
    claimed = undefined as unknown,
    sessions = {} as object,
    session = "id",
  } = {},
) {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  const log: unknown[][] = [];
  const note =
    (what: string, result?: unknown) =>
    (...given: unknown[]) => {
      log.push([what, ...given]);
      return result;
    };
  const context = {
    contract: { session },
    options: {},
    ownerOf: () => "me",
    limits: { ...LIMITS, answerWithin: 500 },
    ledger: ledger(LIMITS, root),
    root,
    handlers: { approve: handler },
    operations: new Map([
      [
        "approve",
        { settles, endsSession, answer: (_: unknown, value: unknown) => ({ status: 200, headers: {}, body: value }) },
      ],
    ]),
    sessions: {
      claim: note("claim", claimed),
      settle: note("settle"),
      end: note("end"),
      joined: note("joined"),
      ...sessions,
    },
  } as unknown as Context;
  const call = root.child("calls");
  const called = calledOf(context, "approve", { id: "s", more: 1 } as never, "me", request());
  const operated = Promise.resolve(operate(context, called, undefined, call));
  operated.catch(() => {});
  return { operated, log, call, root };
}
const SESSION = sessionName({}, "me", "s");
const reply = { id: "s", more: 1, type: "approve" };

describe("An operation", () => {
  test("is answered by its handler at once, or later", async () => {
    for (const handler of [() => "x", async () => "x"]) {
      const { operated, log } = operating(handler);
      expect(await operated).toMatchObject({ status: 200, body: "x" });
      expect(log).toEqual([["joined", SESSION]]);
    }
  });

  test("without a session, or with sessions of one server alone, has nothing to wait for", async () => {
    expect(operating(() => "x", { session: "other" }).log).toEqual([]);
    const { operated, log } = operating(() => "x", { sessions: { joined: undefined } });
    await operated;
    expect(log).toEqual([]);
  });

  test("whose handler takes too long is refused", async () => {
    const { operated } = operating(() => new Promise(() => {}));
    await after(499);
    expect(await Promise.race([operated, "waits"])).toBe("waits");
    await after(1);
    await expect(operated).rejects.toMatchObject({ code: "timeout", message: /the handler of approve/ });
  });

  test("goes on where its caller has gone, because a decision counts all the same", async () => {
    let go = (_: string): void => {};
    const { operated, call } = operating(() => new Promise((resolve) => (go = resolve)));
    call.close(new Error("gone"));
    go("x");
    expect(await operated).toMatchObject({ body: "x" });
  });

  test("settles the ask that it answers once its handler has answered, and lets others decide then", async () => {
    const release = vi.fn();
    const message = { type: "ask" };
    let seen: unknown;
    const { operated, log } = operating(
      (_, call) => {
        seen = call!.ask!.message;
        return "x";
      },
      { settles: true, claimed: { message, release } },
    );
    await operated;
    expect([seen, log, release.mock.calls.length]).toEqual([
      message,
      [
        ["claim", SESSION, reply],
        ["settle", SESSION, reply],
        ["joined", SESSION],
      ],
      1,
    ]);
  });

  test("settles it with the handler's own answer, once", async () => {
    const own = { type: "own" };
    const { operated, log } = operating(
      (_, call) => {
        call!.ask!.settle(own);
        return "x";
      },
      { settles: true, claimed: { message: {} } },
    );
    await operated;
    expect(log.filter(([what]) => what === "settle")).toEqual([["settle", SESSION, own]]);
  });

  test("fails where another answer was first, on whichever server, and releases what it claimed", async () => {
    const first = new Refusal("decided", { status: 409 });
    const settles: (() => unknown)[] = [
      () => Promise.reject(first),
      () => {
        throw first;
      },
    ];
    for (const settle of settles) {
      const release = vi.fn();
      const end = vi.fn();
      const { operated } = operating(() => "x", {
        settles: true,
        endsSession: true,
        claimed: { message: {}, release },
        sessions: { settle, end },
      });
      await expect(operated).rejects.toBe(first);
      expect([release.mock.calls.length, end.mock.calls]).toEqual([1, []]);
    }
  });

  test("that fails settles nothing, and releases what it claimed", async () => {
    const release = vi.fn();
    const { operated, log } = operating(
      () => {
        throw new Error("no");
      },
      { settles: true, endsSession: true, claimed: { message: {}, release } },
    );
    await expect(operated).rejects.toThrow("no");
    expect([log.map(([what]) => what), release.mock.calls.length]).toEqual([["claim"], 1]);
  });

  test("has no ask where none is open, and ends its session after its answer", async () => {
    let seen: unknown = "none";
    const { operated, log } = operating(
      (_, call) => {
        seen = "ask" in (call as object);
        return "x";
      },
      { settles: true, endsSession: true },
    );
    await operated;
    expect([seen, log]).toEqual([
      false,
      [
        ["claim", SESSION, reply],
        ["end", SESSION],
        ["joined", SESSION],
      ],
    ]);
  });

  test("that ends a session asks for no ask", async () => {
    const { operated, log } = operating(() => "x", { endsSession: true });
    await operated;
    expect(log.map(([what]) => what)).toEqual(["end", "joined"]);
  });
});

describe("An answer", () => {
  const { health, listAgents, send } = foldGateway.operations as Record<string, object>;
  const of = (answer: object, more: object = {}) =>
    operationsOf({
      ...foldGateway,
      operations: { one: { ...health, answer: { status: 200, ...answer } }, send, listAgents },
      ...more,
    } as never).get("one")!;
  const report = vi.fn();
  const runtime = { limits: LIMITS, callbacks: { report } } as never;
  const write = (answer: object, value: unknown) => {
    const root = Scope.open(() => {});
    onTestFinished(() => root.close());
    return of(answer).answer(runtime, value, root);
  };

  test.each<[what: string, answer: object, value: unknown, expected: object]>([
    ["text", { text: "text/plain" }, "x", { status: 200, headers: { "Content-Type": "text/plain" }, body: "x" }],
    ["a number as text", { text: "text/plain" }, 5, { body: "5" }],
    ["JSON", { json: "Agents" }, [], { status: 200, headers: { "Content-Type": "application/json" }, body: "[]" }],
    ["nothing", { status: 204 }, undefined, { status: 204, headers: {}, body: "" }],
  ])("may be %s", (_, answer, value, expected) => expect(write(answer, value)).toMatchObject(expected));

  test("of JSON is checked", () => {
    expect(() => write({ json: "Agents" }, { no: 1 })).toThrow(Violation);
  });

  test("of bytes has their length where they are in memory, and is nothing else", () => {
    const answer = { binary: "image/png" };
    const headers = { "Content-Type": "image/png" };
    expect(write(answer, new Uint8Array(3)).headers).toEqual({ ...headers, "Content-Length": "3" });
    expect(write(answer, new Blob(["ab"])).headers).toEqual({ ...headers, "Content-Length": "2" });
    expect(write(answer, new ReadableStream()).headers).toEqual(headers);
    for (const wrong of [undefined, null, "text", {}, 5])
      expect(() => write(answer, wrong)).toThrow("the handler of one returned no ReadableStream, Uint8Array or Blob");
  });

  test("knows whether it settles asks or ends a session, and streams have none", () => {
    const exchanges = [{ ask: "a", by: "server", answers: [{ operation: "one" }, { message: "m" }] }];
    expect(of({}, { exchanges })).toMatchObject({ settles: true, endsSession: false });
    expect(of({}, { exchanges: [] })).toMatchObject({ settles: false, endsSession: false });
    expect(of({}, { channels: { line: { closedBy: "one" } } })).toMatchObject({ settles: false, endsSession: true });
    expect([...operationsOf(foldGateway as never).keys()]).toEqual(["health", "ready", "listAgents"]);
  });
});
