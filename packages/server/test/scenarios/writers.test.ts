import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ByteWriter, sizeOf } from "../../src/stream/bytes.js";
import {
  type BlockSource,
  BlockWriter,
  FULL,
  type Push,
  type Sink,
  type WriterOptions,
} from "../../src/stream/writer.js";

/** A connection that notes what is written, and has room when a test says so. */
function connection() {
  const written: string[] = [];
  const waits: { readonly free: () => void; readonly fail: (error: unknown) => void }[] = [];
  let full = false;
  const sink: Sink = {
    write(data) {
      written.push(typeof data === "string" ? data : new TextDecoder().decode(data));
      if (!full) return undefined;
      return new Promise((free, fail) => void waits.push({ free, fail }));
    },
    end: () => void written.push("end"),
    cut: () => void written.push("cut"),
  };
  return {
    sink,
    written,
    waits,
    fill: (isFull = true) => {
      full = isFull;
    },
  };
}

function scopeOf() {
  const failures: unknown[] = [];
  const root = Scope.open((error) => void failures.push(error));
  onTestFinished(() => root.close());
  return { root, reader: root.child("readers"), failures };
}

/** Blocks that a test gives, one pull at a time. */
function given() {
  const left: ((step: IteratorResult<readonly string[]>) => void)[] = [];
  const failing: ((error: unknown) => void)[] = [];
  let pulls = 0;
  let push: Push | undefined;
  const blocks: BlockSource = {
    next() {
      pulls++;
      return new Promise((resolve, reject) => {
        left.push(resolve);
        failing.push(reject);
      });
    },
    onPush: (take) => {
      push = take;
    },
  };
  return {
    blocks,
    pulls: () => pulls,
    give: (...texts: string[]) => left.pop()!({ done: false, value: texts }),
    end: () => left.pop()!({ done: true, value: undefined }),
    fail: (error: unknown) => failing.pop()!(error),
    push: (...texts: string[]) => push!(texts),
  };
}

/** Two turns: a writer waits for the end of one. */
const turn = async () => {
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
};

