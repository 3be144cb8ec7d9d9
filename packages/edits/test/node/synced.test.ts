import * as fs from "node:fs/promises";
import { join } from "node:path";
import { createPatch } from "@parlance/edits";
import { applyPlan, planEdits, recover } from "@parlance/edits/node";
import { expect, test } from "vitest";
import type { Files, OpenFile } from "../../src/node/files.js";
import { makeWorkspace, snapshot } from "./workspace.js";

/** The real file system, which notes each change, and each time that a file or a folder is brought to the disk. */
function noting(root: string, notes: string[]): Files {
  const records = join(process.env.XDG_STATE_HOME!, "parlance");
  const nameOf = (path: string) =>
    path
      .replace(records, "records")
      .replace(/records\/.*/, "record")
      .replace(new RegExp(`^${root}/?`), "")
      .replace(/\.parlance-draft-[^/]+/, "draft")
      .replace(/\.parlance-[0-9a-f]{12}-\d\.(old|new)/, "$1")
      .replace(".parlance-journal", "journal");
  const noted =
    <Args extends string[]>(name: string, call: (...args: Args) => Promise<void>) =>
    (...args: Args) => {
      notes.push([name, ...args.map(nameOf)].join(" ").trim());
      return call(...args);
    };
  const open = async (path: string, flags: number, mode?: number): Promise<OpenFile> => {
    const handle = await fs.open(path, flags, mode);
    return {
      fd: handle.fd,
      stat: () => handle.stat(),
      readFile: () => handle.readFile(),
      writeFile: (bytes) => {
        notes.push(`write ${nameOf(path)}`);
        return handle.writeFile(bytes);
      },
      chown: (uid, gid) => handle.chown(uid, gid),
      chmod: (mode) => handle.chmod(mode),
      sync: () => {
        notes.push(`sync ${nameOf(path)}`.trim());
        return handle.sync();
      },
      close: () => handle.close(),
    };
  };
  return {
    ...(fs as unknown as Files),
    open,
    link: noted("link", fs.link),
    rename: noted("rename", fs.rename),
    unlink: noted("unlink", fs.unlink),
    mkdir: (path, options) =>
      records.startsWith(path) ? fs.mkdir(path, options) : noted("mkdir", (path: string) => fs.mkdir(path))(path),
    rmdir: noted("rmdir", (path: string) => fs.rmdir(path)),
  };
}

const JOURNAL_OPENS = [
  "write record",
  "sync record",
  "sync records",
  "mkdir draft",
  "write draft/pending.json",
  "sync draft/pending.json",
  "sync draft",
  "rename draft journal",
  "sync",
];
const JOURNAL_CLOSES = [
  "rename journal draft",
  "sync",
  "unlink draft/pending.json",
  "unlink draft/committed.json",
  "rmdir draft",
  "unlink record",
];

test("each part of a plan is on the disk before the next one relies on it", async () => {
  const root = makeWorkspace({ a: "a\n", gone: "g\n" });
  const notes: string[] = [];
  const files = noting(root, notes);
  const patches = [
    createPatch("a\n", "b\n", { path: "a" }),
    createPatch("", "n\n", { oldPath: null, newPath: "d/n" }),
    createPatch("g\n", "", { oldPath: "gone", newPath: null }),
  ];
  const plan = await planEdits(patches, { root, files });
  expect(notes).toEqual([]);
  expect(await applyPlan(plan, { root, files, access: "paths" })).toMatchObject({ ok: true });
  const prepared = [
    "link a old",
    "write new",
    "sync new",
    "write d/new",
    "sync d/new",
    "link gone old",
    "sync",
    "sync d",
  ];
  const swapped = ["rename new a", "link d/new d/n", "unlink gone", "sync", "sync d"];
  const committed = ["rename journal/pending.json journal/committed.json", "sync journal"];
  const removed = [
    "unlink new",
    "unlink old",
    "unlink d/new",
    "unlink d/old",
    "unlink new",
    "unlink old",
    "sync",
    "sync d",
  ];
  expect(notes).toEqual([
    ...JOURNAL_OPENS,
    "mkdir d",
    ...prepared,
    ...swapped,
    ...committed,
    ...removed,
    ...JOURNAL_CLOSES,
  ]);
});

test.each([
  ["has its old files on the disk before its journal is gone", 1, ["io"]],
  ["keeps its journal, and says so, where it cannot be taken back", 2, ["io", "interrupted"]],
] as const)("a plan that fails %s", async (_, failures, reasons) => {
  const root = makeWorkspace({ a: "a\n", b: "a\n" });
  const notes: string[] = [];
  const files = noting(root, notes);
  const patches = ["a", "b"].map((path) => createPatch("a\n", "b\n", { path }));
  const plan = await planEdits(patches, { root, files });
  let renames = 0;
  const failing: Files = {
    ...files,
    rename: (from, to) =>
      (to === `${root}/b` || renames > 0) && renames++ < failures
        ? Promise.reject(Object.assign(new Error("EIO: i/o error, test"), { code: "EIO" }))
        : files.rename(from, to),
  };
  const result = await applyPlan(plan, { root, files: failing, access: "paths" });
  const conflicts = result.ok ? expect.fail("it was written") : result.conflicts;
  expect(conflicts.map(({ path, reason }) => [path, reason])).toEqual(reasons.map((reason) => [null, reason]));
  for (const { message } of conflicts) expect(message).toMatch(/^(?:The root: EIO.*|Taking the edits back .*)\.$/);
  const from = notes.indexOf("rename new a") + 1;
  const back = ["rename old a", "unlink old", "unlink new", "unlink old", "unlink new", "sync"];
  expect(notes.slice(from)).toEqual(failures === 1 ? [...back, ...JOURNAL_CLOSES] : []);
  expect(await recover(root)).toMatchObject({ state: failures === 1 ? "clean" : "rolled-back" });
  expect(snapshot(root)).toEqual({ a: "644 a\n", b: "644 a\n" });
});
