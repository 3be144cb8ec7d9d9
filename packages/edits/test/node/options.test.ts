import { applyPlan, planEdits, recover, undo } from "@parlance/edits/node";
import { expect, test } from "vitest";
import { createPatch } from "../../src/index.js";
import { makeWorkspace } from "./workspace.js";

const NUMBER: readonly unknown[] = ["3", null, Number.NaN, {}];
const ROOT = { root: [5, null, undefined], access: ["handle", null], files: ["disk", null] };
const WAIT = { wait: NUMBER, clock: [5, null], rules: ["linux", null] };
type Call = (options: never) => Promise<unknown>;

/** Each function of the node side, with values of its options that they have no meaning for. */
const OPTIONS: Record<string, [call: Call, options: Readonly<Record<string, readonly unknown[]>>]> = {
  planEdits: [
    (options) => planEdits(createPatch("a\n", "b\n"), options),
    { ...ROOT, ...WAIT, limit: NUMBER, preconditions: ["x", null], apply: ["exact", null], at: ["1", null] },
  ],
  "planEdits, how hunks match": [
    (apply) => planEdits(createPatch("a\n", "b\n"), { root, apply }),
    { loosest: ["contxt"], at: [5] },
  ],
  "planEdits, the lines of a file": [
    (range) => planEdits(createPatch("a\n", "b\n"), { root, at: { x: range } }),
    { line_start: ["1"], line_end: ["1"] },
  ],
  "planEdits, a precondition": [
    (preconditions) => planEdits(createPatch("a\n", "b\n"), { root, preconditions }),
    { "a.txt": [5, {}] },
  ],
  applyPlan: [(options) => applyPlan({} as never, options), { ...ROOT, ...WAIT }],
  undo: [(options) => undo({} as never, options), { ...ROOT, ...WAIT }],
  recover: [(options) => recover(root, options), { access: ROOT.access, files: ROOT.files }],
};
const root = makeWorkspace({});

test.each(Object.keys(OPTIONS))("%s: an option outside its type is a TypeError that names it", async (name) => {
  const [call, options] = OPTIONS[name]!;
  for (const [option, values] of Object.entries(options))
    for (const value of values)
      await expect(
        call({ ...(/^\w+$/.test(name) && { root }), [option]: value } as never),
        `${option}: ${value}`,
      ).rejects.toThrow(new RegExp(`^\`${option}\` must be (?:a |an |one of ).*, not .*\\.$`));
});
