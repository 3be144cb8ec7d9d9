import { contractValue } from "@parlance/language/value";
import { pair } from "@parlance/wire/link";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Conversations } from "../../src/conversation.js";
import { type FaultOptions, faulty } from "../../src/mock/faults.js";
import { malform } from "../../src/mock/malform.js";
import { Random } from "../../src/mock/random.js";
import type { Answering, Arriving, Replayed } from "../../src/replay/answering.js";
import { ferry } from "../ferry.js";

// The faults of a mock, with a clock of the test's own.

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const contract = contractValue(ferry);
const talk = contract.accepts().then((accepts) => new Conversations(contract, accepts));
const block = (kind: string, more = "") => `event: ${kind}\ndata: {"kind":"${kind}"${more}}\n\n`;
const blocks = [block("moved", ',"to":"a"'), block("waiting", ',"minutes":1'), block("gone")];
const stream = [["Content-Type", "text/event-stream"]] as const;
const watch: Arriving = { method: "GET", target: "/piers/north/ferry", headers: [] };

/** A server that answers at once, with faults; `closed` tells that it was closed. */
function server(options: FaultOptions, answered: Partial<Replayed> = {}) {
  let closed = 0;
  const own: Answering = {
    answer: async () => ({
      status: 200,
      headers: stream,
      async *body() {
        yield new TextEncoder().encode(`: beat\n\n${blocks.join("")}`);
      },
      ...answered,
    }),
    accept: async () => ({
      run: (port) => {
        port.listen({ frame: (text) => port.send(text), close() {} });
        for (const text of ["one", "two", "three"]) port.send(text);
        port.close(1000, "");
      },
    }),
    close: () => ++closed,
  };
  return { mock: faulty(own, talk, options), closed: () => closed };
}

/** What came of a stream so far, and how it ended. */
function reading(mock: Answering, asked = watch, signal = new AbortController().signal) {
  const came: string[] = [];
  const read = async () => {
    const { body } = await mock.answer(asked);
    try {
      for await (const bytes of body(signal)) came.push(new TextDecoder().decode(bytes));
      came.push("end");
    } catch (error) {
      came.push((error as Error).message);
    }
  };
  return { came, over: read() };
}
const after = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

