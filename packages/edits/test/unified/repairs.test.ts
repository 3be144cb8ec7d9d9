import { formatPatch, type ParseOptions, parsePatch } from "@parlance/edits";
import { describe, expect, it } from "vitest";

const HEAD = "--- a/x\n+++ b/x\n";
const BODY = " one\n-two\n+2\n \n three\n";
const CLEAN = `${HEAD}@@ -1,4 +1,4 @@\n${BODY}`;
const MEANT = parsePatch(CLEAN);

// Each of these means CLEAN, but for what `formatted` says.
const CASES: { name: string; text: string; repairs: string[]; formatted?: string; options?: ParseOptions }[] = [
  { name: "nothing to repair", text: CLEAN, repairs: [] },
  { name: "counts too large", text: CLEAN.replace("-1,4 +1,4", "-1,9 +1,7"), repairs: ["wrong-count:3"] },
  { name: "counts too small", text: CLEAN.replace("-1,4 +1,4", "-1,2 +1,2"), repairs: ["wrong-count:3"] },
  { name: "counts too small by all", text: CLEAN.replace("-1,4 +1,4", "-1 +1"), repairs: ["wrong-count:3"] },
  {
    name: "counts too large before the next file",
    text: `${CLEAN.replace("-1,4 +1,4", "-1,5 +1,5")}${CLEAN.replaceAll("/x", "/y")}`,
    repairs: ["wrong-count:3"],
    formatted: `${CLEAN}${CLEAN.replaceAll("/x", "/y")}`,
  },
  {
    name: "dots for line numbers",
    text: `${HEAD}@@ ... @@\n${BODY}`,
    repairs: ["missing-line-numbers:3"],
    formatted: `${HEAD}@@ ... @@\n${BODY}`,
  },
  {
    name: "letters for line numbers",
    text: `${HEAD}@@ -XXX,XX +XXX,XX @@ class A\n${BODY}`,
    repairs: ["missing-line-numbers:3"],
    formatted: `${HEAD}@@ ... @@ class A\n${BODY}`,
  },
  {
    name: "nothing for line numbers",
    text: `${HEAD}@@\n${BODY}`,
    repairs: ["missing-line-numbers:3"],
    formatted: `${HEAD}@@ ... @@\n${BODY}`,
  },
  { name: "blanks in the hunk header", text: CLEAN.replace("+1,4 @@", " +1,4  @@"), repairs: ["hunk-header:3"] },
  { name: "context without its space", text: CLEAN.replace(" one\n", "one\n"), repairs: ["missing-space:4"] },
  {
    name: "last context line without its space",
    text: CLEAN.replace(" three\n", "three\n"),
    repairs: ["missing-space:8"],
  },
  { name: "blank context as an empty line", text: CLEAN.replace("\n \n", "\n\n"), repairs: ["blank-context:7"] },
  {
    name: "blank context and wrong counts",
    text: CLEAN.replace("\n \n", "\n\n").replace("-1,4 +1,4", "-1,3 +1,3"),
    repairs: ["blank-context:7", "wrong-count:3"],
  },
  { name: "no final newline", text: CLEAN.slice(0, -1), repairs: ["missing-final-newline:8"] },
  { name: "no a/ and b/", text: CLEAN.replace("a/x", "x").replace("b/x", "x"), repairs: ["missing-prefix:1"] },
  {
    name: "no a/ and b/ in a folder",
    text: CLEAN.replace("a/x", "src/x").replace("b/x", "src/x"),
    repairs: ["missing-prefix:1"],
    formatted: CLEAN.replace("a/x", "a/src/x").replace("b/x", "b/src/x"),
  },
  {
    name: "an absolute path",
    text: CLEAN.replace("a/x", "a//home/x").replace("b/x", "b//home/x"),
    repairs: ["absolute-path:1"],
    formatted: CLEAN.replace("a/x", "a//home/x").replace("b/x", "b//home/x"),
  },
  { name: "folders of two versions", text: CLEAN.replace("a/x", "old/x").replace("b/x", "new/x"), repairs: [] },
  { name: "a backup's name", text: CLEAN.replace("a/x", "a/x.orig"), repairs: [] },
  {
    name: "an empty line behind every line",
    text: CLEAN.replaceAll("\n", "\n\n"),
    repairs: ["doubled-lines:1"],
  },
  {
    name: "a fence in prose",
    text: `Here it is:\n\n\`\`\`diff\n${CLEAN}\`\`\`\n\nIt does:\n- one thing\n+ another\n`,
    repairs: [],
  },
  {
    name: "a fence and wrong counts",
    text: `\`\`\`diff\n${CLEAN.replace("-1,4 +1,4", "-1,9 +1,9")}\`\`\`\nThat is all.\n`,
    repairs: ["wrong-count:4"],
  },
  {
    name: "prose behind a patch with wrong counts",
    text: `${CLEAN.replace("-1,4 +1,4", "-1,9 +1,9")}\nThat is all. I have:\n\n- done it\n`,
    repairs: ["wrong-count:3"],
  },
  {
    name: "fences of the file, without their space, in a patch that stands in none",
    text: `${HEAD}@@ -1,6 +1,6 @@\n # Run\n\`\`\`\n-old\n+new\n\`\`\`\n-more\n+less\n end\n`,
    repairs: ["missing-space:5", "missing-space:8"],
    formatted: `${HEAD}@@ -1,6 +1,6 @@\n # Run\n \`\`\`\n-old\n+new\n \`\`\`\n-more\n+less\n end\n`,
  },
  {
    name: "fences of the file, without line numbers",
    text: `${HEAD}@@ ... @@\n~~~\n-old\n+new\n~~~\n-more\n+less\n`,
    repairs: ["missing-space:4", "missing-space:7", "missing-line-numbers:3"],
    formatted: `${HEAD}@@ ... @@\n ~~~\n-old\n+new\n ~~~\n-more\n+less\n`,
  },
  {
    name: "a fence of three in a fence of four",
    text: `\`\`\`\`diff\n${HEAD}@@ -1,3 +1,3 @@\n\`\`\`\n-old\n+new\n\`\`\`\n\`\`\`\`\n`,
    repairs: ["missing-space:5", "missing-space:8"],
    formatted: `${HEAD}@@ -1,3 +1,3 @@\n \`\`\`\n-old\n+new\n \`\`\`\n`,
  },
  { name: "carriage returns in the headers", text: CLEAN.replaceAll("x\n", "x\r\n"), repairs: ["carriage-return:1"] },
  { name: "a byte order mark", text: `\ufeff${CLEAN}`, repairs: [] },
  {
    name: "no file header, but a path",
    text: CLEAN.slice(HEAD.length),
    options: { path: "x" },
    repairs: ["missing-file-header:1"],
  },
  {
    name: "a hunk that changes nothing",
    text: `${HEAD}@@ -9 +9 @@\n same\n@@ -1,4 +1,4 @@\n${BODY}`,
    repairs: ["empty-hunk:3"],
  },
  {
    name: "no newline at the end, said of a line in the middle",
    text: CLEAN.replace(" one\n", " one\n\\ No newline at end of file\n"),
    repairs: ["misplaced-no-newline:9"],
  },
];

