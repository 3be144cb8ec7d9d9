import { mkdirSync } from "node:fs";
import * as fs from "node:fs/promises";
import { join } from "node:path";
import { createPatch, type Patch } from "@parlance/edits";
import { applyPlan, type NameRules, planEdits, undo } from "@parlance/edits/node";
import { expect, test } from "vitest";
import type { Files } from "../../src/node/files.js";
import { checkName } from "../../src/node/names.js";
import { hostileNames } from "./hostile-names.js";
import { fill, makeWorkspace, snapshot } from "./workspace.js";

const rulesOf: NameRules[] = ["posix", "windows"];
const operations: Record<string, (name: string) => Patch> = {
  create: (name) => createPatch("", "evil\n", { oldPath: null, newPath: name }),
  modify: (name) => createPatch("secret\n", "evil\n", { path: name }),
  delete: (name) => createPatch("secret\n", "", { oldPath: name, newPath: null }),
  "rename to": (name) => ({ files: [{ kind: "rename", before: "inside", after: name, hunks: [] }] }),
  "rename from": (name) => ({ files: [{ kind: "rename", before: name, after: "fresh", hunks: [] }] }),
  "copy to": (name) => ({ files: [{ kind: "copy", before: "inside", after: name, hunks: [] }] }),
};

test("the table has at least 300 different names", () => {
  expect(new Set(hostileNames.map(([name]) => name)).size).toBeGreaterThanOrEqual(300);
});

test("each hostile name is refused for the reason it has", () => {
  const found = hostileNames.map(([name]) => [name, ...rulesOf.map((rules) => reasonOf(name, rules))]);
  expect(found).toEqual(hostileNames);
});

function reasonOf(name: string, rules: NameRules): string | null {
  const checked = checkName(name, rules);
  return checked.ok ? null : checked.reason;
}

