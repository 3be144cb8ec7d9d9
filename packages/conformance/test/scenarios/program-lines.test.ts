import { once } from "node:events";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { Lines } from "../../src/node/lines.js";

describe("the lines of a program", () => {
  const MIB = 1 << 20;
  const json = (length: number) => `{${"x".repeat(length - 1)}`;
  test.each<[string, string[], object]>([
    ["in one chunk", ["{1}\n{2}\n"], { lines: ["{1}", "{2}"] }],
    ["in pieces", ["{", "1", "}", "\n"], { lines: ["{1}"] }],
    ["with spaces and a byte order mark", ["\ufeff {1} \r\n"], { lines: ["{1}"] }],
    ["beside the program's own", ["hello\n\n{1}\n bye \n"], { lines: ["{1}"], others: ["hello", "bye"] }],
    ["without an end", ["{1}\n{2}"], { lines: ["{1}"] }],
    ["of the greatest length", [`${json(MIB)}\n`], { lengths: [MIB] }],
    [
      "of a greater length",
      [`{1}\n${json(MIB + 1)}\n{2}\n`, "{3}\n"],
      { lines: ["{1}"], flaws: ["a line of more than 1 MiB"] },
    ],
    ["of a greater length in pieces", [json(MIB), "x", "\n{1}\n"], { flaws: ["a line of more than 1 MiB"] }],
    ["as many as may wait", ["{1}\n".repeat(1000)], { count: 1000 }],
    [
      "more than may wait",
      ["{1}\n".repeat(1001), "{2}\n"],
      { flaws: ["more than 1000 lines that nothing asked for"], count: 1001 },
    ],
  ])("%s are read", async (_, chunks, expected) => {
    const output = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
    const flaws: string[] = [];
    const others: string[] = [];
    const lines = new Lines(
      output,
      (flaw) => void (flaw && flaws.push(flaw)),
      (line) => others.push(line),
    );
    await once(output, "end");
    const all: string[] = [];
    for (let line = lines.next(); line !== undefined; line = lines.next()) all.push(line);
    const found = { lines: all, others, flaws, count: all.length, lengths: all.map(({ length }) => length) };
    expect(found).toMatchObject({ flaws: [], others: [], ...expected });
  });

  test("are reported as they come, and an output that fails does no harm", async () => {
    const output = new Readable({ read() {} });
    let told = 0;
    new Lines(output, () => told++);
    output.push("text\n");
    output.push("{1}\n");
    await new Promise((resolve) => setImmediate(resolve));
    expect(told).toBe(1);
    const closed = new Promise((resolve) => output.on("close", resolve));
    output.destroy(new Error("EIO"));
    await closed;
  });
});