describe("Lenient reading repairs and lists", () => {
  it.each(CASES)("$name", ({ text, repairs, formatted, options }) => {
    const reading = parsePatch(text, options);
    if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
    expect(reading.repairs.map(({ kind, line }) => `${kind}:${line}`)).toEqual(repairs);
    if (formatted === undefined) expect(reading.patch).toEqual(MEANT.ok && MEANT.patch);
    else expect(formatPatch(reading.patch)).toBe(formatted);
  });
});

describe("A patch is refused", () => {
  const REFUSED: { name: string; text: string; errors: string[]; strict?: true }[] = [
    { name: "an empty text", text: "", errors: ["no-hunk:1"] },
    { name: "prose", text: "I would change line 3.\n--- \n+++\n", errors: ["no-hunk:1"] },
    { name: "headers without a hunk", text: HEAD, errors: ["no-hunk:1"] },
    {
      name: "a git header without a change",
      text: "diff --git a/x b/x\nindex 1234567..89abcde 100644\n",
      errors: ["no-hunk:1"],
    },
    { name: "a hunk that changes nothing", text: `${HEAD}@@ -1 +1 @@\n same\n`, errors: ["no-hunk:1"] },
    { name: "a hunk without a file", text: CLEAN.slice(HEAD.length), errors: ["no-file-header:1"] },
    { name: "headers glued together", text: "--- a/x+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", errors: ["glued-header:1"] },
    { name: "everything on one line", text: "--- a/x+++ b/x@@ -1 +1 @@-a+b", errors: ["glued-header:1"] },
    {
      name: "a hunk header glued to a path",
      text: "--- a/x\n+++ b/x@@ -1 +1 @@\n-a\n+b\n",
      errors: ["glued-header:2"],
    },
    { name: "a line glued to the hunk header", text: `${HEAD}@@ -1 +1 @@-a\n+b\n`, errors: ["glued-header:3"] },
    {
      name: "git's header glued",
      text: "diff --git a/x b/xindex 1234567..89abcde 100644\n--- a/x\n+++ b/x\n",
      errors: ["glued-header:1"],
    },
    {
      name: "binary files",
      text: "diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n",
      errors: ["binary:3"],
    },
    {
      name: "a binary patch",
      text: "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZQ\n",
      errors: ["binary:3"],
    },
    {
      name: "a merge's diff",
      text: "diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n- a\n -b\n++c\n",
      errors: ["combined-diff:1"],
    },
    {
      name: "a created file with old lines",
      text: "--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
      errors: ["bad-hunk:3"],
    },
    {
      name: "a deleted file with lines left",
      text: "--- a/x\n+++ /dev/null\n@@ -1,2 +1 @@\n-a\n b\n",
      errors: ["bad-hunk:3"],
    },
    { name: "a wrong count, strictly", text: CLEAN.replace("-1,4", "-1,5"), errors: ["bad-hunk:3"], strict: true },
    { name: "no line numbers, strictly", text: `${HEAD}@@ ... @@\n${BODY}`, errors: ["bad-hunk:3"], strict: true },
    { name: "no final newline, strictly", text: CLEAN.slice(0, -1), errors: ["bad-hunk:8"], strict: true },
    { name: "an absolute path, strictly", text: CLEAN.replaceAll("/x", "//x"), errors: ["bad-header:1"], strict: true },
  ];
  it.each(REFUSED)("for $name", ({ text, errors, strict }) => {
    const reading = parsePatch(text, { strict });
    const found = reading.ok ? [] : reading.errors.map(({ reason, line }) => `${reason}:${line}`);
    expect(found.slice(0, 1)).toEqual(errors);
  });

  it("and the message of a binary patch names the file", () => {
    const reading = parsePatch("diff --git a/x.png b/x.png\nindex 1..2\nBinary files a/x.png and b/x.png differ\n");
    expect(!reading.ok && reading.errors[0]!.message).toContain("x.png");
  });
});

