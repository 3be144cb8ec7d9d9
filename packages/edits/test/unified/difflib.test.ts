import { spawnSync } from "node:child_process";
import { applyPatch, formatPatch, parseEdits, parsePatch } from "@parlance/edits";
import { describe, expect, it, test } from "vitest";
import { random } from "../random.js";
import { seeded } from "../seed.js";
import { editText, readSources } from "../sources.js";

// The diffs of AgentSmithy's server: Python's difflib keeps the line feeds and leaves them off its own lines, and all are joined by more.
const HEAD = "--- a//home/me/app/x.py\n+++ b//home/me/app/x.py\n";

const CASES: { name: string; diff: string; before: string; after: string }[] = [
  {
    name: "a changed line",
    diff: `${HEAD}@@ -1,3 +1,3 @@\n a\n\n-b\n\n+B\n\n c\n`,
    before: "a\nb\nc\n",
    after: "a\nB\nc\n",
  },
  {
    name: "two hunks",
    diff: `${HEAD}@@ -1,4 +1,4 @@\n-a\n\n+A\n\n b\n\n c\n\n d\n\n@@ -7,4 +7,3 @@\n g\n\n h\n\n i\n\n-j\n`,
    before: "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n",
    after: "A\nb\nc\nd\ne\nf\ng\nh\ni\n",
  },
  {
    name: "blank lines in the file",
    diff: `${HEAD}@@ -1,3 +1,4 @@\n a\n\n \n\n+\n\n c\n`,
    before: "a\n\nc\n",
    after: "a\n\n\nc\n",
  },
  {
    name: "items of a list",
    diff: `${HEAD}@@ -1,3 +1,3 @@\n # a\n\n-- b\n\n+- B\n\n - c\n`,
    before: "# a\n- b\n- c\n",
    after: "# a\n- B\n- c\n",
  },
  {
    name: "deleted lines that start with a blank, behind two lines that would fit the counts",
    diff: `${HEAD}@@ -1,2 +1,2 @@\n a\n\n- b\n\n+ B\n`,
    before: "a\n b\n",
    after: "a\n B\n",
  },
  {
    name: "carriage returns",
    diff: `${HEAD}@@ -1,2 +1,2 @@\n a\r\n\n-b\r\n\n+B\r\n`,
    before: "a\r\nb\r\n",
    after: "a\r\nB\r\n",
  },
  {
    name: "a file that gets its last line feed",
    diff: `${HEAD}@@ -1,2 +1,2 @@\n a\n\n-b\n+b\n`,
    before: "a\nb",
    after: "a\nb\n",
  },
  {
    name: "a file without its last line feed",
    diff: `${HEAD}@@ -1,2 +1,2 @@\n a\n\n-b\n+B`,
    before: "a\nb",
    after: "a\nB",
  },
  {
    name: "a file that gets its last line feed, and a list behind it",
    diff: `${HEAD}@@ -1,2 +1,4 @@\n a\n\n-b\n+b\n\n+ * c\n\n+- d\n`,
    before: "a\nb",
    after: "a\nb\n * c\n- d\n",
  },
  {
    name: "a new file",
    diff: `${HEAD.replace(/^.*\n/, "--- /dev/null\n")}@@ -0,0 +1,2 @@\n+a\n\n+b\n`,
    before: "",
    after: "a\nb\n",
  },
];

