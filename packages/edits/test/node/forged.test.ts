import { chmodSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createPatch, type Patch } from "@parlance/edits";
import {
  applyPlan,
  contentHash,
  type Plan,
  type PlannedFile,
  planEdits,
  undo,
  type WriteOptions,
  type Written,
} from "@parlance/edits/node";
import { describe, expect, test } from "vitest";
import { describeChanges } from "../../src/node/changes.js";
import { fill, makeWorkspace, snapshot } from "./workspace.js";

const texts = { a: "one\ntwo\n", "b/gone": "gone\n", run: "#!/bin/sh\n", from: "moved\n" };

/** One of everything: a change, a deletion, a new file, a mode, a move. */
const patches: Patch[] = [
  createPatch(texts.a, "one\n2\n", { path: "a" }),
  createPatch(texts["b/gone"], "", { oldPath: "b/gone", newPath: null }),
  createPatch("", "new\n", { oldPath: null, newPath: "x/new" }),
  { files: [{ kind: "modify", before: "run", after: "run", oldMode: "100644", newMode: "100755", hunks: [] }] },
  { files: [{ kind: "rename", before: "from", after: "x/to", hunks: [] }] },
];

async function setUp() {
  const outer = makeWorkspace({ secret: "secret\n" });
  const root = join(outer, "root");
  fill(root, texts);
  const plan = await planEdits(patches, { root });
  expect(plan.conflicts).toEqual([]);
  return { outer, root, plan };
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Step = string | number;

/** Every place in a value, containers too. */
function placesOf(value: Json, at: readonly Step[] = []): (readonly Step[])[] {
  if (value === null || typeof value !== "object") return [at];
  const inside = Object.entries(value).flatMap(([key, child]) => placesOf(child, [...at, key]));
  return [at, ...inside];
}

function changeAt(value: Json, at: readonly Step[], change: (old: Json) => Json | undefined): Json {
  const copy = structuredClone(value);
  let parent = copy as Record<string, Json>;
  for (const key of at.slice(0, -1)) parent = parent[key] as Record<string, Json>;
  const key = at.at(-1)!;
  const changed = change(parent[key]!);
  if (changed === undefined) delete parent[key];
  else parent[key] = changed;
  return copy;
}

const hostile: Json[] = [
  null,
  true,
  -1,
  0,
  0o4755,
  0o666,
  1.5,
  "",
  "other\n",
  "../secret",
  "/etc/passwd",
  ".git/config",
  ".parlance-journal/pending.json",
  contentHash("other\n"),
  [],
  {},
  [null],
];
const changes: ((old: Json) => Json | undefined)[] = [
  () => undefined,
  (old) => (Array.isArray(old) ? [...old, ...old] : typeof old === "string" ? `${old}x` : old),
  (old) => (Array.isArray(old) ? old.slice(1) : typeof old === "string" ? old.toUpperCase() : old),
  ...hostile.map((value) => () => value),
];

function withoutModes(tree: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(tree).map(([path, entry]) => [path, entry.replace(/^\d+ /, "")]));
}

/** Where hunks were found is for the reader alone, so each of its changes is a whole plan carried out: one in seven without PARLANCE_LONG. */
const every = process.env.PARLANCE_LONG ? 1 : 7;

/** Every single change of a value that was stored as JSON, with the place and the number of the change. */
function* forge(value: unknown): Generator<{ forged: unknown; label: string; key: Step }> {
  const json = JSON.parse(JSON.stringify(value)) as Json;
  for (const at of placesOf(json).slice(1))
    for (const [number, change] of changes.entries()) {
      const forged = changeAt(json, at, change);
      if (JSON.stringify(forged) !== JSON.stringify(json))
        yield { forged, label: `${at.join(".")} ${number}`, key: at[0]! };
    }
}