describe("A writer of blocks", () => {
  // A turn of the loop is a real one.
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] }));
  afterEach(() => void vi.useRealTimers());

  function writing(options: Partial<WriterOptions> = {}) {
    const [under, source, scopes] = [connection(), given(), scopeOf()];
    const limits = { heartbeat: 0, stall: 1000 };
    const writer = new BlockWriter(source.blocks, scopes.reader, { limits, ...options });
    let outcome: unknown = "open";
    writer.run(under.sink).then(
      () => {
        outcome = "over";
      },
      (error) => {
        outcome = error;
      },
    );
    return { ...under, ...source, ...scopes, writer, outcome: () => outcome };
  }

  test("writes the blocks of one turn at once, those of the next apart, and the last ones before the end", async () => {
    const { give, push, end, written, outcome, reader } = writing();
    give("1", "2");
    expect(push("3")).toBe("taken");
    expect(push()).toBe("taken");
    expect(written).toEqual([]);
    await turn();
    expect([...written].sort().join("")).toBe("312");
    expect(written).toHaveLength(1);
    written.length = 0;
    give("4");
    await turn();
    expect(written).toEqual(["4"]);
    await turn();
    push("5");
    end();
    await turn();
    expect([written, outcome(), reader.closed]).toEqual([["4", "5", "end"], "over", true]);
    expect(push("6")).toBe("refused");
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    { batched: true, length: 1, atOnce: true },
    { batched: false, length: 1, atOnce: false },
    { batched: false, length: FULL - 1, atOnce: false },
    { batched: false, length: FULL, atOnce: true },
  ])("waits for the end of the turn only with less than it may hold: %o", async ({ batched, length, atOnce }) => {
    const { give, written } = writing({ batched });
    give("x".repeat(length));
    for (let i = 0; i < 5; i++) await Promise.resolve();
    expect(written.length).toBe(atOnce ? 1 : 0);
    await turn();
    expect(written).toHaveLength(1);
  });

  test("of the same turn as another one writes its own blocks, also where those of the other begin alike", async () => {
    const all = [["1", "2"], ["1", "2"], ["1", "2", "3"], ["1"], ["2", "1"], ["1"]];
    const writers = all.map(() => writing());
    for (const [i, blocks] of all.entries()) writers[i]!.give(...blocks);
    await turn();
    expect(writers.map(({ written }) => written)).toEqual(all.map((blocks) => [blocks.join("")]));
  });

  test("writes a comment first where the headers were due, and a heartbeat only after one of silence", async () => {
    for (const headersDue of [true, false]) {
      const { give, end, written } = writing({ limits: { heartbeat: 100, stall: 1000 }, headersDue });
      expect(written).toEqual(headersDue ? [": \n\n"] : []);
      written.length = 0;
      await vi.advanceTimersByTimeAsync(99);
      expect(written).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      expect(written).toEqual([": \n\n"]);
      give("1");
      await turn();
      await vi.advanceTimersByTimeAsync(100);
      expect(written).toEqual([": \n\n", "1"]);
      await vi.advanceTimersByTimeAsync(100);
      expect(written).toEqual([": \n\n", "1", ": \n\n"]);
      end();
      await turn();
      await vi.advanceTimersByTimeAsync(500);
      expect(written).toEqual([": \n\n", "1", ": \n\n", "end"]);
    }
    expect(vi.getTimerCount()).toBe(0);
  });

  test("pulls and takes nothing more while there is no room, not even for a heartbeat", async () => {
    const { give, push, pulls, written, waits, fill } = writing({
      limits: { heartbeat: 100, stall: 1000 },
      batched: true,
    });
    fill();
    give("1");
    await turn();
    expect([pulls(), push("2")]).toEqual([1, "refused"]);
    await vi.advanceTimersByTimeAsync(300);
    expect(written).toEqual(["1"]);
    fill(false);
    waits[0]!.free();
    await turn();
    expect([pulls(), push("2")]).toEqual([2, "taken"]);
    await turn();
    expect(written).toEqual(["1", "2"]);
  });

  test("has no room for more where a push has filled the sink", async () => {
    const { push, waits, fill } = writing();
    fill();
    expect(push("x".repeat(FULL))).toBe("full");
    expect([waits.length, push("y")]).toEqual([1, "refused"]);
  });

  test("waits for the room of its last write, not of one before", async () => {
    const { push, written, waits, fill } = writing();
    fill();
    push("1");
    await turn();
    waits[0]!.free();
    await turn();
    push("2");
    push("3");
    await turn();
    expect(written).toEqual(["1", "23"]);
    expect(push("4")).toBe("refused");
    waits[1]!.free();
    await turn();
    expect(push("4")).toBe("taken");
  });

  test("cuts a reader that takes nothing for `stall`, and is over then", async () => {
    const { give, written, reader, outcome, fill } = writing({ batched: true });
    fill();
    give("1");
    await vi.advanceTimersByTimeAsync(999);
    expect([written, outcome()]).toEqual([["1"], "open"]);
    await vi.advanceTimersByTimeAsync(1);
    expect([written, outcome(), reader.reason]).toEqual([
      ["1", "cut"],
      "over",
      expect.objectContaining({ message: "the reader takes nothing", code: "slow_reader" }),
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each(["throws", "rejects"])("fails with its connection, where a write %s", async (how) => {
    const { give, push, sink, written, waits, reader, outcome, fill } = writing({ batched: true });
    const lost = new Error("lost");
    if (how === "throws")
      sink.write = () => {
        throw lost;
      };
    fill();
    give("1");
    await turn();
    if (how === "rejects") waits[0]!.fail(lost);
    await turn();
    expect([written.at(-1), outcome(), reader.reason, push("2")]).toEqual(["cut", lost, lost, "refused"]);
  });

  test("cuts its connection where its source fails, after what came before", async () => {
    const { push, fail, written, outcome } = writing();
    const broken = new Error("broken");
    push("1");
    fail(broken);
    await turn();
    expect([written, outcome()]).toEqual([["1", "cut"], broken]);
  });

  test("fails where its connection cannot be ended", async () => {
    const { end, sink, reader, outcome } = writing();
    sink.end = () => {
      throw new Error("no end");
    };
    end();
    await turn();
    expect([reader.closed, outcome()]).toEqual([true, expect.objectContaining({ message: "no end" })]);
  });

  test("is over with its reader, whatever its source waits for", async () => {
    const { reader, push, written, outcome, give, pulls } = writing();
    push("1");
    reader.close(new Error("left"));
    await turn();
    expect([written, outcome()]).toEqual([["1", "end"], "over"]);
    give("2");
    await turn();
    expect([written, pulls()]).toEqual([["1", "end"], 1]);
    const { sink, written: none } = connection();
    await new BlockWriter(given().blocks, reader, { limits: { heartbeat: 1, stall: 1 }, headersDue: true }).run(sink);
    expect([none, vi.getTimerCount()]).toEqual([["end"], 0]);
  });
});

describe("A writer of bytes", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  function source(pieces: readonly unknown[], last: "ends" | "fails" | "waits" = "ends") {
    const left = [...pieces];
    const cancel = vi.fn();
    let pulled = 0;
    const stream = new ReadableStream(
      {
        pull(controller) {
          pulled++;
          if (left.length > 0) controller.enqueue(left.shift());
          else if (last === "ends") controller.close();
          else if (last === "fails") controller.error(new Error("the disk failed"));
          else return new Promise<void>(() => {});
          return undefined;
        },
        cancel,
      },
      { highWaterMark: 0 },
    );
    return { stream: stream as ReadableStream<Uint8Array>, cancel, pulled: () => pulled };
  }

  function writing(from: ConstructorParameters<typeof ByteWriter>[0], stall = 60_000) {
    const [under, scopes, report] = [connection(), scopeOf(), vi.fn()];
    const writer = new ByteWriter(from, scopes.reader, { stall }, report);
    return { ...under, ...scopes, report, run: () => writer.run(under.sink) };
  }

  test.each([
    ["a stream", source([bytes("a"), bytes("é")]).stream],
    ["an array", bytes("aé")],
    ["a blob", new Blob(["aé"])],
  ])("writes %s to its end, and is over", async (_, from) => {
    const { run, written, reader, report } = writing(from as never);
    await run();
    expect([written.slice(0, -1).join(""), written.at(-1)]).toEqual(["aé", "end"]);
    expect([reader.closed, reader.reason, report.mock.calls]).toEqual([true, undefined, []]);
  });

  test("reads the next piece only when there is room", async () => {
    const { stream, pulled } = source([bytes("a"), bytes("b")]);
    const { run, written, waits, fill } = writing(stream);
    fill();
    const over = run();
    await vi.waitFor(() => expect(written).toEqual(["a"]));
    expect(pulled()).toBe(1);
    fill(false);
    waits[0]!.free();
    await over;
    expect(written).toEqual(["a", "b", "end"]);
  });

  test.each([
    ["the source fails", source([bytes("a")], "fails").stream, { message: "the disk failed" }],
    [
      "a piece is no bytes",
      source([bytes("a"), "text"]).stream,
      { code: "usage", message: "a stream of bytes has chunks of type Uint8Array" },
    ],
  ])("cuts its connection and says why, where %s", async (_, stream, error) => {
    const { run, written, report, reader } = writing(stream);
    await run();
    expect(written).toEqual(["a", "cut"]);
    expect(report.mock.calls).toEqual([[expect.objectContaining(error)]]);
    expect(reader.closed).toBe(true);
  });

  test("cuts a reader that takes nothing for its limit", async () => {
    const { stream } = source([bytes("a")], "waits");
    const { run, written, report, fill } = writing(stream, 5);
    fill();
    await run();
    expect(written).toEqual(["a", "cut"]);
    expect(report.mock.calls).toEqual([
      [expect.objectContaining({ code: "timeout", message: "the reader did not finish within 5 ms" })],
    ]);
  });

  test("leaves its source when its reader is gone, which is no failure", async () => {
    const { stream, cancel } = source([bytes("a")], "waits");
    const { run, written, report, reader } = writing(stream);
    const over = run();
    await vi.waitFor(() => expect(written).toEqual(["a"]));
    const gone = new Error("gone");
    reader.close(gone);
    await over;
    expect([written, report.mock.calls, cancel.mock.calls]).toEqual([["a", "cut"], [], [[gone]]]);
  });

  test("knows how much there is of what is in memory", () => {
    const all = [new Blob(["aé"]), bytes("aé"), source([]).stream];
    expect(all.map((one) => sizeOf(one as never))).toEqual([3, 3, undefined]);
  });
});
