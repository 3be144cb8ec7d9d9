import { applyPatch, parseStrReplace } from "@parlance/edits";
import { expect, test } from "vitest";
import { random } from "../random.js";
import { seeded } from "../seed.js";

function make(text: string, call: object, given: boolean): string | null {
  const reading = parseStrReplace({ path: "f", ...call }, given ? { text } : {});
  const result = reading.ok ? applyPatch(reading.patch, text) : null;
  return result?.ok ? result.text : null;
}

test.each([
  ["a\nb\nc\n", "b\n", "B", "a\nB\nc\n"],
  ["a\nb\nc\n", "b", "B\n", "a\nB\nc\n"],
  ["a\nb\nc\n", "b", "B\n\n", "a\nB\n\nc\n"],
  ["a\nb\nc\n", "b\n", "\n", "a\n\nc\n"],
  ["a\nb\nc\n", "b", "\n", "a\n\nc\n"],
  ["a\nb\nc\n", "b\n", "", "a\nc\n"],
  ["a\nb", "b", "B\n", "a\nB"],
])("%j: %j to %j is %j with and without the text", (text, old_str, new_str, made) => {
  const call = { old_str, new_str };
  expect([true, false].map((given) => make(text, call, given))).toEqual([made, made]);
});

test("a string that ends within a line is replaced as it is written", () => {
  expect(make("a\nboo\nc\n", { old_str: "oo\n", new_str: "x" }, true)).toBe("a\nbx\nc\n");
  expect(make("a\nb c\n", { old_str: "b", new_str: "B\n" }, true)).toBe("a\nB\n c\n");
});

test("calls about whole lines mean the same with and without the text", () => {
  const seed = seeded(20_261_126);
  const dice = random(seed);
  const feed = () => dice.pick(["", "\n"]);
  for (let round = 0; round < 2_000; round++) {
    const lines = Array.from({ length: 6 }, (_, i) => `${dice.pick(["x", "y", ""])}${i}`);
    const from = dice.below(lines.length);
    const old_str = lines.slice(from, from + 1 + dice.below(3)).join("\n") + feed();
    const new_str = Array.from({ length: dice.below(3) + 1 }, () => dice.pick(["n", "m", "k"])).join("\n") + feed();
    const text = `${lines.join("\n")}\n`;
    const [given, alone] = [true, false].map((each) => make(text, { old_str, new_str }, each));
    expect(given, JSON.stringify({ text, old_str, new_str })).toBe(alone);
    expect(given).not.toBeNull();
  }
});
