import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { applyPlan, planEdits, undo } from "@parlance/edits/node";
import { describe, expect, it } from "vitest";
import { makeWorkspace, snapshot } from "./workspace.js";

const text = "one\ntwo\nthree\n";
const patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch\n";
const diff = "--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+2\n";
const made = "one\n2\nthree\n";

/** Every shape in which models and providers write one and the same edit. */
const SHAPES: [what: string, call: object | string, made?: string][] = [
  ["arguments of str_replace", { path: "a.txt", old_str: "two", new_str: "2" }],
  [
    "a text-editor tool",
    {
      type: "tool_use",
      name: "edit",
      input: { command: "str_replace", path: "a.txt", old_str: "two\n", new_str: "2\n" },
    },
  ],
  ["camel case", { filePath: "a.txt", oldString: "two", newString: "2" }],
  ["old_string and new_string", { name: "Edit", input: { file_path: "a.txt", old_string: "two", new_string: "2" } }],
  ["arguments as JSON text", { name: "edit", arguments: '{"path":"a.txt","old_str":"two","new_str":"2"}' }],
  [
    "a function",
    {
      id: "1",
      type: "function",
      function: { name: "edit", arguments: '{"path":"a.txt","old_str":"two","new_str":"2"}' },
    },
  ],
  ["JSON text", '{"path":"a.txt","old_str":"two","new_str":"2"}'],
  ["a part of a line", { path: "a.txt", old_str: "wo", new_str: "2" }, "one\nt2\nthree\n"],
  ["every place", { path: "a.txt", old_str: "e", new_str: "E", replace_all: true }, "onE\ntwo\nthrEE\n"],
  ["an insertion", { command: "insert", path: "a.txt", insert_line: 1, new_str: "1.5" }, "one\n1.5\ntwo\nthree\n"],
  [
    "a list of edits",
    {
      path: "a.txt",
      edits: [
        { old_text: "two", new_text: "2" },
        { old_text: "three", new_text: "3" },
      ],
    },
    "one\n2\n3\n",
  ],
  [
    "edits in turn",
    {
      path: "a.txt",
      edits: [
        { old_str: "two", new_str: "zwei" },
        { old_str: "zwei", new_str: "2" },
      ],
    },
  ],
  ["a whole file", { name: "write_file", input: { path: "a.txt", content: made } }],
  ["apply_patch as text", { name: "apply_patch", input: patch }],
  ["apply_patch in a field", { name: "apply_patch", arguments: JSON.stringify({ input: patch }) }],
  ["apply_patch as a command", { name: "shell", arguments: { command: ["apply_patch", patch] } }],
  ["a unified diff", { name: "apply_diff", input: { diff } }],
  ["a diff with its path beside it", { path: "a.txt", diff: "<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n" }],
  ["the text of a patch alone", patch],
];

