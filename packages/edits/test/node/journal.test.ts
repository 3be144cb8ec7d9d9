import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { createPatch } from "@parlance/edits";
import { applyPlan, contentHash, planEdits, recover } from "@parlance/edits/node";
import { afterEach, describe, expect, it } from "vitest";
import { faultyFiles } from "./faulty-files.js";
import { makeWorkspace, snapshot } from "./workspace.js";

const id = "0123456789ab";
// No process has this id: Linux' largest is 4,194,304.
const owner = { host: hostname(), pid: 2 ** 30, started: 1, thread: 0 };
const entry = { path: "a", before: null, after: contentHash("a\n"), mode: null };
const sound = { version: 1, id, owner, files: [entry], directories: [] };

describe("a journal that came with the folder", () => {
  const cases: [string, unknown][] = [
    ["is no JSON", "{"],
    ["is of a newer version", { ...sound, version: 2 }],
    ["has no owner", { ...sound, owner: undefined }],
    ["has a path for an id", { ...sound, id: "../../../etc" }],
    ["names a file outside", { ...sound, files: [{ ...entry, path: "../secret" }] }],
    ["names git's own files", { ...sound, files: [{ ...entry, path: ".git/config" }] }],
    ["names a directory outside", { ...sound, directories: ["../x"] }],
    ["has a hash that is none", { ...sound, files: [{ ...entry, after: 7 }] }],
    ["would delete a file", sound],
    ["would restore a file", { ...sound, files: [{ ...entry, before: contentHash("old\n"), mode: 0o644 }] }],
    ["would remove a directory", { ...sound, files: [], directories: ["empty"] }],
    ["is by this very process", { ...sound, owner: { host: hostname(), pid: process.pid, started: 0, thread: 0 } }],
  ];
  for (const state of ["pending", "committed"])
    it.each(cases)(`changes nothing and is refused where it %s (${state})`, async (_what, journal) => {
      const text = typeof journal === "string" ? journal : JSON.stringify(journal);
      const outer = makeWorkspace({
        secret: "a\n",
        "root/a": "a\n",
        [`root/.parlance-${id}-0.old`]: "old\n",
        [`root/.parlance-${id}-0.new`]: "a\n",
        [`root/.parlance-draft-${id}/pending.json`]: "{}",
        [`root/.parlance-draft-1.1.0-${id}/pending.json`]: "{}",
        [`root/.parlance-journal/${state}.json`]: text,
      });
      const root = join(outer, "root");
      mkdirSync(join(root, "empty"));
      const before = snapshot(outer);
      expect((await recover(root)).conflict?.reason).toBe("journal");
      const plan = await planEdits(createPatch("a\n", "b\n", { path: "a" }), { root });
      expect(plan.conflicts.map(({ reason }) => reason)).toEqual(["journal"]);
      expect((await applyPlan({ ...plan, conflicts: [] }, { root })).ok).toBe(false);
      expect(snapshot(outer)).toEqual(before);
    });

  it("is not followed where it is a symlink to elsewhere", async () => {
    const outer = makeWorkspace({ "root/a": "a\n", "trap/pending.json": JSON.stringify(sound) });
    symlinkSync("../trap", join(outer, "root/.parlance-journal"));
    const before = snapshot(outer);
    expect((await recover(join(outer, "root"))).conflict?.reason).toBe("symlink");
    expect(snapshot(outer)).toEqual(before);
  });

  it("leaves the root busy where it names another host, which may be at work", async () => {
    const journal = JSON.stringify({ ...sound, owner: { ...owner, host: "elsewhere" } });
    const root = makeWorkspace({ a: "a\n", ".parlance-journal/pending.json": journal });
    expect((await recover(root)).conflict).toMatchObject({
      reason: "busy",
      message: expect.stringContaining("elsewhere"),
    });
  });
});

describe("a name that this library gives to its own files", () => {
  it("is left alone where no record outside the root knows it, and does not stop an edit", async () => {
    const litter = {
      [`.parlance-draft-${id}/pending.json`]: "{}",
      [`.parlance-draft-1.1.0-${id}/pending.json`]: "{}",
      [`.parlance-${id}-0.new`]: "new\n",
      [`.parlance-${id}-0.old`]: "old\n",
      ".parlance-draft-x": "a file\n",
    };
    const root = makeWorkspace({ a: "a\n", ...litter });
    const before = snapshot(root);
    const plan = await planEdits(createPatch("a\n", "b\n", { path: "a" }), { root });
    const written = await applyPlan(plan, { root });
    expect(written.ok && snapshot(root)).toEqual({ ...before, a: "644 b\n" });
  });
});

/** A root in which a plan stopped half way, and its trees before the plan and now. */
async function crashed() {
  const root = makeWorkspace({ a: "a\n", b: "b\n" });
  const old = snapshot(root);
  const patches = [createPatch("a\n", "A\n", { path: "a" }), createPatch("b\n", "B\n", { path: "b" })];
  const plan = await planEdits(patches, { root });
  // The first call behind which the one file is new and the other still old.
  for (let at = 1; snapshot(root).a !== "644 A\n" || snapshot(root).b !== "644 b\n"; at++) {
    await recover(root);
    await applyPlan({ ...plan, root }, { root, files: faultyFiles(at, "crash-after") });
  }
  return { root, old, half: snapshot(root) };
}

