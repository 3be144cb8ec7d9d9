import { expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { parsePatch } from "../../src/unified/parse.js";
import { type Random, random } from "../random.js";
import { seeded } from "../seed.js";

const rounds = process.env.PARLANCE_LONG ? 50_000 : 1_500;
const from = seeded(1);

/** A diff of one hunk, or of two that both drifted, and a text where the last one's old lines stand elsewhere and its own place is stale. */
function draw(dice: Random) {
  let count = 0;
  const words = ["open", "close", "read", "write", "send", "wait"];
  const line = () => `  ${dice.pick(words)}(${dice.pick(words)}, ${count++});`;
  const some = (least: number, more: number) => Array.from({ length: least + dice.below(more) }, line);
  const [before, behind] = [some(1, 3), some(1, 3)];
  const gone = dice.chance(0.8) ? some(1, 2) : [];
  const old = [...before, ...gone, ...behind];
  const at = dice.chance(0.5) ? dice.below(before.length) : old.length - 1 - dice.below(behind.length);
  const [kind, stale] = dice.pick([
    ["another line", old.with(at, line())],
    ["white space and another line", old.with(at, line()).map((each) => ` ${each}`)],
    ["a line more", old.toSpliced(Math.max(at, 1), 0, line())],
    ["a line less", old.toSpliced(at, 1)],
    ["another place", old.map(line)],
  ] as const);
  const [front, apart] = [some(2, 5), some(8, 20)];
  const parts = dice.pick([
    [stale, apart, old],
    [old, apart, stale],
  ]);
  const text = [...front, ...parts.flat(), ...some(1, 4)];
  // A hunk before it shows how far the text moved: further than the two copies are apart.
  const drift = dice.chance(0.3) ? 40 + dice.below(30) : 0;
  const start = 1 + text.indexOf(parts[0] === stale ? stale[0]! : apart.at(-1)!) + (parts[0] === stale ? 0 : 1);
  const lead = drift > 0 ? `@@ -1,2 +1,3 @@\n ${front[0]}\n+${line()}\n ${front[1]}\n` : "";
  const grown = drift > 0 ? 1 : 0;
  const hunk = `@@ -${start},${old.length} +${start + grown},${old.length - gone.length + 1} @@\n${[
    ...before.map((each) => ` ${each}`),
    ...gone.map((each) => `-${each}`),
    `+${line()}`,
    ...behind.map((each) => ` ${each}`),
  ].join("\n")}\n`;
  const moved = [...Array.from({ length: drift }, line), ...text];
  return { kind, patch: `--- a/a.js\n+++ b/a.js\n${lead}${hunk}`, text: `${moved.join("\n")}\n` };
}

test("a hunk whose old lines stand elsewhere is ambiguous where its own place fits but for one context line", () => {
  const counts = new Map<string, number>();
  for (let seed = from; seed < from + rounds; seed++) {
    const { kind, patch, text } = draw(random(seed));
    const reading = parsePatch(patch);
    if (!reading.ok) expect.fail(reading.errors[0]!.message);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    const result = applyPatch(reading.patch, text);
    const shown = `seed ${seed}: ${kind}\n${patch}\n${text}`;
    if (kind === "another place") expect(result, shown).toMatchObject({ ok: true });
    else expect(result, shown).toMatchObject({ ok: false, conflicts: [{ reason: "ambiguous" }] });
  }
  expect(Math.min(...counts.values())).toBeGreaterThan(rounds / 10);
});
