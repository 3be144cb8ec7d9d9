import { parsePatch } from "@parlance/edits";
import { expect, test } from "vitest";
import { checkShape } from "../../src/node/shape.js";
import { REASONS, REPAIRS } from "../../src/reading.js";

// What a model or a user reads of a refusal: a sentence for each reason.

test("each reason and repair of a unified diff has a sentence of its own", () => {
  const sentences = Object.values({ ...REPAIRS, ...REASONS });
  expect(new Set(sentences).size).toBe(sentences.length);
  for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z`][^.]+( [^.]+){2,}\.$/);
});

const file = {
  kind: "modify",
  before: "f",
  after: "f",
  hunks: [{ id: "1", oldStart: 1, newStart: 1, lines: ["-a", "+b"] }],
};
const [hunk] = file.hunks;
const hunkWith = (change: object) => ({ ...file, hunks: [{ ...hunk, ...change }] });

test.each<[file: unknown, problem: string | null]>([
  [file, null],
  [null, "is not an object"],
  ["x", "is not an object"],
  [{ ...file, kind: "toString" }, 'has the kind "toString"'],
  [{ ...file, kind: 7 }, "has the kind 7"],
  [{ ...file, before: null }, "is a modify with before: null"],
  [{ ...file, kind: "create" }, 'is a create with before: "f"'],
  [{ ...file, kind: "delete" }, 'is a delete with after: "f"'],
  [{ ...file, kind: "rename", after: undefined }, "is a rename with after: undefined"],
  [{ ...file, kind: "copy", after: 1 }, "is a copy with after: 1"],
  [{ ...file, kind: "rename", after: "g" }, null],
  [{ ...file, after: "g" }, "is a modify with two different paths"],
  [{ ...file, oldMode: "755" }, 'has the mode "755"'],
  [{ ...file, newMode: 100755 }, "has the mode 100755"],
  [{ ...file, newMode: "1007558" }, 'has the mode "1007558"'],
  [{ ...file, git: { mode: "888888" } }, 'has the mode "888888"'],
  [{ ...file, git: null }, "has git: null"],
  [{ ...file, git: { index: 1 } }, "has index: 1"],
  [{ ...file, whole: false }, "has whole: false"],
  [{ ...file, oldStamp: 1 }, "has oldStamp: 1"],
  [{ ...file, newStamp: 1 }, "has newStamp: 1"],
  [{ ...file, reason: 1 }, "has reason: 1"],
  [{ ...file, hunks: {} }, "has no array of hunks"],
  [{ ...file, hunks: [] }, "changes nothing"],
  [{ ...file, hunks: [], newMode: "100755" }, null],
  [{ ...file, hunks: [], whole: true }, null],
  [{ ...file, hunks: [hunk, null] }, "has a hunk (number 2) that is not an object"],
  [hunkWith({ id: 1 }), "has a hunk (number 1) that has no id"],
  [hunkWith({ oldStart: -1 }), "has a hunk (number 1) that has the line number -1"],
  [hunkWith({ newStart: 0.5 }), "has a hunk (number 1) that has the line number 0.5"],
  [hunkWith({ newStart: undefined }), "has a hunk (number 1) that has the line number undefined"],
  [hunkWith({ oldStart: 0, newStart: null }), null],
  [hunkWith({ atEnd: "yes" }), 'has a hunk (number 1) that has atEnd: "yes"'],
  [hunkWith({ oldNoNewline: 1 }), "has a hunk (number 1) that has oldNoNewline: 1"],
  [hunkWith({ newNoNewline: false }), "has a hunk (number 1) that has newNoNewline: false"],
  [hunkWith({ section: 1 }), "has a hunk (number 1) that has section: 1"],
  [hunkWith({ anchors: "x" }), 'has a hunk (number 1) that has anchors: "x"'],
  [hunkWith({ anchors: ["x", 1] }), "has a hunk (number 1) that has the anchor 1"],
  [hunkWith({ lines: "x" }), "has a hunk (number 1) that has no array of lines"],
  [hunkWith({ lines: ["-a", 1] }), "has a hunk (number 1) that has the line 1"],
  [hunkWith({ lines: [""] }), 'has a hunk (number 1) that has the line ""'],
  [hunkWith({ lines: ["*a"] }), 'has a hunk (number 1) that has the line "*a"'],
  [hunkWith({ lines: ["+a\n+b"] }), 'has a hunk (number 1) that has the line "+a\\n+b"'],
  [hunkWith({ lines: [`*${"a".repeat(100)}`] }), `has a hunk (number 1) that has the line "*${"a".repeat(78)}`],
])("%j is a patch of one file, or has its problem named: %j", (value, problem) => {
  expect(checkShape(value)).toBe(problem);
});

