import { expect, test } from "vitest";
import { type EditOptions, readEdits } from "../../src/read/edits.js";

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

const PATCH = "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n";

test.each<[what: string, text: string, read: readonly string[]]>([
  ["in no fence", PATCH, ["unfinished"]],
  ["in a fence that goes on", `\`\`\`\n${PATCH}`, ["unfinished"]],
  ["in a fence that ends", `\`\`\`\n${PATCH}\`\`\`\n`, ["edit"]],
  ["before another one", `${PATCH}${PATCH}*** End Patch\n`, ["unfinished", "doubtful"]],
  ["before another one in a fence", `\`\`\`\n${PATCH}${PATCH}*** End Patch\n\`\`\`\n`, ["edit", "edit"]],
])("A patch without its *** End Patch is unfinished, unless a fence ends it: %s", (_, text, read) => {
  for (const complete of [true, false]) {
    const reader = readEdits();
    const events = [...reader.push(text), ...reader.end({ complete })];
    const told = events.flatMap((event) =>
      event.type === "error" ? event.error.reason : ["edit", "doubtful"].includes(event.type) ? event.type : [],
    );
    expect(told).toEqual(read);
  }
});
