import { createPatch } from "@parlance/edits";
import fc from "fast-check";
import { expect, test } from "vitest";
import { writeStrReplace } from "./writers.js";

const text = fc
  .tuple(fc.array(fc.constantFrom("x", "y", "z", ""), { maxLength: 6 }), fc.boolean())
  .map(([lines, ends]) => lines.join("\n") + (ends && lines.length > 0 ? "\n" : ""));

test("a plain tool that replaces a string which occurs once makes the new text of what is written, or refuses", () => {
  let made = 0;
  fc.assert(
    fc.property(text, text, fc.constantFrom(0, 1, 3), (old, now, context) => {
      fc.pre(old !== "" && now !== "");
      const written = writeStrReplace(createPatch(old, now, { path: "f", context }));
      if (written === null) return;
      let done = old;
      for (const call of JSON.parse(written)) {
        if (call.command !== "str_replace") return;
        const { old_str, new_str } = call;
        const at = done.indexOf(old_str);
        expect(at, JSON.stringify({ old, now, call })).toBeGreaterThanOrEqual(0);
        // The patch does not tell what else the file has.
        if (done.indexOf(old_str, at + 1) !== -1) return;
        done = done.slice(0, at) + new_str + done.slice(at + old_str.length);
      }
      expect(done, JSON.stringify({ old, now, written })).toBe(now);
      made++;
    }),
    { numRuns: 1000 },
  );
  expect(made).toBeGreaterThan(100);
});
