import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ApplyIo, command, help } from "../src/apply.js";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "parlance-apply-"));
  mkdirSync(join(root, "src"));
  writeFileSync(join(root, "src/a.js"), "const a = 1;\nconst b = 2;\nexport { a, b };\n");
});
afterEach(() => rmSync(root, { recursive: true }));

/** Runs the command in the test's directory, with a text on its standard input. */
async function run(argv: string[], input = "", extra: Partial<ApplyIo> = {}) {
  const said = { out: "", err: "" };
  const io: ApplyIo = {
    cwd: root,
    env: {},
    stdin: (async function* () {
      yield input;
    })(),
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
    ...extra,
  };
  return { code: await command(argv, io), ...said, file: readFileSync(join(root, "src/a.js"), "utf8") };
}

const fresh = "const a = 1;\nconst b = 3;\nexport { a, b };\n";
const diff =
  "--- a/src/a.js\n+++ b/src/a.js\n@@ -1,3 +1,3 @@\n const a = 1;\n-const b = 2;\n+const b = 3;\n export { a, b };\n";

describe("one change, in every form that models write it", () => {
  const forms: [string, string][] = [
    ["a unified diff", diff],
    [
      "a unified diff in prose, in a fence, with wrong counts",
      `Here you go:\n\n\`\`\`diff\n${diff.replace("-1,3 +1,3", "-7,9 +7,8")}\`\`\`\n\nDone!\n`,
    ],
    ["a git diff", `diff --git a/src/a.js b/src/a.js\nindex 1111111..2222222 100644\n${diff}`],
    [
      "a SEARCH/REPLACE block",
      "src/a.js\n```js\n<<<<<<< SEARCH\nconst b = 2;\n=======\nconst b = 3;\n>>>>>>> REPLACE\n```\n",
    ],
    [
      "the Begin Patch form",
      "*** Begin Patch\n*** Update File: src/a.js\n@@\n const a = 1;\n-const b = 2;\n+const b = 3;\n*** End Patch\n",
    ],
    [
      "an edit block",
      "```edit\nfile: src/a.js\naction: edit\nline_start: 2\nline_end: 2\nold_content: |\n  const b = 2;\nnew_content: |\n  const b = 3;\nreason: because: b\n```\n",
    ],
  ];
  test.each(forms)("%s", async (_form, text) => {
    const { code, out, file } = await run(["-"], text);
    expect({ code, file }).toEqual({ code: 0, file: fresh });
    expect(out).toBe(diff);
  });
});

test("a file with edits is applied below another root", async () => {
  writeFileSync(join(root, "change.diff"), diff.replaceAll("src/", ""));
  const { code, err, file } = await run(["--root", "src", "change.diff"]);
  expect({ code, err, file }).toEqual({ code: 0, err: "1 file changed.\n", file: fresh });
});

test("--check shows what would change and changes nothing", async () => {
  const { code, out, err, file } = await run(["--check", "-"], diff);
  expect({ code, out, err }).toEqual({ code: 0, out: diff, err: "1 file would change.\n" });
  expect(file).not.toBe(fresh);
});

test("with one conflict nothing is written, and the message says what was looked for", async () => {
  const other = diff.replace("-const b = 2;", "-const b = 4;");
  const created = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n";
  const { code, err } = await run(["-"], created + other);
  expect(code).toBe(1);
  expect(err).toContain("src/a.js");
  expect(err).toContain("const b = 4;");
  expect(err).toContain("Nothing was written.");
  expect(readdirSync(root)).toEqual(["src"]);
});

test.each([
  ["no edit at all", "Just prose.\n"],
  ["a path outside the root", diff.replaceAll("src/a.js", "../a.js")],
  ["git's own directory", "--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+evil\n"],
  ["a binary patch", "diff --git a/x.png b/x.png\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZQ\n\n"],
])("%s is exit code 1", async (_what, text) => {
  const { code, err } = await run(["-"], text);
  expect({ code, said: err.length > 20 }).toEqual({ code: 1, said: true });
  expect(readdirSync(root)).toEqual(["src"]);
});

test("--json tells hashes, the preview, the way back and the conflicts", async () => {
  const done = JSON.parse((await run(["--json", "-"], diff)).out);
  expect(done).toMatchObject({ ok: true, preview: diff, conflicts: [], repairs: [] });
  expect(done.files).toEqual([
    { path: "src/a.js", before: expect.stringMatching(/^sha256:/), after: expect.stringMatching(/^sha256:/) },
  ]);
  const created = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n";
  const made = JSON.parse((await run(["--json", "-"], created)).out);
  expect(made.files).toEqual([{ path: "new.txt", before: null, after: expect.stringMatching(/^sha256:/) }]);
  const gone = JSON.parse((await run(["--json", "-"], made.inverse)).out);
  expect(gone.files).toEqual([{ path: "new.txt", before: made.files[0].after, after: null }]);
  const back = await run(["-"], done.inverse);
  expect(back.file).toContain("const b = 2;");
  const failed = JSON.parse((await run(["--json", "-"], diff.replaceAll("src/a.js", "src/z.js"))).out);
  expect(failed).toMatchObject({ ok: false, conflicts: [{ path: "src/z.js", reason: "missing" }] });
});

test("colours are for terminals without NO_COLOR, and control characters never reach one", async () => {
  const evil = diff.replace("+const b = 3;", "+const b = 3; \x1b[2J\u202e");
  const plain = await run(["--check", "-"], evil);
  const color = await run(["--check", "-"], evil, { tty: true });
  const none = await run(["--check", "-"], evil, { tty: true, env: { NO_COLOR: "1" } });
  expect(plain.out).toBe(evil);
  expect(color.out).toContain("\x1b[32m+const b = 3; ␛[2J\ufffd\x1b[0m\n");
  const shown = (code: number, text: string) => `\x1b[${code}m${text}\x1b[0m`;
  expect(color.out.split("\n")).toEqual([
    shown(1, "--- a/src/a.js"),
    shown(1, "+++ b/src/a.js"),
    shown(36, "@@ -1,3 +1,3 @@"),
    " const a = 1;",
    shown(31, "-const b = 2;"),
    shown(32, "+const b = 3; ␛[2J\ufffd"),
    " export { a, b };",
    "",
  ]);
  const head = "diff --git a/new.txt b/new.txt";
  const created = `${head}\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n`;
  expect((await run(["--check", "-"], created, { tty: true })).out).toContain(`${shown(1, head)}\n`);
  expect(none.out).toContain("+const b = 3; ␛[2J\ufffd\n");
  expect(none.out).not.toContain("\x1b");
});

test.each([
  ["no file", [], /name a file/],
  ["an unknown option", ["--wat", "-"], /--wat/],
  ["a file that is not there", ["nowhere.diff"], /ENOENT/],
  ["a root that is not there", ["--root", "nowhere", "-"], /ENOENT/],
  ["a root that is a file", ["--root", "src/a.js", "-"], /not a directory/],
])("%s is a usage error", async (_what, argv, message) => {
  await expect(run(argv)).rejects.toThrow(message);
});

test("the help names every option and exit code", () => {
  for (const word of ["--check", "--root", "--path", "--whole-files", "--json", "0 applied", "1 a conflict", "2 usage"])
    expect(help).toContain(word);
});
