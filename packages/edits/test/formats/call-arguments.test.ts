import { type EditEvent, parseStrReplace, readCall } from "@parlance/edits";
import { expect, test } from "vitest";
import { measureGrowth } from "../growth.js";
import { random } from "../random.js";
import { seeded } from "../seed.js";

const seed = seeded(20_261_126);

/** The events of arguments that come in these pieces, adjacent progress joined. */
function eventsOf(pieces: Iterable<string>, options: Parameters<typeof readCall>[0] = {}): EditEvent[] {
  const reader = readCall(options);
  const joined: EditEvent[] = [];
  const events = [...pieces].flatMap((piece) => reader.push(piece));
  for (const event of [...events, ...reader.end()]) {
    const last = joined.at(-1);
    if (event.type === "progress" && last?.type === "progress")
      joined[joined.length - 1] = { ...last, text: last.text + event.text };
    else joined.push(event);
  }
  return joined;
}

const PATCH = "*** Begin Patch\n*** Update File: a.js\n@@\n k\n-a\n+b\n*** End Patch\n";
const DIFF = "--- a/a.js\n+++ b/a.js\n@@ -1,2 +1,2 @@\n k\n-a\n+b\n";
const BLOCK = "a.js\n<<<<<<< SEARCH\nk\na\n=======\nk\nb\n>>>>>>> REPLACE\n";

const CALLS: readonly (readonly [what: string, call: object, progress: string])[] = [
  [
    "str_replace",
    { command: "str_replace", path: "a.js", old_str: "a", new_str: 'b "\n\t\\ é 😀 \u2028' },
    'b "\n\t\\ é 😀 \u2028',
  ],
  ["create", { command: "create", path: "a.js", file_text: "one\ntwo\n" }, "one\ntwo\n"],
  ["a whole file", { file_path: "a.js", content: "one\n" }, "one\n"],
  ["an insertion", { command: "insert", path: "a.js", insert_line: 1, new_str: "x\n" }, "x\n"],
  [
    "a list of edits",
    {
      path: "a.js",
      edits: [
        { old_string: "a", new_string: "b" },
        { old_string: "c", new_string: "d\n" },
      ],
    },
    "b\nd\n",
  ],
  [
    "a provider's envelope",
    { name: "edit", arguments: JSON.stringify({ path: "a.js", old_str: "a", new_str: "b\n" }) },
    "b\n",
  ],
  ["Begin Patch", { input: PATCH }, "k\nb\n"],
  ["a unified diff", { path: "a.js", patch: DIFF }, "k\nb\n"],
  ["a diff of blocks", { path: "a.js", diff: BLOCK }, "k\nb\n"],
];

test.each(CALLS)(
  "gives the path, the new text and the edit of %s, however its arguments are cut",
  (_, call, progress) => {
    const dice = random(seed);
    for (const text of [
      JSON.stringify(call),
      JSON.stringify(call, null, 2),
      JSON.stringify(call).replace(/[^\0-~]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`),
    ]) {
      const whole = eventsOf([text]);
      expect(whole.map(({ type }) => type).filter((type) => type !== "path")).toEqual(["start", "progress", "edit"]);
      expect(whole).toContainEqual({ type: "path", edit: 0, path: "a.js" });
      expect(whole).toContainEqual({ type: "progress", edit: 0, text: progress });
      expect(whole.at(-1)).toMatchObject({ patch: { files: [{ after: "a.js" }] } });
      expect(eventsOf(text.split(""))).toEqual(whole);
      for (let round = 0; round < 50; round++) {
        const at = dice.below(text.length);
        expect(eventsOf([text.slice(0, at), text.slice(at)])).toEqual(whole);
      }
    }
  },
);

test("gives progress as the text arrives, without waiting for the end of a line", () => {
  const reader = readCall();
  reader.push('{"path": "a.js", "new_str": "');
  expect(reader.push("hello wor")).toEqual([{ type: "progress", edit: 0, text: "hello wor" }]);
  expect(reader.push("ld\\")).toEqual([{ type: "progress", edit: 0, text: "ld" }]);
  expect(reader.push("n")).toEqual([{ type: "progress", edit: 0, text: "\n" }]);
});

test("reads the text at hand as parseStrReplace does", () => {
  const call = { path: "a.js", old_str: "a", new_str: "b" };
  const [, , , edit] = eventsOf([JSON.stringify(call)], { text: "x a\n" });
  const reading = parseStrReplace(call, { text: "x a\n" });
  expect(reading.ok && reading.patch).toEqual(edit?.type === "edit" && edit.patch);
});

test.each<[what: string, text: string, reason: string, options?: object]>([
  ["a call that is cut off", '{"path": "a.js", "new_str": "b', "unfinished"],
  ["nothing", "", "unfinished"],
  ["a call that is no edit", '{"command": "view", "path": "a.js"}', "bad-block"],
  ["no JSON", "{]", "no-hunk"],
  ["a patch that breaks its format", JSON.stringify({ input: "*** Begin Patch\n*** End Patch\n" }), "no-hunk"],
  ["a patch beside a call", JSON.stringify([{ input: PATCH }, { path: "a.js", content: "" }]), "no-hunk"],
  ["a call beyond the limit", JSON.stringify({ path: "a.js", content: "x".repeat(99) }), "too-long", { limit: 50 }],
])("ends %s with an error", (_, text, reason, options) => {
  for (const pieces of [[text], text.split("")]) {
    const events = eventsOf(pieces, options);
    expect(events.at(-1)).toMatchObject({ type: "error", error: { reason } });
    expect(events.some(({ type }) => type === "edit")).toBe(false);
  }
});

test("takes twice the time for twice the text, in pieces of one and of many", async () => {
  for (const size of [1, 4096])
    for (const make of [
      (n: number) => JSON.stringify({ path: "a", content: 'a "line"\n'.repeat(n) }),
      (n: number) => JSON.stringify({ input: `*** Begin Patch\n*** Add File: a\n${"+x\n".repeat(n)}*** End Patch\n` }),
      (n: number) => "[".repeat(9 * n),
    ]) {
      const ratio = await measureGrowth(
        (n) => {
          const text = make(n);
          return () => {
            const reader = readCall();
            for (let at = 0; at < text.length; at += size) reader.push(text.slice(at, at + size));
            reader.end();
          };
        },
        size === 1 ? 2_000 : 8_000,
        2.6,
        1_000,
      );
      expect(ratio).toBeLessThanOrEqual(2.6);
    }
});
