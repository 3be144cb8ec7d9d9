import { type Disconnected, disconnected } from "@parlance/wire/errors";
import { formatGap, formatResumable } from "@parlance/wire/resume";
import { RESUME } from "@parlance/wire/resume-key";
import { describe, expect, test, vi } from "vitest";
import { lifetime } from "../../src/lifetime.js";
import { judge } from "../../src/rejoin.js";
import { assertKept, resuming } from "../../src/stream/resuming.js";

const offer = (epoch: string, beat = 15) => new Headers({ [RESUME]: formatResumable({ epoch, grace: 30, beat }) });

/** The place in a stream, and what it is joined with. */
function stream(answers: readonly Response[] = []) {
  const fail = vi.fn();
  const left = [...answers];
  const asked: Record<string, string>[] = [];
  const it = resuming({
    what: "p.send",
    connection: { random: () => 0 },
    life: lifetime(),
    join: async (headers) => {
      asked.push(headers);
      return left.shift()!;
    },
    fail,
  });
  return { it, fail, asked };
}

describe("The place in a resumed stream", () => {
  test("counts each next message, and drops what came before", () => {
    const { it, fail } = stream();
    it.joined(offer("e"));
    expect(["e.1", "e.2", "e.2", "e.1", "e.3"].map((id) => it.isNext(id))).toEqual([true, true, false, false, true]);
    expect(fail).not.toHaveBeenCalled();
  });

  test.each([
    [["e.2"], 0, 2],
    [["e.1", "e.3"], 1, 3],
    // Another epoch counts other messages.
    [["f.1"], 0, 1],
    [["e.1", "e.2", "f.1"], 2, 1],
  ] as const)("has a gap before the last of %j", (ids, after, first) => {
    const { it, fail } = stream();
    it.joined(offer("e"));
    expect(ids.map((id) => it.isNext(id)).at(-1)).toBe(false);
    expect(fail.mock.calls).toEqual([
      [expect.objectContaining({ name: "Disconnected", code: "gap", retryable: false, missing: { after, first } })],
    ]);
    expect(fail.mock.calls[0]![0].message).toBe(`p.send: messages after ${after} are gone`);
  });

  test("is not told from ids of another form, nor before the server has offered to resume", () => {
    const { it, fail } = stream();
    for (const id of ["e.7", "x"]) expect(it.isNext(id)).toBe(true);
    it.joined(new Headers());
    expect(it.isNext("e.9")).toBe(true);
    it.joined(offer("e"));
    for (const id of ["x", "", "e.1", "x"]) expect(it.isNext(id)).toBe(true);
    expect([it.isNext("e.1"), it.isNext("e.2"), fail.mock.calls]).toEqual([false, true, []]);
  });

  test("keeps the epoch of its first answer, and the heartbeat of its last", () => {
    const { it } = stream();
    expect(it.silence).toBe(0);
    it.joined(offer("e", 2));
    expect(it.silence).toBe(5000);
    it.joined(offer("f", 4));
    it.joined(new Headers());
    expect([it.silence, it.isNext("e.1")]).toEqual([10_000, true]);
  });

  test("is what it is joined with, where it is known", async () => {
    const joining = () => new Response("", { headers: offer("e") });
    const lost = disconnected("cut", "ended_early", true);
    const unknown = stream([joining()]);
    await unknown.it.join(lost, -1);
    expect(unknown.asked).toEqual([{ Accept: "text/event-stream" }]);
    const known = stream([joining()]);
    known.it.joined(offer("e"));
    for (const id of ["e.1", "e.2"]) known.it.isNext(id);
    const { response } = await known.it.join(lost, -1);
    expect(response.status).toBe(200);
    expect(known.asked).toEqual([{ Accept: "text/event-stream", "Last-Event-ID": "e.2" }]);
  });
});

describe("The answer to a join", () => {
  const lost = disconnected("p.send was cut", "ended_early", true);
  const judged = (status: number, headers: Record<string, string> = {}) => {
    const response = new Response("body", { status, headers });
    const cancel = vi.spyOn(response.body!, "cancel");
    try {
      return { value: judge(response, lost), dropped: cancel.mock.calls.length };
    } catch (error) {
      return { error: error as Disconnected, dropped: cancel.mock.calls.length };
    }
  };
  const resumable = { [RESUME]: formatResumable({ epoch: "e", grace: 30, beat: 15 }) };

  test("that the server goes on is where", () => {
    expect(judged(200, resumable)).toEqual({ value: { epoch: "e", grace: 30, beat: 15 }, dropped: 0 });
  });

  test.each([
    [400, 0],
    [408, 0],
    [429, 0],
    [500, 0],
    [503, 0],
    [599, 0],
  ])("%i may be another one later, and says when", (status, wait) => {
    expect(judged(status)).toEqual({ value: wait, dropped: 1 });
    expect(judged(status, { "Retry-After": "1.5" })).toEqual({ value: 1500, dropped: 1 });
    expect(judged(status, resumable)).toEqual({ value: wait, dropped: 1 });
  });

  test.each([401, 403])("%i is a refusal", (status) => {
    expect(judged(status)).toMatchObject({
      error: { name: "Refusal", status, message: `the join was refused: ${status}` },
      dropped: 1,
    });
  });

  test.each([200, 201, 404, 405, 409, 410, 426, 499])(
    "%i of a server that knows nothing of it is the loss itself",
    (status) => {
      const { error, dropped } = judged(status);
      expect(error).toBe(lost);
      expect(dropped).toBe(1);
    },
  );

  test.each([200, 404, 410, 500])("%i with a gap is that gap", (status) => {
    const missing = { after: 3, first: 9 };
    expect(judged(status, { [RESUME]: formatGap(missing) })).toMatchObject({
      error: { code: "gap", retryable: false, missing, cause: lost },
      dropped: 1,
    });
  });
});

test("the answer to the request itself may say that its messages are gone", () => {
  const gone = new Response("", { status: 410, headers: { [RESUME]: formatGap({ after: 0 }) } });
  expect(() => assertKept("p.send", gone)).toThrow(
    expect.objectContaining({ code: "gap", missing: { after: 0 }, message: "p.send: messages after 0 are gone" }),
  );
  expect(() => assertKept("p.send", new Response("", { status: 410 }))).not.toThrow();
});