test("a path of a move loses the folders that `strip` names, and none by default beside git's own", () => {
  const move = "diff --git a/x/f b/x/g\nsimilarity index 100%\nrename from x/f\nrename to x/g\n";
  const pathsOf = (options: object) => {
    const reading = parsePatch(move, options);
    return reading.ok && reading.patch.files.map(({ before, after }) => [before, after]);
  };
  expect(pathsOf({})).toEqual([["x/f", "x/g"]]);
  expect(pathsOf({ strip: 1 })).toEqual([["x/f", "x/g"]]);
  expect(pathsOf({ strip: 2 })).toEqual([["f", "g"]]);
});

const GIT = "diff --git a/f b/f\n";
const NAMES = "--- a/f\n+++ b/f\n";
const HUNK = "@@ -1 +1 @@\n-a\n+b\n";

test.each<[header: string, why: string, found?: string, options?: object]>([
  [`${GIT}new file mode 100644\ndeleted file mode 100644\n`, "it tells of two kinds of change"],
  [`${GIT}new file mode 100644\nold mode 100644\n`, "it tells of two kinds of change"],
  [`${GIT}new file mode 100644\n${NAMES}`, "only what is not there is /dev/null"],
  [`${GIT}deleted file mode 100644\n${NAMES}`, "only what is not there is /dev/null"],
  [`${GIT}old mode 10064x\nnew mode 100755\n`, "a mode is octal digits"],
  [`${GIT}old mode 100644\nnew mode 10075x\n`, "a mode is octal digits"],
  [`${GIT}index 1234567..89abcde 10064x\n${NAMES}`, "a mode is octal digits"],
  [`diff --git a/g b/g\n${NAMES}`, "its lines name different files"],
  ["diff --git a/f b/g\nrename from f\n", "it does not give two names that can be read"],
  ['--- "a/f\n+++ b/f\n', "it does not give two names that can be read"],
  [NAMES, "a name has fewer folders than `strip` takes off", '"b/f"', { strip: 2 }],
  ["--- a/f\n+++ /dev/null\n", "a name has fewer folders than `strip` takes off", '"a/f"', { strip: 2 }],
  ["--- /dev/null\n+++ b/f\n", "a name has fewer folders than `strip` takes off", '"b/f"', { strip: 2 }],
])("the error of the header %j names its line and why: %s", (header, why, found, options) => {
  const shown = found ?? JSON.stringify(header.slice(0, header.indexOf("\n")));
  const message = `The header contradicts itself or cannot be read: ${why}: ${shown}.`;
  const error = { reason: "bad-header", message };
  expect(parsePatch(header + HUNK, options)).toEqual({ ok: false, errors: [{ ...error, line: 1 }] });
  const behind = parsePatch(`--- a/x/y/z\n+++ b/x/y/z\n${HUNK}${header}${HUNK}`, options);
  expect(behind).toEqual({ ok: false, errors: [{ ...error, line: 6 }] });
});

test("a list in the prose behind a file is none of the file that follows", () => {
  const text = `${NAMES}${HUNK}\nThis does:\n- c\n${NAMES.replaceAll("/f", "/g")}${HUNK}`;
  expect(parsePatch(text)).toMatchObject({ ok: true, patch: { files: [{ after: "f" }, { after: "g" }] } });
});
