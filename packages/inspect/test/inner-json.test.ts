import { describe, expect, it } from "vitest";
import { readInnerJson } from "../src/inner-json.js";
import { textsOfEntry } from "../src/node/edit-texts.js";
import { Review } from "../src/node/review.js";

const seed = 20_261_127;

/** A random JSON value, from a seed of its own. */
function randomValue(draw: () => number, depth = 0): unknown {
  const kind = Math.floor(draw() * (depth > 3 ? 4 : 6));
  const text = () => ["", "a", 'q"\\', "é🎉\n", "{[,:]}", "\u2028"][Math.floor(draw() * 6)]!;
  if (kind === 0) return text();
  if (kind === 1) return Math.floor(draw() * 1e6) / 100;
  if (kind === 2) return draw() < 0.5;
  if (kind === 3) return null;
  const items = Array.from({ length: Math.floor(draw() * 4) }, () => randomValue(draw, depth + 1));
  return kind === 4 ? items : Object.fromEntries(items.map((one, at) => [`${at}${text()}`, one]));
}

function random(from: number): () => number {
  let state = from;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** Whether a value is a whole one as far as it goes: only the ends of lists, objects and strings are missing. */
function isBeginning(part: unknown, whole: unknown): boolean {
  if (typeof part === "string") return typeof whole === "string" && whole.startsWith(part);
  if (typeof part !== "object" || part === null) return part === whole;
  return Object.entries(part).every(([key, one]) => isBeginning(one, (whole as Record<string, unknown>)[key]));
}

describe("readInnerJson", () => {
  it(`reads a whole value, and of a cut one nothing that it does not have (seed ${seed})`, () => {
    const draw = random(seed);
    let cut = 0;
    for (let round = 0; round < 60; round++) {
      const whole = { first: randomValue(draw), second: [randomValue(draw)] };
      for (const text of [JSON.stringify(whole), JSON.stringify(whole, null, 2)]) {
        expect(readInnerJson(text)).toEqual({ value: whole, isCut: false });
        for (let end = 0; end < text.length; end++) {
          const read = readInnerJson(text.slice(0, end));
          if (!read) continue;
          cut++;
          expect([text.slice(0, end), read.isCut, isBeginning(read.value, whole)]).toEqual([
            text.slice(0, end),
            true,
            true,
          ]);
        }
      }
    }
    expect(cut).toBeGreaterThan(300);
  });

  it.each([
    "",
    "text",
    "12",
    '"a"',
    "null",
    "[note] fix it",
    "{a}",
    '{"a":1} and more',
    "{}x",
    '{"a":1,"a":2}',
    '{"a":[{"b":1,"b":1}]}',
    '{"a":1]',
    "[",
    '{"a',
  ])("reads no JSON in %j", (text) => {
    expect(readInnerJson(text)).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['{"command":"rm -rf', { command: "rm -rf" }],
    ['{"a":1,"b', { a: 1 }],
    ['{"a":"x\\', { a: "x" }],
    ['{"a":"x\\u00', { a: "x" }],
    ['{"a":"x\\\\', { a: "x\\" }],
    ['{"a":true,"lines":12', { a: true }],
    ['{"a":[[1,2],[3', { a: [[1, 2], []] }],
    ['[{"path":"a"},', [{ path: "a" }]],
  ])("reads the complete part of %j", (text, value) => {
    expect(readInnerJson(text)).toEqual({ value, isCut: true });
  });

  it("takes time that grows with the text only, however deep its brackets are", () => {
    const timeOf = (size: number) => {
      const text = "[".repeat(size) + "1,".repeat(size);
      // The quickest of some rounds: a pause of the machine hits one of them.
      const rounds = Array.from({ length: 7 }, () => {
        const began = performance.now();
        readInnerJson(text);
        return performance.now() - began;
      });
      return Math.min(...rounds);
    };
    timeOf(5000);
    expect(timeOf(40_000) / timeOf(5000)).toBeLessThan(40);
  });
});

describe("edits inside of JSON in a string", () => {
  const event = (message: object) =>
    ({ t: 0, c: 1, from: "server", kind: "event", text: JSON.stringify(message) }) as const;
  const diff = "--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-one\n+two\n";

  it.each<[string, object]>([
    ["a diff", { path: "a.ts", diff }],
    ["an edit tool's input", { path: "a.ts", old_str: "one\n", new_str: "two\n" }],
    ["the input under other names", { file_path: "a.ts", old_string: "one\n", new_string: "two\n" }],
    ["JSON in JSON", { arguments: JSON.stringify({ path: "a.ts", diff }) }],
  ])("are read: %s", async (_, input) => {
    for (const name of ["input_json", "arguments"]) {
      const texts = textsOfEntry(event({ id: "1", name: "edit", [name]: JSON.stringify(input) }));
      const { files, problems } = await new Review("x", texts).view();
      expect(problems).toEqual([]);
      expect(files).toMatchObject([{ path: "a.ts", changes: [{ lines: ["-one", "+two"] }] }]);
    }
    // As an object, as other protocols have it.
    expect((await new Review("x", textsOfEntry(event({ args: input }))).view()).files).toHaveLength(1);
  });

  it("are not read of an input that is still incomplete", () => {
    const half = JSON.stringify({ path: "a.ts", old_str: "one\n", new_str: "two\n" }).slice(0, -4);
    expect(textsOfEntry(event({ input_json: half }))).toEqual([]);
  });
});
