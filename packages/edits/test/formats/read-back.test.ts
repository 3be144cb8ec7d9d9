import { expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { createPatch } from "../../src/diff/create.js";
import type { Patch } from "../../src/patch.js";
import { parseBeginPatch } from "../../src/read/begin-patch.js";
import { parseEditBlocks } from "../../src/read/edit-block.js";
import { parseSearchReplace } from "../../src/read/search-replace.js";
import { parseStrReplace } from "../../src/read/str-replace.js";
import type { Reading } from "../../src/reading.js";
import { formatPatch, parsePatch } from "../../src/unified/parse.js";
import { type Random, random } from "../random.js";
import { seeded } from "../seed.js";
import { writeBeginPatch, writeDashes, writeEditBlocks, writeSearchReplace, writeStrReplace } from "./writers.js";

const rounds = process.env.PARLANCE_LONG ? 100_000 : 1_500;
const from = seeded(1);

/** Writes a patch and reads it again, with the text at hand; null where the writer refuses. */
type Round = (patch: Patch, text: string) => Reading | null;

const formats: Readonly<Record<string, Round>> = {
  "unified diffs": (patch) => parsePatch(formatPatch(patch)),
  "Begin Patch": (patch) => through(writeBeginPatch(patch), parseBeginPatch),
  "SEARCH/REPLACE": (patch) => through(writeSearchReplace(patch), parseSearchReplace),
  "SEARCH/REPLACE with lines": (patch) => through(writeDashes(patch), parseSearchReplace),
  "edit blocks": (patch) => through(writeEditBlocks(patch), parseEditBlocks),
  str_replace: (patch) => through(writeStrReplace(patch), parseStrReplace),
  "str_replace with the text": (patch, text) =>
    through(writeStrReplace(patch), (calls) => parseStrReplace(calls, { text })),
};

function through(written: string | null, parse: (text: string) => Reading): Reading | null {
  return written === null ? null : parse(written);
}

/** A text of few different lines, and a change of it with little context or none. */
function draw(dice: Random) {
  const words = ["a", "b", "c", "", "}", "  x", "y"].slice(0, 2 + dice.below(6));
  const old = Array.from({ length: 1 + dice.below(14) }, () => dice.pick(words));
  const lines = [...old];
  for (let i = dice.below(3); i >= 0; i--)
    lines.splice(
      dice.below(lines.length + 1),
      dice.below(2),
      ...[dice.pick(["N", "M", "a", "b", ""])].slice(dice.below(2)),
    );
  const [before, after] = [old, lines].map((each) => each.join("\n") + (dice.chance(0.8) ? "\n" : ""));
  return {
    before: before!,
    after: after!,
    patch: createPatch(before!, after!, { path: "a.js", context: dice.below(4) }),
  };
}

test.each(Object.entries(formats))(
  "what is written as %s and read again makes the new text or is refused",
  (_, round) => {
    let made = 0;
    for (let seed = from; seed < from + rounds; seed++) {
      const { before, after, patch } = draw(random(seed));
      const reading = before === after ? null : round(patch, before);
      const result = reading?.ok ? applyPatch(reading.patch, before) : null;
      if (!result?.ok) continue;
      made++;
      expect(result.text, `seed ${seed}: ${JSON.stringify(patch)}`).toBe(after);
    }
    expect(made).toBeGreaterThan(rounds / 3);
  },
);
