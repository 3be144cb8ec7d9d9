import { Refusal, type Stream, Violation } from "@parlance/wire";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { block, done, type Making, making, read, text } from "../producing.js";

// A handler's messages as blocks, without a connection.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);
async function* words() {
  yield text("one");
  yield text("two");
  yield done;
}

describe("A stream", () => {
  test("has each message as a block, seen by the hooks, up to the one that ends it", async () => {
    let left = false;
    const { got, events, production } = await read({
      async *handler() {
        try {
          yield* words();
          yield text("late");
        } finally {
          left = true;
        }
      },
    });
    expect(got).toEqual([
      block("text", { text: "one" }),
      block("text", { text: "two" }),
      block("done", { full_response: "" }),
    ]);
    expect(events).toEqual(["open", "server text", "server text", "server done", "done"]);
    await after(0);
    expect([left, production.headersDue]).toEqual([true, false]);
  });

  test("has what its app's profile adds to a message", async () => {
    const { got } = await read({ handler: words, profiles: { own: { done: { over: true } } } });
    expect(got).toEqual([
      block("text", { text: "one" }),
      block("text", { text: "two" }),
      block("done", { full_response: "", over: true }),
    ]);
  });

  test("has ids from 1 where they are asked for", async () => {
    const { got } = await read({ handler: words }, (seq) => `e-${seq}`);
    expect(got.map((text) => /^id: (.*)$/m.exec(text)?.[1])).toEqual(["e-1", "e-2", "e-3"]);
  });

  test("may come from an async function, with its input and a signal that aborts with its scope", async () => {
    let given: unknown[] = [];
    const { scope, making: made } = making({
      handler: async (...all) => {
        given = all;
        return words();
      },
    });
    await made;
    const { signal } = given[1] as { signal: AbortSignal };
    expect([given[0], signal.aborted]).toEqual([{ content: "x" }, false]);
    scope.close(new Error("gone"));
    expect(signal.reason).toMatchObject({ message: "gone" });
  });

  test.each<[what: string, handler: Making["handler"], message: string]>([
    [
      "nothing at once",
      () => undefined,
      "the handler of send returned no messages: write it as `async *send`, or as an async function that uses `call.send`",
    ],
    [
      "null",
      () => null,
      "the handler of send returned no messages: write it as `async *send`, or as an async function that uses `call.send`",
    ],
    [
      "a list",
      () => [],
      "the handler of send returned no messages: write it as `async *send`, or as an async function that uses `call.send`",
    ],
    ["a promise of nothing", async () => {}, "the handler of send returned without done or error"],
    ["no message", async function* () {}, "the handler of send returned without done or error"],
  ])("whose handler returns %s is refused before it is open", async (_, handler, message) => {
    const { making: made, events } = making({ handler });
    await expect(made).rejects.toMatchObject({ name: "TypeError", code: "usage", message });
    expect(events).toEqual([]);
  });

  test("is refused by what its handler throws first, and by a first message that is wrong", async () => {
    const no = new Refusal("no", { status: 409 });
    const throwing = [
      () => {
        throw no;
      },
      async () => {
        throw no;
      },
      // biome-ignore lint/correctness/useYield: it refuses.
      async function* () {
        throw no;
      },
    ];
    for (const handler of throwing) {
      const { making: made, events } = making({ handler });
      await expect(made).rejects.toBe(no);
      expect(events).toEqual([]);
    }
    const { making: wrong } = making({
      async *handler() {
        yield { type: "nothing" };
      },
    });
    await expect(wrong).rejects.toBeInstanceOf(Violation);
  });

  test("begins after a heartbeat without a message, and says that its headers were due", async () => {
    let say = () => {};
    const { making: made, events } = making({
      async *handler() {
        await new Promise<void>((resolve) => (say = resolve));
        yield done;
      },
    });
    let production: Awaited<typeof made> | undefined;
    void made.then((given) => (production = given));
    await after(999);
    expect([production, events]).toEqual([undefined, []]);
    await after(1);
    expect([production!.headersDue, events]).toEqual([true, ["open"]]);
    const blocks = production!.blocks();
    const first = blocks.next();
    say();
    expect(await first).toEqual({ done: false, value: [block("done", { full_response: "" })] });
    expect(await blocks.next()).toMatchObject({ done: true });
  });

  test("whose scope closes before it begins is refused for that one's reason", async () => {
    for (const reason of [new Error("gone"), undefined]) {
      const {
        making: made,
        scope,
        events,
      } = making({
        async *handler() {
          await new Promise(() => {});
        },
      });
      await after(0);
      scope.close(reason);
      await expect(made).rejects.toMatchObject(reason ?? { name: "AbortError", message: "the caller has cancelled" });
      expect(events).toEqual([]);
    }
  });

  test("ends with the protocol's fault where its handler fails, which is reported unless it is a refusal", async () => {
    for (const [error, events] of [
      [new Refusal("no", { status: 409 }), [["refuse", 409, "no", "send"]]],
      [
        new Error("secret"),
        [
          ["refuse", 500, "secret", "send"],
          ["report", "secret", "handler", "send"],
        ],
      ],
    ] as const) {
      const found = await read({
        async *handler() {
          yield text("one");
          throw error;
        },
      });
      const said = error instanceof Refusal ? "no" : "the server failed";
      expect(found.got.slice(1)).toEqual([block("error", { error: said })]);
      expect(found.events).toEqual(["open", "server text", ...events, "server error", "failed"]);
    }
  });

  test("has an id for its fault, too, and ends without one where the contract has none", async () => {
    async function* handler() {
      yield text("one");
      throw new Refusal("no", { status: 409 });
    }
    const { got } = await read({ handler }, (seq) => `${seq}`);
    expect(got[1]).toMatch(/^id: 2$/m);
    const silent = await read({ handler, stream: { fault: undefined } });
    expect([silent.got.length, silent.events.at(-1)]).toEqual([1, "failed"]);
  });

  test("ends with the fault where a hook refuses a message, and the fault is not refused again", async () => {
    const { got, events } = await read({
      handler: words,
      message: (type) => (type === "text" || type === "error" ? new Refusal(`no ${type}`, { status: 400 }) : undefined),
    });
    expect(got).toEqual([block("error", { error: "no text" })]);
    expect(events).toEqual(["open", "server text", ["refuse", 400, "no text", "send"], "server error", "failed"]);
  });

  test.each<[what: string, stream: Partial<Stream>, last: string | undefined, how: string]>([
    ["needs an end", {}, "error", "failed"],
    ["has none", { end: undefined }, "text", "done"],
    ["has an empty list of them", { end: [] }, "text", "done"],
    ["may end so", { mayEnd: ["text"] }, "text", "done"],
    ["may end otherwise", { mayEnd: ["file"] }, "error", "failed"],
  ])("whose handler returns without an end, where it %s", async (_, stream, last, how) => {
    const { got, events } = await read({
      async *handler() {
        yield text("one");
      },
      stream,
    });
    expect([/^event: (.*)$/m.exec(got.at(-1)!)?.[1], events.at(-1)]).toEqual([last, how]);
  });

  test("ends with its sentinel, which has a place too, also where nothing was sent", async () => {
    const stream = { sentinel: "[DONE]" };
    async function* one() {
      yield text("one");
    }
    expect((await read({ handler: one, stream })).got.slice(1)).toEqual(["data: [DONE]\n\n"]);
    const ids = await read({ handler: one, stream }, (seq) => `e-${seq}`);
    expect(ids.got[1]).toBe("id: e-2\ndata: [DONE]\n\n");
    expect(ids.events).toEqual(["open", "server text", "done"]);
    const { got } = await read({ async *handler() {}, stream });
    expect(got).toEqual(["data: [DONE]\n\n"]);
  });

  test("whose scope closes ends without a word, whatever its handler does then", async () => {
    for (const how of ["returns", "throws"]) {
      let go = () => {};
      const {
        making: made,
        scope,
        events,
      } = making({
        async *handler() {
          yield text("one");
          await new Promise<void>((resolve) => (go = resolve));
          if (how === "throws") throw new Error("aborted");
        },
      });
      const blocks = (await made).blocks();
      await blocks.next();
      const next = blocks.next();
      await after(0);
      scope.close(new Error("gone"));
      go();
      expect(await next).toEqual({ done: true, value: undefined });
      expect(events).toEqual(["open", "server text", "gone"]);
    }
  });

  test("reports what its handler's clean-up throws after its end", async () => {
    const {
      making: made,
      scope,
      events,
    } = making({
      async *handler() {
        try {
          yield done;
        } finally {
          await Promise.reject(new Error("unclean"));
        }
      },
    });
    const blocks = (await made).blocks();
    await blocks.next();
    await blocks.next();
    scope.close();
    await after(0);
    expect(events.slice(2)).toEqual(["done", ["report", "unclean", "handler", "send"]]);
  });
});
