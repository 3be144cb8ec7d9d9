import { createPatch, type Patch } from "@parlance/edits";
import { planEdits } from "@parlance/edits/node";
import { expect, test } from "vitest";
import { makeWorkspace } from "./workspace.js";

test("a plan tells where each of the blocks was found that go on from each other", async () => {
  const root = makeWorkspace({ a: "x\na\n" });
  const block = (lines: readonly string[], id: string) => ({ id, oldStart: null, newStart: null, lines });
  const hunks = [block(["-a", "+b", "+c"], "1"), block(["-c", "+d"], "2")];
  const plan = await planEdits({ files: [{ kind: "modify", before: "a", after: "a", hunks }] }, { root });
  expect(plan.files[0]!.after!.text).toBe("x\nb\nd\n");
  expect(plan.hunks).toMatchObject([
    {
      path: "a",
      hunks: [
        { id: "1", at: 2 },
        { id: "2", at: 3 },
      ],
    },
  ]);
});

test("a file of a patch that is none is named by its number", async () => {
  const [file] = createPatch("a\n", "b\n", { path: "a" }).files;
  const patch = { files: [file, null, { ...file, kind: "x" }] } as unknown as Patch;
  const { conflicts } = await planEdits(patch, { root: makeWorkspace({ a: "a\n" }) });
  expect(conflicts.map(({ message }) => message)).toEqual([
    "File 2 of the patch is not an object.",
    'File 3 of the patch has the kind "x".',
  ]);
});