describe("a tool call", () => {
  it.each(SHAPES)("is read as %s", async (_what, call, expected = made) => {
    const root = makeWorkspace({ "a.txt": text });
    const plan = await planEdits(call, { root });
    expect(plan.conflicts).toEqual([]);
    const written = await applyPlan(plan, { root });
    expect(written.ok && written.summary).toBe(plan.summary);
    expect(snapshot(root)).toEqual({ "a.txt": `644 ${expected}` });
    expect(written.ok && (await undo(written, { root })).ok && snapshot(root)).toEqual({ "a.txt": `644 ${text}` });
  });

  it("keeps the line ends of the file", async () => {
    const root = makeWorkspace({ "a.txt": "one\r\ntwo\r\n" });
    for (const call of [
      { path: "a.txt", old_str: "one\ntwo", new_str: "1\n2" },
      { path: "a.txt", content: "1\n2\n" },
    ]) {
      const plan = await planEdits(call, { root });
      expect([call, plan.conflicts, plan.files[0]?.after?.text]).toEqual([call, [], "1\r\n2\r\n"]);
    }
  });

  it("makes a new file, and is refused where a file is there that `create` would overwrite", async () => {
    const root = makeWorkspace({ "a.txt": text });
    const plan = await planEdits({ command: "create", path: "b/new.txt", file_text: "new\n" }, { root });
    expect(plan).toMatchObject({ conflicts: [], summary: '"b/new.txt": created, +1 -0' });
    const refused = await planEdits({ command: "create", path: "a.txt", file_text: "new\n" }, { root });
    expect(refused.conflicts).toMatchObject([{ path: "a.txt", reason: "exists" }]);
  });

  it("may be one of several, also between patches", async () => {
    const root = makeWorkspace({ "a.txt": text });
    const plan = await planEdits(
      [{ path: "a.txt", old_str: "one", new_str: "1" }, patch, { path: "b", content: "b\n" }],
      { root },
    );
    expect(plan.files.map(({ path, after }) => [path, after?.text])).toEqual([
      ["a.txt", "1\n2\nthree\n"],
      ["b", "b\n"],
    ]);
  });

  it.each<[what: string, call: unknown, reason: string, message: RegExp]>([
    ["names no file", { old_str: "two", new_str: "2" }, "malformed", /names no file; write its path as `path`/],
    ["is no edit", { name: "search", input: { path: "a.txt", query: "x" } }, "malformed", /"a.txt".*is no str_replace/],
    ["is no object", 7, "malformed", /neither a patch nor a tool call/],
    [
      "names a file that is not there",
      { path: "c.txt", old_str: "two", new_str: "2" },
      "missing",
      /"c.txt" does not exist/,
    ],
    [
      "replaces all in a file that is not there",
      { path: "c.txt", old_str: "a", new_str: "b", replace_all: true },
      "missing",
      /"c.txt"/,
    ],
    [
      "has an old text that is not there",
      { path: "a.txt", old_str: "zwei", new_str: "2" },
      "hunks",
      /looked for `zwei`/,
    ],
    [
      "has an old text that is there twice",
      { path: "a.txt", old_str: "e", new_str: "2" },
      "malformed",
      /more than once/,
    ],
    [
      "leaves out a part of the file",
      { path: "a.js", content: "one\n// ... rest of the file ...\n" },
      "malformed",
      /stands in the new text alone/,
    ],
    [
      "has a patch that cannot be read",
      { name: "apply_patch", input: "*** Begin Patch\nnonsense\n" },
      "malformed",
      /^Line \d+: /,
    ],
  ])("is refused with advice where it %s", async (_what, call, reason, message) => {
    const root = makeWorkspace({ "a.txt": text, "a.js": text });
    const plan = await planEdits(call as object, { root });
    expect(plan.conflicts).toMatchObject([{ reason, message: expect.stringMatching(message) }]);
    expect(plan.summary).toBe(plan.conflicts[0]!.message);
    expect((await applyPlan(plan, { root })).ok).toBe(false);
    expect(snapshot(root)).toEqual({ "a.txt": `644 ${text}`, "a.js": `644 ${text}` });
  });
});

describe("a plan's summary", () => {
  const calls = [
    { path: "a.txt", old_str: "one\ntwo", new_str: "1" },
    { path: "new.txt", content: "1\n2\n" },
    "*** Begin Patch\n*** Delete File: gone.txt\n*** Update File: from.txt\n*** Move to: to.txt\n@@\n-b\n+B\n*** End Patch\n",
  ];

  it("counts the lines that each file gains and loses", async () => {
    const root = makeWorkspace({ "a.txt": text, "gone.txt": "x\ny\n", "from.txt": "a\nb\nc\n" });
    const plan = await planEdits(calls, { root });
    expect(plan.conflicts).toEqual([]);
    expect(plan.changes).toEqual([
      { kind: "modify", path: "a.txt", added: 1, deleted: 2 },
      { kind: "delete", path: "gone.txt", added: 0, deleted: 2 },
      { kind: "create", path: "new.txt", added: 2, deleted: 0 },
      { kind: "rename", path: "to.txt", added: 1, deleted: 1 },
    ]);
    expect(plan.summary).toBe(
      '"a.txt": changed, +1 -2\n"gone.txt": deleted, +0 -2\n"new.txt": created, +2 -0\n"to.txt": moved, +1 -1',
    );
    const written = await applyPlan(plan, { root });
    expect(written).toMatchObject({ ok: true, changes: plan.changes, summary: plan.summary });
    const undone = written.ok ? await undo(written, { root }) : undefined;
    expect(undone?.ok && undone.changes[0]).toEqual({ kind: "modify", path: "a.txt", added: 2, deleted: 1 });
  });

  it.each([
    ["the same text", { path: "a.txt", content: text }],
    ["an old text that is the new one", { path: "a.txt", old_str: "two", new_str: "two" }],
    [
      "edits that take each other back",
      [
        { path: "a.txt", old_str: "two", new_str: "2" },
        { path: "a.txt", old_str: "2", new_str: "two" },
      ],
    ],
  ])("reports that %s changes nothing", async (_what, call) => {
    const root = makeWorkspace({ "a.txt": text });
    const plan = await planEdits(call, { root });
    expect(plan).toMatchObject({ conflicts: [], changes: [], summary: expect.stringMatching(/^Nothing changes/) });
    expect(await applyPlan(plan, { root })).toMatchObject({ ok: true, files: [], summary: plan.summary });
  });
});

