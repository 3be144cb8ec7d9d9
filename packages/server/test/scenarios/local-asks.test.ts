import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { loco } from "@parlance/protocols/loco";
import { type AnyMessage, Disconnected } from "@parlance/wire";
import { describe, expect, test, vi } from "vitest";
import type { Subscriber } from "../../src/ports.js";
import { call, say } from "../cluster.js";
import { approve, NOTHING, outcome, reject, sessionsOf, statusOf } from "../sessions-of.js";

describe("An ask of a session", () => {
  test("is decided once, by one call at a time, and by nobody else", async () => {
    const { sessions, reader, stats } = sessionsOf(emacsAgent, { askWithin: 0 });
    const { scope, sents } = reader("s");
    const asked = sessions.session("s").ask(call("t1"));
    expect(stats()).toMatchObject({ asks: 1, timers: 0 });
    for (const [key, reply] of [
      ["t", approve("t1")],
      ["s", approve("t2")],
      ["s", say("t1")],
    ] as const) {
      expect([key, sessions.find(key, reply), sessions.claim(key, reply)]).toEqual([key, undefined, undefined]);
      expect(statusOf(() => sessions.settle(key, reply))).toBe(409);
    }
    const claimed = sessions.claim("s", approve("t1"))!;
    expect(claimed.message).toEqual(call("t1"));
    expect(statusOf(() => sessions.claim("s", reject("t1")))).toBe(409);
    claimed.release!();
    expect(sessions.claim("s", reject("t1"))!.message).toEqual(call("t1"));
    expect(await outcome(asked)).toBe("open");
    sessions.settle("s", reject("t1"));
    expect(await asked).toEqual(reject("t1"));
    for (const late of [approve("t1"), reject("t1")])
      for (const act of ["find", "claim", "settle"] as const)
        expect([act, statusOf(() => sessions[act]("s", late))]).toEqual([act, 409]);
    // Of another session it is not known.
    expect(sessions.find("t", approve("t1"))).toBeUndefined();
    expect([sents.length, sessions.unconfirmed("s"), stats().asks]).toEqual([1, [], 0]);
    scope.close();
    expect(stats()).toEqual(NOTHING);
  });

  test("is shown to each new reader while it is open, before what is new and once", () => {
    const { sessions, reader } = sessionsOf();
    const { send, ask } = sessions.session("s");
    const first = reader("s");
    for (const id of ["t1", "t2"]) void ask(call(id)).catch(() => {});
    send(say("1"));
    expect(reader("s").texts()).toEqual(["t1", "t2", "1"]);
    first.sents[0]!.had();
    expect(reader("s").texts()).toEqual(["t1", "t2", "1"]);
    first.sents[2]!.had();
    send(say("2"));
    expect(reader("s").texts()).toEqual(["t1", "t2", "2"]);
    sessions.settle("s", approve("t1"));
    expect(reader("s").texts()).toEqual(["t2", "2"]);
  });

  test("keeps its session, and is forgotten unread once it is decided", async () => {
    const { sessions, reader, idle, stats } = sessionsOf();
    const asked = sessions.session("s").ask(call("t1"));
    const { scope } = reader("s");
    scope.close();
    expect(idle).toEqual([]);
    sessions.settle("s", approve("t1"));
    await asked;
    expect([idle, stats()]).toEqual([["s"], NOTHING]);
  });

  test("is withdrawn by its signal, and then answered by nobody", async () => {
    const { sessions, reader, stats } = sessionsOf();
    const reason = new Error("enough");
    const { texts } = reader("s");
    await expect(sessions.session("s").ask(call("t0"), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect([texts(), stats().asks]).toEqual([[], 0]);
    const abort = new AbortController();
    const asked = sessions.session("s").ask(call("t1"), { signal: abort.signal });
    abort.abort(reason);
    await expect(asked).rejects.toBe(reason);
    expect(statusOf(() => sessions.find("s", approve("t1")))).toBe(409);
    expect([stats().asks, stats().timers, reader("s").texts()]).toEqual([0, 0, []]);
  });

  test("ends after `askWithin`", async () => {
    vi.useFakeTimers();
    try {
      const { sessions, stats } = sessionsOf(emacsAgent, { askWithin: 1000 });
      let error: unknown;
      sessions
        .session("s")
        .ask(call("t1"))
        .catch((reason) => {
          error = reason;
        });
      await vi.advanceTimersByTimeAsync(999);
      expect([error, stats().asks]).toEqual([undefined, 1]);
      await vi.advanceTimersByTimeAsync(1);
      expect(error).toMatchObject({ name: "Disconnected", code: "timeout", retryable: true });
      expect((error as Error).message).toBe("emacs-agent: the answer to tool.call did not finish within 1000 ms");
      expect(stats()).toEqual(NOTHING);
    } finally {
      vi.useRealTimers();
    }
  });

  test("that is of no contract, or asks nothing, fails at once and leaves nothing", async () => {
    const { sessions, stats } = sessionsOf();
    const { ask } = sessions.session("s");
    await expect(ask({ type: "no" } as AnyMessage)).rejects.toMatchObject({ code: "unknown_message" });
    await expect(ask({ ...call("t1"), requires_approval: false } as AnyMessage)).rejects.toMatchObject({
      code: "usage",
      message: "emacs-agent: this tool.call asks nothing; send it",
    });
    expect(stats()).toEqual(NOTHING);
  });
});

describe("An ask that channels answer", () => {
  const question = {
    type: "tool.request_approval",
    request_id: "r1",
    tool_name: "t",
    args: {},
    risk_level: "low",
  } as unknown as AnyMessage;
  const answer = {
    type: "client.approval_response",
    request_id: "r1",
    approved: true,
    scope: "all",
  } as unknown as AnyMessage;

  /** A channel that is asked, and how it answers. */
  function channel() {
    const asked: {
      message: AnyMessage;
      signal: AbortSignal;
      settle(answer: AnyMessage): void;
      fail(e: unknown): void;
    }[] = [];
    const ask: Subscriber["ask"] = (message, options) =>
      new Promise((settle, fail) => void asked.push({ message, signal: options!.signal!, settle, fail }));
    return { asked, ask };
  }

  test("is put to each channel that is open, and to each that opens; the first answer counts", async () => {
    const { sessions, reader, stats } = sessionsOf(loco, { askWithin: 0 });
    const channels = [channel(), channel(), channel()];
    reader("s", { ask: channels[0]!.ask });
    // A stream cannot be asked.
    reader("s");
    const asked = sessions.session("s").ask(question);
    reader("s", { ask: channels[1]!.ask });
    expect(channels.map(({ asked }) => asked.map(({ message }) => message))).toEqual([[question], [question], []]);
    channels[1]!.asked[0]!.settle(answer);
    expect(await asked).toBe(answer);
    expect(channels[0]!.asked[0]!.signal.reason).toMatchObject({ name: "AbortError", message: "it is answered" });
    reader("s", { ask: channels[2]!.ask });
    expect([channels[2]!.asked, stats().asks]).toEqual([[], 0]);
  });

  test("stays open where a channel is gone, and fails where one fails", async () => {
    const { sessions, reader, idle } = sessionsOf(loco);
    const [first, second] = [channel(), channel()];
    const { scope } = reader("s", { ask: first.ask });
    const asked = sessions.session("s").ask(question);
    first.asked[0]!.fail(new Disconnected("gone", { code: "closed", retryable: true }));
    scope.close();
    expect([await outcome(asked), idle]).toEqual(["open", []]);
    const next = reader("s", { ask: second.ask });
    second.asked[0]!.fail(new Error("no"));
    expect(await outcome(asked)).toMatchObject({ message: "no" });
    next.scope.close();
    expect(idle).toEqual(["s"]);
  });
});