describe("what somebody changed on its way", () => {
  test("as a plan is refused, or writes what the honest plan writes", async () => {
    const { outer, root, plan } = await setUp();
    const old = snapshot(outer);
    expect((await applyPlan(plan, { root })).ok).toBe(true);
    const fresh = snapshot(outer);
    reset(root, texts);
    let refused = 0;
    let number = 0;
    for (const { forged, label, key } of forge(plan)) {
      if (key === "hunks" && number++ % every !== 0) continue;
      const result = await applyPlan(forged as Plan, { root });
      expect([label, snapshot(outer)]).toEqual([label, result.ok ? fresh : old]);
      // Where hunks were found is for the reader alone, and a move that is listed twice is one; all else decides.
      if (result.ok) expect([label, ["hunks", "moves"]]).toEqual([label, expect.arrayContaining([key])]);
      if (result.ok) reset(root, texts);
      else refused++;
    }
    expect(refused).toBeGreaterThan(1_000);
  }, 120_000);

  test("as the result of a plan is refused by undo, or takes back what the honest one takes back", async () => {
    const { outer, root, plan } = await setUp();
    const old = snapshot(outer);
    const written = await applyPlan(plan, { root });
    const fresh = snapshot(outer);
    let undone = 0;
    for (const { forged, label } of forge(written)) {
      const result = await undo(forged as Written, { root });
      // Files come back with the permissions that the result remembers; no disk can tell others.
      const tree = snapshot(outer);
      expect([label, withoutModes(tree)]).toEqual([label, withoutModes(result.ok ? old : fresh)]);
      for (const entry of Object.values(tree))
        expect([label, entry]).toEqual([label, expect.not.stringMatching(/^[1-7]\d{3} /)]);
      if (!result.ok) continue;
      undone++;
      reset(root, texts);
      expect((await applyPlan(plan, { root })).ok).toBe(true);
    }
    expect(undone).toBeGreaterThan(0);
  }, 120_000);

  test("is refused by its reason where the forgery is consistent", async () => {
    const { outer, root } = await setUp();
    const state = (text: string, mode = 0o644, more = {}) => ({ text, hash: contentHash(text), mode, ...more });
    const made = (path: string, after: PlannedFile["after"] = state("evil\n", 0o644, { umask: true })) => ({
      path,
      before: null,
      after,
    });
    const kept = { path: "a", before: state(texts.a), after: state("evil\n") };
    const cases: [string, PlannedFile[]][] = [
      ["parent", [made("../evil")]],
      ["absolute", [made("/etc/evil")]],
      ["git", [made(".git/hooks/pre-commit")]],
      ["reserved", [made(".parlance-journal/pending.json")]],
      ["device", [made("nul")]],
      ["malformed", [made("./evil")]],
      ["malformed", [kept, kept]],
      ["malformed", [{ ...made("evil"), after: null }]],
      ["malformed", [{ ...made("evil"), after: { ...state("evil\n"), hash: contentHash("good\n") } }]],
      ["malformed", [{ ...kept, before: { ...state("evil\n"), hash: contentHash(texts.a) } }]],
      ["not-utf8", [made("evil", state("\ud800"))]],
      ["case-collision", [made("x/evil"), made("X/other")]],
      ["case-collision", [made("RUN")]],
      ["not-directory", [made("x"), made("x/evil")]],
      ["mode", [made("evil", state("evil\n", 0o755))]],
      ["mode", [made("evil", state("evil\n", 0o4755, { umask: true }))]],
      ["mode", [made("evil", state("evil\n", 0o666, { umask: true }))]],
      ["mode", [{ ...kept, after: state("evil\n", 0o666) }]],
      ["mode", [{ ...kept, after: state("evil\n", 0o4755) }]],
      ["mode", [{ ...kept, after: state("evil\n", 0o200000) }]],
      ["stale", [{ ...kept, before: state("other\n") }]],
      ["stale", [made("a")]],
    ];
    const before = snapshot(outer);
    for (const [reason, files] of cases) {
      const preview = describeChanges(files, []);
      // As an earlier version wrote plans, without counts.
      const plan = { root, files, moves: [], preview, hunks: [], conflicts: [] };
      const result = await applyPlan(plan as unknown as Plan, { root });
      expect([files, result.ok ? [] : result.conflicts.map((conflict) => conflict.reason)]).toEqual([files, [reason]]);
    }
    expect(snapshot(outer)).toEqual(before);
  });
});

describe("the root is the caller's", () => {
  test("a plan for another root is refused, and so is its undo, even where the files are the same", async () => {
    const [here, there] = [makeWorkspace(texts), makeWorkspace(texts)];
    const plan = await planEdits(patches, { root: here });
    const before = snapshot(there);
    for (const [claimed, root] of [
      [here, there],
      [there, here],
    ] as const) {
      const result = await applyPlan({ ...plan, root: claimed }, { root });
      expect(result).toMatchObject({ ok: false, conflicts: [{ path: null, reason: "root" }] });
    }
    const written = await applyPlan(plan, { root: here });
    expect(written.ok && (await undo(written, { root: there }))).toMatchObject({ conflicts: [{ reason: "root" }] });
    expect(written.ok && (await undo({ ...written, root: there }, { root: here }))).toMatchObject({ ok: false });
    expect(snapshot(there)).toEqual(before);
  });

  test("a symlink to the root names the same root", async () => {
    const { outer, root, plan } = await setUp();
    symlinkSync("root", join(outer, "link"));
    expect((await applyPlan(plan, { root: join(outer, "link") })).ok).toBe(true);
    expect(snapshot(root).a).toBe("644 one\n2\n");
  });

  test("a call without a root is a mistake of the program, and throws", async () => {
    const { plan } = await setUp();
    await expect(applyPlan(plan, {} as WriteOptions)).rejects.toThrow(/^`root` must be a string/);
    await expect(undo({} as Written, undefined as unknown as WriteOptions)).rejects.toThrow(/^`root` must be a string/);
  });

  test("names that only POSIX stores need the same rules again", async () => {
    const root = makeWorkspace({ "keep.txt": "" });
    const plan = await planEdits(createPatch("", "a\n", { oldPath: null, newPath: "ab:c" }), { root, rules: "posix" });
    expect(await applyPlan(plan, { root })).toMatchObject({ ok: false, conflicts: [{ reason: "stream" }] });
    if (process.platform !== "win32") expect((await applyPlan(plan, { root, rules: "posix" })).ok).toBe(true);
  });
});

test("a copy has the mode of a new file, whatever bits its source has", async () => {
  const root = makeWorkspace({ source: "a\n", plain: "a\n" });
  chmodSync(join(root, "source"), 0o4775);
  chmodSync(join(root, "plain"), 0o666);
  const copy = (from: string, to: string): Patch => ({ files: [{ kind: "copy", before: from, after: to, hunks: [] }] });
  const plan = await planEdits([copy("source", "made"), copy("plain", "made.txt")], { root });
  expect((await applyPlan(plan, { root })).ok).toBe(true);
  const { made, "made.txt": text } = snapshot(root);
  expect([made, text]).toEqual([expect.stringMatching(/^7[0145]{2} a/), expect.stringMatching(/^6[04]{2} a/)]);
});

function reset(root: string, files: Record<string, string>): void {
  rmSync(root, { recursive: true });
  fill(root, files);
}