test("each reason has words of its own", () => {
  const words = new Map<string | null, string>();
  for (const [name] of hostileNames)
    for (const rules of rulesOf) {
      const checked = checkName(name, rules);
      if (!checked.ok) words.set(checked.reason, checked.message.replace(/^.*" /s, ""));
    }
  expect(Object.fromEntries(words)).toMatchInlineSnapshot(`
    {
      "absolute": "is absolute; write it relative to the root.",
      "character": "has a character that Windows does not store in a name.",
      "control": "has a control character.",
      "device": "names a Windows device.",
      "dot": "has a \`.\` component.",
      "drive": "begins with a drive; write it relative to the root.",
      "empty": "is empty or has an empty component.",
      "encoding": "is not well-formed Unicode.",
      "git": "is inside git's own directory.",
      "parent": "goes up with \`..\`; write it relative to the root.",
      "reserved": "uses a name that applying edits keeps for itself.",
      "separator": "has a backslash; separate components with \`/\`.",
      "stream": "names an alternate stream (\`:\`).",
      "too-long": "is longer than 4,096 bytes or has a component longer than 255.",
      "trailing": "has a component that ends in a dot or a space, or begins with a space.",
      "unc": "is a network or device path; write it relative to the root.",
    }
  `);
});

test("a long name is shown as far as 200 characters", () => {
  const shown = (name: string) => {
    const checked = checkName(name, "posix");
    return checked.ok ? expect.fail(name) : /"(.*)"/.exec(checked.message)![1];
  };
  const name = `../${"x".repeat(197)}`;
  expect(shown(name)).toBe(name);
  expect(shown(`${name}y`)).toBe(`${name}…`);
});

test.each([
  ["src/index.ts"],
  ["./README.md"],
  [".gitignore"],
  [".github/workflows/ci.yml"],
  [".gitmodules"],
  ["git"],
  ["agit~1"],
  ["console.log"],
  ["com10.txt"],
  ["nulls.c"],
  ["..a"],
  ["a..b"],
  ["näme mit Leerzeichen.txt"],
  ["日本語/ファイル.md"],
  ["emoji 🎉.txt"],
  ["a'b$(c)`d`;e&f.sh"],
  ["-rf"],
  ["~/x"],
  [".env"],
  ["a".repeat(255)],
])("%s is an ordinary name by both rules", (name) => {
  for (const rules of rulesOf) expect(checkName(name, rules)).toMatchObject({ ok: true });
});

test("no message carries a control character or an invisible one from a name", () => {
  for (const [name] of hostileNames) {
    const checked = checkName(name, "windows");
    if (!checked.ok) expect(checked.message).not.toMatch(/[\p{C}\u2028\u2029]/u);
  }
});

test.each([
  ["a.", "ends in a dot"],
  ["aa:b", "names an alternate stream"],
  ["aux", "names a Windows device"],
  ["../a", "goes up"],
  ["/a", "is absolute"],
  [".git/a", "is inside git's own directory"],
  [".parlance-a", "uses a name that applying edits keeps for itself"],
])("the message about the name %s gives the reason: %s", (name, words) => {
  expect(checkName(name, "windows")).toMatchObject({ ok: false, message: expect.stringContaining(words) });
});

/**
 * The names that are refused by a rule and the others, as they are tried in one plan: with PARLANCE_LONG each in a plan of its own.
 * Those that are allowed share one where neither is the other's folder, nor the same but for a leading `./`.
 */
const groups = Object.fromEntries(
  rulesOf.map((rules) => {
    const reasons = hostileNames.map(([name, posix, windows]) => [name, rules === "posix" ? posix : windows] as const);
    const alone = Boolean(process.env.PARLANCE_LONG);
    const refused = reasons.filter(([, reason]) => reason !== null);
    const allowed = reasons.flatMap(([name, reason]) => (reason === null ? [name] : []));
    const keyOf = (name: string) => (alone ? name : `${name.startsWith("./")} ${name.split("/").length}`);
    const together = new Map<string, string[]>();
    for (const name of allowed) together.set(keyOf(name), [...(together.get(keyOf(name)) ?? []), name]);
    return [rules, { refused: alone ? refused.map((each) => [each]) : [refused], allowed: [...together.values()] }];
  }),
) as Record<NameRules, { refused: (readonly [name: string, reason: string | null])[][]; allowed: string[][] }>;

test("no operation by a hostile name reads or writes anything, and none that POSIX allows leaves the root", async () => {
  const outer = makeWorkspace({ secret: "secret\n", file: "secret\n", "etc/passwd": "secret\n" });
  const root = join(outer, "root");
  let checks = 0;
  for (const rules of rulesOf) {
    const { refused, allowed } = groups[rules];
    for (const [operation, make] of Object.entries(operations)) {
      await fs.rm(root, { recursive: true, force: true });
      mkdirSync(root, { recursive: true });
      fill(root, { inside: "secret\n", "dir/file": "secret\n" });
      const before = snapshot(outer);
      for (const group of refused) {
        const used: string[] = [];
        const patches = group.map(([name]) => make(name));
        const plan = await planEdits(patches, { root, rules, files: recording(used) });
        const reasons = plan.conflicts.map(({ reason }, i) => [group[i]?.[0], reason]);
        expect([operation, reasons]).toEqual([operation, group]);
        expect((await applyPlan(plan, { root, rules, files: recording(used) })).ok).toBe(false);
        // Without a name that is allowed, only the root itself is looked at: for a journal, and to be opened.
        const looked = used.filter(
          (path) =>
            !/^(?:.*\/root|\/proc\/self\/fd|\/proc\/self\/fd\/\d+\/(?:\.|\.parlance-journal|inside))$/.test(path),
        );
        expect([operation, group, looked]).toEqual([operation, group, []]);
        checks += group.length;
      }
      for (const group of operation === "rename to" ? allowed.flat().map((name) => [name]) : allowed) {
        const used: string[] = [];
        const plan = await planEdits(group.map(make), { root, rules, files: recording(used) });
        if (operation === "create") {
          const written = await applyPlan(plan, { root, rules, files: recording(used) });
          expect([group, written.ok && (await undo(written, { root, rules })).ok]).toEqual([group, true]);
        }
        for (const path of used) expect(path).not.toMatch(/\/\.\.(?:\/|$)/);
        checks += group.length;
      }
      expect(snapshot(outer)).toEqual(before);
    }
  }
  expect(checks).toBeGreaterThanOrEqual(2500);
}, 240_000);

/** The real file system, with every path that it is given noted down. */
function recording(used: string[]): Files {
  const noted =
    <A extends unknown[], R>(call: (...args: A) => R) =>
    (...args: A): R => {
      used.push(...args.filter((arg) => typeof arg === "string"));
      return call(...args);
    };
  const { open, lstat, link, rename, unlink, mkdir, rmdir, readdir, realpath } = fs;
  return {
    open: noted((path: string, flags: number, mode?: number) => open(path, flags, mode)),
    lstat: noted((path: string) => lstat(path)),
    link: noted(link),
    rename: noted(rename),
    unlink: noted(unlink),
    mkdir: noted((path: string, options?: Parameters<typeof mkdir>[1]) => mkdir(path, options)),
    rmdir: noted((path: string) => rmdir(path)),
    readdir: noted((path: string) => readdir(path)),
    realpath: noted((path: string) => realpath(path)),
  };
}
