import { parseEdits } from "@parlance/edits";
import { expect, test } from "vitest";

const edit = { path: "f", old_str: "a", new_str: "b" };

/** The lines of the files' changes; the reason and the line of an error; or null where the fence is text. */
function read(value: unknown, info = "json") {
  const reading = parseEdits(`Some prose.\n\n\`\`\`${info}\n${JSON.stringify(value, null, 1)}\n\`\`\`\n`);
  if (reading.ok)
    return reading.patch.files.flatMap(({ hunks }) => hunks.map(({ lines }) => lines.join(" "))).join(", ");
  const [{ reason, line }] = reading.errors as [(typeof reading.errors)[number]];
  return reason === "no-hunk" ? null : `${reason} ${line}`;
}

test.each<[value: unknown, read: string | null]>([
  [edit, "-a +b"],
  [[edit, edit], "-a +b, -a +b"],
  [[edit, { a: 1 }], "bad-block 7"],
  [{ command: "create", path: "f", file_text: "a" }, "+a"],
  [{ path: "f", file_text: "a" }, "+a"],
  [{ path: "f", content: "a" }, "+a"],
  [{ path: "f", command: "view", content: "a" }, null],
  [{ path: "f", command: "insert", insert_line: 1, new_str: "x" }, "+x"],
  [{ path: "f", insert_line: 1, new_str: "x" }, "+x"],
  [{ path: "f", command: "insert", insert_line: 1 }, "bad-block 3"],
  [{ path: "f", command: "insert", new_str: "x" }, null],
  [{ path: "f", old_str: "", new_str: "x" }, "+x"],
  [{ path: "f", old_str: "a" }, "bad-block 6"],
  [{ path: "f", new_str: "a" }, null],
  [{ path: "f", command: "view", old_str: "a", new_str: "b" }, "bad-block 3"],
  [{ old_str: "a", new_str: "b" }, "no-path 3"],
  [{ ...edit, replace_all: true }, "ambiguous 3"],
  [{ ...edit, new_str: "a" }, ""],
  [[], null],
  [{}, null],
])("%j in a fence is read as %j", (value, made) => {
  expect(read(value)).toBe(made);
});

test.each<[info: string, isRead: boolean]>([
  ["", true],
  ["json", true],
  ["jsonc", true],
  ["str_replace", true],
  ["tool_call", true],
  ["tool_use", true],
  ["js", false],
  ["json5", false],
])("a call in a fence of %j is one: %j", (info, isRead) => {
  expect(read(edit, info)).toBe(isRead ? "-a +b" : null);
});

test("a call that changes nothing is listed at the line of its fence", () => {
  const reading = parseEdits(`a\n\`\`\`json\n${JSON.stringify({ ...edit, new_str: "a" })}\n\`\`\`\n`);
  expect(reading).toMatchObject({ ok: true, repairs: [{ kind: "no-change", line: 2 }] });
});
