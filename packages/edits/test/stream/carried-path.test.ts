import { parseEdits, parsePatch } from "@parlance/edits";
import { describe, expect, test } from "vitest";

const block = (search: string, replace: string) => `<<<<<<< SEARCH\n${search}\n=======\n${replace}\n>>>>>>> REPLACE\n`;

/** The file that the second block is about. */
function second(between: string, path?: string): string {
  const reading = parseEdits(`src/a.js\n${block("k", "K")}${between}${block("q", "Q")}`, path ? { path } : {});
  if (!reading.ok) return reading.errors[0]!.reason;
  return reading.patch.files.find(({ hunks }) => hunks.some(({ lines }) => lines.includes("+Q")))!.after!;
}

describe("a block without a path", () => {
  const cases: [expected: string, between: string[]][] = [
    [
      "b.js",
      [
        "Now in b.js:\n",
        "Now in `b.js`:\n```js\n",
        "Update `b.js`:\n\n```\n",
        "### 2. Update `b.js`\n",
        "### b.js\n\nThe name is wrong there:\n\n",
        "For b.js\n",
        "File b.js\n",
        "Next, update ./b.js.\n\n```js\n",
        "And the same in **b.js**\n```\n",
        "b.js — another edit\n",
        "2. b.js - rename a\n```\n",
        "It stays here.\n\nThen b.js:\n```\n",
        "In [b.js](b.js):\n",
        "I'll change `b.js` now:\n",
        "Let's update b.js as follows:\n",
        "Here is the change to `b.js`:\n",
        "It was:\n\n```js\nrun();\n```\n\nNow in b.js:\n",
        "```\nb.js\n```\n",
      ],
    ],
    [
      "no-path",
      [
        "As b.js imports it, rename it:\n",
        "I'll change it like `b.js` now:\n",
        "In b.js and c.js:\n",
        "The other end is in `b.js`.\n\nHere:\n",
        "In b.js we need this, and in src/a.js too:\n",
        `${"A long line. ".repeat(200)}It is used in lib/b.py as well.\n`,
        "b.js\n\nis done. Now:\n\nThe same for c.ts.\nc.ts uses d.ts.\n",
      ],
    ],
    [
      "src/a.js",
      [
        "",
        "And then:\n",
        "Also in a.js:\n",
        "Further down in `src/a.js`, where it is used:\n```js\n",
        "Node.js has `user.name` and console.log(x.y), e.g. in v1.2 (see https://x.org/b.js):\n",
        "It looks so:\n\n```js\nimport x from './b.js';\n```\n\nSo:\n\n",
        "This calls `load(b.js)`.\n",
      ],
    ],
  ];
  test.each(cases.flatMap(([expected, all]) => all.map((between) => [expected, between] as const)))(
    "is about %s behind %j",
    (expected, between) => {
      expect(second(between)).toBe(expected);
      // The path that the caller gives is that of the first blocks, not an answer to a doubt.
      expect(second(between, "default.js")).toBe(expected);
    },
  );
});

test.each<[string, string | undefined, string]>([
  ["I'll change `b.js` now:\n\n", undefined, "b.js"],
  ["I'll change `b.js` now:\n\n", "open.js", "b.js"],
  ["I read `b.js`. I'll change it:\n\n", undefined, "no-path"],
  ["I read `b.js`. I'll change it:\n\n", "open.js", "open.js"],
  ["In `b.js`:\n\n`c.js` calls it.\n\n", "open.js", "open.js"],
  ["```\na.js\nb.js\n```\nThe change:\n\n", undefined, "no-path"],
])("the first block behind %j, with the path %j given, is about %s", (prose, path, expected) => {
  const reading = parseEdits(`${prose}${block("k", "K")}`, path === undefined ? {} : { path });
  expect(reading.ok ? reading.patch.files[0]!.after : reading.errors[0]!.reason).toBe(expected);
});

test.each([
  ["names another file", "Now in b.js:", "src/a.js,b.js"],
  ["names two", "As a.js has it, so b.js:", "no-file-header"],
  ["names the same", "Further down in a.js:", "a.js"],
  ["names none", "And then, e.g. for Node.js:", "a.js"],
])("a hunk without a header behind prose that %s", (_what, prose, expected) => {
  const text = `--- a/src/a.js\n+++ b/src/a.js\n@@ -1 +1 @@\n-k\n+K\n\n${prose}\n\n@@ -9 +9 @@\n-q\n+Q\n`;
  for (const options of [{}, { path: "default.js" }]) {
    const reading = parsePatch(text, options);
    const found = reading.ok ? reading.patch.files.map(({ after }) => after).join() : reading.errors[0]!.reason;
    expect(found).toBe(expected === "a.js" ? "src/a.js" : expected);
  }
});
