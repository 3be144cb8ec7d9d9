import { renameSync, symlinkSync, writeFileSync } from "node:fs";
import * as fs from "node:fs/promises";
import { join } from "node:path";
import { createPatch } from "@parlance/edits";
import { applyPlan, planEdits } from "@parlance/edits/node";
import { expect, test } from "vitest";
import type { Files } from "../../src/node/files.js";
import { makeWorkspace, snapshot } from "./workspace.js";

const failure = (code: string) => Object.assign(new Error(`${code}: refused, test`), { code });
/** By paths, so that a call's arguments name the files. */
const access = "paths";

test("a new file that somebody else makes at the last moment stays, and is reported", async () => {
  const root = makeWorkspace({ a: "a\n" });
  const plan = await planEdits(
    [createPatch("a\n", "b\n", { path: "a" }), createPatch("", "ours\n", { oldPath: null, newPath: "new" })],
    { root },
  );
  const files: Files = {
    ...fs,
    link: (from, to) => {
      if (to === join(root, "new")) writeFileSync(to, "theirs\n");
      return fs.link(from, to);
    },
  };
  expect(await applyPlan(plan, { root, files, access })).toEqual({
    ok: false,
    conflicts: [{ path: "new", reason: "stale", message: '"new" has been made by somebody else. Read it.' }],
  });
  expect(snapshot(root)).toEqual({ a: "644 a\n", new: expect.stringContaining(" theirs\n") });
});

test("a file that somebody else changes before the plan is taken back keeps their text, and the old one is beside it", async () => {
  const root = makeWorkspace({ a: "a\n", b: "b\n" });
  const plan = await planEdits(
    ["a", "b"].map((path) => createPatch(`${path}\n`, "ours\n", { path })),
    { root },
  );
  const files: Files = {
    ...fs,
    rename: async (from, to) => {
      if (to !== join(root, "b")) return fs.rename(from, to);
      writeFileSync(join(root, "a"), "theirs\n");
      throw failure("EIO");
    },
  };
  const result = await applyPlan(plan, { root, files, access });
  const old = Object.keys(snapshot(root)).find((name) => name.endsWith("-0.old"));
  expect(result).toEqual({
    ok: false,
    conflicts: [
      { path: null, reason: "io", message: "The root: EIO: refused." },
      {
        path: "a",
        reason: "stale",
        message: `"a" was changed by somebody else while it was written; its text before that is beside it, as ${old}.`,
      },
    ],
  });
  expect(snapshot(root)).toEqual({ [old!]: "644 a\n", a: "644 theirs\n", b: "644 b\n" });
});

test("a directory that somebody swaps for a symlink between two reads leads nowhere else", async () => {
  const root = makeWorkspace({ "d/a": "a\n", "d/b": "b\n" });
  const outside = makeWorkspace({ a: "SECRET\n", b: "SECRET\n" });
  const files: Files = {
    ...fs,
    open: async (path, flags, mode) => {
      const handle = await fs.open(path, flags, mode);
      if (path === join(root, "d/a")) {
        renameSync(join(root, "d"), join(root, "moved"));
        symlinkSync(outside, join(root, "d"));
      }
      return handle;
    },
  };
  const patches = ["a", "b"].map((name) => createPatch(`${name}\n`, "n\n", { path: `d/${name}` }));
  const plan = await planEdits(patches, { root, files, access });
  expect(plan.conflicts).toEqual([
    { path: "d/b", reason: "symlink", message: '"d" is a symlink; edits do not go through symlinks.' },
  ]);
  expect(JSON.stringify(plan)).not.toContain("SECRET");
});

test.each([
  ["EPERM", true],
  ["EACCES", true],
  ["ENOTSUP", true],
  ["EOPNOTSUPP", true],
  ["ENOSYS", true],
  ["EMLINK", true],
  ["EXDEV", true],
  ["EIO", false],
  ["ENOSPC", false],
])("where the system refuses a link with %s, files are copied: %s", async (code, ok) => {
  const patches = {
    old: createPatch("a\n", "b\n", { path: "old" }),
    new: createPatch("", "n\n", { oldPath: null, newPath: "new" }),
  };
  for (const [path, patch] of Object.entries(patches)) {
    const root = makeWorkspace({ old: "a\n" });
    const plan = await planEdits(patch, { root });
    const result = await applyPlan(plan, { root, files: { ...fs, link: () => Promise.reject(failure(code)) } });
    const message = `The root: ${code}: refused.`;
    if (ok) expect(result).toMatchObject({ ok });
    else expect(result).toEqual({ ok, conflicts: [{ path: null, reason: "io", message }] });
    expect(snapshot(root)).toMatchObject(ok ? { [path]: path === "old" ? "644 b\n" : "644 n\n" } : { old: "644 a\n" });
    expect(Object.keys(snapshot(root))).toEqual(ok && path === "new" ? ["new", "old"] : ["old"]);
  }
});

test("what is no regular file is not opened", async () => {
  const root = makeWorkspace({ a: "a\n" });
  const opened: string[] = [];
  const files: Files = {
    ...fs,
    lstat: (path) => fs.lstat(path === join(root, "a") ? root : path),
    open: (path, flags, mode) => {
      opened.push(path);
      return fs.open(path, flags, mode);
    },
  };
  const { conflicts } = await planEdits(createPatch("a\n", "b\n", { path: "a" }), { root, files, access });
  expect(conflicts).toEqual([{ path: "a", reason: "not-regular", message: '"a" is not a regular file.' }]);
  expect(opened).not.toContain(join(root, "a"));
});

test.each([
  [64 << 20, []],
  [(64 << 20) + 1, ["too-large"]],
])("a file of %i bytes is planned, or refused: %j", async (size, reasons) => {
  const root = makeWorkspace({ a: "a\n" });
  const files: Files = {
    ...fs,
    open: async (path, flags, mode) => {
      const handle = await fs.open(path, flags, mode);
      const stat = async () => Object.assign(await handle.stat(), { size });
      return {
        fd: handle.fd,
        stat,
        readFile: () => handle.readFile(),
        writeFile: (bytes) => handle.writeFile(bytes),
        chown: (uid, gid) => handle.chown(uid, gid),
        chmod: (to) => handle.chmod(to),
        sync: () => handle.sync(),
        close: () => handle.close(),
      };
    },
  };
  const { conflicts } = await planEdits(createPatch("a\n", "b\n", { path: "a" }), { root, files, access });
  expect(conflicts.map(({ reason }) => reason)).toEqual(reasons);
});