describe("a true journal", () => {
  it("counts in the root it was written in, also after that has been moved", async () => {
    const { root, old } = await crashed();
    const moved = join(makeWorkspace({}), "moved");
    renameSync(root, moved);
    expect(await recover(moved)).toMatchObject({ state: "rolled-back" });
    expect(snapshot(moved)).toEqual(old);
  });

  it("counts for nothing in a copy of the folder, or in another root", async () => {
    const { root, half, old } = await crashed();
    const copy = join(makeWorkspace({}), "copy");
    cpSync(root, copy, { recursive: true });
    expect(await recover(copy)).toMatchObject({ state: "refused", conflict: { reason: "journal" } });
    expect(snapshot(copy)).toEqual(half);
    expect(await recover(root)).toMatchObject({ state: "rolled-back" });
    expect(snapshot(root)).toEqual(old);
  });

  it("counts for nothing once its plan has ended, though it is put back", async () => {
    const { root, half } = await crashed();
    const copy = join(makeWorkspace({}), "copy");
    cpSync(root, copy, { recursive: true });
    await recover(root);
    rmSync(root, { recursive: true });
    cpSync(copy, root, { recursive: true });
    expect(await recover(root)).toMatchObject({ state: "refused", conflict: { reason: "journal" } });
    expect(snapshot(root)).toEqual(half);
  });

  it.each([
    ["names another file", (text: string) => text.replace('"path":"b"', '"path":"c"')],
    [
      "would delete what it restored",
      (text: string) => text.replace(/"before":"[^"]*","mode":\d+/, '"before":null,"mode":null'),
    ],
    ["has one byte more", (text: string) => `${text} `],
  ])("counts for nothing where it was changed and %s", async (_what, forge) => {
    const { root } = await crashed();
    const journal = join(root, ".parlance-journal/pending.json");
    const text = readFileSync(journal, "utf8");
    expect(forge(text)).not.toBe(text);
    writeFileSync(journal, forge(text));
    const before = snapshot(root);
    expect(await recover(root)).toMatchObject({ state: "refused", conflict: { reason: "journal" } });
    expect(snapshot(root)).toEqual(before);
  });
});

describe.skipIf(process.getuid === undefined)("the directory of records", () => {
  const state = process.env.XDG_STATE_HOME!;
  const temporary = process.env.TMPDIR;
  afterEach(() => {
    process.env.XDG_STATE_HOME = state;
    if (temporary === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = temporary;
  });
  const change = (root: string) => planEdits(createPatch("a\n", "b\n", { path: "a" }), { root });
  const missing = () => join(makeWorkspace({ file: "" }), "file/none");

  it("is private, and empty when nothing is being applied", async () => {
    const root = makeWorkspace({ a: "a\n" });
    process.env.XDG_STATE_HOME = join(makeWorkspace({}), "deep/state");
    expect((await applyPlan(await change(root), { root })).ok).toBe(true);
    expect(snapshot(process.env.XDG_STATE_HOME)).toEqual({ "parlance/": "directory" });
    expect(statSync(join(process.env.XDG_STATE_HOME, "parlance")).mode & 0o777).toBe(0o700);
  });

  it("is one for temporary files where the user's cannot be written", async () => {
    const root = makeWorkspace({ a: "a\n" });
    process.env.XDG_STATE_HOME = missing();
    process.env.TMPDIR = makeWorkspace({});
    expect((await applyPlan(await change(root), { root })).ok).toBe(true);
    expect(Object.keys(snapshot(process.env.TMPDIR))).toEqual([`parlance-${process.getuid!()}/`]);
  });

  it.each([
    ["inside the root", (root: string) => join(root, "state"), "is inside the root"],
    [
      "a link into the root",
      (root: string) => {
        const link = join(makeWorkspace({}), "link");
        symlinkSync(root, link);
        return link;
      },
      "is inside the root",
    ],
    [
      "one that others can write",
      () => {
        const open = makeWorkspace({});
        mkdirSync(join(open, "parlance"));
        chmodSync(join(open, "parlance"), 0o777);
        return open;
      },
      "can be written by others",
    ],
    ["missing", missing, "cannot be made"],
  ])(
    "is refused with advice where it is %s, and a journal recorded there counts for nothing",
    async (_what, place, why) => {
      const root = makeWorkspace({ a: "a\n" });
      const plan = await change(root);
      process.env.XDG_STATE_HOME = place(root);
      process.env.TMPDIR = missing();
      const result = await applyPlan(plan, { root });
      const message = expect.stringMatching(new RegExp(`${why}.*Set XDG_STATE_HOME to one\\.$`));
      expect(result).toMatchObject({ ok: false, conflicts: [{ path: null, reason: "journal", message }] });
      expect(snapshot(root).a).toBe("644 a\n");
    },
  );
});

it("keeps what somebody wrote after a crash, with the old text beside it", async () => {
  const { root } = await crashed();
  writeFileSync(join(root, "mine"), "mine\n");
  renameSync(join(root, "mine"), join(root, "a"));
  const recovery = await recover(root);
  expect(recovery).toMatchObject({ state: "rolled-back", kept: [{ path: "a" }] });
  expect(snapshot(root)).toEqual({ a: "644 mine\n", b: "644 b\n", [recovery.kept[0]!.old]: "644 a\n" });
});

it("applies one of two plans at once in one process; the other is busy or stale", async () => {
  const root = makeWorkspace({ a: "a\n" });
  const plans = await Promise.all(
    ["b\n", "c\n", "d\n"].map((text) => planEdits(createPatch("a\n", text, { path: "a" }), { root })),
  );
  const results = await Promise.all(plans.map((plan) => applyPlan(plan, { root })));
  const written = results.findIndex((result) => result.ok);
  expect(results.filter((result) => result.ok)).toHaveLength(1);
  for (const result of results) if (!result.ok) expect(["busy", "stale"]).toContain(result.conflicts[0]!.reason);
  expect(snapshot(root)).toEqual({ a: `644 ${["b\n", "c\n", "d\n"][written]}` });
});