describe("a path in a tool call", () => {
  /** A root, a folder beside it, and links in the root to both. */
  function setUp() {
    const outer = makeWorkspace({
      "root/a.txt": text,
      "root/in/b.txt": text,
      "out/secret": text,
      "rooted/a.txt": text,
    });
    const root = join(outer, "root");
    symlinkSync(join(outer, "out"), join(root, "out"));
    symlinkSync("in", join(root, "also-in"));
    symlinkSync("a.txt", join(root, "link.txt"));
    symlinkSync(join(outer, "out/none"), join(root, "dangling"));
    symlinkSync(root, join(outer, "alias"));
    mkdirSync(join(root, ".git"));
    return { outer, root };
  }

  const reasons: [what: string, path: (root: string) => string, reason: string][] = [
    ["outside", (root) => join(root, "../out/secret"), "absolute"],
    ["in a folder whose name begins like the root's", (root) => `${root}ed/a.txt`, "absolute"],
    ["that is the root", (root) => root, "absolute"],
    ["that is the root with a slash", (root) => `${root}/`, "empty"],
    ["that leaves the root again", (root) => `${root}/../out/secret`, "parent"],
    ["of the system", () => "/etc/passwd", "absolute"],
    ["above the root", () => "../out/secret", "parent"],
    ["above the root, further in", () => "in/../../out/secret", "parent"],
    ["with a backslash", () => "..\\out\\secret", "parent"],
    ["on a drive", () => "C:\\Windows\\win.ini", "drive"],
    ["of a share", () => "//server/share/a", "unc"],
    ["as a URL", (root) => `file://${root}/a.txt`, "stream"],
    ["through a link that leads out", () => "out/secret", "symlink"],
    ["through a link that leads out, absolute", (root) => `${root}/out/secret`, "symlink"],
    ["through a link that stays in", () => "also-in/b.txt", "symlink"],
    ["that is a link", () => "link.txt", "symlink"],
    ["that is a dangling link", () => "dangling", "symlink"],
    ["of git", (root) => `${root}/.git/config`, "git"],
    ["of the journal", () => ".parlance-journal/pending.json", "reserved"],
    ["with a zero byte", () => "a.txt\0", "control"],
    ["of a directory", () => "in", "not-regular"],
    ["below a file", () => "a.txt/b", "not-directory"],
  ];
  const calls: [string, (path: string) => object | string][] = [
    ["str_replace", (path) => ({ path, old_str: "two", new_str: "2" })],
    ["replace_all", (path) => ({ path, old_str: "two", new_str: "2", replace_all: true })],
    ["edits", (path) => ({ file_path: path, edits: [{ old_string: "two", new_string: "2" }] })],
    ["insert", (path) => ({ command: "insert", path, insert_line: 0, new_str: "0" })],
    ["a whole file", (path) => ({ path, content: "2\n" })],
    ["create", (path) => ({ command: "create", path, file_text: "2\n" })],
  ];

  it.each(calls)("is refused for its reason, and nothing is written: %s", async (_what, makeCall) => {
    const { outer, root } = setUp();
    const before = snapshot(outer);
    for (const [what, path, reason] of reasons) {
      const plan = await planEdits(makeCall(path(root)), { root });
      expect([what, plan.conflicts.map((conflict) => conflict.reason)]).toEqual([what, [reason]]);
      expect([what, (await applyPlan(plan, { root })).ok]).toEqual([what, false]);
    }
    expect(snapshot(outer)).toEqual(before);
  });

  it("may be absolute inside the root, by the root's own name or its real path", async () => {
    const { outer, root } = setUp();
    for (const [given, path] of [
      [root, `${root}/a.txt`],
      [join(outer, "alias"), join(outer, "alias/a.txt")],
      [join(outer, "alias"), `${root}/a.txt`],
      [`${root}/`, `${root}/./a.txt`],
    ] as const) {
      for (const call of [{ path, old_str: "two", new_str: "2" }, patch.replace("a.txt", path)]) {
        const plan = await planEdits(call, { root: given });
        expect([path, plan.conflicts, plan.files[0]?.path, plan.files[0]?.after?.text]).toEqual([
          path,
          [],
          "a.txt",
          made,
        ]);
      }
    }
  });
});
