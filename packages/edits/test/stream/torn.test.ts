import { expect, test } from "vitest";
import { type EditOptions, readEdits } from "../../src/stream/read.js";

const HEAD = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n k\n-total = price * quantity\n";

function end(text: string, how?: { complete: boolean }, options: EditOptions = {}) {
  const reader = readEdits(options);
  return [...reader.push(text), ...reader.end(how)].filter(({ type }) => type === "edit" || type === "error");
}

test.each(["+", "+total = price * quan", "+total = price * quantity * tax", "+\ud83d", "+a\r", "+a\n\\ No newline at"])(
  "A stream that ends in a line of a bare diff, %j, is unfinished; a text that is known to be whole is not",
  (line) => {
    expect(end(HEAD + line)).toMatchObject([{ type: "error", error: { reason: "unfinished" } }]);
    expect(end(HEAD + line, { complete: true })).toMatchObject([{ type: "edit" }]);
    expect(end(`${HEAD}${line}\n`)).toMatchObject([{ type: "edit" }]);
  },
);

test("No beginning of a stream gives an edit that the whole stream does not give", () => {
  const second = HEAD.replaceAll("x", "y");
  for (const whole of [
    `${HEAD}+t\n\nThat is all.\n`,
    `Sure.\n\n${HEAD}+t\n${second}+t = 1\n`,
    `${HEAD}+t\n k\n\n- a list\n`,
  ]) {
    const added = new Set(whole.split("\n"));
    for (let at = 1; at < whole.length; at++)
      for (const event of end(whole.slice(0, at)))
        if (event.type === "edit")
          for (const { hunks } of event.patch.files)
            for (const { lines } of hunks) expect(lines.filter((line) => !added.has(line))).toEqual([]);
  }
});