describe("A hunk whose counts do not fit", () => {
  it.each<[counts: string, lines: readonly string[]]>([
    ["-1,3 +1,9", [" a", "-b", "+c", " d"]],
    ["-1,9 +1,3", [" a", "-b", "+c", " d"]],
    ["-1,4 +1,9", [" a", "-b", "+c", " d", " e"]],
    ["-1,9 +1,4", [" a", "-b", "+c", " d", " e"]],
  ])("has so many lines without a mark as both sides lack: %s", (counts, lines) => {
    const reading = parsePatch(`${HEAD}@@ ${counts} @@\n a\n-b\n+c\nd\ne\n`);
    expect(reading).toMatchObject({ ok: true, patch: { files: [{ hunks: [{ lines }] }] } });
  });
});

it("Prose right behind a hunk that its counts fit leaves no doubt of what stands behind the fence", () => {
  const text = `\`\`\`diff\n${HEAD}@@ -1 +1 @@\n-a\n+b\nprose\n\`\`\`\n\n-c is an option.\n`;
  expect(parsePatch(text)).toMatchObject({ ok: true, patch: { files: [{ hunks: [{ lines: ["-a", "+b"] }] }] } });
});

it("A deleted and an added line that look like names are lines of the hunk where no @@ line follows", () => {
  const lines = [" a", "--- x", "+++ y", " b"];
  const reading = parsePatch(`${HEAD}@@ -1,3 +1,3 @@\n${lines.join("\n")}\n`);
  expect(reading).toMatchObject({ ok: true, patch: { files: [{ hunks: [{ lines }] }] }, repairs: [] });
});