describe("a stream", () => {
  test("without faults has all at once, its comments as they are", async () => {
    const { came, over } = reading(server({}).mock);
    await after(0);
    await over;
    expect(came).toEqual([": beat\n\n", ...blocks, "end"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("with latency waits before its answer and before each message, not before a comment", async () => {
    const { came } = reading(server({ latency: 100 }).mock);
    await after(99);
    expect(came).toEqual([]);
    await after(1);
    expect(came).toEqual([": beat\n\n"]);
    await after(99);
    expect(came).toHaveLength(1);
    await after(1);
    expect(came).toEqual([": beat\n\n", blocks[0]]);
    await after(200);
    expect(came).toEqual([": beat\n\n", ...blocks, "end"]);
  });

  test.each([1, 2, 3])("is cut in place of its message %i, when those before are on their way", async (cut) => {
    const { came } = reading(server({ cut }).mock);
    await after(19);
    expect(came).toEqual([": beat\n\n", ...blocks.slice(0, cut - 1)]);
    await after(1);
    expect(came.at(-1)).toBe("the mock has cut the connection");
    expect(came).toHaveLength(cut + 1);
  });

  test("tells of each fault when its message comes, and of none that does not come", async () => {
    for (const [options, told] of [
      [{ cut: 2 }, ["cut"]],
      [{ stall: 1 }, ["stall"]],
      [{ malformed: 3 }, ["malformed"]],
      [{ cut: 9, stall: 9, malformed: 9 }, []],
    ] as const) {
      const faults: string[] = [];
      const { mock } = server({ ...options, onFault: (fault) => void faults.push(fault) });
      reading(mock);
      await after(100);
      expect(faults).toEqual(told);
      const opened = await mock.accept({ method: "GET", target: "/decks/upper", headers: [] });
      if (!("run" in opened)) throw new Error("it was refused");
      opened.run({ send() {}, close() {}, listen() {} });
      await after(100);
      expect(faults).toEqual([...told, ...told]);
      mock.close();
    }
  });

  test("that stalls sends nothing more until its client has gone or the mock closes", async () => {
    for (const ends of ["client", "mock"]) {
      const controller = new AbortController();
      const { mock, closed } = server({ stall: 2 });
      const { came, over } = reading(mock, watch, controller.signal);
      await after(100_000);
      expect(came).toEqual([": beat\n\n", blocks[0]]);
      if (ends === "client") controller.abort();
      else mock.close();
      await over;
      expect(came.at(-1)).toBe("end");
      expect(closed()).toBe(ends === "mock" ? 1 : 0);
    }
  });

  test("has one message that breaks its schema", async () => {
    const { came } = reading(server({ malformed: 2 }).mock);
    await after(0);
    expect(came.filter((text) => blocks.includes(text))).toEqual([blocks[0], blocks[2]]);
    const codec = (await talk).codec("watch", "server");
    const [, data] = /^data: (.*)$/m.exec(came[2]!)!;
    expect(() => codec.decode({ event: "waiting", data: data! })).toThrow();
  });

  test.each<[string, FaultOptions]>([
    ["cut", { cut: 1 }],
    ["stalled", { stall: 1 }],
    ["malformed", { malformed: 1 }],
  ])("that is resumed is not %s again", async (_, options) => {
    const { came } = reading(server(options).mock, { ...watch, headers: [["Last-Event-ID", "1"]] });
    await after(20);
    expect(came).toEqual([": beat\n\n", ...blocks, "end"]);
  });

  test.each<[string, Partial<Replayed>]>([
    ["a refusal", { status: 404 }],
    ["another answer", { headers: [["Content-Type", "application/json"]] }],
  ])("is no stream where it is %s, which has no such fault", async (_, answered) => {
    const { came } = reading(server({ cut: 1 }, answered).mock);
    await after(0);
    expect(came).toEqual([`: beat\n\n${blocks.join("")}`, "end"]);
  });
});

describe("a channel", () => {
  const deck: Arriving = { method: "GET", target: "/decks/upper", headers: [] };

  /** What the client's end hears. */
  async function listening(options: FaultOptions) {
    const { mock } = server(options);
    onTestFinished(() => void mock.close());
    const [near, far] = pair();
    const heard: unknown[] = [];
    near.listen({ frame: (text) => heard.push(text), close: (code) => heard.push(code) });
    void mock.accept(deck).then((opened) => "run" in opened && opened.run(far));
    await after(0);
    return heard;
  }

  test.each<[string, FaultOptions, number, readonly unknown[]]>([
    ["nothing", {}, 0, ["one", "two", "three", 1000]],
    ["a cut", { cut: 2 }, 0, ["one"]],
    ["a cut, a moment later", { cut: 2 }, 20, ["one", 1006]],
    ["a stall", { stall: 2 }, 100_000, ["one"]],
    ["latency before its opening", { latency: 100 }, 100, []],
    ["latency before each frame", { latency: 100 }, 300, ["one", "two"]],
    ["latency before its close", { latency: 100 }, 500, ["one", "two", "three", 1000]],
  ])("has %s", async (_, options, milliseconds, expected) => {
    const heard = await listening(options);
    await after(milliseconds);
    expect(heard).toEqual(expected);
  });

  test("has one frame that breaks its schema, and passes on what the client sends", async () => {
    const heard = await listening({ malformed: 2 });
    expect(heard).toEqual(["one", expect.stringMatching(/^t$/), "three", 1000]);
  });
});

test("a message is broken in each way that its schema refuses, and torn", async () => {
  const codec = (await talk).codec("watch", "server");
  const broken = (event: string, text: string) => {
    const random = new Random(1);
    return [...new Set(Array.from({ length: 60 }, () => malform(codec, event, text, random)))].sort();
  };
  // Another name, or none, is an unknown message, which is no violation.
  expect(broken("waiting", '{"kind":"waiting","minutes":1}')).toEqual([
    '{"kind":"waitin',
    '{"kind":"waiting","minutes":{}}',
    '{"kind":"waiting"}',
  ]);
  expect(broken("waiting", "text")).toEqual(["te"]);
  expect(broken("waiting", "x")).toEqual(["x"]);
});
