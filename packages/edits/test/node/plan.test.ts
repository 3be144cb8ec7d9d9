import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createPatch, formatPatch, type Patch, parseEdits, parsePatch } from "@parlance/edits";
import { applyPlan, contentHash, type PlanConflict, type PlanOptions, planEdits, undo } from "@parlance/edits/node";
import { describe, expect, test } from "vitest";
import { faultyFiles } from "./faulty-files.js";
import { makeWorkspace, snapshot } from "./workspace.js";

function read(text: string): Patch {
  const reading = parsePatch(text);
  if (!reading.ok) throw new Error(reading.errors[0]!.message);
  return reading.patch;
}

function hunkless(kind: "delete" | "rename" | "copy", before: string, after: string | null): Patch {
  return { files: [{ kind, before, after, hunks: [] }] };
}

/** Plans, applies, and proves that undoing gives back the very tree there was. */
async function carryOut(
  files: Record<string, string>,
  patches: Patch | readonly Patch[],
  options: Partial<PlanOptions> = {},
) {
  const root = makeWorkspace(files);
  const old = snapshot(root);
  const plan = await planEdits(patches, { root, ...options });
  expect(plan.conflicts).toEqual([]);
  expect(snapshot(root)).toEqual(old);
  const written = await applyPlan(plan, { root, ...options });
  if (!written.ok) throw new Error(written.conflicts[0]!.message);
  const after = snapshot(root);
  expect(JSON.parse(JSON.stringify(plan))).toEqual(plan);

  // The inverse counts the lines of the whole file, whatever range the patch was about.
  const back = await planEdits(written.inverse, { root, ...options, at: undefined, apply: undefined });
  expect(back.conflicts).toEqual([]);
  expect(back.files.map(({ after }) => after?.text ?? null)).toEqual(
    written.files.map(({ before }) => before?.text ?? null),
  );
  const undone = await undo(written, { root, ...options });
  if (!undone.ok) throw new Error(undone.conflicts[0]!.message);
  expect(snapshot(root)).toEqual(old);
  const redone = await undo(undone, { root, ...options });
  expect(redone.ok && snapshot(root)).toEqual(after);
  return { plan, written, after };
}