describe("A diff whose hunk lines have an empty line behind them while its header lines have none", () => {
  it.each(CASES)("is read and applies: $name", ({ diff, before, after }) => {
    // How the diff itself ends says how the file does, if its other side has no line feed either.
    for (const text of diff.endsWith("\n") ? [diff, `${diff}\n`] : [diff]) {
      const reading = parsePatch(text, { strip: 5 });
      if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
      expect(reading.repairs.map(({ kind }) => kind)).toContain("doubled-lines");
      expect(reading.patch.files[0]!.after).toBe("x.py");
      expect(applyPatch(reading.patch, before)).toMatchObject({ ok: true, text: after });
    }
  });

  it.each(CASES)("is the same in an answer: $name", ({ diff }) => {
    const reading = parsePatch(`${diff.replace(/\n+$/, "")}\n`);
    expect(parseEdits(`${diff}\n\nThat is all.\n`)).toMatchObject({ ok: true, patch: reading.ok && reading.patch });
  });

  it("keeps a new file without its last line feed as it is, and says so where the end is not known", () => {
    const created = `${HEAD.replace(/^.*\n/, "--- /dev/null\n")}@@ -0,0 +1,2 @@\n+a\n\n+b`;
    for (const read of [parsePatch, parseEdits]) {
      const torn = read(created);
      expect(torn.ok && applyPatch(torn.patch, "")).toMatchObject({ ok: true, text: "a\nb" });
      const fenced = read(`\`\`\`diff\n${created}\n\`\`\`\n`);
      expect(fenced.ok && applyPatch(fenced.patch, "")).toMatchObject({ ok: true, text: "a\nb\n" });
      expect(fenced.ok && fenced.repairs.map(({ kind }) => kind)).toContain("missing-final-newline");
    }
  });

  it.each<[string, string]>([
    ["a line less than its header counts", "@@ -1,3 +1,3 @@\n a\n\n-b\n\n+B\n\n"],
    ["a line more", "@@ -1,2 +1,2 @@\n a\n\n-b\n\n+B\n\n c\n\n+d\n"],
  ])("is never read as another change where it has %s", (_, hunk) => {
    const reading = parsePatch(HEAD + hunk);
    const result = reading.ok ? applyPatch(reading.patch, "a\nb\nc\n") : reading;
    expect(result).toMatchObject({ ok: false });
  });
});

const SCRIPT = `
import difflib, json, sys
for line in sys.stdin:
    before, after = json.loads(line)
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True),
                                 fromfile="a//app/x", tofile="b//app/x", lineterm="")
    print(json.dumps("\\n".join(lines)))
`;

const OTHER_ENDS = ["\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"];
const python = spawnSync("python3", ["-c", "import difflib"]).status === 0;
const seed = seeded(Date.now() % 1_000_000);

test.skipIf(!python)("what Python's difflib makes of real files applies (needs python3)", () => {
  const draw = random(seed);
  const pairs: [string, string][] = [];
  for (let round = 0; round < (process.env.PARLANCE_LONG ? 20 : 2); round++)
    for (const before of readSources(80)) {
      // Python splits lines at more characters than a line feed; git and we do not.
      if (OTHER_ENDS.some((end) => before.includes(end)) || /\r(?!\n)/.test(before)) continue;
      const after = editText(draw, before, 1 + draw.below(6));
      if (after !== before) pairs.push([before, after]);
    }
  const input = pairs.map((pair) => `${JSON.stringify(pair)}\n`).join("");
  const { stdout } = spawnSync("python3", ["-c", SCRIPT], { input, encoding: "utf8", maxBuffer: 1 << 28 });
  const diffs = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as string);
  expect(diffs.length).toBe(pairs.length);
  let exact = 0;
  pairs.forEach(([before, after], i) => {
    const reading = parsePatch(diffs[i]!);
    if (!reading.ok) throw new Error(`${JSON.stringify(reading.errors)}\n${diffs[i]}`);
    const result = applyPatch(reading.patch, before);
    // A line feed that only the file's end has or lacks is not in such a diff.
    const want = result.ok && result.text !== after ? [`${after}\n`, after.replace(/\n$/, "")] : [after];
    expect(want, formatPatch(reading.patch)).toContain(result.ok ? result.text : result.conflicts[0]!.reason);
    if (result.ok && result.text === after) exact++;
  });
  expect(exact / pairs.length).toBeGreaterThan(0.85);
});
