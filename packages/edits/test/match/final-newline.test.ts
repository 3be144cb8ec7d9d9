import { applyPatch, parsePatch, parseStrReplace } from "@parlance/edits";
import fc from "fast-check";
import { expect, test } from "vitest";

const line = fc.constantFrom("x", "y", "z", "if x:", "  y");
const lines = (most: number) => fc.array(line, { minLength: 1, maxLength: most });

/** What becomes of a text, without the newline at its end. */
function outcome(text: string, [old, now]: readonly string[][], header: string): string {
  const hunk = [...old!.map((each) => `-${each}`), ...now!.map((each) => `+${each}`)].join("\n");
  const reading = parsePatch(`--- a/f\n+++ b/f\n${header}\n${hunk}\n`);
  if (!reading.ok) return "unread";
  const result = applyPatch(reading.patch, text);
  return result.ok ? result.text.replace(/\n$/, "") : result.conflicts[0]!.reason;
}

test("a change that is taken belongs where it does in the same text with a newline at its end", () => {
  fc.assert(
    fc.property(lines(7), lines(2), lines(2), fc.constantFrom("@@ @@", "@@ -3 +3 @@"), (all, old, now, header) => {
      fc.pre(old.join("\n") !== now.join("\n"));
      const text = all.join("\n");
      const [without, ending] = [text, `${text}\n`].map((each) => outcome(each, [old, now], header));
      if (without === "ambiguous") return;
      expect({ text, old, now, header, without }).toEqual({ text, old, now, header, without: ending });
    }),
    { numRuns: process.env.PARLANCE_LONG ? 50_000 : 2000 },
  );
});

test.each([
  ["x\ny\nx", "x"],
  ["x\nk\ny\nx\nk", "x\nk"],
  ["x\nk\ny\nx\nk", "x\nk\n"],
])("an old string that stands at the end of %j too is ambiguous", (text, old_str) => {
  const reading = parseStrReplace({ path: "f", old_str, new_str: "Q" });
  expect(reading.ok && applyPatch(reading.patch, text)).toMatchObject({
    ok: false,
    conflicts: [{ reason: "ambiguous" }],
  });
});