/** What a user reads: sentences, which name the path if there is one, or the folder in which it would be. */
function expectTold(conflicts: readonly PlanConflict[]): void {
  for (const { path, message } of conflicts) {
    expect(message).toMatch(/^(?:"|The |File ).{15,}\.$/s);
    expect(message).toContain(path?.split("/")[0] ?? "");
  }
}

const texts = { "a.txt": "one\ntwo\nthree\n", "src/b.ts": "let b = 1;\n" };

describe.each(["handles", "paths"] as const)("a plan carried out by %s", (access) => {
  test.skipIf(access === "handles" && process.platform !== "linux")(
    "creates, modifies and deletes files and directories",
    async () => {
      const patches = [
        createPatch(texts["a.txt"], "one\n2\nthree\n", { path: "a.txt" }),
        createPatch("", "new\n", { oldPath: null, newPath: "deep/er/c.txt" }),
        createPatch(texts["src/b.ts"], "", { oldPath: "src/b.ts", newPath: null }),
      ];
      const { after, written } = await carryOut(texts, patches, { access });
      expect(after).toEqual({
        "a.txt": "644 one\n2\nthree\n",
        "deep/": "directory",
        "deep/er/": "directory",
        "deep/er/c.txt": expect.stringMatching(/^6\d\d new\n$/),
      });
      expect(written.files.map(({ path, before, after }) => [path, before?.hash ?? null, after?.hash ?? null])).toEqual(
        [
          ["a.txt", contentHash(texts["a.txt"]), contentHash("one\n2\nthree\n")],
          ["deep/er/c.txt", null, contentHash("new\n")],
          ["src/b.ts", contentHash(texts["src/b.ts"]), null],
        ],
      );
    },
  );

  test.skipIf(access === "handles" && process.platform !== "linux")(
    "renames, copies and changes what it moved",
    async () => {
      const renamed = read(
        "diff --git a/a.txt b/lib/z.txt\nsimilarity index 60%\nrename from a.txt\nrename to lib/z.txt\n--- a/a.txt\n+++ b/lib/z.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
      );
      const { after, plan } = await carryOut(texts, [renamed, hunkless("copy", "src/b.ts", "src/c.ts")], { access });
      expect(Object.keys(after)).toEqual(["lib/", "lib/z.txt", "src/", "src/b.ts", "src/c.ts"]);
      expect(after["lib/z.txt"]).toBe("644 one\n2\nthree\n");
      expect(formatPatch(plan.preview)).toContain("rename from a.txt\nrename to lib/z.txt\n");
    },
  );
});

test("a plan tells where the hunks of each file were found, of one that is deleted by its old path", async () => {
  const root = makeWorkspace({ a: "x\na\n", b: "b\n", c: "c\n" });
  const patches = [
    createPatch("a\n", "A\n", { path: "a" }),
    createPatch("b\n", "", { oldPath: "b", newPath: null }),
    hunkless("rename", "c", "d"),
  ];
  const { hunks, conflicts } = await planEdits(patches, { root });
  expect(conflicts).toEqual([]);
  expect(hunks).toMatchObject([
    { path: "a", hunks: [{ at: 2, offset: 1, repairs: ["place"] }] },
    { path: "b", hunks: [{ at: 1, offset: 0, repairs: [] }] },
    { path: "d", hunks: [] },
  ]);
});

test("file patches for one path go on from each other, within a patch and across patches", async () => {
  const chain: Patch[] = [
    {
      files: [
        ...createPatch("", "x\n", { oldPath: null, newPath: "n" }).files,
        ...createPatch("x\n", "y\n", { path: "n" }).files,
      ],
    },
    hunkless("rename", "n", "m"),
    hunkless("copy", "m", "o"),
    hunkless("delete", "m", null),
  ];
  const { plan, after } = await carryOut({ "keep.txt": "" }, chain);
  expect(plan.files.map(({ path, after }) => [path, after?.text])).toEqual([["o", "y\n"]]);
  expect(Object.keys(after)).toEqual(["keep.txt", "o"]);
});

describe("blocks of one file go on from each other where they do not all fit what was there", () => {
  const block = ([search, replace]: readonly string[]) =>
    `a.txt\n<<<<<<< SEARCH\n${search}=======\n${replace}>>>>>>> REPLACE\n`;
  const answer = (blocks: readonly (readonly string[])[]): Patch => {
    const reading = parseEdits(blocks.map(block).join("\n"));
    return reading.ok ? reading.patch : expect.fail(reading.errors[0]!.message);
  };
  const taken: [string, string, string[][], string][] = [
    [
      "a later block changes what an earlier one wrote",
      "one\ntwo\n",
      [
        ["two\n", "2\n"],
        ["one\n2\n", "1\n2\n"],
      ],
      "1\n2\n",
    ],
    [
      "three in a row, in a CRLF file",
      "one\r\n",
      [
        ["one\n", "2\n"],
        ["2\n", "3\n"],
        ["3\n", "4\n"],
      ],
      "4\r\n",
    ],
    [
      "two change the same line",
      "a = f(1, 2)\n",
      [
        ["a = f(1, 2)\n", "a = f(1)\n"],
        ["a = f(1)\n", "b = f(1)\n"],
      ],
      "b = f(1)\n",
    ],
    [
      "blocks that all fit are about what was there",
      "one\ntwo\n",
      [
        ["one\n", "two\n"],
        ["two\n", "three\n"],
      ],
      "two\nthree\n",
    ],
  ];
  test.each(taken)("%s", async (_what, text, blocks, expected) => {
    const { after } = await carryOut({ "a.txt": text }, answer(blocks));
    expect(after["a.txt"]).toBe(`644 ${expected}`);
  });

  const refused: [string, string, string[][], string[]][] = [
    [
      "in another order",
      "one\n",
      [
        ["2\n", "3\n"],
        ["one\n", "2\n"],
      ],
      ["not-found"],
    ],
    [
      "a block that is ambiguous, even if an earlier one leaves one place",
      "x\ny\nx\n",
      [
        ["x\ny\n", "z\ny\n"],
        ["x\n", "w\n"],
        ["w\n", "v\n"],
      ],
      ["ambiguous", "not-found"],
    ],
    [
      "a block that is near what was made, but not it",
      "one\n",
      [
        ["one\n", "const two = 2;\n"],
        ["const two  =  2;\n", "3\n"],
      ],
      ["not-found"],
    ],
  ];
  test("as loosely as is allowed", async () => {
    const [, text, blocks] = taken[1]!;
    const options = { root: makeWorkspace({ "a.txt": text }), apply: { loosest: "exact" } } as const;
    expect(await planEdits(answer(blocks), options)).toMatchObject({ conflicts: [{ reason: "hunks" }] });
  });

  test.each(refused)("not %s", async (_what, text, blocks, reasons) => {
    const plan = await planEdits(answer(blocks), { root: makeWorkspace({ "a.txt": text }) });
    expect(plan.conflicts.flatMap(({ hunks }) => hunks!.map(({ reason }) => reason))).toEqual(reasons);
  });
});

test("an empty file is created, renamed and deleted by headers without hunks, as git writes them", async () => {
  const { after } = await carryOut(
    { gone: "", "dir/gone": "", was: "" },
    read(
      ["gone", "dir/gone"]
        .map((path) => `diff --git a/${path} b/${path}\ndeleted file mode 100644\nindex e69de29..0000000\n`)
        .join("") +
        "diff --git a/made b/made\nnew file mode 100755\nindex 0000000..e69de29\n" +
        "diff --git a/was b/is\nsimilarity index 100%\nrename from was\nrename to is\n",
    ),
  );
  expect(after).toEqual({ is: "644 ", made: expect.stringMatching(/^7\d\d $/) });
});

describe("a patch of some lines of a file", () => {
  const body = "  x = 1\n  return x\n}\n";
  const three = ["a", "b", "c"].map((name) => `function ${name}() {\n${body}`).join("");
  const second = three.replace("b() {\n  x = 1", "b() {\n  x = 2");
  const hunk = { id: "h", oldStart: null, newStart: null, lines: ["-  x = 1", "+  x = 2"] };
  const edit = (path: string): Patch => ({ files: [{ kind: "modify", before: path, after: path, hunks: [hunk] }] });
  const range = { line_start: 5, line_end: 8 };

  test("edits those lines, by path or for all, and the paths of absolute ones too", async () => {
    const files = { a: three, b: "  x = 1\n" };
    const { after } = await carryOut(files, [edit("a"), edit("b")], { at: { a: range } });
    expect(after).toEqual({ a: `644 ${second}`, b: "644   x = 2\n" });
    expect((await carryOut({ a: three }, edit("a"), { apply: { at: range } })).after).toEqual({ a: `644 ${second}` });
    const root = makeWorkspace({ a: three });
    const plan = await planEdits(edit(join(root, "a")), { root, at: { [join(root, "a")]: range } });
    expect(plan.files.map(({ after }) => after?.text)).toEqual([second]);
  });

  test("is a conflict where they hold nothing of it, and its blocks do not go on from each other", async () => {
    const root = makeWorkspace({ a: three });
    const reasons = async (patch: Patch, at = { a: { line_start: 11, line_end: 12 } }) =>
      (await planEdits(patch, { root, at })).conflicts.flatMap(({ hunks }) => hunks!.map(({ reason }) => reason));
    expect(await reasons(edit("a"))).toEqual(["not-found"]);
    const [file] = edit("a").files;
    const next = { ...hunk, id: "i", lines: ["-  x = 2", "+  x = 3"] };
    expect(await reasons({ files: [{ ...file!, hunks: [hunk, next] }] }, { a: range })).toEqual(["not-found"]);
  });
});

test("a header that says that a deleted file was empty does not delete one that is not", async () => {
  const deletion = read("diff --git a/a b/a\ndeleted file mode 100644\nindex e69de29..0000000\n");
  const plan = await planEdits(deletion, { root: makeWorkspace({ a: "text\n" }) });
  expect(plan.conflicts.map(({ reason }) => reason)).toEqual(["stale"]);
});

test("a file of 3 GiB is refused by its size, before and after it was planned", async () => {
  const root = makeWorkspace({ huge: "", a: "a\n" });
  const plan = await planEdits(createPatch("a\n", "b\n", { path: "a" }), { root });
  for (const name of ["huge", "a"]) truncateSync(join(root, name), 3 * 2 ** 30);
  const huge = await planEdits(createPatch("a\n", "b\n", { path: "huge" }), { root, limit: Number.POSITIVE_INFINITY });
  const late = await applyPlan(plan, { root });
  for (const { conflicts } of [huge, late.ok ? expect.fail() : late])
    expect(conflicts.map(({ reason }) => reason)).toEqual(["too-large"]);
});

test("a git patch may swap two names and copy from what it also changes", async () => {
  const swap = read(
    "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\ndiff --git a/b b/a\nsimilarity index 100%\nrename from b\nrename to a\n" +
      "diff --git a/c b/c\n--- a/c\n+++ b/c\n@@ -1 +1 @@\n-c\n+C\ndiff --git a/c b/d\nsimilarity index 100%\ncopy from c\ncopy to d\n",
  );
  const { after } = await carryOut({ a: "A\n", b: "B\n", c: "c\n" }, swap);
  expect(after).toEqual({ a: "644 B\n", b: "644 A\n", c: "644 C\n", d: "644 c\n" });
});

test("modes are kept, and only the executable bits are a patch's to say", async () => {
  const root = makeWorkspace({ kept: "a\n", made: "a\n" });
  chmodSync(join(root, "kept"), 0o4750);
  chmodSync(join(root, "made"), 0o640);
  const mode = {
    files: [{ ...createPatch("a\n", "b\n", { path: "made" }).files[0]!, oldMode: "100644", newMode: "100755" }],
  };
  const plan = await planEdits([createPatch("a\n", "b\n", { path: "kept" }), mode], { root });
  const written = await applyPlan(plan, { root });
  expect(snapshot(root)).toEqual({ kept: "4750 b\n", made: "750 b\n" });
  expect(written.ok && (await undo(written, { root })).ok).toBe(true);
  expect(snapshot(root)).toEqual({ kept: "4750 a\n", made: "640 a\n" });
});

test("byte order mark, line endings and a missing final newline stay as they are", async () => {
  const { after } = await carryOut(
    { bom: "\ufeffone\r\ntwo\r\nthree" },
    read("--- a/bom\n+++ b/bom\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"),
  );
  expect(Buffer.from(after.bom!.slice(4), "latin1").toString("utf8")).toBe("\ufeffone\r\n2\r\nthree");
});

test("a whole file replaces what is there, and makes what is not", async () => {
  const whole = (path: string, text: string): Patch => ({
    files: [{ ...createPatch("", text, { oldPath: null, newPath: path }).files[0]!, whole: true }],
  });
  const { after } = await carryOut({ old: "old\n" }, [whole("old", "new\n"), whole("fresh", "text\n")]);
  expect(after).toEqual({ old: "644 new\n", fresh: expect.stringContaining("text\n") });
});

describe("every conflict is listed, and nothing is written", () => {
  const binary = Uint8Array.of(0x61, 0xff, 0x0a);
  const change = (path: string) => createPatch("a\n", "b\n", { path });
  const made = { kind: "create", before: null, after: "s", hunks: [] } as const;
  const cases: [string, string, Patch | readonly Patch[], Partial<PlanOptions>?][] = [
    ["a file that is not there", "missing", change("nowhere")],
    [
      "the delete of a file that is not there",
      "missing",
      createPatch("a\n", "", { oldPath: "nowhere", newPath: null }),
    ],
    ["a directory that is not there", "missing", change("nowhere/a")],
    ["a new file where there is one", "exists", createPatch("", "b\n", { oldPath: null, newPath: "a" })],
    ["a new file that is there already", "already-applied", createPatch("", "a\n", { oldPath: null, newPath: "a" })],
    ["a rename onto a file", "exists", hunkless("rename", "a", "b")],
    ["a directory in a file's place", "not-regular", change("dir")],
    ["a file in a directory's place", "not-directory", change("a/b")],
    ["a symlink to a file inside", "symlink", change("link")],
    ["a symlink to a directory inside", "symlink", change("linkdir/a")],
    ["a new file through a symlink", "symlink", createPatch("", "b\n", { oldPath: null, newPath: "linkdir/new" })],
    ["bytes that are not UTF-8", "not-utf8", change("binary")],
    ["half a surrogate pair", "not-utf8", createPatch("a\n", "\ud800\n", { path: "a" })],
    ["a file above the limit", "too-large", change("big"), { limit: 10 }],
    ["a symlink's mode", "mode", { files: [{ ...made, newMode: "120000" }] }],
    ["a submodule's mode", "mode", { files: [{ ...made, newMode: "160000" }] }],
    ["a name that differs in case", "case-collision", createPatch("", "b\n", { oldPath: null, newPath: "A" })],
    [
      "a directory that differs in case",
      "case-collision",
      createPatch("", "b\n", { oldPath: null, newPath: "DIR/new" }),
    ],
    [
      "two new names that differ in case",
      "case-collision",
      ["x/q", "X/r"].map((p) => createPatch("", "b\n", { oldPath: null, newPath: p })),
    ],
    [
      "a file that would be a directory",
      "not-directory",
      ["x", "x/y"].map((p) => createPatch("", "b\n", { oldPath: null, newPath: p })),
    ],
    ["a hunk that does not fit", "hunks", createPatch("other\n", "b\n", { path: "a" })],
    ["a delete of another text", "hunks", createPatch("other\n", "", { oldPath: "a", newPath: null })],
    ["a precondition that does not hold", "stale", change("a"), { preconditions: { b: contentHash("x") } }],
    ["a precondition of absence", "stale", change("a"), { preconditions: { b: null } }],
    ["a precondition outside", "parent", change("a"), { preconditions: { "../b": null } }],
    ["a path that goes up", "parent", change("../a")],
    ["git's own directory", "git", createPatch("", "b\n", { oldPath: null, newPath: ".GIT/hooks/pre-commit" })],
    ["the journal", "reserved", createPatch("", "b\n", { oldPath: null, newPath: ".parlance-journal/pending.json" })],
    ["no patch at all", "malformed", JSON.parse("{}")],
    ["a root that is not there", "missing", change("a"), { root: "/nowhere/at/all" }],
  ];
  test.each(cases)("%s: %s", async (what, reason, patches, options) => {
    const root = makeWorkspace({ a: "a\n", b: "a\n", "dir/a": "a\n", big: "a\n".repeat(6), binary });
    symlinkSync("a", join(root, "link"));
    symlinkSync("dir", join(root, "linkdir"));
    const old = snapshot(root);
    const plan = await planEdits([createPatch("a\n", "fine\n", { path: "dir/a" }), ...[patches].flat()], {
      root,
      ...options,
    });
    expect(plan.conflicts.map((conflict) => conflict.reason)).toEqual([reason]);
    expect(plan.conflicts[0]!.path === null).toBe(/^(?:no patch at all|a root that is not there)$/.test(what));
    expectTold(plan.conflicts);
    expect(await applyPlan(plan, { root })).toEqual({ ok: false, conflicts: plan.conflicts });
    expect(snapshot(root)).toEqual(old);
  });

  test("of many changes that do not fit five are explained, and the others counted", async () => {
    const root = makeWorkspace({ a: "x\n" });
    const explain = async (count: number) => {
      const hunks = Array.from({ length: count }, (_, i) => ({
        id: `${i}`,
        oldStart: null,
        newStart: null,
        lines: [`-no ${i}`],
      }));
      const { conflicts } = await planEdits({ files: [{ kind: "modify", before: "a", after: "a", hunks }] }, { root });
      return /(\d+) more of its changes/.exec(conflicts[0]!.message)?.[1];
    };
    expect(await Promise.all([1, 5, 6, 20].map(explain))).toEqual([undefined, undefined, "1", "15"]);
  });

  test("a delete of what the same patch has made is explained", async () => {
    const root = makeWorkspace({});
    const make = createPatch("", "n\n", { oldPath: null, newPath: "new" });
    const take = createPatch("n\n", "", { oldPath: "new", newPath: null });
    const { conflicts } = await planEdits({ files: [...make.files, ...take.files] }, { root });
    expect(conflicts).toMatchObject([
      { reason: "exists", message: 'The patch deletes "new", which it has made itself.' },
    ]);
  });

  test("a change between a file put there and its removal is explained", async () => {
    const root = makeWorkspace({ a: "a\n", b: "b\n" });
    const { files } = createPatch("a\n", "n\n", { path: "a" });
    const swap = [hunkless("rename", "b", "a").files[0]!, files[0]!, hunkless("rename", "a", "b").files[0]!];
    const { conflicts } = await planEdits({ files: swap }, { root });
    const message = '"a" is changed between a file put there and its removal; which is meant is not certain.';
    expect(conflicts).toMatchObject([{ reason: "exists", message }]);
  });

  test("every conflict is listed, not only the first", async () => {
    const root = makeWorkspace({ a: "a\n" });
    const plan = await planEdits([change("../x"), change("a"), change("gone"), change("nul")], { root });
    expect(plan.conflicts.map(({ path, reason }) => [path, reason])).toEqual([
      ["../x", "parent"],
      ["gone", "missing"],
      ["nul", "device"],
    ]);
  });
});

describe("what changed between plan and write is stale", () => {
  const spoil: [string, (root: string) => void][] = [
    ["a text", (root) => writeFileSync(join(root, "a"), "else\n")],
    ["a mode", (root) => chmodSync(join(root, "a"), 0o755)],
    ["a new file's path", (root) => writeFileSync(join(root, "new"), "else\n")],
  ];
  test.each(spoil)("%s", async (_what, change) => {
    const root = makeWorkspace({ a: "a\n", b: "a\n" });
    const patches = [createPatch("a\n", "b\n", { path: "a" }), createPatch("a\n", "b\n", { path: "b" })];
    const plan = await planEdits([...patches, createPatch("", "n\n", { oldPath: null, newPath: "new" })], { root });
    change(root);
    const old = snapshot(root);
    const result = await applyPlan(plan, { root });
    expect(!result.ok && result.conflicts.map(({ reason }) => reason)).toEqual(["stale"]);
    if (!result.ok) expectTold(result.conflicts);
    expect(snapshot(root)).toEqual(old);
  });

  test("undo too refuses to take back what somebody has changed since", async () => {
    const root = makeWorkspace({ a: "a\n", b: "a\n" });
    const patches = [createPatch("a\n", "b\n", { path: "a" }), createPatch("a\n", "b\n", { path: "b" })];
    const written = await applyPlan(await planEdits(patches, { root }), { root });
    writeFileSync(join(root, "b"), "mine\n");
    const undone = written.ok && (await undo(written, { root }));
    expect(undone && !undone.ok && undone.conflicts.map(({ path, reason }) => [path, reason])).toEqual([
      ["b", "stale"],
    ]);
    expect(snapshot(root)).toEqual({ a: "644 b\n", b: "644 mine\n" });
  });
});

test("a directory that was empty before is still there after an edit beside it", async () => {
  const root = makeWorkspace({ a: "a\n" });
  mkdirSync(join(root, "empty"));
  await applyPlan(await planEdits(createPatch("a\n", "", { oldPath: "a", newPath: null }), { root }), { root });
  expect(snapshot(root)).toEqual({ "empty/": "directory" });
});

test.each(["100600", "100700", "100000"])("a mode that git does not know is refused: %s", async (mode) => {
  const root = makeWorkspace({ a: "a\n" });
  for (const head of [`a/a b/a\nold mode 100644\nnew mode ${mode}`, `a/b b/b\nnew file mode ${mode}`]) {
    const plan = await planEdits(read(`diff --git ${head}\n`), { root });
    expect(plan.conflicts.map(({ reason }) => reason)).toEqual(["mode"]);
    expectTold(plan.conflicts);
  }
});

test("a call that the system refuses is reported with its code, and with the path if there is one", async () => {
  const root = makeWorkspace({ a: "a\n" });
  const patch = createPatch("a\n", "b\n", { path: "a" });
  const messages = new Set<string>();
  for (let at = 1; at <= 8; at++) {
    const { conflicts } = await planEdits(patch, { root, files: faultyFiles(at, "error-before") });
    for (const { reason, message } of conflicts) {
      expect(reason).toBe("io");
      messages.add(message);
    }
  }
  expect([...messages].sort()).toEqual(['"a": EIO: i/o error.', "The root: EIO: i/o error."]);
});
