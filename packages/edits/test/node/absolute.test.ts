import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { parsePatch } from "@parlance/edits";
import { applyPlan, planEdits } from "@parlance/edits/node";
import { describe, expect, test } from "vitest";
import { stripRoot } from "../../src/node/names.js";
import { makeWorkspace, snapshot } from "./workspace.js";

/** A diff as AgentSmithy heads it: `a/` and `b/` in front of an absolute path. */
function diffOf(path: string) {
  const reading = parsePatch(`--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-one\n+two\n`);
  if (!reading.ok) throw new Error(reading.errors[0]!.message);
  return reading.patch;
}

describe("an absolute path in a patch", () => {
  test("names a root in any case and with either separator on Windows alone", () => {
    const here = (path: string) => stripRoot(path, ["/root"]);
    const named = ["/root/x", "/ROOT/x", "\\root\\x"];
    expect(named.map((path) => stripRoot(path, ["/root"], true))).toEqual(["x", "x", "x"]);
    expect(named.map((path) => stripRoot(path, ["/root"], false))).toEqual(["x", ...named.slice(1)]);
    expect(named.map(here)).toEqual(named.map((path) => stripRoot(path, ["/root"], process.platform === "win32")));
  });

  test.each(["as it was given", "by its real name"])("below the root, %s, is the file there", async (how) => {
    const outer = makeWorkspace({ "real/src/a.txt": "one\n" });
    symlinkSync("real", join(outer, "link"));
    const root = join(outer, "link");
    const named = how === "by its real name" ? join(outer, "real") : root;
    const path = `${named}/src/a.txt`;
    const preconditions = { [`${named}/src/b.txt`]: null };
    const plan = await planEdits(diffOf(path), { root, preconditions });
    expect(plan.conflicts).toEqual([]);
    expect(plan.files.map((file) => file.path)).toEqual(["src/a.txt"]);
    expect(plan.preview.files.map(({ before, after }) => [before, after])).toEqual([["src/a.txt", "src/a.txt"]]);
    expect((await applyPlan(plan, { root })).ok).toBe(true);
    expect(snapshot(outer)["real/src/a.txt"]).toBe("644 two\n");
  });

  test("anywhere else is a conflict", async () => {
    const outer = makeWorkspace({ "root/a.txt": "one\n", "root2/a.txt": "one\n", "a.txt": "one\n" });
    const root = join(outer, "root");
    const before = snapshot(outer);
    const cases: [string, string][] = [
      [`${outer}/a.txt`, "absolute"],
      [`${outer}/root2/a.txt`, "absolute"],
      [`${root}x`, "absolute"],
      [root, "absolute"],
      [`${root}/`, "empty"],
      [`${root}/../a.txt`, "parent"],
      [`${root}/b/../../a.txt`, "parent"],
      [`${root}//a.txt`, "absolute"],
      [`${root}/b/./a.txt`, "dot"],
      [`${root}/${root}/a.txt`, "absolute"],
      [`${root}/.git/config`, "git"],
      [`/${root}/a.txt`, "unc"],
      ["/etc/passwd", "absolute"],
      ["//etc/passwd", "unc"],
    ];
    for (const [path, reason] of cases) {
      const file = { ...diffOf("x").files[0]!, before: path, after: path };
      const plan = await planEdits({ files: [file] }, { root });
      expect([path, plan.conflicts.map((conflict) => conflict.reason)]).toEqual([path, [reason]]);
    }
    expect(snapshot(outer)).toEqual(before);
  });
});

const windows: [path: string, root: string, relative: string][] = [
  ["C:\\work\\a.txt", "C:\\work", "a.txt"],
  ["c:/Work/src/a.txt", "C:\\work", "src/a.txt"],
  ["C:\\work\\src\\a.txt", "C:\\work\\", "src/a.txt"],
  ["C:\\workshop\\a.txt", "C:\\work", "C:\\workshop\\a.txt"],
  ["D:\\work\\a.txt", "C:\\work", "D:\\work\\a.txt"],
  ["\\\\server\\share\\a.txt", "\\\\server\\share", "a.txt"],
];
test.each(windows)("on Windows %s in %s is %s", (path, root, relative) => {
  expect(stripRoot(path, [root], true)).toBe(relative);
});

test("the root of everything has every absolute path in it", () => {
  expect(stripRoot("/etc/passwd", ["/"], false)).toBe("etc/passwd");
});
