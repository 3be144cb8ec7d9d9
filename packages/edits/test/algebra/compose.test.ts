import { describe, expect, test } from "vitest";
import { composePatches } from "../../src/algebra/compose.js";
import type { FilePatch, Patch } from "../../src/patch.js";

const hunk = (oldStart: number | null, lines: string[]) => ({
  id: "h",
  oldStart,
  newStart: oldStart === null ? null : 1,
  lines,
});
const of = (file: Partial<FilePatch>): Patch => ({
  files: [{ kind: "modify", before: "x", after: "x", hunks: [], ...file }],
});
/** The file of two patches as one, and the lines of its hunks; or why there is none. */
function compose(first: Partial<FilePatch>, second: Partial<FilePatch>) {
  const made = composePatches(of(first), of(second));
  if (!made.ok) return made;
  const [file] = made.patch.files;
  return file ? { ...file, hunks: file.hunks.map(({ lines }) => lines) } : null;
}

const create: Partial<FilePatch> = { kind: "create", before: null, hunks: [hunk(0, ["+a"])] };
const whole: Partial<FilePatch> = { whole: true, hunks: [hunk(1, ["+a"])] };
const edit: Partial<FilePatch> = { hunks: [hunk(1, ["-a", "+b"])] };

describe("two patches of a file as one", () => {
  test.each<[what: string, first: Partial<FilePatch>, second: Partial<FilePatch>, made: object | null]>([
    ["of a new file", create, edit, { kind: "create", before: null, after: "x", hunks: [["+b"]] }],
    ["of a new file that is emptied", create, { hunks: [hunk(1, ["-a"])] }, { kind: "create", hunks: [] }],
    ["of a new file that is deleted", create, { kind: "delete", after: null, hunks: [hunk(1, ["-a"])] }, null],
    [
      "of a new file that is moved",
      create,
      { kind: "rename", after: "y" },
      { kind: "create", after: "y", hunks: [["+a"]] },
    ],
    ["of a whole file", whole, edit, { whole: true, hunks: [["+b"]] }],
    ["of a whole file that is emptied", whole, { hunks: [hunk(1, ["-a"])] }, { whole: true, hunks: [] }],
    ["of a file that is replaced", edit, whole, { whole: true, hunks: [["+a"]] }],
    [
      "of a move",
      { kind: "rename", after: "y" },
      { before: "y", after: "y", hunks: [hunk(1, ["-a", "+b"])] },
      { kind: "rename", before: "x", after: "y", hunks: [["-a", "+b"]] },
    ],
    [
      "of a move back",
      { kind: "rename", after: "y" },
      { kind: "rename", before: "y" },
      { kind: "modify", before: "x", after: "x", hunks: [] },
    ],
    [
      "of modes",
      { oldMode: "100644", newMode: "100755" },
      { newMode: "100644" },
      { oldMode: "100644", newMode: "100644" },
    ],
    ["of reasons", { reason: "one" }, { reason: "two" }, { reason: "two" }],
    ["of one reason", { reason: "one" }, {}, { reason: "one" }],
    ["of git's", { git: { index: "1..2" } }, {}, { git: {} }],
  ])("%s", (_, first, second, made) => {
    const file = compose(first, second);
    if (made === null) expect(file).toBeNull();
    else expect(file).toMatchObject(made);
  });

  test("say nothing that neither says", () => {
    expect(compose(edit, { hunks: [hunk(1, ["-b", "+c"])] })).toEqual({
      kind: "modify",
      before: "x",
      after: "x",
      hunks: [["-a", "+c"]],
    });
  });

  test.each([
    ["the second wants other lines", create, { hunks: [hunk(1, ["-z", "+b"])] }],
    ["the second wants other lines of a whole file", whole, { hunks: [hunk(1, ["-z", "+b"])] }],
    ["one has no line numbers", edit, { hunks: [hunk(null, ["-b", "+c"])] }],
  ])("are none where %s", (_, first, second) => {
    expect(compose(first, second)).toMatchObject({ ok: false });
  });
});
